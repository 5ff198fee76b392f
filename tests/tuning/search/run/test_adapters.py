"""What Ray Tune is told of a search, and what the search is told of Tune."""

from types import SimpleNamespace
from typing import Any

from tests.tuning.search.fakes import REPORTS, Searched, StopsAll, evaluated, states
from tuning.experiment.folder import Experiment
from tuning.search.run.adapters import StudyScheduler, StudySearcher
from tuning.trial.protocol import Report, handout_in


def test_tune_gets_each_trial_by_its_own_name_and_is_told_of_the_end(experiment: Experiment) -> None:
    of = Searched(experiment)
    searcher = StudySearcher(of.search)
    given: list[Any] = [searcher.suggest(name) for name in "ab"]
    assert [handout_in(config).number for config in given] == [0, 1]
    # Loggers of users find them there.
    assert given[0]["hyperparameters"] == of.memory.proposal(0).hyperparameters
    assert searcher.suggest("c") is None
    of.search.take(1, last := evaluated(REPORTS))
    searcher.on_trial_complete("b", last.for_tune())
    assert states(experiment) == ["running", "complete"]
    searcher.on_trial_complete("a", error=True)
    assert handout_in(searcher.suggest("d")).number == 0  # type: ignore[arg-type]
    of.complete(0)
    assert searcher.suggest("e") == "FINISHED"


def test_a_trial_without_a_report_never_began(experiment: Experiment) -> None:
    of = Searched(experiment)
    searcher = StudySearcher(of.search)
    searcher.suggest("a")
    of.search.withdraw(0)
    searcher.on_trial_complete("a")
    assert handout_in(searcher.suggest("b")).number == 0  # type: ignore[arg-type]


def test_a_report_is_taken_once_and_may_stop_its_trial(experiment: Experiment) -> None:
    of = Searched(experiment, pruner=StopsAll())
    trial: Any = SimpleNamespace(config=StudySearcher(of.search).suggest("a"))
    scheduler = StudyScheduler(of.search)

    def told(report: Report, **more: Any) -> str:
        return scheduler.on_trial_result(None, trial, {**report.for_tune(), **more})

    assert told(Report(10)) == "CONTINUE"
    # As Tune passes it on at the end of a trial.
    assert told(evaluated(1), done=True) == "CONTINUE"
    assert of.memory.trial(0).intermediate_values == {}
    assert told(evaluated(1)) == "STOP"
    assert scheduler.on_trial_result(None, trial, {}) == "CONTINUE"


def test_a_trial_that_waits_is_taken_back_from_tune_and_one_that_has_begun_is_kept(experiment: Experiment) -> None:
    of = Searched(experiment)
    searcher, scheduler = StudySearcher(of.search), StudyScheduler(of.search)
    handed = {name: searcher.suggest(name) for name in "ab"}
    status = {"a": "RUNNING", "b": "PENDING"}
    trials = [SimpleNamespace(trial_id=name, config=handed[name], status=status[name]) for name in "ab"]
    # Its number ran before on a node that was lost; Tune lists that too.
    lost = SimpleNamespace(trial_id="lost", config=handed["b"], status="ERROR")
    stopped: list[str] = []

    def stop_trial(trial: Any) -> None:
        stopped.append(trial.trial_id)
        searcher.on_trial_complete(trial.trial_id)

    for number in (0, 1):
        of.search.withdraw(number)
    tune: Any = SimpleNamespace(
        get_live_trials=lambda: [lost, *trials], get_trials=lambda: [], stop_trial=stop_trial, _staged_trials=list(trials)
    )
    tune._unstage_trial_with_resources = tune._staged_trials.remove
    for _ in range(2):
        scheduler.choose_trial_to_run(tune)
    assert stopped == ["b"]
    assert tune._staged_trials == trials[:1]
    assert of.search.running == {0}
