"""The comparison of an engine run with the reference."""

from harness.outcome import Outcome, Reference, Step
from harness.reference import TOLERANCE, compare


def steps(*tokens, shift=0.0):
    return [Step(t, {str(t): -0.1 + shift, str(t + 1): -2.0 + shift}) for t in tokens]


def run(*tokens, shift=0.0):
    return Outcome(True, steps=steps(*tokens, shift=shift))


REFERENCE = Reference(steps(5, 6, 7), prompt=[1])


def test_equal():
    parity = compare(run(5, 6, 7), REFERENCE, "float32")
    assert parity.ok
    assert parity.tokens_equal
    assert parity.max_logprob_diff == 0.0


def test_logprobs_beyond_the_tolerance():
    parity = compare(run(5, 6, 7, shift=2 * TOLERANCE["float32"]), REFERENCE, "float32")
    assert not parity.ok
    assert parity.tokens_equal


def test_another_token():
    assert not compare(run(5, 9, 7), REFERENCE, "float32").ok
    assert not compare(run(5, 9, 7), REFERENCE, "bfloat16").ok


def test_too_few_tokens():
    assert not compare(run(5, 6), REFERENCE, "float32").ok


def test_not_a_number_is_never_right():
    ours = Outcome(True, steps=[Step(s.token, {**s.logprobs, "9": None}) for s in steps(5, 6, 7)])
    for dtype in TOLERANCE:
        parity = compare(ours, REFERENCE, dtype)
        assert not parity.ok
        assert parity.max_logprob_diff is None


VECTOR = Reference([], [1], vector=[0.6, 0.8])


def embedding(*values):
    return Outcome(True, vector=list(values))


def test_vectors():
    assert compare(embedding(0.6, 0.8), VECTOR, "float32").ok
    off = compare(embedding(0.6, 0.81), VECTOR, "float32")
    assert not off.ok
    assert off.max_logprob_diff == 0.01
    for other in (embedding(0.8, 0.6), embedding(0.6), embedding(0.6, None), Outcome(True)):
        assert not compare(other, VECTOR, "float32").ok


def test_long_vectors_are_compared_relative_to_their_length():
    wanted = Reference([], [1], vector=[600.0, 800.0])
    assert compare(embedding(600.0, 800.5), wanted, "float32").ok
    assert not compare(embedding(600.0, 802.0), wanted, "float32").ok


def test_a_near_tie_passes_in_bfloat16_only():
    tie = Reference([Step(5, {"5": -0.70, "6": -0.75})], prompt=[1])
    ours = Outcome(True, steps=[Step(6, {"6": -0.70, "5": -0.75})])
    assert compare(ours, tie, "bfloat16").ok
    assert not compare(ours, tie, "float32").ok
