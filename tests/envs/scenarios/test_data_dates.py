"""Dates of rows, from the months of a series."""

import numpy as np
import pytest

from envs.errors import ScenarioError
from envs.scenarios.data_dates import days_of, rows_between


def months(*runs: tuple[int, int]) -> np.ndarray:
    """Months of rows, each with its number of rows."""
    return np.concatenate([np.full(rows, month) for month, rows in runs])


# As data sets have it that call the first hour of a day the 24th of the day before.
AUTUMN = months((7, 1), (8, 744), (9, 720), (10, 100))


def test_a_date_is_the_rows_of_its_day() -> None:
    days = days_of(AUTUMN, None)
    assert rows_between("", "08-01..08-31", days) == (1, 745)  # type: ignore[arg-type]
    assert rows_between("", "07-31..08-01", days) == (0, 25)  # type: ignore[arg-type]
    assert rows_between("", "09-30..10-05", days) == (745 + 29 * 24, 1565)  # type: ignore[arg-type]


def test_years_come_from_the_start_date() -> None:
    days = days_of(months((12, 744), (1, 744), (2, 29 * 24), (3, 10)), "2023-12-01")
    assert rows_between("", "2024-01-01..2024-02-29", days) == (744, 744 + 744 + 29 * 24)  # type: ignore[arg-type]
    days = days_of(AUTUMN, "2024-08-01")
    assert rows_between("", "2024-08-01..2024-08-01", days) == (1, 25)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("month", "start", "reason"),
    [
        (months((5, 700)), None, "their months do not change"),
        (months((5, 24), (7, 744), (8, 1)), None, "month 7 follows month 5"),
        (months((5, 24), (6, 721), (7, 1)), None, "month 6 has 721 rows"),
        (months((5, 24), (6, 719), (7, 1)), None, "month 6 has 719 rows"),
        (months((5, 24), (6, 721)), None, "month 6 has 721 rows"),
        (months((1, 24), (2, 29 * 24), (3, 24)), "2023-01-31", "month 2 has 696 rows"),
        (AUTUMN, "2024-06-01", "start_date is 2024-06-01, and by the months of the series row 1 begins month 8"),
    ],
)
def test_data_that_do_not_follow_the_calendar_have_no_dates(month: np.ndarray, start: str | None, reason: str) -> None:
    assert reason in str(days_of(month, start))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("08-01", "it takes MM-DD..MM-DD"),
        ("8-1..8-2", "it takes MM-DD..MM-DD"),
        ("08-02..08-01", "the second date comes before the first"),
        ("08-01..02-30", "the data have no 02-30; they begin on 07-31 and end on 10-05"),
        ("2024-08-01..2024-08-02", "the schema has no start_date"),
    ],
)
def test_a_range_of_dates_that_cannot_be_is_refused(text: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        rows_between("--train x", text, days_of(AUTUMN, None))  # type: ignore[arg-type]


def test_a_date_that_the_data_have_twice_is_ambiguous() -> None:
    two_years = months(
        *[(month % 12 + 1, 24 * (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month % 12]) for month in range(24)]
    )
    with pytest.raises(ScenarioError, match="the data have 03-01 2 times, from rows 1416 and 10176 on"):
        rows_between("--train x", "03-01..03-02", days_of(two_years, None))  # type: ignore[arg-type]
