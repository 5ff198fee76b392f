"""CityLearn's own ratios: equal to those of untouched CityLearn, by both backends."""

from pathlib import Path

import numpy as np
import pytest

from common.units import DAY
from envs.environments.site_env import SiteEnv
from envs.environments.vector_env import WindowsEnv
from envs.objective.citylearn_ratios import RATIOS, SCORE_2022, district_ratios, score_2022
from envs.objective.evaluate import evaluate
from envs.scenarios.scenario import Window, scenario
from envs.scenarios.schema_file import rooted


def actions_of(hours: int, actions: int) -> np.ndarray:
    """Within [-1, 1], shape (hours, actions); a month and a part of a day, so that no group of hours is whole."""
    return np.random.default_rng(3).uniform(-1.0, 1.0, (hours, actions))


def untouched(schema: Path, hours: int) -> dict[str, float]:
    """CityLearn's own table after the first hours of a schema, with the batteries as empty at the start as they may be."""
    from citylearn.citylearn import CityLearnEnv

    env = CityLearnEnv({**rooted(schema), "agent": None}, central_agent=True, episode_time_steps=hours + 1, offline=True)
    for building in env.buildings:
        battery = building.electrical_storage
        battery.initial_soc = 1.0 - battery.depth_of_discharge
    env.reset(seed=0)
    (space,) = env.action_space
    for given in actions_of(hours, len(space.low)):
        env.step([(space.low + (given + 1.0) / 2.0 * (space.high - space.low)).tolist()])
    table = env.evaluate()
    district = table[table["level"] == "district"].set_index("cost_function")["value"]
    return {column: float(district[name]) for column, name in RATIOS.items()}


def check(schema: Path, hours: int) -> None:
    expected, site, window = untouched(schema, hours), scenario(str(schema)), Window(0, 0, hours)
    batch, citylearn = WindowsEnv(site, [window]), SiteEnv(site, [window], "sequence")
    for env in (batch, citylearn):
        given = iter(actions_of(hours, len(citylearn.action_space.low)))
        found = evaluate(env, lambda observations, given=given: next(given)[np.newaxis])[0].citylearn
        assert {name: found[name] for name in RATIOS} == pytest.approx(expected, rel=1e-6)
        assert found[SCORE_2022] == pytest.approx(score_2022(expected), rel=1e-6)
    citylearn.close()


@pytest.mark.parametrize("hours", [5 * DAY, 2 * DAY + 5], ids=["whole days", "part of a day"])
def test_both_backends_give_the_ratios_of_untouched_citylearn(small_schema: Path, hours: int) -> None:
    check(small_schema, hours)


@pytest.mark.slow
def test_they_do_on_metered_data_of_several_buildings_over_more_than_a_month(real_schema: Path) -> None:
    check(real_schema, 32 * DAY + 7)


def test_the_run_without_storage_has_the_ratio_one() -> None:
    rng = np.random.default_rng(0)
    net, price, carbon = rng.normal(1.0, 1.0, (2, 50)), rng.uniform(0.1, 1.0, (2, 50)), rng.uniform(0.1, 1.0, (2, 50))
    found = district_ratios(net, net, price, carbon)
    assert sorted(found) == sorted(RATIOS.values())
    assert set(found.values()) == {1.0}
    assert score_2022(dict.fromkeys(RATIOS, 1.0)) == 1.0


def test_a_ratio_to_nothing_is_no_number_but_nothing_to_nothing_is_one() -> None:
    net, nothing = np.ones((1, 4)), np.zeros((1, 4))
    found = district_ratios(net, nothing, net, nothing)
    assert np.isnan(found["cost_total"])
    assert found["carbon_emissions_total"] == 1.0
