"""Rules and model predictive control see the same present hour on both backends."""

import numpy as np
import pytest

from envs.current_hour import Present, scaled
from envs.environments.site_env import SiteEnv
from envs.environments.vector_env import WindowsEnv
from envs.scenarios.scenario import Scenario, Window

WINDOW = Window(0, 100, 48)


def seen(present: Present) -> dict[str, np.ndarray]:
    low, high = present.action_range
    state = present.site_state(0)
    assert state is not None
    assert state.window == WINDOW
    return {
        "row": np.array(state.row),
        "battery_soc": state.battery_soc,
        "previous_net_kwh": np.array(state.previous_net_kwh),
        "peaks_kw": np.array(state.peaks_kw),
        "low": low,
        "high": high,
        "battery_actions": present.battery_actions,
        "battery_step_kwh": np.array(present.battery_step_kwh),
        "hour_of_day": present.hour_of_day,
        "is_dear": present.is_dear,
        "uncontrolled_net_kwh": present.uncontrolled_net_kwh,
        "uncontrolled_actions": present.uncontrolled_actions(),
    }


def test_both_backends_show_the_same(site: Scenario) -> None:
    found: list[list[dict[str, np.ndarray]]] = []
    for env in (WindowsEnv(site, [WINDOW]), SiteEnv(site, [WINDOW], "sequence")):
        rng, present, hours = np.random.default_rng(0), env.present, []

        def policy(
            observations: np.ndarray,
            rng: np.random.Generator = rng,
            present: Present = present,
            hours: list[dict[str, np.ndarray]] = hours,
        ) -> np.ndarray:
            hours.append(seen(present))
            return rng.uniform(-1.0, 1.0, (1, len(present.action_range[0])))

        list(env.episodes(policy))
        env.close()
        found.append(hours)
    batch, citylearn = found
    assert len(batch) == WINDOW.hours
    for one, other in zip(batch, citylearn, strict=True):
        for name, value in one.items():
            np.testing.assert_allclose(other[name], value, rtol=1e-6, atol=1e-6, err_msg=name)
    for name in ("is_dear", "uncontrolled_actions", "hour_of_day", "row", "battery_soc", "previous_net_kwh", "peaks_kw"):
        assert np.ptp(np.array([hour[name] for hour in batch], dtype=float), axis=0).max() > 0.0, name


@pytest.mark.parametrize(("action", "expected"), [(-1.0, -1.0), (0.5, 0.0), (2.0, 1.0), (-9.0, -1.0), (9.0, 1.0)])
def test_a_range_becomes_that_of_environments(action: float, expected: float) -> None:
    low, high = np.array([-1.0, 0.0]), np.array([2.0, 0.0])
    found = scaled(np.array([[action, 5.0]]), low, high)
    assert found.tolist() == [[expected, -1.0]]
