"""The line of progress counts trials, steps and time right."""

import io
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from tuning.search.progress import Progress
from tuning.trial.protocol import EVALUATION, MESSAGE, NUMBER, OUTCOME, SCORE, STEPS


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("tuning.search.progress.check_nodes", lambda: None)
    monkeypatch.setattr("tuning.search.progress.time", clock)
    return clock


def trial(number: int, **result: Any) -> Any:
    return SimpleNamespace(config={NUMBER: number}, last_result=result)


def start(progress: Progress, number: int) -> None:
    progress.on_trial_start(0, [], trial(number))


def report(progress: Progress, number: int, steps: int, score: float | None = None) -> None:
    scored = {} if score is None else {EVALUATION: 1, SCORE: score}
    progress.on_trial_result(0, [], trial(number), {STEPS: steps, **scored})


def progress(
    already: dict[str, int] | None = None, best: tuple[float, int] | None = None, resumed: dict[int, int] | None = None
) -> tuple[Progress, io.StringIO]:
    output = io.StringIO()
    return Progress(Console(file=output, width=200), 4, 1000, already or {}, best, resumed or {}), output


def test_rate_and_time_left_follow_the_steps(clock: Clock) -> None:
    shown, _ = progress()
    start(shown, 0)
    start(shown, 1)
    report(shown, 0, 600)
    report(shown, 1, 400)
    clock.now = 10.0
    line = shown.line()
    assert "0/4 trials done" in line
    assert "2 running" in line
    assert "100 steps/s" in line
    assert "0:00:30 left" in line


def test_trials_of_an_earlier_run_count_as_done_and_not_as_speed(clock: Clock) -> None:
    shown, _ = progress({"complete": 1, "pruned": 1}, best=(0.5, 1))
    start(shown, 2)
    report(shown, 2, 500)
    clock.now = 10.0
    line = shown.line()
    assert "2/4 trials done (1 complete, 1 pruned)" in line
    assert "best +0.5000 (trial 1)" in line
    assert "50 steps/s" in line
    assert "0:00:30 left" in line


def test_a_resumed_trial_counts_only_its_new_steps_as_speed(clock: Clock) -> None:
    shown, _ = progress(resumed={0: 850})
    start(shown, 0)
    clock.now = 10.0
    report(shown, 0, 950)
    line = shown.line()
    assert "10 steps/s" in line
    assert "0:05:05 left" in line


def test_the_rest_of_a_pruned_trials_budget_takes_no_time(clock: Clock) -> None:
    shown, output = progress()
    start(shown, 0)
    report(shown, 0, 300, score=-0.1)
    shown.on_ended(0, "pruned")
    start(shown, 1)
    report(shown, 1, 1000, score=0.2)
    shown.on_ended(1, "complete")
    shown.on_ended(2, "oom")
    shown.on_ended(3, "failed")
    clock.now = 10.0
    line = shown.line()
    assert "400 steps/s | 0:00:00 left" in line
    assert "4/4 trials done (1 complete, 1 pruned, 1 oom, 1 failed)" in line
    assert "0 running" in line
    assert "best +0.2000 (trial 1)" in line
    assert "trial 0: pruned" in output.getvalue()
    assert "trial 1: score +0.2000 at 1,000 steps" in output.getvalue()


def test_a_trial_that_is_left_is_not_running_and_keeps_its_steps(clock: Clock) -> None:
    shown, _ = progress()
    start(shown, 0)
    report(shown, 0, 400)
    shown.on_left(0)
    clock.now = 10.0
    line = shown.line()
    assert "0/4 trials done" in line
    assert "0 running" in line
    assert "40 steps/s | 0:01:30 left" in line


def test_a_message_of_a_trial_is_shown_as_it_is() -> None:
    shown, output = progress()
    start(shown, 0)
    shown.on_trial_result(0, [], trial(0), {STEPS: 10, MESSAGE: "trial 0: a line [of its own]"})
    # What comes with an outcome is for the driver.
    shown.on_trial_result(0, [], trial(0), {OUTCOME: "oom", MESSAGE: "not this"})
    assert output.getvalue() == "trial 0: a line [of its own]\n"
