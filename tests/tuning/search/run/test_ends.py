"""What becomes of a trial whose process has ended: it is tried again, goes on later, or has ended. Without Ray."""

import math

import pytest

from results import load
from tests.tuning.search.fakes import FailingFiles, Searched, changed, states, two_begun
from tuning.experiment.folder import Experiment
from tuning.memory.planner import FALLBACKS
from tuning.search.run.phases import MOST_LOSSES
from tuning.trial.protocol import Ending, Report


def test_a_trial_fails_if_its_process_is_lost_again_and_again_at_one_checkpoint(experiment: Experiment) -> None:
    of = Searched(experiment)
    for _ in range(MOST_LOSSES + 1):
        assert of.begin() == 0
        of.lose(0)
    assert of.begin() == 1
    trials = load(experiment.paths.folder).trials
    assert trials["state"].tolist() == ["failed", "running"]
    assert trials["finished"].notna()[0]
    assert "died" in trials["error"][0]
    assert of.control.names()[-2:] == ["on_ended", "on_failed"]


@pytest.mark.parametrize("retries", [0, 2])
def test_a_crash_is_retried_some_times_then_the_trial_fails_with_its_traceback(experiment: Experiment, retries: int) -> None:
    experiment = changed(experiment, retries=retries)
    of = Searched(experiment)
    for crash in range(retries + 1):
        assert of.begin() == 0
        assert load(experiment.paths.folder).trials["error"].isna().all()
        of.crash(0, f"Traceback\nValueError: number {crash}")
        # Tries count over runs.
        of = Searched(experiment) if crash < retries else of
    assert of.begin() == 1
    trials = load(experiment.paths.folder).trials
    assert trials["state"].tolist() == ["failed", "running"]
    assert trials["crashes"].tolist() == [retries + 1, 0]
    assert trials["error"][0] == f"Traceback\nValueError: number {retries}"
    assert of.control.told[-1] == ("on_failed", trials["error"][0])
    assert of.memory.trial(0).user_attrs["reason"] == f"ValueError: number {retries}"


@pytest.mark.parametrize("ending", [Ending.STOPPED, Ending.DISK_FULL, Ending.STORAGE_LOST])
def test_a_trial_that_was_stopped_goes_on_with_the_next_run(experiment: Experiment, ending: Ending) -> None:
    of = Searched(experiment)
    of.begin()
    of.control.is_stopping = True
    of.search.end(0, Report(10, ending=ending, message="no room"), False)
    assert of.begin() is None
    assert of.control.told[1:] == [("on_left", 0), *([("stop", "no room")] if ending != Ending.STOPPED else [])]
    assert states(experiment) == ["running"]
    assert Searched(experiment).begin() == 0


def test_a_trial_that_another_run_stopped_is_handed_out_again_as_long_as_this_one_goes_on(experiment: Experiment) -> None:
    files = FailingFiles()
    of = Searched(experiment, files=files)
    of.begin()
    of.search.end(0, Report(ending=Ending.STOPPED), False)
    assert of.begin() == 0
    assert of.control.lines[-1] == "trial 0: it was stopped by another run; it continues from 0 steps"
    files.lost = "the bucket does not answer"
    of.search.end(0, Report(ending=Ending.STOPPED), False)
    assert of.control.told[-1] == ("on_left", 0)
    assert of.begin() == 1


@pytest.mark.parametrize("score", [math.nan, -math.inf])
@pytest.mark.parametrize(("budget", "goes_on"), [("40000", False), ("", True)])
def test_a_score_that_is_no_number_is_a_failure_and_gets_no_more_of_a_budget(
    experiment: Experiment, score: float, budget: str, goes_on: bool
) -> None:
    of = Searched(changed(experiment, budget=budget))
    of.begin()
    assert of.tell(0, 1, score) is goes_on
    assert of.memory.trial(0).intermediate_values == {}
    of.end(0, 1, score)
    assert states(experiment) == ["failed"]
    assert of.memory.trial(0).state.name == "FAIL"


def test_a_trial_that_ran_out_of_memory_is_tried_again_alone(experiment: Experiment) -> None:
    of = two_begun(experiment)
    of.run_out(0)
    line = "trial 0: out of memory (OutOfMemoryError: too big); next it is alone on the machine; it continues from 0 steps"
    assert line in of.control.lines
    # Trial 1 still runs, and nothing else begins.
    assert of.begin() is None
    of.complete(1)
    handout = of.search.hand_out()
    assert (handout.number, handout.place.grant.ram_bytes, handout.place.fallback) == (0, 4 * 2**30, FALLBACKS[0])
    # Nor does anything begin beside it.
    assert of.begin() is None
    of.complete(0)
    handout = of.search.hand_out()
    assert handout.number == 2
    assert handout.place.grant.ram_bytes < 2 * 2**30
    trials = load(experiment.paths.folder).trials
    assert trials["state"].tolist() == ["complete", "complete", "running"]
    assert trials["out_of_memory"].tolist() == [1, 0, 0]


def test_with_adapt_each_attempt_saves_more_memory(experiment: Experiment) -> None:
    of = two_begun(experiment, on_oom="adapt")
    of.complete(1)
    rungs, told = [], []
    for _ in range(len(FALLBACKS) + 1):
        of.search.take(0, Report(columns={"peak_rss_bytes": 10 * 2**30}))
        of.run_out(0)
        told.append(of.control.lines[-1].partition("; ")[2].partition("; ")[0])
        handout = of.search.hand_out()
        if handout.number != 0:
            break
        rungs.append((handout.place.fallback, of.rows.row(0)["savings"]))
    assert rungs == [(fallback, fallback.name or None) for fallback in FALLBACKS]
    assert told[1:3] == ["next with half minibatches", "next with half minibatches, bfloat16"]
    assert states(experiment) == ["oom", "complete", "running"]
    # It violates a constraint by its missing bytes.
    assert max(of.memory.trial(0).constraints.values()) == 6 * 2**30


def test_a_process_that_ended_itself_for_memory_ran_out_and_did_not_crash(experiment: Experiment) -> None:
    of = two_begun(experiment)
    marker = experiment.paths.memory_marker(0)
    marker.parent.mkdir(exist_ok=True)
    marker.write_text(str(3 * 2**30), encoding="utf-8")
    of.lose(0)
    standing = of.record.study.standing(0)
    assert (standing.out_of_memory, standing.crashes) == (1, 0)
    assert any("its process had 3.00 GiB" in line for line in of.control.lines)
    assert not marker.exists()


def test_a_trial_that_leaves_its_node_goes_on_from_its_checkpoint(experiment: Experiment) -> None:
    of = Searched(experiment)
    of.begin()
    for _ in range(2):
        of.search.send_away(0)
    of.search.take(0, left := Report(2048, saved=True, ending=Ending.STOPPED))
    of.search.end(0, left, False)
    assert of.begin() == 0
    assert of.control.names() == ["leave", "on_left"]
    assert ("has_left", 0) in of.control.told
    assert "trial 0: its node goes; it continues from 2,048 steps" in of.control.lines
    # Told once: it may run on now.
    of.complete(0)
    assert states(experiment) == ["complete"]
