"""A teacher is refused in one line where it cannot teach."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envs.scenarios.scenario import scenario
from tuning.experiment.errors import UsageError
from tuning.search.run import lessons
from tuning.search.run.lessons import check_teacher


@pytest.mark.parametrize(
    ("backend", "reward", "reason"),
    [("citylearn", "improvement", "leave --backend out"), ("batch", "schema", "leave --reward out")],
)
def test_it_needs_the_batch_backend_and_the_reward_that_it_plans_for(
    small_schema: Path, backend: Any, reward: Any, reason: str
) -> None:
    site = scenario(str(small_schema))
    check_teacher(site, "ppo", "batch", "improvement")
    with pytest.raises(UsageError, match=f"^--teacher mpc: .*{reason}$"):
        check_teacher(site, "ppo", backend, reward)


def test_a_site_without_model_predictive_control_and_an_algorithm_that_cannot_are_refused(
    small_schema: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = scenario(str(small_schema))
    monkeypatch.setattr(lessons, "why_no_mpc", lambda site: "prices below zero are beyond a linear programme")
    with pytest.raises(UsageError, match=r"^--teacher mpc: prices below zero"):
        check_teacher(site, "sac", "batch", "improvement")
    own = lessons.algorithm("sac")
    monkeypatch.setattr(lessons, "algorithm", lambda name: replace(own, can_be_taught=False))
    with pytest.raises(UsageError, match=r"^--teacher mpc: sac cannot begin as a copy$"):
        check_teacher(site, "sac", "batch", "improvement")
