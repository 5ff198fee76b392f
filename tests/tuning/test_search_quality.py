"""The search finds a known optimum, and Tune changes nothing about what Optuna does."""

from __future__ import annotations

import io
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
import scipy.stats
from optuna.trial import TrialState
from rich.console import Console

from search_spaces import Assignment
from tests.tuning.made_up import evaluated
from tests.tuning.roomy import roomy
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import Experiment, create
from tuning.experiment.settings import Settings
from tuning.runtime.ray_session import ray_session
from tuning.search.proposals.drawing import Drawing, Draws
from tuning.search.proposals.plan import Plan
from tuning.search.record.study import StudyMemory, read_trials
from tuning.search.record.trials import HYPERPARAMETERS
from tuning.search.run.driver import pruner_of, run_trials

SPACE = algorithm("ppo").space
SEARCHED = ("learning_rate", "gamma", "clip_range")
FIXED: Assignment = {parameter.name: parameter.default for parameter in SPACE.parameters if parameter.name not in SEARCHED}
REPORTS, BUDGET = 8, 800
LIMITS = {"steps": 1e6}  # of the space: n_steps is fixed to its default
GOOD = -0.03  # score that ends a search: a small part of the space is as good


def final_score(hyperparameters: Assignment) -> float:
    """Best, 0, at a learning rate of 0.001, a discount of 0.98 and a clip range of 0.2."""
    h: Any = hyperparameters
    distances = math.log10(h["learning_rate"] / 1e-3), math.log10((1.0 - h["gamma"]) / 0.02), 4.0 * (h["clip_range"] - 0.2)
    return -sum(distance**2 for distance in distances)


def score_after(report: int, final: float) -> float:
    """A learning curve that begins near -4 for all and ends at the final score."""
    return final if report == REPORTS else final + (-4.0 - final) * math.exp(-4.0 * report / REPORTS)


def steps_to_a_good_score(experiment: Experiment, trials: int) -> int:
    """Steps that a search takes until a trial has a good score at its end; those of all trials if none has."""
    memory, taken = StudyMemory.open(experiment, pruner_of(experiment.settings)), 0
    draws = Draws(memory, Drawing(experiment.settings, SPACE, FIXED, LIMITS))
    for _ in range(trials):
        proposal = memory.add(draws.draw())
        number, final = proposal.number, final_score(proposal.hyperparameters)
        for report in range(1, REPORTS + 1):
            taken += BUDGET // REPORTS
            memory.report(number, report * BUDGET // REPORTS, score_after(report, final))
            if report == REPORTS:
                memory.complete(number, final)
                if final >= GOOD:
                    return taken
            elif memory.should_prune(number):
                memory.stop(number, TrialState.PRUNED)
                break
    return taken


@pytest.mark.slow
def test_tpe_with_pruning_needs_fewer_steps_than_random_search(tmp_path: Path) -> None:
    taken: dict[str, list[int]] = {"tpe": [], "random": []}
    for seed in range(20):
        for sampler, pruner in (("tpe", "median"), ("random", "none")):
            settings = Settings(
                name=f"{sampler}-{seed}", dir=str(tmp_path), seed=seed, sampler=sampler, scheduler=pruner,  # type: ignore[arg-type]
                steps=BUDGET, reports=REPORTS,
            )  # fmt: skip
            taken[sampler].append(steps_to_a_good_score(create(settings), trials=100))
    ratio = np.array(taken["random"]) / np.array(taken["tpe"])
    print(f"random search takes {np.median(ratio):.1f} times the steps of TPE with pruning (median of 20 seeds): {taken}")
    assert np.median(ratio) > 1.5
    assert scipy.stats.wilcoxon(np.log(ratio), alternative="greater").pvalue < 0.01


def known_trial(config: dict[str, Any]) -> None:
    """Follows the learning curve, and leaves the number of its process."""
    import os

    from ray import tune

    from tuning.trial.protocol import handout_in

    handout = handout_in(config)
    Path(handout.home.experiment, f"process-{os.getpid()}").touch()
    final = final_score(handout.hyperparameters)
    for report in range(1, REPORTS + 1):
        tune.report(evaluated(handout.number, report, report * BUDGET // REPORTS, score_after(report, final)).for_tune())


def plain_optuna(drawing: Drawing, trials: int) -> list[optuna.trial.FrozenTrial]:
    """The same search without Tune: an ask-and-tell loop over a study of Optuna's own."""
    pruner = optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=BUDGET // 2)
    study = optuna.create_study(direction="maximize", pruner=pruner)
    for number in range(trials):
        study.add_trial(drawing.draw(study.get_trials(), study.study_name))
        trial = optuna.Trial(study, study.get_trials()[number]._trial_id)
        final = final_score(study.get_trials()[number].user_attrs[HYPERPARAMETERS])
        for report in range(1, REPORTS + 1):
            trial.report(score_after(report, final), report * BUDGET // REPORTS)
            if report < REPORTS and trial.should_prune():
                study.tell(trial, state=TrialState.PRUNED)
                break
        else:
            study.tell(trial, final)
    return study.get_trials()


def test_through_tune_a_search_is_what_it_is_with_optuna_alone(tmp_path: Path) -> None:
    trials = 24
    settings = Settings(
        name="one", dir=str(tmp_path), trials=trials, steps=BUDGET, reports=REPORTS, concurrency=1, seed=3, scheduler="median"
    )
    experiment = create(settings)
    with ray_session(num_cpus=1):
        import ray

        # Ray's workers cannot import a test module by its name.
        for name in (__name__, evaluated.__module__):
            ray.cloudpickle.register_pickle_by_value(sys.modules[name])
        plan, console = Plan(SPACE, FIXED, ()), Console(file=io.StringIO())
        assert run_trials(experiment, plan, roomy(experiment), console, known_trial) is None
    plain = plain_optuna(Drawing(settings, SPACE, FIXED, LIMITS), trials)
    ours = read_trials(experiment)
    assert len(ours) == trials
    for one, two in zip(ours, plain, strict=True):
        assert one.params == two.params
        assert (one.state, one.value) == (two.state, two.value)
        assert one.intermediate_values == two.intermediate_values
    assert {TrialState.COMPLETE, TrialState.PRUNED} == {trial.state for trial in ours}
    # A process runs one trial after another: to start one takes as long as a short trial.
    assert len(list(experiment.paths.folder.glob("process-*"))) == 1
