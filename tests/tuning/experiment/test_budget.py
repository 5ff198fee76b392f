"""A budget is a time or a number of steps, and anything else is refused in a line."""

import pytest

from common.errors import UsageError
from tuning.experiment.budget import Budget


@pytest.mark.parametrize(
    ("text", "amount", "unit"),
    [
        ("90s", 90.0, "seconds"),
        ("30m", 1800.0, "seconds"),
        ("1.5h", 5400.0, "seconds"),
        ("2d", 172_800.0, "seconds"),
        ("1000", 1e3, "steps"),
        ("500k", 5e5, "steps"),
        ("20M", 2e7, "steps"),
        ("1G", 1e9, "steps"),
    ],
)
def test_small_letters_are_times_and_large_ones_steps(text: str, amount: float, unit: str) -> None:
    assert Budget.parse(text) == Budget(amount, unit)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["m", "0", "0h", "-5m", "5 m", "5x", "1e9", "\uff15m", "1.m", "nan", "9" * 16])
def test_other_texts_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match=r"--budget .*(as in 90s, 30m|above 0)"):
        Budget.parse(text)


def test_what_it_is_in_words() -> None:
    assert Budget.parse("90m").shown == "1:30:00 of time"
    assert Budget.parse("2M").shown == "2,000,000 steps"
