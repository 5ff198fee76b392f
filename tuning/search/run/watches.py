"""What Ray Tune calls beside the search, at each pass of its loop.

They end a search in time, stop one whose storage is lost, follow the nodes of a cluster, and say where no trial begins. A user
may name more, see `tuning.experiment.callbacks`.
"""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ray.tune import Callback
from ray.tune.experiment import Trial

from common.storage.faults import StorageLostError
from common.texts import counted
from tuning.memory.machine import Cluster
from tuning.memory.placement import Placement
from tuning.search.record.ledger import Ledger
from tuning.search.run.run_control import RunControl
from tuning.search.run.search import Search
from tuning.storage.search_files import SearchFiles
from tuning.trial.protocol import DriverOnly, handout_in

LEFT_SECONDS = 300.0  # that trials have to write a checkpoint and end
START_SECONDS = 120.0  # without a trial that begins
FAULT = re.compile(r"\[[-\d]+ [:,\d]+ [EF] ")
LOOK_SECONDS = 5.0  # between two looks
PATIENCE_SECONDS = 60.0  # that a trial waits before another kind with room is chosen for it
VAIN_SECONDS = 900.0  # without a node for any trial, while none runs: an autoscaler has brought one by then


class StorageWatch(DriverOnly, Callback):
    """Stops the search once its files can no longer be written where they belong.

    Trials see in the storage that their run stops. Where the driver cannot write there, they do not see it. So the search ends
    after `LEFT_SECONDS` without them, and their processes end with it.
    """

    def __init__(self, files: SearchFiles, control: RunControl, clock: Callable[[], float] = time.monotonic) -> None:
        self._files, self._control, self._clock = files, control, clock
        self._since: float | None = None

    def on_step_end(self, iteration: int, trials: list[Trial], **info: Any) -> None:
        """One pass of Tune's loop has ended.

        Raises a StorageLostError if trials go on for long after the search was told to stop.
        """
        self._files.flush()
        if not (failure := self._files.failure):
            return
        if self._since is None:
            self._since = self._clock()
            # What to do about it is told at the end.
            self._control.say(f"stopping: {failure.partition(';')[0]}")
            if not self._control.reason:
                self._control.stop(failure)
        elif self._clock() - self._since > LEFT_SECONDS:
            raise StorageLostError(failure)


class StartWatch(DriverOnly, Callback):
    """Says so where no trial begins for `START_SECONDS`, with the last fault in Ray's logs: Ray itself waits in silence."""

    def __init__(
        self, control: RunControl, logs: Callable[[], Path | None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._control, self._logs, self._clock = control, logs, clock
        self._since: float | None = clock()

    def on_trial_start(self, iteration: int, trials: list[Trial], trial: Trial, **info: Any) -> None:
        """A trial was started."""
        self._since = None

    def on_step_end(self, iteration: int, trials: list[Trial], **info: Any) -> None:
        """One pass of Tune's loop has ended."""
        if self._since is None or self._clock() - self._since < START_SECONDS:
            return
        self._since = None
        line = f"no trial has begun in {START_SECONDS / 60.0:.0f} min: Ray has started no process for one"
        if folder := self._logs():
            line += f"; its logs are in {folder}"
            if fault := last_fault(folder):
                line += f", the last fault there: {fault}"
        self._control.say(line)


def last_fault(folder: Path) -> str:
    """The last error in the log of Ray's raylet, which starts processes; empty for none."""
    log = folder / "raylet.out"
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.is_file() else []
    # As in "[2026-01-31 23:59:59,123 E 804 3420] (raylet) worker_pool.cc:586: Some workers ... have not registered".
    return next((line.partition("] ")[2] for line in reversed(lines) if FAULT.match(line)), "")


class BudgetWatch(DriverOnly, Callback):
    """Ends the search when a budget of time is over: between two evaluations too, but not before the first one of all.

    A budget of steps needs no watch, as trials are only given what it pays for.
    """

    def __init__(self, ledger: Ledger, control: RunControl) -> None:
        self._ledger, self._control, self._is_told = ledger, control, False

    def on_step_end(self, iteration: int, trials: list[Trial], **info: Any) -> None:
        """One pass of Tune's loop has ended."""
        budget = self._ledger.budget
        if not (budget and budget.is_time and self._ledger.is_spent()) or self._control.is_stopping:
            return
        if self._ledger.steps():
            self._control.finish()
        elif not self._is_told:
            self._is_told = True
            self._control.say(
                "the budget is spent before a first evaluation; the search goes on to that, or it would end with nothing"
            )


class ClusterWatch(DriverOnly, Callback):
    """Looks at Ray's nodes every `LOOK_SECONDS`.

    - The placement follows nodes that come and go.
    - Trials on nodes that are drained write a checkpoint and end, and are handed out again.
    - A trial that waits for a kind of node that is gone is placed anew, where it fits another kind. So is one that waits long
      while another kind has room, and one that has to name its nodes otherwise, as others have joined.
    - If no trial runs and none of those that wait fits a node, the search stops after `VAIN_SECONDS`, and loses nothing.

    `node_of` tells on which node a trial runs, by its id; empty where that is not known yet.
    """

    def __init__(
        self,
        placement: Placement,
        search: Search,
        control: RunControl,
        look: Callable[[], Cluster],
        node_of: Callable[[Trial], str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._placement, self._search, self._control, self._look = placement, search, control, look
        self._node_of, self._clock = node_of or node_of_trial, clock
        self._nodes: frozenset[str] | None = None  # before the first look
        self._leaving: frozenset[str] = frozenset()
        self._running: dict[int, Trial] = {}
        self._on: dict[int, str] = {}  # nodes of these, as far as they were needed
        self._waits: dict[int, float] = {}  # since when, by number
        self._looked = clock()
        self._in_vain: float | None = None

    def on_trial_start(self, iteration: int, trials: list[Trial], trial: Trial, **info: Any) -> None:
        """A trial was started."""
        number = handout_in(trial.config).number
        self._running[number] = trial
        self._waits.pop(number, None)
        self._placement.started(number)

    def on_trial_complete(self, iteration: int, trials: list[Trial], trial: Trial, **info: Any) -> None:
        """A trial's process has ended, also in an error."""
        number = handout_in(trial.config).number
        # Handed out again it may have begun already.
        if self._running.get(number) is trial:
            del self._running[number]
            self._on.pop(number, None)
        self._waits.pop(number, None)

    on_trial_error = on_trial_complete

    def on_step_end(self, iteration: int, trials: list[Trial], **info: Any) -> None:
        """One pass of Tune's loop has ended."""
        now = self._clock()
        if now - self._looked < LOOK_SECONDS:
            return
        self._looked = now
        self._follow(self._look())
        self._let_leave()
        self._look_after_waiting(now)

    def _follow(self, cluster: Cluster) -> None:
        nodes = frozenset(node.id for node in cluster.nodes)
        if nodes == self._nodes and cluster.leaving == self._leaving:
            return
        self._placement.follow(cluster.nodes, cluster.leaving)
        known = nodes if self._nodes is None else self._nodes
        changes = ((nodes - known, "joined"), (known - nodes, "gone"), (cluster.leaving - self._leaving, "drained"))
        self._nodes, self._leaving = nodes, cluster.leaving
        told = [f"{len(those)} {what}" for those, what in changes if those]
        if told:
            self._control.say(f"cluster: {', '.join(told)}; {counted(len(nodes), 'node')}")

    def _let_leave(self) -> None:
        if self._leaving and not self._control.is_stopping:
            for number, trial in self._running.items():
                self._on[number] = self._on.get(number) or self._node_of(trial)
                if self._on[number] in self._leaving:
                    self._search.send_away(number)

    def _look_after_waiting(self, now: float) -> None:
        waiting = sorted(self._search.running - self._running.keys())
        self._waits = {number: self._waits.get(number, now) for number in waiting}
        homeless = []
        for number in waiting:
            assignment = self._search.proposal(number).hyperparameters
            if self._control.is_stopping:
                self._search.withdraw(number)
            elif self._placement.waits_in_vain(number):
                if self._placement.may_move(number, assignment):
                    self._search.withdraw(number)
                else:
                    homeless.append(number)
            elif self._placement.is_outdated(number) or (
                now - self._waits[number] > PATIENCE_SECONDS and self._placement.has_better(number, assignment)
            ):
                self._search.withdraw(number)
        if not homeless or self._running or len(homeless) < len(waiting):
            self._in_vain = None
        elif self._in_vain is None:
            self._in_vain = now
        elif now - self._in_vain > VAIN_SECONDS and not self._control.is_stopping:
            numbers = ", ".join(map(str, homeless))
            self._control.stop(
                f"no node is left on which trial {numbers} fits, and none came for {VAIN_SECONDS / 60.0:.0f} min: "
                "continue when there is one"
            )


def node_of_trial(trial: Trial) -> str:
    """Id of the node on which a trial's process runs; empty where that is not known yet."""
    from ray._private import state

    actor = trial.temporary_state.ray_actor
    if actor is None:
        return ""
    # Ray's public interface to this needs its dashboard.
    address: dict[str, str] = state.actors(actor_id=actor._ray_actor_id.hex()).get("Address", {})
    return address.get("NodeID", "")
