"""Samplers propose the same for the same seed; schedulers stop the worst of equals; a new one of either is one entry."""

from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Annotated

import optuna
import pytest
import tyro

from common.errors import UsageError
from tuning.algorithms.registry import algorithm
from tuning.experiment import option_values
from tuning.experiment.folder import create
from tuning.experiment.option_values import (
    ALL,
    GROUP,
    SAMPLERS,
    SCHEDULERS,
    Budget,
    Sampler,
    Scheduler,
    choice,
    entries,
    names,
    startup_trials,
)
from tuning.experiment.settings import Settings
from tuning.search.proposals.drawing import Drawing, Draws
from tuning.search.record.study import StudyMemory
from tuning.search.run.driver import pruner_of

UNIT = optuna.distributions.FloatDistribution(0.0, 1.0)


def add(study: optuna.Study, value: float, **params: float) -> None:
    """A trial that has ended."""
    study.add_trial(optuna.trial.create_trial(params=params, distributions=dict.fromkeys(params, UNIT), value=value))


def test_trials_before_the_model_are_a_quarter_of_the_budget_within_bounds() -> None:
    assert [startup_trials(trials) for trials in (0, 1, 4, 16, 40, 1000)] == [10, 2, 2, 4, 10, 10]


@pytest.mark.parametrize("name", ["tpe", "gp"])
def test_a_model_begins_after_the_startup_trials_and_knows_all_hyperparameters_together(name: str) -> None:
    for count, is_modelled in ((2, False), (3, True)):
        study = optuna.create_study(sampler=SAMPLERS[name].build(1, 3))
        for number in range(count):
            add(study, float(number), x=0.1 * number, y=0.5)
        assert set(study.ask().relative_params) == ({"x", "y"} if is_modelled else set())


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
    # What it needs to know of a trial it keeps with the trial.
    evolution = Sampler(lambda seed, startup: optuna.samplers.NSGAIISampler(seed=seed), attempts=1)
    patient = Scheduler(lambda steps, evaluations: optuna.pruners.ThresholdPruner(lower=0.0, n_warmup_steps=steps // 2))
    monkeypatch.setitem(option_values.SAMPLERS, "evolution", evolution)  # type: ignore[arg-type]
    monkeypatch.setitem(option_values.SCHEDULERS, "patient", patient)  # type: ignore[arg-type]
    given = ["--sampler", "evolution", "--scheduler", "patient", "--name", "one", "--dir", str(tmp_path), "--steps", "900"]
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


def test_the_projects_algorithms_come_first_in_the_order_in_which_all_runs_them(installed: list[EntryPoint]) -> None:
    installed += [EntryPoint("zebra", "zoo:ZEBRA", GROUP), EntryPoint("ant", "zoo:ANT", GROUP)]
    assert names() == ("sac", "ppo", "a2c", "ant", "zebra")


@pytest.mark.parametrize(("name", "taken"), [("ppo", "tuning.algorithms"), (ALL, "all algorithms"), ("new", "one:SPEC")])
def test_a_name_that_is_taken_is_refused_with_the_remedy(installed: list[EntryPoint], name: str, taken: str) -> None:
    installed += [EntryPoint("new", "one:SPEC", GROUP), EntryPoint(name, "zoo:OTHER", GROUP)]
    with pytest.raises(UsageError, match=rf"entry point {name} = zoo:OTHER .* stands for {taken}.* rename it, or uninstall"):
        entries()


def test_a_package_that_two_folders_hold_counts_once(installed: list[EntryPoint]) -> None:
    installed += [EntryPoint("ant", "zoo:ANT", GROUP)] * 2
    assert names().count("ant") == 1


@dataclass(frozen=True)
class Options:
    algo: Annotated[str, choice(ALL)] = "ppo"
    """Learning algorithm."""


def test_an_option_takes_every_name(installed: list[EntryPoint], capsys: pytest.CaptureFixture[str]) -> None:
    installed.append(EntryPoint("new", "one:SPEC", GROUP))
    for name in ("sac", "ppo", "a2c", "new", "all"):
        assert tyro.cli(Options, args=["--algo", name]) == Options(name)
    assert tyro.cli(Options, args=[], default=Options("sac")) == Options("sac")
    with pytest.raises(SystemExit, match="2"):
        tyro.cli(Options, args=["--algo", "nope"])
    assert "invalid choice 'nope' for argument '--algo'" in capsys.readouterr().err


def test_settings_keep_a_name_that_is_not_installed_so_that_old_experiments_open() -> None:
    assert Settings.from_json({**Settings().to_json(), "algo": "of another machine"}).algo == "of another machine"


@pytest.mark.parametrize(
    ("text", "budget", "shown"),
    [
        ("90s", Budget(90.0, "seconds"), "0:01:30 of time"),
        ("30m", Budget(1800.0, "seconds"), "0:30:00 of time"),
        ("1.5h", Budget(5400.0, "seconds"), "1:30:00 of time"),
        ("2d", Budget(172_800.0, "seconds"), "48:00:00 of time"),
        ("1000", Budget(1e3, "steps"), "1,000 steps"),
        ("500k", Budget(5e5, "steps"), "500,000 steps"),
        ("20M", Budget(2e7, "steps"), "20,000,000 steps"),
        ("1G", Budget(1e9, "steps"), "1,000,000,000 steps"),
    ],
)
def test_small_letters_are_times_and_large_ones_steps(text: str, budget: Budget, shown: str) -> None:
    assert Budget.parse(text) == budget
    assert budget.shown == shown


@pytest.mark.parametrize("text", ["m", "0", "0h", "-5m", "5 m", "5x", "1e9", "\uff15m", "1.m", "nan", "9" * 16])
def test_other_budgets_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match=r"--budget .*(as in 90s, 30m|above 0)"):
        Budget.parse(text)
