"""Numbers that a user types."""

from __future__ import annotations


def number(text: str) -> float:
    """Number of a text in the digits 0 to 9; `nan` and `inf` are numbers too.

    Raises:
        ValueError: if it is none.
    """
    try:
        if text.isascii():
            return float(text)
    except ValueError:
        pass
    raise ValueError(f"{text!r} is no number in the digits 0 to 9")


def whole_number(text: str) -> int:
    """Whole number of a text in the digits 0 to 9, such as `1000000`, `1_000_000` or `1e6`.

    Raises:
        ValueError: if it is none.
    """
    value = number(text)
    if not value.is_integer():
        raise ValueError(f"{text!r} is no whole number")
    # A float holds whole numbers beyond 2**53 only in steps.
    return int(text) if text.strip().lstrip("+-").replace("_", "").isdigit() else int(value)
