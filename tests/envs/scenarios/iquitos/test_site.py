"""Parameters of the generated sites."""

from common.units import YEAR
from envs.scenarios.iquitos.site import ARRIVAL_FACTOR, CLOSING_HOUR, ENERGY_PRICE_OFF_PEAK, ENERGY_PRICE_PEAK, ROWS, SITES


def test_sockets_of_the_sites_are_those_that_their_documentation_counts() -> None:
    assert sum(kind.count for kind in SITES["iquitos"].sockets) == 128
    assert sum(kind.count for kind in SITES["iquitos-38"].sockets) == 38


def test_arrivals_rise_to_the_evening_and_end_before_closing() -> None:
    factors = list(ARRIVAL_FACTOR.values())
    assert factors == sorted(factors)
    assert factors[-1] == 1.0
    assert max(ARRIVAL_FACTOR) < CLOSING_HOUR


def test_a_year_has_a_row_more_than_steps_and_peak_hours_cost_more() -> None:
    assert ROWS == YEAR + 1
    assert ENERGY_PRICE_PEAK > ENERGY_PRICE_OFF_PEAK
