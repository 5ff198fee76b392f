"""Which trial a command line names, and what a trial without a checkpoint says; with one: `test_rollout`, `test_export`."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from common.errors import UsageError
from envs.objective.weights import Weights
from envs.seen import Seen
from envs.task import SiteTask
from results import load
from tests.tuning.trial.small_trials import completed
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import Experiment, create
from tuning.experiment.settings import Settings
from tuning.trial.policy import trained, trained_for, trial_number, trial_setup, used_share
from tuning.trial.records import TrialRecords

SETTINGS = Settings(scenario="iquitos-38", backend="batch", num_envs=8, steps=5000, seed=3)


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    of = create(Settings(backend="batch", name="e", dir=str(tmp_path)))
    return completed(of, *((score, {}) for score in (0.1, 0.3, 0.2)))


def test_the_best_trial_or_one_by_its_number(experiment: Experiment) -> None:
    results = load(experiment.paths.folder)
    assert [trial_number(results, name) for name in ("best", "0", "2")] == [1, 0, 2]
    for name in ("3", "-1", "worst", ""):
        with pytest.raises(UsageError, match="no such trial, they go from 0 to 2"):
            trial_number(results, name)


def test_without_a_complete_trial_there_is_no_best_one(tmp_path: Path) -> None:
    empty = create(Settings(backend="batch", name="e", dir=str(tmp_path)))
    with pytest.raises(UsageError, match="no trial is complete"):
        trial_number(load(empty.paths.folder), "best")
    with pytest.raises(UsageError, match="--trial 0: there is no such trial, nor any other; "):
        trial_number(load(empty.paths.folder), "0")


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"state": "pruned"}, "as --keep-checkpoints says"),
        ({"state": "failed"}, "as it is failed; take another --trial"),
        ({"state": "running"}, "as it is running"),
        ({"same_as": 1}, "it is the same as trial 1; take that"),
    ],
)
def test_a_trial_without_a_checkpoint_says_why_it_has_none(experiment: Experiment, row: dict[str, Any], why: str) -> None:
    TrialRecords(experiment).update(0, **row)
    with pytest.raises(UsageError, match=f"has no checkpoint, .*{why}"), trained(experiment, 0):
        pass


def test_a_trial_without_a_checkpoint_says_why_that_may_be(experiment: Experiment) -> None:
    with pytest.raises(UsageError, match="--keep-checkpoints"), trained(experiment, 0):
        pass
    damaged = experiment.paths.checkpoints(0) / "000000000100"
    damaged.mkdir(parents=True)
    with pytest.raises(UsageError, match=r"no checkpoint: checkpoint .* is damaged"), trained(experiment, 0):
        pass


SERVED: tuple[tuple[float, ...], ...] = ()  # see `ObservationLayout`


@pytest.fixture(autouse=True)
def no_site(monkeypatch: pytest.MonkeyPatch) -> None:
    """The layout of the site is made from its data, which this is not about."""
    monkeypatch.setattr(SiteTask, "layout", lambda task: SimpleNamespace(chargers=("chargers", task.seen), served=SERVED))
    monkeypatch.setattr(SiteTask, "district", lambda task: ("district", task.seen))
    monkeypatch.setattr(SiteTask, "buildings", lambda task: ("buildings", task.seen))
    monkeypatch.setattr(SiteTask, "training_env", lambda task, copies: (task, copies))


def test_it_has_what_the_settings_say() -> None:
    h = algorithm("ppo").space.complete({})
    made = trial_setup(SETTINGS, 1234, h, gpu=True, parts=2)
    assert (made.hyperparameters, made.steps, made.gpu, made.parts) == (h, 5000, True, 2)
    assert (made.seed, made.planned, made.served) == (1234, None, None)


def test_where_thermal_devices_obey_their_actions_are_changes_of_what_serves_people(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.SERVED", ((0.1, 0.2),))
    assert trial_setup(SETTINGS, 0, {}).served == ("buildings", Seen())  # type: ignore[comparison-overlap]


@pytest.mark.parametrize(("backend", "copies"), [("batch", 8), ("citylearn", 1)])
def test_citylearn_steps_one_copy(backend: str, copies: int) -> None:
    assert trial_setup(replace(SETTINGS, backend=backend), 0, {}).most_envs == copies  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "hyperparameters", "seen"),
    [
        (SETTINGS, {}, Seen()),
        (replace(SETTINGS, weights=("co2=0.5", "peak=0.5")), {}, Seen(day_peak=True)),
        (SETTINGS, {"plan": "learned"}, Seen(plan="learned")),
    ],
)
def test_environments_and_layout_show_what_weights_and_hyperparameters_say(
    settings: Settings, hyperparameters: dict[str, Any], seen: Seen
) -> None:
    made = trial_setup(settings, 0, hyperparameters)
    assert made.make_envs(5) == (replace(settings.task, seen=seen), 5)  # type: ignore[comparison-overlap]
    assert (made.chargers, made.district) == (("chargers", seen), ("district", seen))  # type: ignore[comparison-overlap]
    assert made.planned == (("buildings", seen) if seen.plan == "learned" else None)


def test_a_trial_of_two_objectives_trains_for_its_share_and_sees_what_all_see() -> None:
    two = replace(SETTINGS, objective="co2 bill")
    h = {**algorithm("ppo").space.complete({}), "reward_share": 0.2}
    task, _ = trial_setup(two, 1, h).make_envs(8)  # type: ignore[misc]
    weights, base = task.aim.weights, two.aim.weights
    assert (weights.co2, weights.cost) == pytest.approx((0.2 * 0.65, 0.8 * 0.65))
    assert replace(weights, co2=base.co2, cost=base.cost) == base
    assert task.seen == Seen()
    assert used_share(two, weights) == {"reward_share": pytest.approx(0.2)}


def test_with_one_objective_all_trials_train_for_the_users_weights() -> None:
    assert trained_for(SETTINGS, {}) == SETTINGS.aim.weights
    assert used_share(SETTINGS, Weights()) == {}
