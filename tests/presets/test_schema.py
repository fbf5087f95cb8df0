"""The shipped JSON Schemas, and the shipped data against the structs they come from."""

import json
import sys
from pathlib import Path

import pytest

from presets import consumer_names, names
from presets.lint import SCHEMAS, schema_text, shipped, stale_schemas
from presets.registry import DATA
from presets.validate import read_consumer, read_preset


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_shipped_schema_is_the_generated_one(name: str) -> None:
    assert (DATA / name).read_text(encoding="utf-8") == schema_text(name)


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_schema_is_closed(name: str) -> None:
    schema = json.loads(schema_text(name))
    objects = [d for d in schema["$defs"].values() if d["type"] == "object"]
    assert objects
    assert all(d["additionalProperties"] is False for d in objects)


def test_a_stale_schema_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys.modules["presets.lint"], "DATA", tmp_path)
    assert len(stale_schemas()) == len(SCHEMAS)


@pytest.mark.parametrize("path", shipped(), ids=lambda p: p.stem)
def test_every_shipped_file_is_valid(path: Path) -> None:
    read = read_consumer if path.parent.name == "consumers" else read_preset
    assert read(path).name == path.stem


def test_the_files_are_those_of_the_registry() -> None:
    assert [p.stem for p in shipped()] == names() + consumer_names()
