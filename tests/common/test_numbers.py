"""Numbers that a user types are those that are meant, or refused."""

import math

import pytest

from common.numbers import number, whole_number


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e6", 1_000_000), ("1_000_000", 1_000_000), (" 7 ", 7), ("-3", -3), ("2.0", 2), ("9007199254740993", 2**53 + 1)],
)
def test_a_whole_number_is_typed_in_several_ways(text: str, value: int) -> None:
    assert whole_number(text) == value
    assert isinstance(whole_number(text), int)


@pytest.mark.parametrize("text", ["1.5", "1e-3", "nan", "inf", "1e400", "many", "", "\uff11", "1\u0660", "0x10"])
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no (whole )?number"):
        whole_number(text)


def test_a_number_is_typed_in_ascii() -> None:
    assert number("1e-4") == 1e-4
    assert math.isnan(number("nan"))
    with pytest.raises(ValueError, match="digits 0 to 9"):
        number("\uff11.5")
