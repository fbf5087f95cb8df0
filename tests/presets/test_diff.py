"""What two recorded vLLM versions have and have not."""

import pytest

from presets import UnknownNameError
from presets.arguments import recorded
from presets.diff import Changes, diff_engines
from presets.engines import engine


def test_gained_lost_and_renamed_arguments_account_for_every_difference() -> None:
    found = diff_engines("0.13.0", "0.32.0").arguments
    before, after = recorded("0.13.0").keys(), recorded("0.32.0").keys()
    to = {name for names in found.renamed.values() for name in names}
    assert {*found.gained, *to} >= after - before
    assert {*found.lost, *found.renamed} == before - after
    assert not {*found.gained} & {*found.lost}
    assert "language_model_only" in found.gained
    assert found.renamed
    assert not {*found.renamed} & {*found.lost}


def test_gained_and_lost_architectures() -> None:
    found = diff_engines("0.13.0", "0.32.0").architectures
    assert "Gemma4ForCausalLM" in found.gained
    assert "MantisForConditionalGeneration" in found.lost
    known = engine("0.32.0").architectures
    for old, new in found.renamed.items():
        assert old not in known
        assert all(name in known for name in new)


def test_changed_defaults_show_both_sides() -> None:
    found = diff_engines("0.13.0", "0.32.0")
    for name, (before, after) in found.defaults.items():
        assert recorded("0.13.0")[name].default == before
        assert recorded("0.32.0")[name].default == after
        assert before != after
    assert found.defaults


def test_a_version_has_no_difference_to_itself() -> None:
    found = diff_engines("0.32.0", "0.32.0")
    assert not found.defaults
    for changes in (found.arguments, found.architectures):
        assert changes == Changes([], [], {})


def test_there_and_back_swap_what_came_and_went() -> None:
    there, back = diff_engines("0.19.1", "0.24.0"), diff_engines("0.24.0", "0.19.1")
    ours, theirs = there.architectures, back.architectures
    assert {*ours.gained, *(n for to in ours.renamed.values() for n in to)} == {
        *theirs.lost,
        *theirs.renamed,
    }


def test_what_was_not_recorded_is_refused_with_what_was() -> None:
    with pytest.raises(UnknownNameError, match=r"0\.14\.0 was not recorded; .*0\.13\.0"):
        diff_engines("0.14.0", "0.32.0")
