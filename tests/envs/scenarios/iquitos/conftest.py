"""The skies of several years, which take a second each."""

import pytest

from envs.scenarios.iquitos.calendar import calendar
from envs.scenarios.iquitos.weather import Weather, weather

YEARS = range(8)


@pytest.fixture(scope="package")
def skies() -> dict[int, Weather]:
    """Weather by year."""
    return {year: weather(year, calendar(year)) for year in YEARS}
