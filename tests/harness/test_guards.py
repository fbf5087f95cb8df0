"""What a training run shows of a guard, and that the committed runs are those of the profile."""

import msgspec
import pytest

from harness.guards import Effect, Guarded, effect
from harness.training import Trained
from presets.registry import DATA, consumer

RECORDS = sorted((DATA / "guards").glob("*.jsonl"))


@pytest.mark.parametrize(
    ("trained", "seen"),
    [
        (Trained(differences=[1e-5, 0.0], after=1e-4), "harmless"),
        (Trained(differences=[1e-5, 0.2], after=1e-4), "silent"),
        (Trained(differences=[1e-5], after=0.2), "silent"),
        (Trained(differences=[None], after=1e-5), "silent"),
        (Trained(differences=[1e-5], after=None), "silent"),
        (Trained(differences=[], after=None), "silent"),
        (Trained("construct", "ValueError: x"), "crash"),
        (Trained("train", "ValueError: x"), "crash"),
        (Trained("died", "the trainer killed by SIGSEGV"), "crash"),
        (Trained("hang", "the trainer still running after 150 s"), "hang"),
    ],
)
def test_the_effect(trained: Trained, seen: Effect) -> None:
    assert effect(trained) == seen


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_the_committed_runs_are_those_of_the_profile_and_held(path) -> None:
    profile = consumer(path.stem)
    found = [msgspec.json.decode(line, type=Guarded) for line in path.read_bytes().splitlines()]
    assert all(one.held for one in found)
    expected = {(g.key, str(g.trial), g.failure) for g in profile.guards if g.trial}
    expected |= {(one.key, str(one.trial), "harmless") for one in profile.harmless}
    assert {(one.key, str(one.trial), one.said) for one in found} == expected


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_guard_is_measured_where_a_run_or_the_notes_on_it_say_so(path) -> None:
    for guard in consumer(path.stem).guards:
        assert bool(guard.trial) != bool(guard.untried), guard.key
        assert guard.measured or not guard.trial, guard.key


def test_there_are_some() -> None:
    assert [path.stem for path in RECORDS] == ["trl-colocate"]
