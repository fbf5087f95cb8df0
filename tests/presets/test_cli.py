"""The command line: what goes where, in which form, with which exit code."""

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import presets
from presets.cli import main
from presets.lint import SCHEMAS, schema_text

GEMMA = {"hf_overrides": {"architectures": ["Gemma4ForCausalLM"]}}
GET = ("get", "gemma4-text", "--vllm", "0.32.0")


def run(*words: str, code: int = 0) -> Result:
    result = CliRunner().invoke(main, list(words), catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def answer(*words: str) -> Any:
    return json.loads(run(*words, "--format", "json").stdout)


def refusal(*words: str) -> str:
    result = run(*words, code=2)
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert "Traceback" not in result.stderr
    return result.stderr


def test_list_as_json_has_every_preset_with_what_one_chooses_by() -> None:
    assert run("list", "--format", "json").stderr == ""
    rows = answer("list")
    assert [row["name"] for row in rows] == presets.names()
    for row in rows:
        assert {"name", "family", "summary", "aliases", "vllm", "sources"} <= row.keys()
        assert row["sources"]


def test_list_filters_by_family() -> None:
    assert "gemma4-text" in [row["name"] for row in answer("list", "--family", "gemma4")]
    assert answer("list", "--family", "none") == []


def test_list_for_people_truncates_nothing() -> None:
    out = run("list").stdout
    for preset in presets.find():
        assert preset.name in out
        assert preset.summary in out
    assert "\x1b" not in out
    assert "…" not in out


def test_show_as_json_is_everything() -> None:
    shown = answer("show", "gemma4-text", "--vllm", "0.32.0")
    preset = presets.get("gemma4-text", "0.32.0")
    assert shown["kwargs"] == GEMMA
    assert len(shown["claims"]) == len(preset.claims)
    assert len(shown["when"]) == len(preset.when)


def test_show_for_people_says_why_and_on_what_evidence() -> None:
    out = run("show", "gemma4-text", "--vllm", "0.32.0").stdout
    preset = presets.get("gemma4-text", "0.32.0")
    for text in [preset.summary, *preset.sources, *(c.why for c in preset.when)]:
        assert text in out
    assert "hf_overrides={'architectures': ['Gemma4ForCausalLM']}" in out


def test_get_prints_kwargs() -> None:
    assert answer(*GET) == GEMMA
    assert run(*GET).stdout == "hf_overrides={'architectures': ['Gemma4ForCausalLM']}\n"


def test_get_prints_the_consumers_form_and_tells_how_on_stderr() -> None:
    result = run(*GET, "--for", "vllm-serve", "--set", "enforce_eager=true")
    assert shlex.split(result.stdout) == [
        "--hf-overrides",
        '{"architectures": ["Gemma4ForCausalLM"]}',
        "--enforce-eager",
    ]
    assert "vllm serve" in result.stderr
    assert answer(*GET, "--for", "trl-colocate") == GEMMA


def test_get_merges_settings() -> None:
    merged = answer(*GET, "--set", "hf_overrides.vocab_size=9", "--set", 'dtype="half"')
    assert merged == {"hf_overrides": {**GEMMA["hf_overrides"], "vocab_size": 9}, "dtype": "half"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["get", "gemma4-txt"], "did you mean gemma4-text"),
        (["show", "gemma4-txt"], "did you mean gemma4-text"),
        (["consumers", "trl"], "no consumer 'trl'"),
        (["get", "gemma4-text", "--vllm", "x"], "'x' is not a version"),
        (["get", "gemma4-text", "--vllm", "99"], "--untested"),
        (["list", "--vllm", "x"], "'x' is not a version"),
        ([*GET, "--set", "dtype=half"], "a string needs double quotes"),
        ([*GET, "--set", "hf_override=1"], "did you mean hf_overrides"),
        ([*GET, "--set", 'hf_overrides.architectures=["X"]'], "needs ['Gemma4ForCausalLM']"),
        ([*GET, "--for", "trl"], "no consumer 'trl'"),
    ],
)
def test_what_cannot_be_answered_is_one_error_on_stderr(words: list[str], message: str) -> None:
    assert message in refusal(*words)


def test_all_guards_that_are_hit_are_named() -> None:
    words = ["--set", "seed=1", "--set", "tensor_parallel_size=2"]
    text = refusal(*GET, "--for", "trl-colocate", *words)
    assert "vllm_tensor_parallel_size" in text
    assert "seed=1" in text


def test_untested_is_an_opt_in() -> None:
    assert answer("get", "gemma4-text", "--vllm", "99", "--untested") == GEMMA


def test_bad_usage_exits_with_2() -> None:
    for words in (["get"], ["nope"], ["get", "x", "--nope"], ["lint", "none.toml"]):
        result = CliRunner().invoke(main, words)
        assert (result.exit_code, result.stdout) == (2, "")


def test_a_caveat_goes_to_stderr_for_a_trainer(
    monkeypatch: pytest.MonkeyPatch, make_preset: Callable[..., presets.Preset]
) -> None:
    preset = make_preset({"trust_remote_code": True}, ["trust_remote_code"], caveat="Mind the gap.")
    monkeypatch.setattr(presets, "get", lambda *_, **__: preset)
    result = run("get", "demo", "--trust-remote-code")
    assert result.stdout == "trust_remote_code=True\n"
    assert result.stderr == ""
    trainer = run("get", "demo", "--trust-remote-code", "--for", "trl-colocate")
    assert trainer.stderr.endswith("caveat: Mind the gap.\n")
    assert "--trust-remote-code" in refusal("get", "demo")


def test_the_opt_in_to_remote_code_adds_nothing_to_a_preset_without() -> None:
    assert answer(*GET, "--trust-remote-code") == GEMMA


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A Llama under the class name of a wrapper."""
    config = {"model_type": "llama", "architectures": ["FSDPLlamaForCausalLM"]}
    (tmp_path / "config.json").write_text(json.dumps(config))
    header = json.dumps({"model.x": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}).encode()
    weights = len(header).to_bytes(8, "little") + header + b"x"
    (tmp_path / "model.safetensors").write_bytes(weights)
    return tmp_path


CHECK = ("check", "--vllm", "0.32.0")


def test_check_says_what_to_pass_and_exits_with_1(folder: Path) -> None:
    first, second, *_ = run(*CHECK, str(folder), code=1).stdout.splitlines()
    assert first.startswith("preset llama-causal-lm: ")
    assert second == "  hf_overrides={'architectures': ['LlamaForCausalLM']}"
    served = run(*CHECK, str(folder), "--for", "vllm-serve", code=1).stdout.splitlines()[1]
    assert served.startswith("  --hf-overrides '{")


def test_check_as_json_has_every_key(folder: Path) -> None:
    result = run(*CHECK, str(folder), "--format", "json", "--for", "trl-colocate", code=1)
    found = json.loads(result.stdout)
    assert (found["verdict"], found["preset"]) == ("preset", "llama-causal-lm")
    assert found["consumer"] == "trl-colocate"
    assert found["facts"]["tensors"] == 1
    assert set(found) == set(presets.Check.__struct_fields__)


def test_check_annotates_for_github(folder: Path) -> None:
    out = run(*CHECK, str(folder), "--format", "github", code=1).stdout
    assert out.startswith("::error title=presets llama-causal-lm::")
    assert len(out.splitlines()) == 1


def test_check_of_what_nobody_knows_exits_with_2(folder: Path) -> None:
    (folder / "config.json").write_text("{}")
    result = run(*CHECK, str(folder), code=2)
    assert result.stdout.startswith("unknown: ")
    assert "absent: no folder" in refusal("check", str(folder / "absent"))


def test_consumers() -> None:
    profiles = answer("consumers")
    assert [p["name"] for p in profiles] == presets.consumer_names()
    out = run("consumers").stdout
    assert all(p["summary"] in out for p in profiles)
    colocate = answer("consumers", "trl-colocate")
    assert colocate == next(p for p in profiles if p["name"] == "trl-colocate")
    out = run("consumers", "trl-colocate").stdout
    for guard in colocate["guards"]:
        for text in [guard["key"], guard["reason"], guard["instead"], *guard["evidence"]]:
            assert text in out


def test_lint_counts_what_it_checked() -> None:
    assert run("lint").stdout.endswith("files checked, no problems\n")


def test_lint_prints_every_problem_and_exits_with_1(demo_toml: Callable[..., Path]) -> None:
    path = demo_toml(('family = "demo"', "family = 1"), ('why = "it is a test"', ""))
    lines = run("lint", str(path), code=1).stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["demo.toml", "demo.toml"]
    assert run("lint", str(path.parent), code=1).stdout.splitlines() == lines


def test_lint_notices_and_writes_stale_schemas(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module = sys.modules["presets.lint"]
    for kind in ("presets", "consumers"):
        (tmp_path / kind).symlink_to(module.DATA / kind)
    monkeypatch.setattr(module, "DATA", tmp_path)
    assert run("lint", code=1).stdout.count("presets lint --write-schema") == len(SCHEMAS)
    run("lint", "--write-schema")
    for name in SCHEMAS:
        assert (tmp_path / name).read_text(encoding="utf-8") == schema_text(name)


def test_in_a_pipe_stdout_is_the_answer_alone() -> None:
    command = [sys.executable, "-c", "from presets.cli import main; main()", *GET]
    words = ["--for", "trl-colocate", "--format", "json"]
    done = subprocess.run([*command, *words], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == GEMMA


def test_a_narrow_pipe_still_shows_whole_names() -> None:
    command = [sys.executable, "-c", "from presets.cli import main; main()", "list"]
    environment = {"COLUMNS": "20", "PATH": "", "FORCE_COLOR": ""}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert all(p.name in done.stdout and p.summary in done.stdout for p in presets.find())


def test_the_version_is_told() -> None:
    assert run("--version").stdout.startswith("presets, version ")
