"""Charging sessions keep to the figures of the site."""

import itertools
from functools import lru_cache

import numpy as np
import pytest

from envs.scenarios.iquitos import SITES
from envs.scenarios.iquitos.site import CLOSING_HOUR, SocketType
from envs.scenarios.iquitos.vehicles import Session, sessions


@lru_cache
def all_sessions(name: str) -> dict[tuple[SocketType, int], list[Session]]:
    """Sessions of each socket of a site in one year, by its kind and number."""
    site = SITES[name]
    return {(kind, n): sessions(site, kind, n, 1) for kind in site.sockets for n in range(kind.count)}


@pytest.mark.parametrize(
    ("name", "per_day", "kwh"), [("iquitos", (350, 370), (850, 1000)), ("iquitos-38", (125, 145), (340, 400))]
)
def test_sessions_and_energy_a_day(name: str, per_day: tuple[float, float], kwh: tuple[float, float]) -> None:
    visits = all_sessions(name)
    count = sum(map(len, visits.values())) / 365
    energy = sum((v.target_soc - v.arrival_soc) * kind.battery_kwh for (kind, _), some in visits.items() for v in some) / 365
    assert per_day[0] < count < per_day[1]
    assert kwh[0] < energy < kwh[1]


@pytest.mark.parametrize("name", SITES)
def test_sessions_of_a_socket_leave_a_row_between_them_and_end_by_closing(name: str) -> None:
    for visits in all_sessions(name).values():
        for before, after in itertools.pairwise(visits):
            assert after.start > before.end
        for visit in visits:
            assert visit.start < visit.end <= visit.start // 24 * 24 + CLOSING_HOUR
            assert 0.0 <= visit.arrival_soc < visit.target_soc <= 1.0


def test_stays_are_short_at_the_38_sockets_and_four_in_ten_long_at_the_128() -> None:
    lengths = {
        name: np.array([v.end - v.start for visits in all_sessions(name).values() for v in visits if v.start % 24 <= 14])
        for name in SITES
    }
    assert set(lengths["iquitos-38"]) == {1, 2}
    assert np.mean(lengths["iquitos"] >= 4) == pytest.approx(0.4, abs=0.02)
    assert lengths["iquitos"].max() == 8
