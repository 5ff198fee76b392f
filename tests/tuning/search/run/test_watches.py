"""A search whose storage is lost stops."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ray.tune.progress_reporter import TrialProgressCallback
from ray.tune.utils.callback import _create_default_callbacks

from common.storage.faults import StorageLostError
from common.units import GIB
from tests.tuning.memory.test_allocation import node
from tests.tuning.memory.test_placement import LARGE, LARGE_CARD, SMALL_CARD, USUAL, placement
from tests.tuning.search.fakes import Control, FailingFiles, handed_out
from tuning.experiment.option_values import Budget
from tuning.memory.allocation import Node
from tuning.memory.machine import Cluster
from tuning.search.run.adapters import QuietTune
from tuning.search.run.watches import (
    LEFT_SECONDS,
    LOOK_SECONDS,
    PATIENCE_SECONDS,
    START_SECONDS,
    VAIN_SECONDS,
    BudgetWatch,
    ClusterWatch,
    StartWatch,
    StorageWatch,
)
from tuning.trial.protocol import Report, handout_in, report_in


def test_a_search_stops_once_its_files_cannot_be_written_and_ends_though_trials_do_not_see_it() -> None:
    files, control, now = FailingFiles(), Control(), [0.0]
    watch = StorageWatch(files, control, lambda: now[0])  # type: ignore[arg-type]
    watch.on_step_end(1, [])
    assert control.told == []
    files.lost = "the storage is lost; start the command again"
    for now[0] in (0.0, LEFT_SECONDS):
        watch.on_step_end(1, [])
    assert control.told == [("say", "stopping: the storage is lost"), ("stop", files.lost)]
    now[0] += 1
    with pytest.raises(StorageLostError, match="the storage is lost"):
        watch.on_step_end(3, [])


def test_a_search_that_stops_already_keeps_its_reason() -> None:
    files, control = FailingFiles(), Control()
    control.reason = "the disk is full"
    files.lost = "the storage is lost"
    StorageWatch(files, control).on_step_end(1, [])  # type: ignore[arg-type]
    assert control.names() == []


@pytest.mark.parametrize(
    ("budget", "spent", "stopping", "steps", "told"),
    [
        (Budget(1.0, "seconds"), True, False, 9, ["ended", "ended"]),
        (Budget(1.0, "seconds"), True, False, 0, ["the budget is spent before"]),
        (Budget(1.0, "seconds"), False, False, 9, []),
        (Budget(1.0, "seconds"), True, True, 9, []),
        (Budget(1.0, "steps"), True, False, 9, []),
        (None, True, False, 9, []),
    ],
)
def test_when_it_ends(budget: Budget | None, spent: bool, stopping: bool, steps: int, told: list[str]) -> None:
    heard: list[str] = []
    ledger: Any = SimpleNamespace(budget=budget, is_spent=lambda: spent, steps=lambda: steps)
    control: Any = SimpleNamespace(is_stopping=stopping, finish=lambda: heard.append("ended"), say=heard.append)
    watch = BudgetWatch(ledger, control)
    for _ in range(2):
        watch.on_step_end(0, [])
    assert [line[: len(start)] for line, start in zip(heard, told, strict=True)] == told


def test_tune_uses_it_in_place_of_its_own(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")
    found = _create_default_callbacks([QuietTune()], air_verbosity=None)
    assert [type(own) for own in found if isinstance(own, TrialProgressCallback)] == [QuietTune]
    trial: Any = SimpleNamespace(last_result={}, trial_id="a")
    (quiet,) = found
    quiet.on_trial_complete(1, [trial], trial)
    quiet.on_trial_error(1, [trial], trial)
    quiet.on_trial_result(1, [trial], trial, {"done": True})
    assert capsys.readouterr().out == ""
    # What was written is in no snapshot of Tune.
    result = Report(100, reports=({"trial": 0},)).for_tune()
    quiet.on_trial_result(1, [trial], trial, result)
    told = report_in(result)
    assert (told.steps, told.reports) == (100, ())


class FakeSearch:
    """Substitute for the search: which trials it has handed out, and what it was told."""

    def __init__(self) -> None:
        self.handed: dict[int, dict[str, float]] = {}
        self.left: list[int] = []
        self.taken_back: list[int] = []

    @property
    def running(self) -> set[int]:
        return set(self.handed)

    def proposal(self, number: int) -> Any:
        return SimpleNamespace(hyperparameters=self.handed[number])

    def send_away(self, number: int) -> None:
        self.left.append(number)

    def withdraw(self, number: int) -> None:
        self.taken_back.append(number)


class Watched:
    """A watch over a cluster that is made up."""

    def __init__(self, folder: Path, *nodes: Node) -> None:
        self.now, self.nodes, self.leaving = 0.0, nodes, frozenset[str]()
        self.placement, self.search, self.control = placement(folder, *nodes), FakeSearch(), Control()
        self.on: dict[int, str] = {}
        self.watch = ClusterWatch(
            self.placement, self.search, self.control,  # type: ignore[arg-type]
            lambda: Cluster(self.nodes, self.leaving), lambda trial: self.on[handout_in(trial.config).number], lambda: self.now,
        )  # fmt: skip
        self.step()

    def step(self, seconds: float = LOOK_SECONDS) -> None:
        self.now += seconds
        self.watch.on_step_end(0, [])

    def hand_out(self, number: int, of: dict[str, float], on: str = "") -> Any:
        self.placement.place(number, of)
        self.search.handed[number] = of
        trial: Any = SimpleNamespace(config=handed_out(number))
        if on:
            self.on[number] = on
            self.watch.on_trial_start(0, [], trial)
        return trial


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path, SMALL_CARD, LARGE_CARD)


def test_nodes_that_come_and_go_are_told_and_followed(watched: Watched) -> None:
    watched.nodes = (*watched.nodes, node("c", 40))
    watched.step()
    watched.nodes = watched.nodes[1:]
    watched.step()
    watched.step()
    assert watched.control.lines == ["cluster: 1 joined; 3 nodes", "cluster: 1 gone; 2 nodes"]
    assert [kind.key.card_bytes // GIB for kind in watched.placement.kinds] == [24, 40]


def test_it_looks_only_every_few_seconds(watched: Watched) -> None:
    watched.nodes = watched.nodes[1:]
    watched.step(LOOK_SECONDS / 2)
    assert watched.control.lines == []


def test_trials_leave_a_node_that_is_drained_and_only_they(watched: Watched) -> None:
    watched.hand_out(0, USUAL, "a")
    watched.hand_out(1, USUAL, "b")
    watched.step()
    assert watched.search.left == []
    watched.leaving = frozenset("a")
    watched.step()
    assert watched.search.left == [0]
    assert watched.control.lines == ["cluster: 1 drained; 2 nodes"]
    # One that starts there later, as its process was used again, leaves too.
    watched.hand_out(2, USUAL, "a")
    watched.step()
    assert 2 in watched.search.left


def test_a_trial_that_waits_for_a_kind_that_is_gone_is_taken_back_where_it_fits_another(watched: Watched) -> None:
    watched.hand_out(0, USUAL)
    watched.hand_out(1, LARGE)
    watched.step()
    assert watched.search.taken_back == []
    watched.nodes = (SMALL_CARD,)
    watched.step()
    assert watched.search.taken_back == []
    watched.nodes = (LARGE_CARD,)
    watched.step()
    assert watched.search.taken_back == [0]


def test_a_trial_that_waits_long_is_taken_back_if_another_kind_has_room(watched: Watched) -> None:
    watched.hand_out(0, USUAL)
    watched.hand_out(1, LARGE)
    watched.step()
    watched.step(PATIENCE_SECONDS)
    assert watched.search.taken_back == []
    watched.step()
    assert watched.search.taken_back == [0]


def test_what_waits_is_taken_back_once_when_a_second_kind_of_card_joins(tmp_path: Path) -> None:
    watched = Watched(tmp_path, LARGE_CARD)
    watched.hand_out(0, USUAL, "b")
    watched.hand_out(1, LARGE)
    watched.step()
    assert watched.search.taken_back == []
    watched.nodes = (LARGE_CARD, SMALL_CARD)
    watched.step()
    assert watched.search.taken_back == [1]
    watched.hand_out(1, LARGE)
    watched.step()
    assert watched.search.taken_back == [1]


def test_a_trial_that_started_does_not_wait(watched: Watched) -> None:
    trial = watched.hand_out(0, USUAL, "a")
    watched.step(2 * PATIENCE_SECONDS)
    watched.nodes = (LARGE_CARD,)
    watched.step()
    assert watched.search.taken_back == []
    # Its process is lost with its node; handed out again it waits.
    watched.watch.on_trial_error(0, [], trial)
    watched.step()
    assert watched.search.taken_back == [0]


def test_the_search_stops_if_no_trial_runs_and_none_fits_what_is_left(watched: Watched) -> None:
    running = watched.hand_out(0, USUAL, "a")
    watched.hand_out(1, LARGE)
    watched.nodes = (SMALL_CARD,)
    for _ in range(2):
        watched.step(2 * VAIN_SECONDS)
    assert watched.control.names() == []
    watched.watch.on_trial_complete(0, [], running)
    del watched.search.handed[0]
    watched.step()
    watched.step(VAIN_SECONDS)
    assert watched.control.names() == []
    watched.step()
    ((name, reason),) = [told for told in watched.control.told if told[0] != "say"]
    assert name == "stop"
    assert "trial 1 fits" in reason
    assert watched.search.taken_back == []


def test_a_node_that_comes_back_ends_the_wait(watched: Watched) -> None:
    watched.hand_out(1, LARGE)
    watched.nodes = (SMALL_CARD,)
    watched.step()
    watched.nodes = (SMALL_CARD, LARGE_CARD)
    watched.step(2 * VAIN_SECONDS)
    assert watched.control.names() == []


def test_what_waits_when_the_run_stops_is_taken_back(watched: Watched) -> None:
    watched.hand_out(0, USUAL, "a")
    watched.hand_out(1, LARGE)
    watched.control.is_stopping = True
    watched.leaving = frozenset("a")
    watched.step()
    assert watched.search.taken_back == [1]
    assert watched.search.left == []


RAYLET = """[2026-01-31 23:59:58,001 I 804 3420] (raylet) main.cc:1: it begins
[2026-01-31 23:59:59,123 E 804 3420] (raylet) worker_pool.cc:586: Some workers have not registered
[2026-01-31 23:59:59,200 W 804 3420] (raylet) main.cc:2: and so on
"""


@pytest.mark.parametrize(
    ("log", "told"),
    [(RAYLET, ", the last fault there: (raylet) worker_pool.cc:586: Some workers have not registered"), ("", "")],
)
def test_where_no_trial_begins_a_line_says_so_once_with_what_rays_logs_say(tmp_path: Path, log: str, told: str) -> None:
    now, control = [0.0], Control()
    (tmp_path / "raylet.out").write_text(log, encoding="utf-8")
    watch = StartWatch(control, lambda: tmp_path, lambda: now[0])  # type: ignore[arg-type]
    for now[0] in (0.0, START_SECONDS - 1.0, START_SECONDS, 2 * START_SECONDS):
        watch.on_step_end(0, [])
    assert control.lines == [
        f"no trial has begun in 2 min: Ray has started no process for one; its logs are in {tmp_path}{told}"
    ]


def test_where_a_trial_began_nothing_is_said() -> None:
    now, control = [0.0], Control()
    watch = StartWatch(control, lambda: None, lambda: now[0])  # type: ignore[arg-type]
    watch.on_trial_start(0, [], SimpleNamespace())  # type: ignore[arg-type]
    now[0] = 2 * START_SECONDS
    watch.on_step_end(0, [])
    assert control.lines == []


def test_nothing_is_taken_back_while_the_head_alone_is_there(tmp_path: Path) -> None:
    head = node("head", cores=0)
    watched = Watched(tmp_path, head, node("a"))
    watched.hand_out(0, {"vram": 0.0})
    watched.nodes = (head,)
    for _ in range(3):
        watched.step()
    assert watched.search.taken_back == []
