"""Nothing beats the bound, and it is not far above what is found by trying everything."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from envs.baselines import RULES, UNCONTROLLED, WITHOUT, baselines
from envs.bound import OBJECTIVES, Bound, bound, window_bound
from envs.episodes import Policy
from envs.evaluate import Evaluation, evaluate
from envs.scenario import Window, scenario
from envs.vector_env import WindowsEnv

SLACK = 1e-6  # of the solver


@pytest.fixture
def two_buildings(small_schema: Path, tmp_path: Path) -> Path:
    """The small site with its mall a second time, without chargers, as a building with a meter of its own."""
    schema = json.loads(small_schema.read_text(encoding="utf-8"))
    (name,) = schema["buildings"]
    twin = json.loads(json.dumps(schema["buildings"][name]))
    twin.pop("chargers", None)
    schema["buildings"]["twin"] = twin
    schema["root_directory"] = str(small_schema.parent)
    for own in small_schema.parent.iterdir():
        if own.suffix == ".csv":
            (tmp_path / own.name).write_bytes(own.read_bytes())
    schema["root_directory"] = None
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(schema), encoding="utf-8")
    return path


def judged(path: Path, window: Window, policy: Policy | None = None) -> tuple[WindowsEnv, Evaluation]:
    env = WindowsEnv(scenario(str(path)), [window])
    simulator = env.simulator
    (found,) = evaluate(env, policy or (lambda observations: simulator.uncontrolled_actions()))
    return env, found


@pytest.mark.parametrize("window", [Window(0, 0, 336), Window(0, 600, 240)])
def test_no_policy_is_better(small_schema: Path, window: Window) -> None:
    site = scenario(str(small_schema))
    limit = bound(site, window, "score")
    rng = np.random.default_rng(0)
    env, _ = judged(small_schema, window)
    actions = env.simulator.actions
    policies: dict[str, Policy] = {
        f"random {i}": lambda observations, low=low: rng.uniform(low, 1.0, (len(observations), actions))
        for i, low in enumerate((-1.0, -0.5, 0.0, 0.5))
    }
    found = {name: evaluate(env, policy)[0].score for name, policy in policies.items()}
    found |= {name: own[0].score for name, own in baselines(site, [window]).items() if name != WITHOUT}
    assert set(RULES) <= set(found)
    assert max(found.values()) <= limit.score + SLACK
    # And it is no idle boast.
    assert max(found.values()) > 0.3 * limit.score
    assert found[UNCONTROLLED] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("start", [17 * 24 + 12, 17 * 24 + 9], ids=["noon", "the surplus begins"])
def test_trying_everything_finds_nothing_better_and_comes_near(small_schema: Path, start: int) -> None:
    """The battery at seven powers in each of five hours, vehicles as on the uncontrolled site."""
    hours = 5
    levels = np.array(list(itertools.product(np.linspace(-1.0, 1.0, 7), repeat=hours)))
    windows = [Window(0, start, hours)] * len(levels)
    env = WindowsEnv(scenario(str(small_schema)), windows)
    battery = int(env.simulator.site.building["battery_action"][0])
    hour = itertools.count()

    def policy(observations: np.ndarray) -> np.ndarray:
        given = env.simulator.uncontrolled_actions()
        given[:, battery] = levels[:, next(hour)]
        return given

    best = max(episode.reward for episode in env.episodes(policy)) / hours
    limit = window_bound(env.simulator, windows[0], "score")
    assert best <= limit.score + SLACK
    assert limit.score - best < 0.1 * limit.score


def test_where_batteries_cannot_be_exported_the_score_is_that_of_the_hours(small_schema: Path) -> None:
    """PV that is exported is lost to the site to the last kilowatt-hour: the term is linear there, and nothing is lent."""
    assert bound(scenario(str(small_schema)), Window(0, 0, 336), "score").lent_kwh == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize("objective", ["co2", "cost"])
def test_a_bound_of_emission_or_cost_serves_every_vehicle_and_is_below_the_rules(small_schema: Path, objective: str) -> None:
    window = Window(0, 0, 336)
    site = scenario(str(small_schema))
    limit = bound(site, window, objective)  # type: ignore[arg-type]
    for name, (own,) in baselines(site, [window]).items():
        value = own.kpis.co2_kg if objective == "co2" else own.kpis.bill
        assert getattr(limit, "co2_kg" if objective == "co2" else "cost") <= value + SLACK, name
        # What nobody could deliver is missing there too.
        assert limit.missing_kwh <= own.kpis.ev_missing_kwh + SLACK, name


def test_each_bound_is_the_best_of_its_own(small_schema: Path) -> None:
    window = Window(0, 0, 240)
    found: dict[str, Bound] = {name: bound(scenario(str(small_schema)), window, name) for name in OBJECTIVES}
    assert max(found.values(), key=lambda each: each.score) is found["score"]
    assert found["co2"].co2_kg <= found["cost"].co2_kg + SLACK
    assert found["cost"].cost <= found["co2"].cost + SLACK


def test_buildings_are_metered_by_themselves(two_buildings: Path) -> None:
    window = Window(0, 0, 168)
    site = scenario(str(two_buildings))
    limit = bound(site, window, "score")
    found = [own[0].score for name, own in baselines(site, [window]).items() if name != WITHOUT]
    assert max(found) <= limit.score + SLACK


def test_a_bound_is_solved_once(small_schema: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    window = Window(0, 0, 48)
    site = scenario(str(small_schema))
    first = bound(site, window, "cost")

    def fail(*arguments: object) -> Bound:
        raise AssertionError("solved again")

    monkeypatch.setattr("envs.bound.window_bound", fail)
    assert bound(site, window, "cost") == first


def test_a_solver_that_fails_is_an_error(small_schema: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace

    from envs.bound import BoundError

    env, _ = judged(small_schema, Window(0, 0, 24))
    monkeypatch.setattr("scipy.optimize.linprog", lambda **arguments: SimpleNamespace(status=2, message="infeasible"))
    with pytest.raises(BoundError, match="infeasible"):
        window_bound(env.simulator, Window(0, 0, 24), "score")


def test_without_pv_and_battery_all_is_drawn_from_the_grid(small_schema: Path) -> None:
    window = Window(0, 0, 168)
    found = baselines(scenario(str(small_schema)), [window])
    (without,), (idle,) = found[WITHOUT], found[UNCONTROLLED]
    assert without.kpis.import_kwh == pytest.approx(idle.kpis.consumption_kwh)
    assert without.kpis.pv_kwh == 0.0
    assert without.kpis.export_kwh == 0.0
    assert without.kpis.co2_kg > idle.kpis.co2_kg
