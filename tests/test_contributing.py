"""CONTRIBUTING.md: its example is a valid preset, and no dependency lacks its line."""

import re
import textwrap
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

from presets import lint

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()


def test_the_example_is_a_whole_preset(tmp_path):
    (example,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    path = tmp_path / "llama-causal-lm.toml"
    path.write_text(textwrap.dedent(example))
    assert lint([path]) == []


def test_every_dependency_is_justified():
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = data["project"]
    named = [
        *project["dependencies"],
        *(r for extra in project["optional-dependencies"].values() for r in extra),
        *data["dependency-groups"]["dev"],
        *data["build-system"]["requires"],
    ]
    wanted = {Requirement(r).name for r in named} - {project["name"]}
    justified = set(re.findall(r"`([\w-]+)`", TEXT.partition("## Dependencies")[2]))
    assert wanted - justified == set()


def test_every_path_it_names_exists():
    paths = set(re.findall(r"`((?:presets|harness|tests|benchmarks|\.ci)/[\w./-]*)`", TEXT))
    written = {path for path in paths if "NAME" not in path}  # NAME: the reader's own
    assert written
    assert {path for path in written if not (ROOT / path).exists()} == set()
