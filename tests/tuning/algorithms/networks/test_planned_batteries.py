"""A policy that changes nothing of the plan does what the plan does."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from envs.district import District
from envs.environments.year_cache import district
from envs.scenarios.scenario import scenario
from envs.seen import Seen
from tuning.algorithms.networks.building_kinds import BuildingKinds
from tuning.algorithms.networks.building_view import BuildingView
from tuning.algorithms.networks.planned_batteries import PlannedBatteries

SEEN = Seen(plan="yesterday")


def site_with_plan(schema: Path) -> District:
    site = district(scenario(str(schema)))
    assert site is not None
    bounds = [(-500.0, 500.0) if name == "planned_battery" else (0.0, 1.0) for name in SEEN.own] * 4 + [(0.0, 9.0)]
    owners = tuple(n for n in range(4) for _ in SEEN.own)
    return District(
        site.layout.seeing(SEEN.names(4), np.array(bounds)),
        replace(site.buildings, observations=(*site.buildings.observations, *owners, -1)),
    )


def scaled(site: District, changes: dict[tuple[int, str], float]) -> torch.Tensor:
    raw = np.array([site.layout.low])
    for (n, kind), value in changes.items():
        raw[0, site.observations_of(n)[kind]] = value
    return torch.from_numpy(site.layout.scale(raw))


def test_it_gives_the_plans_energy_and_closes_the_gap_to_its_charge(four_buildings: Path) -> None:
    site = site_with_plan(four_buildings)
    known = {(n, kind): 0.0 for n in range(3) for kind in ("planned_battery", "planned_soc", "electrical_storage_soc")}
    actions = [site.actions_of(n)["electrical_storage"] for n in range(3)]
    own = {**known, (0, "planned_battery"): 100.0, (1, "planned_soc"): 0.5, (1, "electrical_storage_soc"): 0.45}
    found = PlannedBatteries(site)(scaled(site, own))[0, actions].numpy()
    # 100 of 400 kW; a twentieth of 800 kWh with 100 kW.
    np.testing.assert_allclose(found, [0.25, 0.4, 0.0], atol=1e-5)
    far = PlannedBatteries(site)(scaled(site, {**own, (1, "planned_soc"): 1.0, (1, "electrical_storage_soc"): 0.0}))
    assert float(far[0, actions[1]]) == 1.0


def test_a_view_of_buildings_begins_with_the_plan(four_buildings: Path) -> None:
    site = site_with_plan(four_buildings)
    view = BuildingView(BuildingKinds.of(site), site)
    observations = scaled(site, {(0, "planned_battery"): -100.0})
    nothing = np.zeros((view.agents, len(view.kinds.actions)), np.float32)
    at = site.actions_of(0)["electrical_storage"]
    expected = float(PlannedBatteries(site)(observations)[0, at])
    assert view.complete(nothing, observations.numpy())[0, at] == np.float32(expected)
    changed = nothing.copy()
    changed[0] = 0.1
    assert np.isclose(view.complete(changed, observations.numpy())[0, at], expected + 0.1)
