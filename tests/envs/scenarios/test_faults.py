"""All faults are told in one message, one line each."""

import pytest

from common.texts import printable
from envs.errors import ScenarioError
from envs.scenarios.faults import MOST, Faults, shown


def told(count: int) -> list[str]:
    faults = Faults()
    for i in range(count):
        faults.add(f"fault {i}")
    with pytest.raises(ScenarioError) as refused:
        faults.refuse()
    return str(refused.value).splitlines()


def test_no_fault_is_no_error() -> None:
    Faults().refuse()


def test_each_fault_is_one_line_and_those_beyond_twenty_are_counted() -> None:
    assert told(1) == ["fault 0"]
    assert told(MOST) == [f"fault {i}" for i in range(MOST)]
    assert told(MOST + 3) == [*(f"fault {i}" for i in range(MOST)), "and 3 more"]


def test_a_fault_is_told_once() -> None:
    faults = Faults()
    faults.add("one")
    faults.add("one")
    assert len(faults) == 1


def test_names_with_line_breaks_do_not_break_the_line() -> None:
    assert printable("a\nb\x1b[31m\ud800c") == "a\\nb\\x1b[31m\\ud800c"
    assert printable("Gebäude 1") == "Gebäude 1"


def test_values_are_shown_as_they_stand_in_the_file() -> None:
    assert [shown(value) for value in (None, True, 5, 1e30, "5", [1], {})] == [
        "null", "true", "5", "1e+30", "'5'", "a list", "an object",
    ]  # fmt: skip
    assert len(shown("x" * 1000)) == 60
