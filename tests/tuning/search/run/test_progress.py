"""The line of progress counts trials, steps and time right."""

import io
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

from envs.objective.aim import Outcome
from results.live import LiveSearch
from results.live_view import NOT_YET
from tests.tuning.search.fakes import Clock, handed_out, study
from tuning.algorithms.registry import algorithm
from tuning.experiment.option_values import Budget
from tuning.experiment.settings import Settings
from tuning.search.record.ledger import Ledger
from tuning.search.record.trials import Costs
from tuning.search.run.progress import Progress
from tuning.search.run.time_left import Work
from tuning.trial.protocol import Ending, Evaluated, Report


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("tuning.search.run.progress.check_nodes", lambda: None)
    monkeypatch.setattr("tuning.search.run.progress.time", SimpleNamespace(monotonic=clock))
    return clock


def trial(number: int, **result: Any) -> Any:
    return SimpleNamespace(config=handed_out(number), last_result=result)


def start(progress: Progress, number: int) -> None:
    progress.on_trial_start(0, [], trial(number))


def report(progress: Progress, number: int, steps: int, score: float | None = None) -> None:
    evaluated = None if score is None else Evaluated(1, steps, Outcome(score))
    rows = [] if score is None else [{"trial": number, "year": 1, "hours": 10, "steps": steps, "score": score}]
    tell(progress, trial(number), Report(steps, evaluated=evaluated, evaluations=rows))


def tell(progress: Progress, trial: Any, report: Report) -> None:
    progress.on_trial_result(0, [], trial, report.for_tune())


def trials(*rows: tuple[str, int, float]) -> pd.DataFrame:
    """Rows of `trials` of an earlier run: state, steps and score of each."""
    states, steps, scores = zip(*rows, strict=True) if rows else ((), (), ())
    numbers = list(range(len(rows)))
    told = {"trial": numbers, "state": states, "steps": steps, "score": scores, "rating": math.nan, "confirms": math.nan}
    return pd.DataFrame(told, numbers)


def progress(*before: tuple[str, int, float], folder: Path | None = None, **options: Any) -> tuple[Progress, io.StringIO]:
    output = io.StringIO()
    console = Console(file=output, width=200, **options)
    return Progress(console, Settings(trials=4, steps=1000, scheduler="none"), trials(*before), folder=folder), output


def test_rate_and_time_left_follow_the_steps(clock: Clock) -> None:
    shown, _ = progress()
    for number, steps in ((0, 600), (1, 400)):
        start(shown, number)
        report(shown, number, 0)
        clock.now = 10.0
        report(shown, number, steps)
        clock.now = 0.0
    clock.now = 10.0
    parts = shown.parts()
    assert parts[0] == "0/4 trials done"
    assert "2 running" in parts
    assert "100 steps/s" in parts
    # 4 trials of 1,000 steps, of which 1,000 were taken; fewer, if any is stopped.
    assert "at most 0:00:30 left" in parts


def test_before_the_first_report_words_say_that_the_time_left_is_not_known(clock: Clock) -> None:
    shown, _ = progress()
    start(shown, 0)
    assert NOT_YET in shown.parts()
    clock.now = 20.0
    report(shown, 0, 100)
    assert NOT_YET not in shown.parts()
    assert "at most 0:13:00 left" in shown.parts()


def test_trials_of_an_earlier_run_count_as_done_and_not_as_speed(clock: Clock) -> None:
    shown, _ = progress(("complete", 1000, 0.1), ("pruned", 1000, 0.5))
    start(shown, 2)
    report(shown, 2, 0)
    clock.now = 10.0
    report(shown, 2, 500)
    parts = shown.parts()
    assert "2/4 trials done (1 complete, 1 pruned)" in parts
    assert "best +0.5000 (trial 1)" in parts
    assert shown.state().steps_per_second == 50.0
    assert "at most 0:00:30 left" in parts


def test_trials_that_were_stopped_with_their_run_are_counted(clock: Clock, tmp_path: Path) -> None:
    memory, settings = study(tmp_path, sampler="random"), Settings(budget="10k", steps=1000)
    work = Work(Ledger(memory, Budget(10_000, "steps"), 100), Costs(algorithm("ppo").space))
    before = trials(("frozen", 300, 0.1), ("running", 200, 0.2), ("complete", 1000, 0.3))
    shown = Progress(Console(quiet=True), settings, before, work)
    assert "3 trials (1 complete, 1 frozen)" in shown.parts()
    start(shown, 3)
    start(shown, 1)
    shown.on_ended(4, "oom")  # it never started
    assert "5 trials (1 complete, 1 oom, 1 frozen)" in shown.parts()
    shown.on_frozen(3)
    assert "5 trials (1 complete, 1 oom, 2 frozen)" in shown.parts()


def test_without_a_budget_a_trial_that_runs_counts_by_its_steps(clock: Clock) -> None:
    shown, _ = progress(("complete", 1000, 0.1))
    start(shown, 1)
    report(shown, 1, 500)
    assert shown.state().done == 1.5 / 4


def test_ended_trials_are_counted_by_state_and_their_scores_are_lines(clock: Clock) -> None:
    shown, output = progress()
    start(shown, 0)
    report(shown, 0, 300, score=-0.1)
    shown.on_ended(0, "pruned")
    start(shown, 1)
    report(shown, 1, 1000, score=0.2)
    shown.on_ended(1, "complete")
    shown.on_ended(2, "oom")
    shown.on_ended(3, "failed")
    parts = shown.parts()
    assert "4/4 trials done (1 complete, 1 pruned, 1 oom, 1 failed)" in parts
    assert "0 running" in parts
    assert "best +0.2000 (trial 1)" in parts
    assert output.getvalue().splitlines() == [
        "trial 0: score -0.1000 at 300 steps", "trial 0: pruned", "trial 1: score +0.2000 at 1,000 steps", "trial 2: oom",
        "trial 3: failed",
    ]  # fmt: skip


def test_a_trial_that_goes_on_tells_no_evaluation_twice(clock: Clock) -> None:
    shown, output = progress(("running", 470, math.nan))
    start(shown, 0)
    tell(shown, trial(0), Report(470, evaluated=Evaluated(1, 300, Outcome(0.1))))
    assert "best +0.1000 (trial 0)" in shown.parts()
    report(shown, 0, 600, score=0.2)
    assert output.getvalue() == "trial 0: score +0.2000 at 600 steps\n"
    # Its pace begins at the checkpoint.
    assert shown._trial_steps[0] - shown._begun_steps == 130


@pytest.mark.parametrize("terminal", ["xterm", "dumb"])
def test_scores_are_lasting_lines_on_a_terminal_too(clock: Clock, monkeypatch: pytest.MonkeyPatch, terminal: str) -> None:
    monkeypatch.setenv("TERM", terminal)
    shown, output = progress(force_terminal=True, legacy_windows=False)
    with shown:
        start(shown, 0)
        report(shown, 0, 300, score=-0.1)
        shown.on_ended(0, "pruned")
        clock.now = 100.0
        shown.on_step_end(0, [])
    text = output.getvalue()
    assert "trial 0: score -0.1000 at 300 steps\n" in text
    assert "trial 0: pruned\n" in text
    # A dumb terminal cannot replace lines, so it gets lines as a log does.
    assert ("\x1b[" in text) == (terminal == "xterm")
    assert "1/4 trials done" in text


def test_a_message_of_a_trial_is_shown_as_it_is() -> None:
    shown, output = progress()
    start(shown, 0)
    tell(shown, trial(0), Report(10, message="trial 0: a line [of its own]"))
    # What comes with an ending is for the driver.
    tell(shown, trial(0), Report(ending=Ending.OUT_OF_MEMORY, message="not this"))
    assert output.getvalue() == "trial 0: a line [of its own]\n"


def test_the_best_so_far_is_a_trial_with_a_rating() -> None:
    before = pd.DataFrame(
        {
            "trial": [0, 1], "state": ["failed", "complete"], "steps": [64, 64], "score": [0.4, 0.3],
            "objective": [math.nan, 40.0], "rating": [-math.inf, -40.0], "confirms": [math.nan, math.nan],
        }
    )  # fmt: skip
    settings = Settings(objective="peak_kw", trials=3)
    assert Progress(Console(quiet=True), settings, before)._best == (-40.0, 1)
    assert Progress(Console(quiet=True), settings, before[:1])._best is None
    # Money is that of the site.
    of_money = Progress(Console(quiet=True), Settings(objective="bill", trials=3), before)
    assert of_money.state().best == "bill 40.0 PEN (trial 1)"


def test_a_trial_that_goes_on_may_be_the_best_so_far() -> None:
    before = trials(("complete", 64, 0.1), ("running", 64, 0.3))
    assert Progress(Console(quiet=True), Settings(trials=3), before)._best == (0.3, 1)


def test_a_trial_that_confirms_another_is_not_the_best_so_far() -> None:
    before = trials(("complete", 64, 0.1), ("complete", 64, 0.3)).assign(confirms=[math.nan, 0.0])
    shown = Progress(Console(quiet=True), Settings(trials=3), before)
    assert shown._best == (0.1, 0)
    again: Any = SimpleNamespace(config=handed_out(2, confirms=True))
    shown.on_trial_start(0, [], again)
    tell(shown, again, Report(64, evaluated=Evaluated(1, 64, Outcome(0.5))))
    assert shown._best == (0.1, 0)


def test_the_file_has_what_the_terminal_shows_and_how_the_run_ended(clock: Clock, tmp_path: Path) -> None:
    shown, _ = progress(("running", 400, math.nan), folder=tmp_path)
    with shown:
        assert LiveSearch.read(tmp_path).phase == "running"
        for number in (0, 1):
            start(shown, number)
        report(shown, 1, 300, score=-0.1)
        report(shown, 1, 350)
        clock.now = 10.0
        shown.on_step_end(0, [])
        told = LiveSearch.read(tmp_path)
        assert [(own.number, own.state, own.steps, own.rating) for own in told.trials] == [
            (0, "continuing", 400, ""), (1, "training", 350, "-0.1000"),
        ]  # fmt: skip
        assert (told.best, told.curve) == ("-0.1000 (trial 1)", ((0.0, -0.1),))
        assert told.events == ("trial 1: score -0.1000 at 300 steps",)
    shown.end(is_stopped=True, reason="the disk is full", again=["--retry-failed"])
    told = LiveSearch.read(tmp_path)
    assert (told.phase, told.reason, told.again) == ("stopped", "the disk is full", ("--retry-failed",))


@pytest.mark.parametrize("system", ["nt", "posix"])
def test_a_file_that_cannot_be_replaced_is_a_matter_of_a_moment_on_windows_alone(
    clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    def write(state: LiveSearch, folder: Path) -> None:
        raise PermissionError(13, "Permission denied")

    shown, output = progress(folder=tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(LiveSearch, "write", write)
        patched.setattr("tuning.search.run.progress.os.name", system)
        shown._write_file()
    shown._write_file()
    told = "progress.json cannot be written (Permission denied), so this run cannot be watched from elsewhere\n"
    assert output.getvalue() == ("" if system == "nt" else told)
    assert (tmp_path / "progress.json").exists() == (system == "nt")


def test_an_evaluation_is_told_with_its_own_score_beside_the_best_that_counts(clock: Clock) -> None:
    shown, output = progress()
    start(shown, 0)
    rows = [{"trial": 0, "year": 1, "hours": 10, "steps": 500, "score": 0.2}]
    tell(shown, trial(0), Report(500, evaluated=Evaluated(2, 500, Outcome(0.3)), evaluations=rows))
    assert "trial 0: score +0.2000 at 500 steps; its best: +0.3000\n" in output.getvalue()


def test_that_a_requirement_is_missed_is_said_once_where_the_best_misses_it_too(clock: Clock) -> None:
    output = io.StringIO()
    settings = Settings(trials=4, steps=1000, scheduler="none", require=("ev_served>=0.99",))
    shown = Progress(Console(file=output, width=200), settings, trials())
    start(shown, 0)
    rows = [{"trial": 0, "year": 1, "hours": 10, "steps": 500, "score": 0.2, "ev_served": 0.5, "ev_required_kwh": 1.0}]
    tell(shown, trial(0), Report(500, evaluated=Evaluated(2, 500, Outcome(0.3, shortfall=0.1)), evaluations=rows))
    assert "trial 0: score +0.2000, misses a requirement at 500 steps\n" in output.getvalue()


def test_of_equal_trials_the_first_is_the_best(clock: Clock) -> None:
    shown, _ = progress(("complete", 1000, 0.1), ("complete", 1000, 0.5), ("complete", 1000, 0.5))
    assert "best +0.5000 (trial 1)" in shown.parts()
    for number in (3, 2):
        start(shown, number)
        report(shown, number, 500, 0.7)
    assert "best +0.7000 (trial 2)" in shown.parts()
