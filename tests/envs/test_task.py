"""A task is one value: equal where its parts are, and on the same site whatever else changes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from common.errors import ScenarioError
from envs.environments.backend import Backend
from envs.environments.site_env import SiteEnv, SiteEnvs
from envs.environments.vector_env import SiteVectorEnv, WindowsEnv
from envs.objective.aim import Aim, AimError
from envs.objective.evaluate import TRAINING_HOURS
from envs.objective.weights import Weights
from envs.scenarios.scenario import Splits, Window
from envs.seen import Seen
from envs.task import SiteTask


def test_it_is_hashable_and_equal_to_one_of_the_same_parts() -> None:
    aim = Aim.parse(("co2=1",), "peak_kw", ("ev_served>=0.9",))
    one, other = SiteTask("iquitos", aim=aim), SiteTask("iquitos", aim=Aim.parse(("co2=1",), "peak_kw", ("ev_served>=0.9",)))
    assert one.site.name == "iquitos"  # what was read of its site is no part of it
    assert one == other
    assert len({one, other, replace(one, validation_weeks=1)}) == 2


def test_its_site_is_read_once_for_all_that_it_becomes(small_schema: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = SiteTask(str(small_schema))
    site = task.site
    monkeypatch.setattr("envs.task.scenario", lambda *given: pytest.fail("read again"))
    for other in (task.by("citylearn"), task.judged, task.rewarding(Weights(peak=1.0)), task.seeing({"plan": "learned"})):
        assert other.site is site


def test_a_trial_trains_for_its_weights_and_sees_what_the_users_say() -> None:
    task = SiteTask("iquitos", aim=Aim(Weights(peak=0.5))).seeing({"plan": "learned"})
    assert task.seen == Seen(day_peak=True, plan="learned", weights=Weights(peak=0.5))
    assert task.rewarding(Weights()).seen == task.seen
    assert task.rewarding(Weights()).aim == Aim()


def test_splits_belong_to_the_site_that_they_were_stated_for() -> None:
    task = SiteTask("iquitos", splits=Splits(train=("1",)), backend="batch", reward="schema")
    assert task.elsewhere("iquitos-38") == SiteTask("iquitos-38", reward="schema")


def test_reward_and_aim_have_to_fit_the_site(small_schema: Path) -> None:
    SiteTask(str(small_schema)).check()
    with pytest.raises(AimError, match="--weights"):
        SiteTask(str(small_schema), reward="schema", aim=Aim(Weights(peak=1.0))).check()


def test_the_batch_backend_judges_what_it_can_step(small_schema: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = SiteTask(str(small_schema), backend="citylearn", aim=Aim.parse(objective="citylearn_2022_score"))
    assert (task.stepped_by, task.judged.stepped_by) == ("citylearn", "batch")
    monkeypatch.setattr("envs.task.beyond_batch", lambda *_: ["outages"])
    assert task.judged.stepped_by == "citylearn"
    assert "cannot step" in task.why_not_batch()


def test_policies_are_rated_on_the_weeks_that_validate_or_on_given_windows(small_schema: Path) -> None:
    task, tried = SiteTask(str(small_schema), validation_weeks=1), []  # the site is split by days

    def policy(observations: np.ndarray) -> np.ndarray:
        tried.append(observations.shape)
        return np.zeros((len(observations), len(task.layout().actions)))

    (evaluation,) = task.rate(policy)
    assert evaluation.hours == 24
    assert set(tried) == {(1, task.layout().size)}
    (evaluation,) = task.rate(policy, [Window(0, 0, 48)])
    assert evaluation.hours == 48


def test_further_weeks_are_those_of_the_validation_split_that_rate_no_trial(small_schema: Path) -> None:
    task = SiteTask(str(small_schema), validation_weeks=3)
    every = {window.start for window in replace(task, validation_weeks=100).validation_windows}
    rated, further = ({window.start for window in windows} for windows in (task.validation_windows, task.further_windows))
    assert len(rated) == 3
    assert not rated & further
    assert rated | further == every


def test_training_sees_the_training_split_alone(small_schema: Path) -> None:
    task = SiteTask(str(small_schema))
    env = task.training_env(1)
    assert isinstance(env, SiteVectorEnv)
    own = {hour for w in task.site.windows("train") for hour in range(w.start, w.start + w.hours)}
    assert all(w.hours <= TRAINING_HOURS and set(range(w.start, w.start + w.hours)) <= own for w in env.windows)


@pytest.mark.parametrize(
    ("backend", "trains", "validates"), [("batch", SiteVectorEnv, WindowsEnv), ("citylearn", SiteEnvs, SiteEnv)]
)
def test_each_backend_trains_copies_and_runs_all_windows_that_validate(
    small_schema: Path, backend: Backend, trains: type, validates: type
) -> None:
    task = SiteTask(str(small_schema), backend=backend)
    copies, env = task.training_env(2), task.evaluation_env()
    assert (type(copies), type(env)) == (trains, validates)
    assert copies.reset(seed=0)[0].shape[0] == copies.num_envs == 2
    assert env.windows == task.site.windows("validation")
    copies.close()
    env.close()


def test_the_schemas_own_reward_goes_to_either_environment(small_schema: Path) -> None:
    task, rewards = SiteTask(str(small_schema), reward="schema"), []
    for own in (task.by("batch"), task.by("citylearn")):
        env = own.evaluation_env([Window(0, 0, 24)])
        (episode,) = env.episodes(lambda observations: np.zeros((1, 5)))
        rewards.append(episode.reward)
        env.close()
    assert rewards[0] == pytest.approx(rewards[1], rel=1e-6)
    assert rewards[0] < -100.0


def test_a_site_that_is_none_is_an_error_when_it_is_asked_for() -> None:
    task = SiteTask("nowhere")
    with pytest.raises(ScenarioError, match="nowhere"):
        task.check()
