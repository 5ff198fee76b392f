"""Samplers propose the same for the same seed; schedulers stop the worst of equals; a new one of either is one entry."""

from pathlib import Path

import optuna
import pytest
import tyro

import tuning.experiment.strategies as strategies
from common.errors import UsageError
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import create
from tuning.experiment.settings import Settings
from tuning.experiment.strategies import SAMPLERS, SCHEDULERS, Sampler, Scheduler, startup_trials
from tuning.search.proposals.drawing import Drawing, Draws
from tuning.search.record.study import StudyMemory
from tuning.search.run.driver import pruner_of


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_seed_repeats_what_is_drawn(name: str) -> None:
    drawn = []
    for seed in (1, 1, 2):
        study = optuna.create_study(sampler=SAMPLERS[name].build(seed, 10))
        for _ in range(3):
            study.add_trial(
                optuna.trial.create_trial(
                    params={"x": 0.5}, distributions={"x": optuna.distributions.FloatDistribution(0.0, 1.0)}, value=0.0
                )
            )
        drawn.append(study.ask({"x": optuna.distributions.FloatDistribution(0.0, 1.0)}).params["x"])
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]


def test_trials_before_the_model_are_a_quarter_of_the_budget_within_bounds() -> None:
    assert [startup_trials(trials) for trials in (0, 1, 4, 16, 40, 1000)] == [10, 2, 2, 4, 10, 10]


@pytest.mark.parametrize("name", ["tpe", "gp"])
def test_a_model_begins_after_the_startup_trials_and_knows_all_hyperparameters_together(name: str) -> None:
    space = {key: optuna.distributions.FloatDistribution(0.0, 1.0) for key in "xy"}
    for count, is_modelled in ((2, False), (3, True)):
        study = optuna.create_study(sampler=SAMPLERS[name].build(1, 3))
        for number in range(count):
            study.add_trial(
                optuna.trial.create_trial(params={"x": 0.1 * number, "y": 0.5}, distributions=space, value=float(number))
            )
        assert set(study.ask().relative_params) == (set(space) if is_modelled else set())


@pytest.mark.parametrize("name", SCHEDULERS)
def test_which_trial_is_stopped_first(name: str) -> None:
    study = optuna.create_study(direction="maximize", pruner=SCHEDULERS[name].build(900, 9))
    stopped = []
    for number in range(8):
        trial = study.ask()
        # One that waits for half of a trial has seen nothing by now.
        trial.report(-float(number), 450 if name == "median" else 100)
        if trial.should_prune():
            stopped.append(number)
        study.tell(trial, -float(number))
    if name == "median":
        # Five trials are let through, whatever they do.
        assert stopped == [5, 6, 7]
    assert name not in ("none", "freeze-thaw") or stopped == []


def test_the_median_pruner_stops_none_before_half_of_its_steps() -> None:
    study = optuna.create_study(direction="maximize", pruner=SCHEDULERS["median"].build(900, 9))
    for number in range(8):
        trial = study.ask()
        found = []
        for steps in range(100, 1000, 100):
            trial.report(-float(number), steps)
            found.append(trial.should_prune())
        study.tell(trial, -float(number))
        assert found == [False] * 4 + [number > 4] * 5


def test_hyperband_gives_each_trial_its_first_evaluation() -> None:
    pruner = SCHEDULERS["hyperband"].build(900, 9)
    assert isinstance(pruner, optuna.pruners.HyperbandPruner)
    assert (pruner._min_resource, pruner._max_resource) == (100, 900)


def test_a_new_sampler_and_a_new_scheduler_are_one_entry_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As docs/architecture.md says: no other file is touched, and a search runs with them."""
    qmc = Sampler(
        lambda seed, startup: optuna.samplers.QMCSampler(scramble=True, seed=seed, warn_independent_sampling=False), attempts=1
    )
    patient = Scheduler(lambda steps, reports: optuna.pruners.ThresholdPruner(lower=0.0, n_warmup_steps=steps // 2))
    monkeypatch.setitem(strategies.SAMPLERS, "qmc", qmc)  # type: ignore[arg-type]
    monkeypatch.setitem(strategies.SCHEDULERS, "patient", patient)  # type: ignore[arg-type]
    given = ["--sampler", "qmc", "--scheduler", "patient", "--name", "one", "--dir", str(tmp_path), "--steps", "900"]
    settings = tyro.cli(Settings, args=given)
    assert Settings.from_json(settings.to_json()) == settings
    experiment = create(settings)
    study = StudyMemory.open(experiment, pruner_of(settings))
    drawing = Drawing(settings, algorithm("ppo").space, {}, {"steps": 900.0})
    proposals = [study.add(Draws(study, drawing).draw()) for _ in range(4)]
    assert len({str(proposal.hyperparameters) for proposal in proposals}) == 4
    stopped = []
    for number in range(4):
        for steps in (300, 600):
            study.report(number, steps, float(number) - 1.5)
            if study.should_prune(number):
                stopped.append((number, steps))
    assert stopped == [(0, 600), (1, 600)]


@pytest.mark.parametrize(("option", "near"), [("sampler", "tpee"), ("scheduler", "hyperbnd")])
def test_a_wrong_name_is_told_with_the_nearest(option: str, near: str) -> None:
    with pytest.raises(UsageError, match=f"--{option} {near}: did you mean (tpe|hyperband)"):
        Settings(**{option: near}).check()  # type: ignore[arg-type]
