"""Every form, read back by the program that takes it: its own parser, from its own wheel."""

import ast
import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from presets import KwargsError, find
from presets.registry import consumer, consumer_names, default_vllm
from presets.render import render
from presets.tree import leaves

pytestmark = pytest.mark.engine
PARSERS = Path(__file__).parents[1] / "support" / "consumer_parsers.py"
HYDRA = ["hydra-core==1.3.2", "omegaconf==2.3.0", "antlr4-python3-runtime==4.9.3"]
WHEELS: dict[str, list[str]] = {
    "verl": ["verl==0.9.1", *HYDRA],
    "nemo-rl": HYDRA,
    "skyrl": ["skyrl==0.4.0", *HYDRA],
    "ms-swift": ["ms-swift==4.6.0"],
    "llama-factory": ["llamafactory==0.9.5", *HYDRA],
    "lm-eval": ["lm-eval==0.4.13"],
    "inspect-ai": ["inspect-ai==0.3.285"],
}
EUROEVAL = ["euroeval==18.3.0"]
READ_ONLY = ("skyrl", "euroeval")
"""Not imported; they ask for a newer Python."""
NASTY: list[dict[str, Any]] = [
    {
        "hf_overrides": {
            "text": 'it\'s "q" \\ $HOME `x`, {y}: [z] # c = d',
            "ends": "a\\",
            "like": ["80m", "1e3", "no", "null", "0x1F", "12:30:00", "2020-01-01", "~", ""],
            "small": 1e-05,
            "nested": {"list": [1, 2.5, True, False, -3, "größe"], "empty": [], "none": {}},
        },
        "max_model_len": 64,
        "gpu_memory_utilization": 0.25,
        "dtype": "float32",
        "enforce_eager": True,
    },
    {"limit_mm_per_prompt": {"image": 0, "video": 0}, "enable_prefix_caching": False},
    {"hf_overrides": {"rope": None}},
]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Installs a program's wheel into a folder of its own, without what would not fit here."""

    def install(name: str) -> Path:
        folder: Path = tmp_path_factory.mktemp(name)
        uv = shutil.which("uv")
        assert uv, "this test needs uv, which README's first command installs"
        options = [] if name == "inspect-ai" else ["--no-deps"]  # it needs nothing that is large
        options += ["--python-version", "3.12"] if name in READ_ONLY else []
        subprocess.run(
            [
                uv,
                "pip",
                "install",
                "--quiet",
                "--target",
                folder,
                *options,
                *(WHEELS.get(name) or EUROEVAL),
            ],
            check=True,
            cwd=folder,
            env={**os.environ, "UV_EXCLUDE_NEWER": "2026-11-30", "UV_PYTHON": sys.executable},
        )
        return folder

    return install


def read_back(name: str, folder: Path, texts: list[str]) -> list[Any]:
    done = subprocess.run(
        [sys.executable, str(PARSERS), name, str(folder)],
        input=json.dumps(texts),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return list(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def parser() -> Any:
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    return AsyncEngineArgs.add_cli_args(FlexibleArgumentParser())


def stated(parser: Any, words: list[str]) -> dict[str, Any]:
    """What words of vllm serve say: where it differs from what no word at all gives."""
    bare = vars(parser.parse_args([]))
    return {k: v for k, v in vars(parser.parse_args(words)).items() if v != bare[k]}


def same(found: Any, asked: Any) -> bool:
    """Config objects fill in more than they are given."""
    if dataclasses.is_dataclass(found) and isinstance(asked, dict):
        return all(same(getattr(found, key), value) for key, value in asked.items())
    if isinstance(asked, dict) and isinstance(found, dict):
        return found.keys() == asked.keys() and all(same(found[k], v) for k, v in asked.items())
    return bool(found == asked)


def cases(name: str) -> tuple[list[dict[str, Any]], list[str]]:
    """A preset's kwargs for every set of keys, and texts that are easily misread, in its form."""
    version = default_vllm()
    presets = [dict(p) for p in find(vllm=version, trust_remote_code=True) if p.vllm == version]
    kinds = {str([path for path, _ in leaves(kwargs)]): kwargs for kwargs in presets}
    asked, texts = [], []
    for kwargs in [*kinds.values(), *NASTY]:
        try:
            texts.append(render(kwargs, version, consumer(name)))
        except KwargsError:
            assert kwargs == NASTY[-1], f"{name} cannot say {kwargs}"
            continue
        asked.append(kwargs)
    return asked, texts


@pytest.mark.parametrize("name", WHEELS)
def test_the_programs_own_parser_reads_the_same_kwargs(name: str, wheels: Any, parser: Any) -> None:
    asked, texts = cases(name)
    assert len(asked) > 20
    read = read_back(name, wheels(name), texts)
    for kwargs, text, said in zip(asked, texts, read, strict=True):
        found = stated(parser, said) if isinstance(said, list) else said
        found.pop("pretrained", None)
        assert same(found, kwargs), f"{text}: {found}"


def test_vllm_reads_the_same_kwargs_from_its_config_file(parser: Any, tmp_path: Path) -> None:
    asked, texts = cases("vllm-serve-yaml")
    for kwargs, text in zip(asked, texts, strict=True):
        (tmp_path / "config.yaml").write_text(text)
        found = stated(parser, ["--config", str(tmp_path / "config.yaml")])
        assert same(found, kwargs), f"{text}: {found}"


def test_the_rest_is_read_as_its_language_says() -> None:
    import yaml

    asked, texts = cases("prime-rl")
    assert [tomllib.loads(text)["inference"]["vllm"] for text in texts] == asked
    asked, texts = cases("ray-serve-llm")
    assert [yaml.safe_load(text)["engine_kwargs"] for text in texts] == asked
    asked, texts = cases("ray-data-llm")
    assert [eval(f"dict({text})")["engine_kwargs"] for text in texts] == asked


def test_a_profile_says_who_read_its_form() -> None:
    """Nothing is said to be read back that the tests above, or those of ``render``, do not."""
    read = {*WHEELS, "vllm-serve", "vllm-serve-yaml", "trl-vllm-serve", "ray-serve-llm"} - {
        "nemo-rl"
    }
    assert {name for name in consumer_names() if consumer(name).parsed} == read


def test_euroevals_aliases_are_presets_here(wheels: Any) -> None:
    source = (wheels("euroeval") / "euroeval/benchmark_modules/vllm.py").read_text()
    text = re.search(r"_ARCHITECTURE_ALIASES: dict\[str, str\] = (\{.*?\})", source, re.DOTALL)
    assert text
    aliases = ast.literal_eval(text[1])
    assert aliases
    for declared, loaded in aliases.items():
        assert [
            preset.name
            for preset in find(vllm=default_vllm())
            if any(declared in condition.architectures for condition in preset.when)
            and preset.get("hf_overrides") == {"architectures": [loaded]}
        ], f"{declared} -> {loaded}"
