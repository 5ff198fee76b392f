"""The uncontrolled run, with which rewards are compared."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from envs.objective.reference import Reference, cached_reference
from envs.objective.series import Run
from envs.scenarios.scenario import scenario
from tests.envs.objective.by_hand import RUN, SERIES, SESSIONS, TARIFF


@pytest.fixture
def reference() -> Reference:
    return Reference(RUN, SERIES, SESSIONS, TARIFF)


def test_means_are_those_of_the_whole_year(reference: Reference) -> None:
    assert reference.scale.emission_kg == 9.0 / 4
    assert reference.scale.cost == (27.0 + 60.0) / 4
    assert reference.scale.pv_kwh == 6.0 / 4
    assert reference.scale.ramp_kwh == (0.0 + 1.0 + 3.0 + 0.0) / 4
    assert reference.scale.required_kwh == pytest.approx(20.0 / 4)


def test_hourly_figures_add_up_over_the_buildings(reference: Reference) -> None:
    emission, cost, solar, net = reference.hourly.T
    assert emission.tolist() == [1.5, 1.5, 3.0, 3.0]
    assert cost.tolist() == [3.0, 6.0, 12.0, 6.0]
    assert solar.tolist() == [3.0, 2.0, 0.0, 0.0]
    assert np.array_equal(net, reference.net_kwh)
    assert net.tolist() == [2.0, 3.0, 6.0, 6.0]


def test_a_window_knows_the_hour_before_it_and_forgets_earlier_peaks(reference: Reference) -> None:
    assert reference.window(0, 2).previous_net_kwh is None
    later = reference.window(2, 2)
    assert later.previous_net_kwh == 3.0
    # At 19 h the import of 6 kW is a new peak of half a month.
    assert later.cost.tolist() == [12.0 + 10.0 * 6.0 / 2, 6.0]
    assert later.month_share.tolist() == [0.5, 0.5]


def test_the_total_of_a_window_is_the_sum_of_its_steps(reference: Reference) -> None:
    window = reference.window(0, 4)
    steps = [window.step(i) for i in range(4)]
    for name, total in vars(window.total).items():
        assert total == pytest.approx(sum(getattr(step, name) for step in steps)), name


def test_energy_is_missing_in_the_hour_in_which_a_vehicle_leaves(reference: Reference) -> None:
    assert reference.window(0, 4).missing_kwh.tolist() == [0.0, 0.0, 0.0, 1.5]


def test_hours_are_dear_by_the_demand_charge_or_else_by_their_price(reference: Reference) -> None:
    assert reference.dear.tolist() == [False, True, True, False, False]
    by_price = Reference(RUN, SERIES, SESSIONS, None)
    assert by_price.dear.tolist() == [False, True, True, False, False]
    flat = Reference(RUN, replace(SERIES, price=np.full((2, 5), 0.3, dtype=np.float32)), SESSIONS, None)
    assert not flat.dear.any()
    # With a demand charge its peak hours are, at any price of energy.
    cheap = Reference(RUN, replace(SERIES, price=SERIES.price[:, ::-1]), SESSIONS, TARIFF)
    assert np.array_equal(cheap.dear, reference.dear)


def test_a_year_is_simulated_once(small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUILDING_TUNER_CACHE", str(tmp_path))
    calls: list[int] = []

    def simulate() -> Run:
        calls.append(1)
        return RUN

    site = scenario(str(small_schema))
    found = [cached_reference(site, 0, SERIES, SESSIONS, simulate) for _ in range(2)]
    assert len(calls) == 1
    for name in ("net_kwh", "missing_kwh", "off_grid"):
        assert np.array_equal(getattr(found[1].run, name), getattr(RUN, name))
