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
def test_agreement(verdict: str, loads: bool, repaired: bool | None, agrees: bool) -> None:
    assert Agreement("f", "d", verdict, "c", loads, repaired, "").agrees == agrees
