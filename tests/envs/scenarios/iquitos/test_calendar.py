"""Hours, random streams and tables of generated years."""

import numpy as np
import pytest

from envs.scenarios.iquitos.calendar import autoregressive, by_day, calendar, stream, table
from envs.scenarios.iquitos.site import DAYS, ROWS


def test_a_year_begins_on_the_weekday_of_its_number_and_ends_with_the_next_years_first_hour() -> None:
    for year in (0, 1, 8):
        cal = calendar(year)
        assert cal.weekday[0] == year % 7
        assert (cal.month[0], cal.hour[0]) == (cal.month[-1], cal.hour[-1]) == (0, 0)
        assert len(cal.hour) == ROWS
    assert np.array_equal(np.unique(calendar(0).month), np.arange(12))


def test_streams_of_different_names_or_years_are_independent() -> None:
    draws = [stream(*key).random() for key in ((1, "load"), (1, "wind"), (2, "load"), (1, "load", "day"))]
    assert len(set(draws)) == len(draws)
    assert stream(1, "load").random() == draws[0]


def test_an_autoregressive_series_has_its_correlation_and_unit_variance() -> None:
    series = autoregressive(np.random.default_rng(0), 50_000, 0.6)
    assert series.std() == pytest.approx(1.0, abs=0.02)
    assert np.corrcoef(series[1:], series[:-1])[0, 1] == pytest.approx(0.6, abs=0.02)


def test_daily_values_cover_all_rows_and_the_first_covers_the_last() -> None:
    spread = by_day(np.arange(DAYS))
    assert len(spread) == ROWS
    assert spread[23:25].tolist() == [0, 1]
    assert spread[-1] == 0


def test_tables_have_a_row_for_each_hour() -> None:
    assert table("mall_load_kw").shape == (24, 12)
