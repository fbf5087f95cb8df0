"""When the check and the engine agree."""

import pytest

from harness.agreement import Agreement


@pytest.mark.parametrize(
    ("verdict", "loads", "repaired", "agrees"),
    [
        ("loads", True, None, True),
        ("loads", False, None, False),
        ("fault", False, None, True),
        ("fault", True, None, False),
        ("preset", False, True, True),
        ("preset", False, False, False),
        ("preset", True, True, False),
        ("unknown", True, None, True),
        ("unknown", False, None, True),
    ],
)
def test_agreement_of_a_damaged_one(
    verdict: str, loads: bool, repaired: bool | None, agrees: bool
) -> None:
    assert Agreement("f", "d", verdict, "c", loads, repaired, "").agrees == agrees


@pytest.mark.parametrize(
    ("verdict", "loads", "agrees"),
    [
        ("loads", True, True),
        ("unknown", True, False),
        ("fault", True, False),
        ("loads", False, False),
    ],
)
def test_a_healthy_one_must_be_reported_to_load(verdict: str, loads: bool, agrees: bool) -> None:
    assert Agreement("f", "", verdict, "c", loads, None, "").agrees == agrees
