"""Model predictive control between rules and bound, and run once."""

from pathlib import Path

import numpy as np
import pytest

from envs.objective.evaluate import score
from envs.scenarios.scenario import Window
from envs.task import SiteTask
from envs.yardsticks.baselines import RULES, baselines
from envs.yardsticks.bound import bound
from envs.yardsticks.mpc_runs import NAMES, mpc
from results.judgement import EXACT_MPC

WINDOWS = [Window(0, 24, 336)]


def test_rules_forecasts_future_and_bound_come_in_this_order(small_schema: Path) -> None:
    task = SiteTask(str(small_schema))
    limit = bound(task, WINDOWS[0], "score").score
    rules = max(score(own) for name, own in baselines(task, WINDOWS).items() if name in RULES)
    found = {method: score(mpc(task, WINDOWS, method)) for method in NAMES}
    exact = found.pop("exact")
    assert max(found.values()) < exact < limit
    assert max(found.values()) > rules
    assert exact > 0.85 * limit


def test_a_window_is_run_once_and_progress_is_told(small_schema: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task, windows = SiteTask(str(small_schema)), [Window(0, 0, 20), Window(0, 50, 20)]
    told: list[float] = []
    mpc(task, windows[:1], "yesterday", 6)
    first = mpc(task, windows, "yesterday", 6, told.append)
    np.testing.assert_allclose(told, 0.5 + np.arange(1, 21) / 40)

    monkeypatch.setattr("envs.yardsticks.mpc_runs.run_mpc", lambda *_, **options: pytest.fail("run again"))
    (own,), (again,) = first, mpc(task, windows, "yesterday", 6)
    assert (again.score, again.terms, again.hours) == (own.score, own.terms, 40)
    assert again.kpis == pytest.approx(own.kpis, nan_ok=True, rel=1e-15)
    with pytest.raises(pytest.fail.Exception, match="run again"):
        mpc(task, windows, "yesterday", 5)


def test_the_exact_future_has_one_name() -> None:
    assert NAMES["exact"] == EXACT_MPC
