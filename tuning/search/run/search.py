"""The trials of one run: what is handed out, what becomes of each, and what is written of it. Ray Tune's adapters call this."""

import math
from collections.abc import Callable, Set

from optuna.trial import FrozenTrial

from results.fresh import DEFAULT
from tuning.algorithms.memory import PLACES
from tuning.experiment.folder import ExperimentPaths
from tuning.experiment.settings import Settings
from tuning.memory.placement import Placement
from tuning.search.promotion.choosing import MOST_IN_VAIN, Choosing
from tuning.search.record.record import Record
from tuning.search.record.trials import state_of
from tuning.search.run.ends import Ends
from tuning.search.run.phases import LIVE, Event, Phase, RunningTrial, RunningTrials, memory_saving
from tuning.search.run.run_control import RunControl
from tuning.storage.search_files import Home, SearchFiles
from tuning.trial.evaluations import is_given_up
from tuning.trial.protocol import Ending, Handout, Proposal, Report


class Search:
    """Hands out unfinished trials first, then those that are chosen.

    At most `at_once` are handed out at once; None for as many as Tune asks for.

    Attributes:
        handed_out: how often a trial was.
    """

    def __init__(
        self,
        record: Record,
        choosing: Choosing,
        control: RunControl,
        placement: Placement,
        settings: Settings,
        paths: ExperimentPaths,
        files: SearchFiles,
        at_once: Callable[[], int] | None = None,
    ) -> None:
        self._record, self._choosing, self._control, self._placement = record, choosing, control, placement
        self._settings, self._files, self._at_once = settings, files, at_once
        self._home = Home(str(paths.folder), control.run, settings.trust_scenario)
        self._trials = RunningTrials()
        self._ends = Ends(record, self._trials, control, placement, settings, paths, files, choosing.given_up)
        self._told_in_vain, self.handed_out = False, 0
        for proposal in record.study.adopt_unfinished():
            self._wait(proposal)

    @property
    def running(self) -> Set[int]:
        """Numbers of the trials that are handed out: they run, or wait for a place."""
        return self._trials.numbers(*LIVE)

    @property
    def withdrawn(self) -> Set[int]:
        """Numbers of the trials that are to be taken back from Tune."""
        return self._trials.numbers(Phase.WITHDRAWN)

    def proposal(self, number: int) -> Proposal:
        """A trial that was handed out in this run."""
        return self._trials[number].proposal

    def send_away(self, number: int) -> None:
        """Let a trial that runs write a checkpoint and end, as its node goes; then it is handed out again."""
        if self._trials[number].phase is Phase.RUNNING:
            self._trials.move(number, Event.SENT_AWAY)
            self._control.leave(number)

    def withdraw(self, number: int) -> None:
        """Take a trial back that still waits for a place; it is handed out again for another one."""
        if self._trials[number].phase is Phase.RUNNING:
            self._trials.move(number, Event.WITHDRAWN)

    def keep(self, number: int) -> None:
        """Note that a trial which was to be taken back has begun; it runs where it is."""
        self._trials.move(number, Event.BEGAN)

    def hand_out(self) -> Handout | None:
        """The next trial, as its process gets it; None where there is none, or none yet."""
        running = len(self.running)
        if self._control.is_stopping or (running and self._at_once and running >= self._at_once()):
            return None
        if (number := self._next()) is None:
            return None
        self.handed_out += 1
        self._trials.move(number, Event.HANDED_OUT)
        trial, standing = self._trials[number], self._record.study.standing(number)
        proposal, times = trial.proposal, standing.out_of_memory
        fallback = memory_saving(times)
        place = self._placement.place(number, proposal.hyperparameters, fallback, alone=times > 0)
        columns = {
            "granted_vram_bytes": place.grant.vram_bytes,
            "granted_ram_bytes": place.grant.ram_bytes,
            "gpu_share": place.grant.gpu_share,
            "savings": fallback.name or None,
        }
        self._record.begin(proposal, self._predicted(proposal) | columns)
        seed, confirms = self._record.rows.seed(number), proposal.confirms is not None
        home = self._files.hand_out(self._home, number)
        return Handout(number, proposal.hyperparameters, seed, standing.checkpoint, place, home, confirms)

    def _wait(self, proposal: Proposal, is_thawed: bool = False) -> None:
        """Add a trial to those that wait. It may have run out of memory in an earlier run, beside others."""
        alone = self._record.study.standing(proposal.number).out_of_memory > 0
        self._trials.wait(RunningTrial(proposal, is_alone=alone, is_thawed=is_thawed))

    def _next(self) -> int | None:
        """Number of the trial that is handed out next. One of an earlier run that fits no node any more ends instead."""
        while (self._trials.queue or self._choose()) and not self._trials.are_in_the_way:
            number = self._trials.queue.popleft()
            proposal = self._trials[number].proposal
            # It waits for a node that is gone, as one like it may come. Ray tells an autoscaler.
            excess, why = self._placement.excess_ever(proposal.hyperparameters)
            if excess <= 0:
                return number
            # It was begun on a larger machine; Ray would wait for one for ever.
            self._trials.move(number, Event.REFUSED)
            self._record.begin(proposal, self._predicted(proposal))
            self._record.run_out_of_memory(number, why, excess)
            self._ends.tell(number)
            self._trials.forget(number)
        return None

    def _choose(self) -> bool:
        """Let the trial wait that begins or goes on next, and write that it does; whether there is one."""
        running = self.running
        if any(self._trials[number].is_alone for number in running) or self._choosing.ledger.is_spent(running):
            return False
        chosen = None
        if self._choosing.is_searching(running):
            chosen = self._choosing.of_search(self._drawn(), running)
        chosen = chosen or self._choosing.of_confirmation(running)
        if chosen is None:
            return False
        is_frozen, study = state_of(chosen) == "frozen", self._record.study
        proposal = study.thaw(chosen.number) if is_frozen else study.add(chosen)
        if proposal.confirms is not None and not is_frozen:
            whose = "the default" if proposal.confirm_role == DEFAULT else f"the hyperparameters of trial {proposal.confirms}"
            self._control.say(f"trial {proposal.number}: {whose}, with a fresh seed")
        self._wait(proposal, is_frozen)
        return True

    def _drawn(self) -> FrozenTrial | None:
        """The trial that would begin next. Draws that have nothing to run are added with their ends on the way."""
        while (drawn := self._choosing.drawn()) is not None and drawn.state.is_finished():
            self._add_ended(drawn)
        if drawn is None and self._choosing.is_in_vain and not self._told_in_vain:
            self._told_in_vain = True
            self._control.say(
                f"no new trial begins: the last {MOST_IN_VAIN} proposals were tried before or do not fit into memory; "
                "a wider space (--space) or fewer fixed values (--set) leave more to try"
            )
        return drawn

    def _add_ended(self, drawn: FrozenTrial) -> None:
        proposal = self._record.study.add(drawn)
        number = proposal.number
        if proposal.refused:
            self._control.say(f"trial {number}: {proposal.refused}; it is not started")
            self._record.rows.refuse(proposal, self._predicted(proposal))
            self._control.on_ended(number, "oom", None)
            return
        self._control.say(f"trial {number}: has the assignment of trial {proposal.same_as}, and is not run again")
        self._control.on_ended(number, *self._record.rows.repeat(proposal))

    def _predicted(self, proposal: Proposal) -> dict[str, object]:
        prediction = self._placement.prediction(proposal.hyperparameters)
        return {f"predicted_{place}_bytes": prediction.uncorrected(place) for place in PLACES}

    def take(self, number: int, report: Report) -> bool:
        """A trial told something; whether it goes on. It waits until the storage knows what it told."""
        is_new = self._record.take(number, report)
        if report.ending is Ending.CRASHED:
            self._record.count(number, "crashes", report.message)
        self._files.flush()
        return self._goes_on(number, report, is_new)

    def _goes_on(self, number: int, report: Report, is_new: bool) -> bool:
        trial = self._trials[number]
        if report.evaluated is None:
            return True
        trial.outcome = report.evaluated.outcome
        if not math.isfinite(self._record.rows.aim.rating(trial.outcome)):
            # No step of a budget is worth more of it. It ends as one that failed.
            return self._choosing.ledger.budget is None
        self._choosing.ledger.note_time()
        if is_new:
            trial.is_thawed = False
        if report.evaluated.number >= self._settings.ending_evaluation:
            return True
        # The mean of fresh trainings would be that of the lucky ones, if any of them was stopped.
        if trial.proposal.confirms is None and self._is_stopped(number, report.evaluated.number):
            self._trials.move(number, Event.STOPPED)
        elif not self._keeps_slot(number):
            self._trials.move(number, Event.YIELDED)
        return trial.phase not in (Phase.STOPPING, Phase.YIELDING)

    def _is_stopped(self, number: int, evaluation: int) -> bool:
        """Whether a trial is stopped for good: by the pruner, or as its policy does nothing."""
        idle = self._record.study.standing(number).does_nothing
        given_up = bool(idle) and is_given_up(evaluation, self._settings.steps, self._settings.evaluations)
        return given_up or self._record.study.should_prune(number)

    def _keeps_slot(self, number: int) -> bool:
        """Whether a trial keeps its slot after an evaluation. If not, it is frozen when its process has ended."""
        # What waits has begun too, and is owed its next evaluation.
        trial, others = self._trials[number], (self.running | set(self._trials.queue)) - {number}
        if not self._choosing.is_paid(number, others):
            return False
        # The evaluation with which a thawed trial begins decided already that it goes on. To decide again beside what began
        # since could freeze it before it learned anything, and then the next one, for ever.
        if self._choosing.thawing is None or trial.proposal.confirms is not None or trial.is_thawed:
            return True
        # A trial that ran out of memory waits until it can run alone.
        if any(self._trials[waiting].is_alone for waiting in self._trials.queue):
            return False
        return self._choosing.keeps(number, self._drawn(), others)

    def end(self, number: int, last: Report, has_failed: bool) -> None:
        """The process of a trial has ended: write what becomes of it. See `Ends.settle`."""
        self._record.rows.leave(number)
        self._control.has_left(number)
        self._ends.settle(number, last, has_failed)
        self._files.flush()
        self._placement.free(number)
        self._trials.forget(number)
