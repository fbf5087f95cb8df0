"""The verdict, from every combination of what two runs can do."""

import pytest

from harness.outcome import Outcome, Step
from harness.reference import Parity
from harness.verdict import Side, judge
from presets.schema import Claim, Failure

RIGHT = Side(Outcome(True, steps=[Step(1, {})]), Parity(True, True, 0.0, 1e-3))
WRONG = Side(Outcome(True, steps=[Step(2, {})]), Parity(False, False, 3.0, 1e-3))
OFF = Side(Outcome(True, steps=[Step(1, {})]), Parity(False, True, 0.5, 1e-3))
FAILED = Side(Outcome(False, "load", "ValueError: weights\nwere not initialized"), None)
CRASHED = Side(Outcome(False, "load", "killed by SIGSEGV", blocked="killed by SIGSEGV"), None)
ELSE = Side(Outcome(False, "load", "KeyError: something else"), None)
DECLARED = Failure("load", "not initialized")


def claim(control=DECLARED, treatment="ok"):
    return Claim("gemma4", ">=0.19.0", control, ["https://example.org"], treatment=treatment)


@pytest.mark.parametrize(
    ("declared", "control", "treatment", "verdict"),
    [
        (DECLARED, FAILED, RIGHT, "needed"),
        (DECLARED, RIGHT, RIGHT, "unneeded"),
        ("ok", RIGHT, RIGHT, "unneeded"),
        ("ok", FAILED, RIGHT, "wrong-failure"),
        ("wrong", WRONG, RIGHT, "needed"),
        ("wrong", OFF, RIGHT, "needed"),
        ("wrong", FAILED, RIGHT, "wrong-failure"),
        (DECLARED, WRONG, RIGHT, "wrong-failure"),
        (Failure("construct", "not initialized"), FAILED, RIGHT, "wrong-failure"),
        (Failure("load", "feature extractor"), FAILED, RIGHT, "wrong-failure"),
        (DECLARED, FAILED, FAILED, "broken"),
        (DECLARED, FAILED, WRONG, "broken"),
        (DECLARED, FAILED, OFF, "broken"),
        (DECLARED, CRASHED, RIGHT, "blocked"),
        (DECLARED, FAILED, CRASHED, "blocked"),
        (Failure("load", "killed by SIGSEGV"), CRASHED, RIGHT, "needed"),
    ],
)
def test_judge(declared, control, treatment, verdict):
    found, reason = judge(claim(declared), control, treatment, matched=True)
    assert found == verdict
    assert bool(reason) == (verdict != "needed")


def test_needed_only_where_the_condition_matches():
    verdict, reason = judge(claim(), FAILED, RIGHT, matched=False)
    assert verdict == "broken"
    assert "`when` does not match" in reason


def test_needed_only_where_the_answer_is_right():
    verdict, reason = judge(claim(), FAILED, RIGHT, matched=True, answered=False)
    assert verdict == "broken"
    assert "lacks" in reason


BREAKS = Failure("load", "not initialized")


@pytest.mark.parametrize(
    ("declared", "control", "treatment", "matched", "verdict"),
    [
        ("ok", RIGHT, FAILED, False, "excluded"),
        (DECLARED, FAILED, FAILED, False, "excluded"),
        ("ok", RIGHT, FAILED, True, "broken"),
        ("ok", RIGHT, RIGHT, False, "wrong-failure"),
        ("ok", RIGHT, ELSE, False, "wrong-failure"),
        (DECLARED, ELSE, FAILED, False, "wrong-failure"),
        ("ok", WRONG, FAILED, False, "wrong-failure"),
        ("ok", CRASHED, FAILED, False, "blocked"),
    ],
)
def test_excluded(declared, control, treatment, matched, verdict):
    assert judge(claim(declared, BREAKS), control, treatment, matched=matched)[0] == verdict
