"""The uncontrolled run is the same on both backends, and reports how far it is."""

from pathlib import Path

import numpy as np

from envs.batch_backend.one_copy import OneCopy
from envs.batch_backend.tables import Tables
from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.environments.uncontrolled_run import uncontrolled_run
from envs.environments.year_cache import year_reference
from envs.scenarios.scenario import scenario


def test_the_uncontrolled_run_is_that_of_citylearn(small_schema: Path) -> None:
    site = scenario(str(small_schema))
    run = year_reference(site, 0).run
    simulator = CityLearnSimulator(small_schema, with_reward=False)
    simulator.begin(0, simulator.rows - 1, seed=0)
    for _ in range(240):
        simulator.step(simulator.uncontrolled_actions())
    # The action is mapped to [-1, 1] and back.
    np.testing.assert_allclose(run.net_kwh[:, :240], simulator.run().net_kwh, rtol=1e-6, atol=1e-4)
    assert run.charging_kwh[:, :240].sum() > 0.0


def test_it_spans_the_year_and_reports_rising_parts_of_it(small_tables: Tables) -> None:
    parts: list[float] = []
    simulator = OneCopy(small_tables, small_tables.rows["template"])
    run = uncontrolled_run(simulator, parts.append)
    assert run.net_kwh.shape[1] == simulator.rows - 1
    assert parts == sorted(parts)
    assert parts[0] == 0.0
    assert 0.9 < parts[-1] < 1.0


def test_observations_have_no_effect_on_it(small_tables: Tables) -> None:
    template = small_tables.rows["template"]
    seen, blank = (uncontrolled_run(OneCopy(small_tables, each)) for each in (template, np.zeros_like(template)))
    assert np.array_equal(seen.net_kwh, blank.net_kwh)
