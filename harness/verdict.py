"""The verdict of a cell, from two runs and what its claim declared. Pure: no I/O, no engine."""

import re
from typing import Literal, NamedTuple

from harness.outcome import Outcome
from harness.reference import Parity
from presets.schema import Claim, Failure

Verdict = Literal["needed", "unneeded", "excluded", "broken", "wrong-failure", "blocked", "unknown"]
"""design.md section 2, and ``excluded``: the preset breaks this checkpoint, as declared, and its
condition does not match it."""


class Side(NamedTuple):
    """One of the two runs of a cell; ``parity`` is None when the engine did not answer."""

    outcome: Outcome
    parity: Parity | None

    @property
    def right(self) -> bool:
        return self.outcome.ok and self.parity is not None and self.parity.ok


def judge(
    claim: Claim, control: Side, treatment: Side, *, matched: bool, answered: bool = True
) -> tuple[Verdict, str]:
    """The verdict and, unless it is the plain one, one line that says why.

    ``matched``: the preset's condition holds for the checkpoint, and no longer for a repaired one.
    ``answered``: the treatment's text holds the claim's ``answer`` (True where it has none).
    """
    for name, side, declared in (
        ("control", control, claim.control),
        ("treatment", treatment, claim.treatment),
    ):
        if side.outcome.blocked and not _as_declared(side.outcome, declared):
            return "blocked", f"{name}: {side.outcome.blocked}"
    if claim.expected == "excluded":
        return _judge_excluded(claim, control, treatment, matched)
    if not treatment.right:
        return "broken", f"treatment {_what(treatment)}"
    if not answered:
        return "broken", f"treatment: {treatment.outcome.text!r} lacks {claim.answer!r}"
    if control.right:
        return "unneeded", "the control is right too"
    if control.outcome.ok:
        if claim.control != "wrong":
            return "wrong-failure", f"control {_what(control)}, declared: {_say(claim.control)}"
    elif not _as_declared(control.outcome, claim.control):
        return "wrong-failure", f"control {_what(control)}, declared: {_say(claim.control)}"
    if not matched:
        return (
            "broken",
            "the preset's `when` does not match this checkpoint, or still does once it is repaired",
        )
    return "needed", ""


def _judge_excluded(
    claim: Claim, control: Side, treatment: Side, matched: bool
) -> tuple[Verdict, str]:
    if matched:
        return "broken", "the preset's `when` matches a checkpoint that the preset breaks"
    if not (
        control.right if claim.control == "ok" else _as_declared(control.outcome, claim.control)
    ):
        return "wrong-failure", f"control {_what(control)}, declared: {_say(claim.control)}"
    if not _as_declared(treatment.outcome, claim.treatment):
        return "wrong-failure", f"treatment {_what(treatment)}, declared: {_say(claim.treatment)}"
    return "excluded", ""


def _as_declared(outcome: Outcome, declared: Failure | str) -> bool:
    return (
        isinstance(declared, Failure)
        and not outcome.ok
        and outcome.stage == declared.stage
        and re.search(declared.error, outcome.error or "", re.DOTALL) is not None
    )


def _what(side: Side) -> str:
    if not side.outcome.ok:
        first = (side.outcome.error or "").strip().splitlines()[0][:200]
        return f"failed at {side.outcome.stage}: {first}"
    if side.parity is None or side.right:
        return "started and answered"
    if not side.parity.tokens_equal:
        return "answered other tokens than the reference"
    return f"is off the reference by {side.parity.max_logprob_diff}"


def _say(declared: Failure | str) -> str:
    if isinstance(declared, Failure):
        return f"{declared.stage}, /{declared.error}/"
    return declared
