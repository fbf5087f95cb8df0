"""Reading data files: every mistake is reported, with its path, and all of them at once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from presets import DataError
from presets.validate import read_consumer, read_preset

Write = Callable[..., Path]


def problems(path: Path) -> list[str]:
    with pytest.raises(DataError) as caught:
        read_preset(path)
    return caught.value.problems


def test_the_sample_file_is_valid(demo_toml: Write) -> None:
    assert read_preset(demo_toml()).name == "demo"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('family = "demo"', 'family = "demo"\ncolour = 1', "colour: unknown field"),
        ('family = "demo"\n', "", "family: missing"),
        ('family = "demo"', 'family = "De mo"', "family: "),
        ('name = "demo"', 'name = "other"', "name: 'other' is not the file's name 'demo'"),
        ('stage = "load"', 'stage = "lunch"', "claims[0].control"),
        ("does not load", "does not (load", "claims[0].control.error: no regular expression"),
        ('vllm = ">=0.19.0"', 'vllm = "0.19.0"', "vllm: "),
        ('vllm = ">=0.19.0"', 'vllm = ">=x"', "vllm: '>=x' is not a version range"),
        (
            "architectures = ",
            "model_type = ",
            "kwargs[0].engine: holds none of essential ['hf_overrides.architectures']",
        ),
        ('family = "demo"', 'family = "demo"\nrepair = "Copy it."', "kwargs, repair: give one"),
        (
            'essential = ["hf_overrides.architectures"]\n',
            "",
            "essential: names what the kwargs exist for",
        ),
        ('family = "demo"', 'family = "demo"\nunproven = "too large"', "unproven: why no claim"),
        (
            'checkpoint = "demo"',
            'checkpoint = "org/demo"\nmemory_gib = 1',
            "unproven: why no claim",
        ),
        (
            'checkpoint = "demo"',
            'checkpoint = "org/demo"',
            "claims[0].memory_gib: a Hub checkpoint needs",
        ),
        ('checkpoint = "demo"', 'checkpoint = "demo"\ngpus = 2', "claims[0].memory_gib, gated"),
        ('checkpoint = "demo"', 'checkpoint = "demo"\nprompt = "Hi"', "claims[0].prompt, answer"),
        (
            '{ stage = "load", error = "does not load" }',
            '"ok"',
            "claims: none says that the preset is needed",
        ),
    ],
)
def test_a_mistake_is_reported_with_its_path(
    demo_toml: Write, old: str, new: str, problem: str
) -> None:
    found = problems(demo_toml((old, new)))
    assert any(p.startswith(f"demo.toml: {problem}") for p in found), found


def test_a_claim_without_a_source_is_refused(demo_toml: Write) -> None:
    path = demo_toml()
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[-1].startswith("sources")
    path.write_text("\n".join([*lines[:-1], "sources = []"]), encoding="utf-8")
    assert problems(path)[0].startswith("demo.toml: claims[0].sources: ")


def test_a_preset_that_is_never_needed_is_refused(demo_toml: Write) -> None:
    extra = 'treatment = { stage = "load", error = "breaks it all" }\ncheckpoint = "demo"'
    found = problems(demo_toml(('checkpoint = "demo"', extra)))
    assert any("none says that the preset is needed" in p for p in found)


def test_a_fault_has_a_repair_and_no_kwargs(demo_toml: Write) -> None:
    kwargs = '[[kwargs]]\nvllm = ">=0.19.0"\nengine.hf_overrides.architectures = ["BertModel"]\n'
    essential = ('essential = ["hf_overrides.architectures"]', 'repair = "Copy the file."')
    assert read_preset(demo_toml(essential, (kwargs, ""))).repair == "Copy the file."


def test_all_mistakes_are_reported_at_once(demo_toml: Write) -> None:
    found = problems(
        demo_toml(
            ('family = "demo"', "family = 3"),
            ('why = "it is a test"', "reason = 1"),
            ('stage = "load"', 'stage = "lunch"'),
        )
    )
    text = "\n".join(found)
    for where in ("family", "when[0].reason", "when[0].why", "claims[0].control"):
        assert f"demo.toml: {where}" in text


BLOCK = '[[kwargs]]\nvllm = "{}"\nengine.hf_overrides.architectures = ["BertModel"]\n\n[[claims]]'


@pytest.mark.parametrize(
    ("first", "second", "problem"),
    [
        (">=0.19.0,<0.24.0", ">=0.25.0", "kwargs: no block for >=0.24.0,<0.25.0"),
        (">=0.19.0,<0.24.0", ">=0.23.0", "kwargs: >=0.19.0,<0.24.0 and >=0.23.0 overlap"),
        (">=0.20.0,<0.24.0", ">=0.24.0", "kwargs: no block for >=0.19.0,<0.20.0"),
        (">=0.18.0,<0.24.0", ">=0.24.0", "reaches outside the window"),
        (">=0.19.0,<0.24.0", ">=0.24.0,<0.28.0", "kwargs: no block for >=0.28.0"),
    ],
)
def test_kwargs_must_cover_the_window_once(
    demo_toml: Write, first: str, second: str, problem: str
) -> None:
    path = demo_toml(
        ('[[kwargs]]\nvllm = ">=0.19.0"', f'[[kwargs]]\nvllm = "{first}"'),
        ("[[claims]]", BLOCK.format(second)),
    )
    assert any(problem in p for p in problems(path))


def test_claims_about_the_same_runs_must_not_overlap(demo_toml: Write) -> None:
    path = demo_toml()
    text = path.read_text(encoding="utf-8")
    path.write_text(text + text[text.index("[[claims]]") :], encoding="utf-8")
    assert any("claims: >=0.19.0 and >=0.19.0 overlap for demo" in p for p in problems(path))


def test_what_is_no_toml_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "demo.toml"
    path.write_text("name = ", encoding="utf-8")
    assert problems(path)[0].startswith("demo.toml: not TOML: ")
    path.write_bytes(b'name = "\xff"')
    assert problems(path)[0].startswith("demo.toml: not TOML: ")


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    assert problems(tmp_path / "none.toml")[0].endswith("none.toml: No such file or directory")


def test_a_key_guarded_twice_is_reported(tmp_path: Path) -> None:
    guard = (
        '[[guards]]\nkey = "seed"\nreason = "r"\nfailure = "silent"\ninstead = "i"\n'
        'evidence = ["https://x.example/1"]\n'
    )
    path = tmp_path / "demo.toml"
    path.write_text(
        'name = "demo"\nsummary = "s"\nversions = "1"\nform = "flags"\nhow = "h"\n'
        f'sources = ["https://x.example/1"]\n{guard}{guard}',
        encoding="utf-8",
    )
    with pytest.raises(DataError, match=r"guards\[1\].key: 'seed' is guarded twice"):
        read_consumer(path)


def test_an_unknown_field_does_not_hide_the_rest(demo_toml: Write) -> None:
    found = problems(demo_toml(('family = "', 'nonsense = 1\naliases = ["A b"]\nfamily = "')))
    assert any("nonsense" in p for p in found)
    assert any("aliases[0]" in p for p in found)
    found = problems(
        demo_toml(('family = "', 'nonsense = 1\nfamily = "'), ("control", "x_control"))
    )
    assert any("x_control" in p for p in found)
    only_unknown = demo_toml(('family = "', 'nonsense = 1\nfamily = "'))
    renamed = only_unknown.with_name("other.toml")
    renamed.write_text(only_unknown.read_text(encoding="utf-8"), encoding="utf-8")
    found = problems(renamed)
    assert any("nonsense" in p for p in found)
    assert any("is not the file's name" in p for p in found)


def test_two_tasks_on_one_checkpoint_do_not_clash(demo_toml: Write) -> None:
    def file(*tasks: str) -> Path:
        path = demo_toml()
        head, claim = path.read_text(encoding="utf-8").split("[[claims]]")
        made = "".join(f'[[claims]]{claim.rstrip()}\ntask = "{task}"\n' for task in tasks)
        path.write_text(head + made, encoding="utf-8")
        return path

    assert read_preset(file("embed", "classify")).claims
    assert any("overlap" in p for p in problems(file("embed", "embed")))
