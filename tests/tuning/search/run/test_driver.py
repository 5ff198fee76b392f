"""Trials through Ray Tune: study, results and terminal agree on how each ended."""

import gc
import io
import math
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import optuna
import pandas as pd
import pytest
from optuna.trial import TrialState
from rich.console import Console

from common.errors import UsageError
from results import load
from results.live import LiveSearch
from tests.tuning.made_up import evaluated
from tests.tuning.roomy import SMALL, planner, roomy
from tests.tuning.trial.small_trials import completed
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import Experiment, create
from tuning.experiment.settings import Settings
from tuning.runtime.ray_session import NodeLostError
from tuning.search.proposals.plan import Plan, plan
from tuning.search.record.study import StudyMemory
from tuning.search.record.trials import Costs, Key
from tuning.search.run import driver
from tuning.search.run.driver import final_scores, run_trials
from tuning.search.run.preparation import refuse_nothing_to_learn
from tuning.search.run.search import Search
from tuning.trial.protocol import Ending, Report

EVALUATIONS = 6
FAILS, RUNS_OUT, DIES_ONCE = 2, 4, 1  # numbers of the trials that do; each process that ends costs the test some seconds
EXPECTED = {
    "complete": TrialState.COMPLETE, "pruned": TrialState.PRUNED, "failed": TrialState.FAIL, "oom": TrialState.PRUNED
}  # fmt: skip


def fake_trial(config: dict[str, Any]) -> None:
    """Substitute for training: the score is best at a clip range of 0.25, and some trials fail."""
    import os
    import signal

    from ray import tune

    from tests.tuning.made_up import evaluated
    from tuning.experiment.folder import open_experiment
    from tuning.trial.protocol import Ending, Report, handout_in

    handout = handout_in(config)
    number, experiment = handout.number, open_experiment(handout.home.experiment)
    (experiment.paths.folder / f"process-{os.getpid()}").touch()
    steps = experiment.settings.steps
    score = -abs(handout.hyperparameters["clip_range"] - 0.25)
    tune.report(Report(0, restored=True).for_tune())
    for evaluation in range(1, EVALUATIONS + 1):
        if number == RUNS_OUT and evaluation == 2:
            tune.report(Report(ending=Ending.OUT_OF_MEMORY, message="Traceback\ntoo big").for_tune())
            return
        if number == FAILS and evaluation == 3:
            tune.report(Report(ending=Ending.CRASHED, message="Traceback\nValueError: bad luck").for_tune())
            raise ValueError("bad luck")
        if number == DIES_ONCE and evaluation == 3 and not (experiment.paths.folder / "died").exists():
            (experiment.paths.folder / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        # A report without a score lies between two with one.
        tune.report(Report(steps * (2 * evaluation - 1) // (2 * EVALUATIONS)).for_tune())
        tune.report(evaluated(number, evaluation, steps * evaluation // EVALUATIONS, score).for_tune())


def run(experiment: Experiment, trainable: Any = fake_trial) -> tuple[str | None, str]:
    """Run the search; why it stopped, and what it printed."""
    output = io.StringIO()
    plan = Plan(algorithm("ppo").space, {}, ())
    return run_trials(experiment, plan, roomy(experiment), Console(file=output, width=120), trainable), output.getvalue()


@pytest.fixture(scope="module")
def tune_session(small_ray: None) -> None:
    """Ray's workers cannot import a test module by its name."""
    import ray

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.fixture(scope="module")
def searched(tune_session: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Experiment, str]:
    folder = tmp_path_factory.mktemp("search")
    settings = Settings(
        name="fake",
        dir=str(folder),
        trials=14,
        steps=600,
        evaluations=EVALUATIONS,
        concurrency=1,
        sampler="random",
        scheduler="median",
    )
    experiment = create(settings)
    return experiment, run(experiment)[1]


def study(experiment: Experiment) -> list[optuna.trial.FrozenTrial]:
    return StudyMemory.open(experiment).trials()


def test_study_and_results_agree_and_nothing_is_left_running(searched: tuple[Experiment, str]) -> None:
    experiment, _ = searched
    trials, told = load(experiment.paths.folder).trials, study(experiment)
    assert len(trials) == len(told) == 14
    assert [EXPECTED[state] for state in trials["state"]] == [t.state for t in told]
    assert trials["state"][FAILS] == "failed"
    assert trials["state"][RUNS_OUT] == "oom"
    assert {"complete", "pruned"} <= set(trials["state"])
    assert trials["finished"].notna().all()


def test_failures_are_told_with_their_reason(searched: tuple[Experiment, str]) -> None:
    experiment, _ = searched
    told = study(experiment)
    assert told[FAILS].user_attrs[Key.REASON] == "ValueError: bad luck"
    assert told[RUNS_OUT].user_attrs[Key.REASON] == "too big"
    trials = load(experiment.paths.folder).trials
    assert trials["crashes"].tolist() == [2 if number == FAILS else 0 for number in range(14)]


def test_a_process_that_died_once_costs_its_trial_nothing(searched: tuple[Experiment, str]) -> None:
    experiment, output = searched
    assert (experiment.paths.folder / "died").exists()
    # A process runs one trial after another, as to start one takes as long as a short trial. A new one follows the death of
    # DIES_ONCE and each crash (two of FAILS), and stands before and after one that is granted all (RUNS_OUT).
    assert len(list(experiment.paths.folder.glob("process-*"))) <= 1 + 1 + 2 + 2
    assert load(experiment.paths.folder).trials["state"][DIES_ONCE] in ("complete", "pruned")
    assert output.count(f"trial {DIES_ONCE}: its process was lost") == 1
    assert output.count(f"trial {FAILS}: ValueError: bad luck; it continues from 200 steps") == 1


def test_a_trial_that_ran_out_of_memory_was_tried_once_more_alone(searched: tuple[Experiment, str]) -> None:
    experiment, output = searched
    assert output.count(f"trial {RUNS_OUT}: out of memory (too big); next it is alone on the machine") == 1
    trials = load(experiment.paths.folder).trials
    assert trials["out_of_memory"].tolist() == [2 if number == RUNS_OUT else 0 for number in range(14)]
    assert max(study(experiment)[RUNS_OUT].constraints.values()) > 0.0
    assert all(max(trial.constraints.values()) <= 0.0 for trial in study(experiment) if trial.number != RUNS_OUT)


def short_trial(config: dict[str, Any]) -> None:
    """One evaluation."""
    from ray import tune

    from tests.tuning.made_up import evaluated
    from tuning.trial.protocol import Report, handout_in

    tune.report(Report(0, restored=True).for_tune())
    tune.report(evaluated(handout_in(config).number, 1, 1000, 0.1).for_tune())


def test_tunes_run_begins_anew_after_many_trials_and_the_search_goes_on(
    tune_session: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("adapters", "driver"):
        monkeypatch.setattr(f"tuning.search.run.{module}.MOST_TRIALS", 3)
    monkeypatch.setattr("tuning.search.run.adapters.AT_LEAST_EACH", 1)
    runs: list[int] = []
    collect = gc.collect
    monkeypatch.setattr("tuning.search.run.driver.gc.collect", lambda: runs.append(len(study(experiment))) or collect())
    experiment = create(Settings(
        name="short", dir=str(tmp_path), trials=6, steps=1000, evaluations=1, concurrency=1, scheduler="none", sampler="random"
    ))  # fmt: skip
    run(experiment, short_trial)
    assert runs == [3, 6]
    assert load(experiment.paths.folder).trials["state"].tolist() == ["complete"] * 6


def without_tune(monkeypatch: pytest.MonkeyPatch, told: Callable[[int], Report]) -> None:
    """In place of Ray Tune: each trial tells one report, and ends."""

    def tuner(paths: Any, trainable: Any, search: Search, callbacks: Any) -> SimpleNamespace:
        def fit() -> None:
            while handout := search.hand_out():
                report = told(handout.number)
                search.take(handout.number, report)
                search.end(handout.number, report, has_failed=report.ending is Ending.CRASHED)

        return SimpleNamespace(fit=fit)

    monkeypatch.setattr(driver, "tuner", tuner)


def test_a_search_whose_budget_is_spent_says_so_and_begins_no_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_tune(monkeypatch, lambda number: evaluated(number, 1, 1000, 0.1))
    settings = Settings(
        name="spent", dir=str(tmp_path), budget="2k", steps=1000, evaluations=1, confirm=0.0, concurrency=1, scheduler="none",
        sampler="random",
    )  # fmt: skip
    experiment = create(settings)
    assert "is spent" not in run(experiment)[1]
    trained = len(study(experiment))
    ended = replace(experiment, settings=replace(settings, trials=2, budget="4k"))
    assert "all 2 trials have ended; a larger --trials goes on" in run(ended)[1]
    assert "is spent: 2,000 steps were used; a larger --budget goes on" in run(experiment)[1]
    assert len(study(experiment)) == trained


def test_a_bug_stops_the_search_and_not_one_trial_more_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'Traceback\n  File "buggy.py", line 3, in f\n    f()\nKeyError: {}'
    without_tune(monkeypatch, lambda number: Report(ending=Ending.CRASHED, message=text.format(number)))
    experiment = create(Settings(name="bug", dir=str(tmp_path), trials=9, concurrency=1, retries=0))
    asked, plain = set[str](), Plan(algorithm("ppo").space, {}, ())
    reason = run_trials(experiment, plain, roomy(experiment), Console(quiet=True), fake_trial, asked=asked)
    assert reason
    # The command that continues lets them begin anew, also where the run is watched.
    assert asked == {"retry_failed"}
    assert LiveSearch.read(experiment.paths.folder).again == ("--retry-failed",)
    assert "KeyError: 2" in reason
    assert "buggy.py" in reason
    assert load(experiment.paths.folder).trials["state"].tolist() == ["failed"] * 3


def test_a_site_with_chargers_alone_is_searched_only_if_charging_is_learned(tmp_path: Path) -> None:
    chargers = replace(planner(Settings(), tmp_path), sizes=replace(SMALL, actions=SMALL.chargers))
    told = tmp_path / "told.toml"
    told.write_text("[learn_charging]\nvalue = true\n", encoding="utf-8")
    for given, space in (({}, None), ({"set": (("learn_charging=false",),)}, None), ({"preset": "default"}, None)):
        with pytest.raises(UsageError, match="--set learn_charging=true"):
            refuse_nothing_to_learn(plan(replace(Settings(), **given), space), chargers)
        refuse_nothing_to_learn(plan(replace(Settings(), **given), space), planner(Settings(), tmp_path))
    for given, space in (({"set": (("learn_charging=true",),)}, None), ({"start_from": ()}, told)):
        refuse_nothing_to_learn(plan(replace(Settings(), **given), space), chargers)


@pytest.mark.parametrize(("budget", "is_weighed"), [("1h", True), ("1M", False)])
def test_the_ledger_weighs_steps_by_cost_where_the_budget_is_of_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, budget: str, is_weighed: bool
) -> None:
    class BuiltError(Exception):
        pass

    def ledger(*args: Any, costs: Costs, **options: Any) -> None:
        dear = costs.space.complete({"n_epochs": 10})
        assert (costs.of_assignment(dear) > 1.5) is is_weighed
        raise BuiltError

    monkeypatch.setattr("tuning.search.run.driver.Ledger", ledger)
    with pytest.raises(BuiltError):
        run(create(Settings(name="dear", dir=str(tmp_path), budget=budget, steps=600, evaluations=EVALUATIONS)))


def test_only_trials_that_ended_by_themselves_or_the_pruner_have_a_final_score() -> None:
    ended = pd.DataFrame(
        {
            "trial": range(5),
            "state": ["complete", "pruned", "oom", "failed", "complete"],
            "score": [0.1, 0.2, 0.3, 0.4, 0.5],
            "rating": [None] * 5,
            "confirms": [None, None, None, None, 0],
        }
    )
    found = final_scores(ended)
    assert {number: score for number, score in found.items() if not math.isnan(score)} == {0: 0.1, 1: 0.2}
    assert set(found) == {0, 1, 2, 3, 4}


@pytest.mark.parametrize(("address", "said"), [("", "starting Ray"), ("10.0.0.5:6379", "joining 10.0.0.5:6379")])
def test_a_search_says_which_ray_it_waits_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, said: str) -> None:
    shown = list[str]()
    monkeypatch.setattr(driver, "busy", lambda console, doing: shown.append(doing) or nullcontext())
    monkeypatch.setattr(driver, "is_ray_running", lambda: False)

    def session(address: str, source: str) -> None:
        raise UsageError("there is none")

    monkeypatch.setattr(driver, "ray_session", session)
    experiment = create(Settings(env="CartPole-v1", name="e", dir=str(tmp_path), address=address))
    with pytest.raises(UsageError, match="there is none"):
        driver.search(experiment, Plan(algorithm("ppo").space, {}, ()), Console(quiet=True))
    assert shown == [said]


def test_trials_that_had_ended_are_reopened_once_also_where_ray_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = completed(create(Settings(env="CartPole-v1", name="e", dir=str(tmp_path))), (1.0, {}))
    asked, told = {"extend"}, list[bool]()

    def runs(*given: Any) -> None:
        told.append("extend" in given[-1])
        given[-1].clear()
        if len(told) == 1:
            raise NodeLostError

    for name in ("plan_resources", "refuse_nothing_to_learn", "refuse_what_cannot_fit"):
        monkeypatch.setattr(driver, name, lambda *_: None)
    monkeypatch.setattr(driver, "ray_session", lambda *_: nullcontext())
    monkeypatch.setattr(driver, "is_ray_running", lambda: False)
    monkeypatch.setattr(driver, "run_trials", runs)
    plain = Plan(algorithm("ppo").space, {}, ())
    driver.search(experiment, plain, Console(quiet=True), asked=asked)
    assert told == [True, False]


def test_what_is_asked_of_trials_that_had_ended_is_done_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = completed(create(Settings(name="e", dir=str(tmp_path))), (0.1, {}))
    monkeypatch.setattr(driver, "tuner", lambda *_: SimpleNamespace(fit=lambda: None))
    asked, output, plain = {"extend", "retry_failed"}, io.StringIO(), Plan(algorithm("ppo").space, {}, ())
    run_trials(experiment, plain, roomy(experiment), Console(file=output, width=200), fake_trial, asked=asked)
    assert "complete trials that continue to 250,000 steps, by number: none" in output.getvalue()
    assert "failed trials that begin anew: none" in output.getvalue()
    assert not asked
