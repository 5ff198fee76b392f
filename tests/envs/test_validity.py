"""A result that cannot be stops whoever gets it, and says its numbers."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from envs.episodes import Episode
from envs.evaluate import evaluate
from envs.kpis import Kpis
from envs.scenario import Window, scenario
from envs.validity import ValidityError, check_episode, check_kpis, check_score
from envs.vector_env import WindowsEnv

WINDOW = Window(0, 24, 48)


@pytest.fixture(scope="module")
def env(small_schema: Path) -> WindowsEnv:
    return WindowsEnv(scenario(str(small_schema)), [WINDOW])


@pytest.fixture(scope="module")
def episode(env: WindowsEnv) -> Episode:
    rng = np.random.default_rng(0)
    (found,) = env.episodes(lambda observations: rng.uniform(-1.0, 1.0, (1, env.simulator.actions)))
    return found


@pytest.fixture(scope="module")
def kpis(env: WindowsEnv) -> Kpis:
    (found,) = evaluate(env, lambda observations: env.simulator.uncontrolled_actions())
    return found.kpis


def test_what_adds_up_passes(episode: Episode, kpis: Kpis) -> None:
    check_episode(episode)
    check_kpis(0, kpis)


@pytest.mark.parametrize("name", ["net_kwh", "battery_kwh", "charging_kwh"])
def test_energy_from_nowhere_is_found(episode: Episode, name: str) -> None:
    series = getattr(episode.run, name).copy()
    series[0, 30] += 5.0
    with pytest.raises(ValidityError, match="hour 54: building 0"):
        check_episode(replace(episode, run=replace(episode.run, **{name: series})))


def test_what_is_no_number_is_found(episode: Episode) -> None:
    series = episode.run.net_kwh.copy()
    series[0, 3] = np.nan
    with pytest.raises(ValidityError, match="hour 27"):
        check_episode(replace(episode, run=replace(episode.run, net_kwh=series)))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("self_consumption", 1.2), ("ev_served", -0.1), ("import_kwh", -5.0), ("peak_kw", np.inf), ("co2_kg", np.nan),
        ("ev_missing_kwh", 1e9), ("departures_met", 10**6), ("battery_cycles", -1.0),
    ],
)  # fmt: skip
def test_a_kpi_outside_its_range_is_found(kpis: Kpis, name: str, value: float) -> None:
    with pytest.raises(ValidityError, match=name):
        check_kpis(3, replace(kpis, **{name: value}))


def test_shares_of_nothing_are_no_fault(kpis: Kpis) -> None:
    check_kpis(0, replace(kpis, ev_served=np.nan, self_consumption=np.nan, battery_cycles=np.nan))


def test_nobody_beats_the_bound() -> None:
    check_score("rule", 3, 0.07, 0.07)
    for score in (0.0701, np.nan):
        with pytest.raises(ValidityError, match="rule, year 3"):
            check_score("rule", 3, score, 0.07)


@pytest.mark.parametrize("check", ["check_episode", "check_kpis"])
def test_evaluations_are_checked(env: WindowsEnv, monkeypatch: pytest.MonkeyPatch, check: str) -> None:
    def refuse(*arguments: object) -> None:
        raise ValidityError("seen")

    monkeypatch.setattr(f"envs.evaluate.{check}", refuse)
    with pytest.raises(ValidityError, match="seen"):
        evaluate(env, lambda observations: env.simulator.uncontrolled_actions())
