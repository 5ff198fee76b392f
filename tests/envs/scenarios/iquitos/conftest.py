"""The skies of several years, which take a second each."""

import pytest

from envs.scenarios.iquitos.series import Weather, calendar, weather

YEARS = range(8)


@pytest.fixture(scope="package")
def skies() -> dict[int, Weather]:
    """Weather by year."""
    return {year: weather(year, calendar(year)) for year in YEARS}
