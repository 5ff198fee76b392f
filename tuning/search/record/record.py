"""Writes what becomes of trials: the study, which is the truth, and the results, which follow from it and from reports.

Each change is written in one order: rows that a trial told, the study, the trial's row in `trials`. After a kill between two of
these, `mend` makes the results follow from the study again. Before that, `check_study` says whether both are whole and of one
search; it changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import optuna
from optuna.trial import FrozenTrial, TrialState

from common.files import NEW
from common.measure import SCORE
from common.texts import note, raised
from envs.objective.aim import Aim, Outcome
from results import Results
from results.analysis.yardsticks import ADDS
from results.frames import files_of
from results.schema import GIVEN
from results.table_files import read_file, rows_path
from search_spaces import SearchSpace, SpaceError
from tuning.algorithms.registry import algorithm_of
from tuning.experiment.folder import Experiment, ExperimentPaths
from tuning.experiment.settings import MOST_DIGITS
from tuning.runtime.processes import DIED
from tuning.search.record.journal import UNREADABLE, DamagedStudyError
from tuning.search.record.study import StudyMemory, read_trials
from tuning.search.record.trials import Key, Seen, Standing, last_rating, state_of
from tuning.trial.checkpoint_files import OF_AN_AIM
from tuning.trial.evaluations import did_nothing, does_nothing, due_steps, kept_plan
from tuning.trial.protocol import Proposal, Report
from tuning.trial.records import OF_A_REPORT, TrialRecords


class Record:
    """What is known of the trials of a search, and its only writer."""

    def __init__(self, study: StudyMemory, rows: TrialRecords, steps: int, evaluations: int) -> None:
        self.study, self.rows = study, rows
        self._steps, self._evaluations = steps, evaluations
        self._aim = rows.aim

    def begin(self, proposal: Proposal, columns: Mapping[str, object]) -> None:
        """A trial is handed out; the columns of its row say what it is granted."""
        self.study.stand(proposal.number, lambda before: replace(before, budget=self._steps, error=""))
        self.rows.begin(proposal, **columns)

    def take(self, number: int, report: Report) -> bool:
        """A running trial told something; whether it told of an evaluation that the study did not have yet."""
        self.rows.add(number, report)
        evaluated, idle = None, [does_nothing(row) for row in report.evaluations]
        alone, planned = report.columns.get("plan_score"), list[bool]()
        if report.evaluated and report.evaluations and alone is not None:
            planned = [abs(SCORE.value(report.evaluations) - alone) <= ADDS]
        if report.evaluated and math.isfinite(rating := self._aim.rating(report.evaluated.outcome)):
            # The due steps are the same for all trials; the steps taken are rounded up to whole updates.
            due = due_steps(report.evaluated.number, self._steps, self._evaluations)
            evaluated = due, rating, report.evaluated.outcome.gains

        def after(before: Standing) -> Standing:
            checkpoint = report.steps if report.saved or report.restored else before.checkpoint
            return replace(
                before, checkpoint=checkpoint, evaluated=evaluated or before.evaluated,
                does_nothing=_still(before.does_nothing, idle), keeps_plan=_still(before.keeps_plan, planned),
            )  # fmt: skip

        self.study.stand(number, after)
        is_new = self._tell_evaluation(number)
        self.rows.told(number, {**report.columns, **self._noticed(number)})
        return is_new

    def _tell_evaluation(self, number: int) -> bool:
        """Tell the last evaluation of a running trial as an intermediate value; whether it was none yet."""
        evaluated = self.study.standing(number).evaluated
        return evaluated is not None and self.study.report(number, *evaluated)

    def _noticed(self, number: int) -> dict[str, str | None]:
        trial = self.study.trial(number)
        if not trial.intermediate_values:
            return {}
        count, standing = len(trial.intermediate_values), self.study.standing(number)
        return {"noticed": did_nothing(count) if standing.does_nothing else kept_plan(count) if standing.keeps_plan else None}

    def count(self, number: int, what: Literal["crashes", "out_of_memory"], error: str) -> Standing:
        """A trial crashed or ran out of memory once more, with this traceback or error."""
        self.study.stand(number, lambda before: replace(before, **{what: getattr(before, what) + 1}, error=error))
        standing = self.study.standing(number)
        self.rows.update(number, **{what: getattr(standing, what)}, error=error)
        return standing

    def freeze(self, number: int) -> None:
        """A trial gives way, and may go on later."""
        self.study.freeze(number)
        self.rows.update(number, state="frozen")

    def complete(self, number: int, outcome: Outcome) -> None:
        """A trial came to its end with this last evaluation."""
        self.study.complete(number, self._aim.goal(outcome), outcome.shortfall)
        self.rows.end(number, "complete")

    def prune(self, number: int, outcome: Outcome) -> None:
        """A trial was stopped for good after this evaluation."""
        self.study.stop(number, TrialState.PRUNED, misses={Key.REQUIRED: outcome.shortfall})
        self.rows.end(number, "pruned")

    def fail(self, number: int, error: str = "") -> None:
        """A trial failed and is not tried again; without an error its process was lost."""
        error = error or DIED
        self.study.stop(number, TrialState.FAIL, raised(error))
        self.rows.end(number, "failed", error)

    def run_out_of_memory(self, number: int, error: str, missing: int) -> None:
        """A trial needs more memory than there is, by so many bytes."""
        self.study.stop(number, TrialState.PRUNED, raised(error), {Key.MEASURED: missing})
        self.rows.end(number, "oom", error)

    def mend(self, paths: ExperimentPaths, states: Mapping[int, str]) -> None:
        """Make the results follow from the study, before a search goes on: a run before may have been killed anywhere."""
        for proposal in self.study.adopt_unfinished():
            self._tell_evaluation(proposal.number)
        for half_written in paths.results.rglob(f"*{NEW}"):
            half_written.unlink()
        for trial in self.study.trials():
            number, state = trial.number, state_of(trial)
            known = states.get(number) or self._row_again(number)
            if known not in (None, state):
                error = Standing.of(trial).error or trial.user_attrs.get(Key.REASON)
                self.rows.update(number, state=state, finished=trial.datetime_complete, error=error)
            if known and state == "running":
                self.rows.drop_after(number, Standing.of(trial).checkpoint)

    def _row_again(self, number: int) -> str | None:
        """Write the row that a trial lacks, and give its state. One that runs gets its row as it is handed out."""
        trial, proposal = self.study.trial(number), self.study.proposal(number)
        if Key.REFUSED in trial.user_attrs:
            self.rows.refuse(proposal, {})
            return "oom"
        if Key.SAME_AS in trial.user_attrs:
            return self.rows.repeat(proposal)[0]
        if state_of(trial) == "running":
            return None
        self.rows.begin(proposal)
        if (rating := last_rating(trial)) is not None:
            # What decides whether its checkpoint is kept.
            self.rows.update(number, **{"score" if self._aim.is_score and not Aim.is_missed(rating) else "rating": rating})
        return "running"

    def set_aside(self) -> None:
        """Freeze unfinished trials that confirm and have other steps than trials have now, after `adopt_unfinished`.

        Their schedules ran over other steps, so they compare with nothing that confirms from now on, and would go on in vain.
        """
        for proposal in self.study.adopt_unfinished():
            trial = self.study.trial(proposal.number)
            if Key.CONFIRMS in trial.user_attrs and trial.user_attrs[Key.CONFIRM_STEPS] != self._steps:
                self.study.freeze(proposal.number)
                if self.rows.has(proposal.number):
                    self.rows.update(proposal.number, state="frozen")

    def extend(self, has_checkpoint: Callable[[int], bool]) -> tuple[list[int], list[int]]:
        """Reopen complete trials for a larger budget.

        Returns:
            Numbers of the trials that continue, and of those that cannot because they have no checkpoint any more.
        """
        short = [
            trial.number
            for trial in self.study.trials()
            if state_of(trial) == "complete"
            and not {Key.SAME_AS, Key.CONFIRMS} & trial.user_attrs.keys()
            and Standing.of(trial).budget < self._steps
        ]
        continued = [number for number in short if has_checkpoint(number)]
        if continued:
            self.study.reopen(continued)
            for number in continued:
                self.rows.update(number, state="running", finished=None)
        return continued, [number for number in short if number not in continued]

    def retry(self) -> list[int]:
        """Reopen failed trials, to begin anew; their numbers. One whose assignment was trained since then is left as it is."""
        trials = [trial for trial in self.study.trials() if not {Key.REFUSED, Key.CONFIRMS} & trial.user_attrs.keys()]
        sound = [trial.user_attrs[Key.HYPERPARAMETERS] for trial in trials if trial.state is not TrialState.FAIL]
        failed = [trial for trial in trials if trial.state is TrialState.FAIL]
        numbers = [trial.number for trial in failed if trial.user_attrs[Key.HYPERPARAMETERS] not in sound]
        if numbers:
            self.study.reopen(numbers, afresh=True)
            for number in numbers:
                self.rows.begin_anew(self.study.proposal(number))
        return numbers

    def mark_front(self, results: Results) -> None:
        """Write which trials are on the front now, for those who read the files without this package. No trial runs."""
        front = set(results.front["trial"])
        rated = results.trials[results.trials["gain"].notna() & results.trials["confirms"].isna()]
        for number, before in zip(rated["trial"].tolist(), rated["on_front"].tolist(), strict=True):
            # Compared as a truth: an empty one is none.
            if before is None or before != before or bool(before) != (number in front):
                self.rows.update(number, on_front=number in front)


def _still(before: bool | None, evaluations: Sequence[bool]) -> bool | None:
    """Whether what held of all evaluations before holds of these too; as before without any."""
    return before is not False and all(evaluations) if evaluations else before


def take_memory_marker(paths: ExperimentPaths, number: int) -> int | None:
    """Read and remove the marker of a process that ended itself because of its memory; see `tuning.trial.monitor`.

    Returns:
        Memory of the process, bytes; None without a marker, or with one that is damaged.
    """
    marker = paths.memory_marker(number)
    if not marker.exists():
        return None
    text = marker.read_bytes()[: MOST_DIGITS + 1]
    marker.unlink()
    if not text.isdigit() or len(text) > MOST_DIGITS:
        note(f"{marker} holds no number of bytes; it is removed")
        return None
    return int(text)


def check_study(experiment: Experiment) -> None:
    """Check that an existing experiment can be continued, before anything is started or written.

    Raises:
        DamagedStudyError: if its study is damaged, or not of this experiment or of these results.
        ResultsError: if the row of a trial is damaged.
    """
    from results import load

    trials, path = read_trials(experiment), experiment.paths.study
    check_trials(trials, algorithm_of(experiment.settings).space, experiment.settings.aim.second is not None, path)
    for file in files_of(experiment.paths.folder, "trials"):
        read_file(file)  # which `load` would skip, were it damaged
    # Rows of trials that run are dropped where these go on, after the study was opened.
    running = [trial.number for trial in trials if trial.state is TrialState.RUNNING]
    for path_of_rows in (rows_path(experiment.paths.folder, table, n) for n in running for table in OF_A_REPORT):
        if path_of_rows.exists():
            read_file(path_of_rows)
    rows, kept = load(experiment.paths.folder).trials, ("trial", "score", "further_episodes", *OF_AN_AIM)
    needed = [name for name in rows if str(name).startswith(GIVEN) or name in kept]
    for row in rows[needed].to_dict("records"):
        if fault := _fault_of_row(trials[row["trial"]], row, experiment.settings.aim):
            raise DamagedStudyError(path, f"trial {row['trial']} {fault}")


def check_trials(trials: Sequence[FrozenTrial], space: SearchSpace, two_aims: bool, path: Path) -> None:
    """Check that each trial is as a search needs it to draw and to decide.

    Raises a DamagedStudyError at the first that is not.
    """
    copy = optuna.create_study(direction="maximize")
    for trial in trials:
        try:
            copy.add_trial(Seen.of(trial))
        except UNREADABLE as error:
            raise DamagedStudyError(path, f"trial {trial.number} in it cannot be: {' '.join(str(error).split())}") from error
        if fault := _fault(trial, space, two_aims):
            raise DamagedStudyError(path, f"trial {trial.number} in it {fault}")


def _fault(trial: FrozenTrial, space: SearchSpace, two_aims: bool) -> str:
    if not isinstance(assignment := trial.user_attrs.get(Key.HYPERPARAMETERS), dict):
        return "has no hyperparameters"
    if lacking := [parameter.name for parameter in space.parameters if parameter.search and parameter.name not in assignment]:
        return f"has no {lacking[0]}"
    try:
        space.check(assignment)  # a trainer is built from them
        Standing.of(trial)
    except SpaceError as error:
        return f"has {error}"
    except TypeError as error:
        return f"does not say how far it is: {error}"
    same = trial.user_attrs.get(Key.SAME_AS, 0)
    if type(same) is not int or not 0 <= same <= trial.number:
        return f"repeats trial {same!r}, which is none before it"
    if any(type(rating) not in (int, float) for rating in trial.intermediate_values.values()):
        return "has a score that is no number"
    return "lacks the gains of an evaluation" if two_aims and not _has_gains(trial) else ""


def _has_gains(trial: FrozenTrial) -> bool:
    known = trial.user_attrs.get(Key.GAINS, {})
    if not isinstance(known, dict):
        return False
    pairs = [known.get(str(steps)) for steps in trial.intermediate_values]
    return all(isinstance(pair, list) and len(pair) == 2 and all(type(gain) is float for gain in pair) for pair in pairs)


def _fault_of_row(trial: FrozenTrial, row: Mapping[Any, Any], aim: Aim) -> str:
    """Another assignment, or another value at its end, than the study has."""
    for name, value in trial.user_attrs[Key.HYPERPARAMETERS].items():
        told = _known(row.get(GIVEN + name, value))
        if told != value:
            return f"has {name}={value} in it, and {told} in the results"
    told_at_end = {name: _known(row.get(name)) for name in ("score", *OF_AN_AIM)}
    # No decision of a search depends on further episodes, so the study has none.
    is_of_study = trial.state is TrialState.COMPLETE and not _known(row.get("further_episodes"))
    if is_of_study and told_at_end["score"] is not None:
        goal = aim.goal(Outcome(**told_at_end))
        if goal != trial.value and not math.isnan(goal):
            return f"ended with {trial.value} in it, and with {goal} in the results"
    return ""


def _known(value: Any) -> Any:
    return None if value is None or value != value else value
