"""Before a search continues: repair what a killed run left, and reopen complete trials for a larger budget."""

from __future__ import annotations

import math

from optuna.trial import TrialState

from common.files import NEW
from results import load
from results.front import GAINS
from results.loader import ratings
from tuning.experiment.folder import ExperimentPaths
from tuning.search.record.agreement import check_agreement
from tuning.search.record.attributes import CONFIRM_STEPS, CONFIRMS
from tuning.search.record.study import StudyMemory
from tuning.trial.evaluation_schedule import due_steps, evaluations_due
from tuning.trial.records import FROZEN, TrialRecords

_STATES = {
    TrialState.COMPLETE: "complete",
    TrialState.PRUNED: "pruned",
    TrialState.FAIL: "failed",
    TrialState.WAITING: FROZEN,
}


def settle(memory: StudyMemory, records: TrialRecords, paths: ExperimentPaths, reports: int) -> None:
    """Make study and rows agree again after a kill between two writes, and remove half-written files.

    The end of a trial is written into its row first and told to the study second. So if only the row has it, the study is told.
    If only the study has it, a kill interrupted `extend`, and the row gets the study's state back. Where the study was uploaded
    to a storage, its last seconds may be lost: evaluations that it lacks are told from the results.

    Args:
        memory: the study.
        records: rows of the trials.
        paths: of the experiment.
        reports: evaluations of a trial.

    Raises:
        DamagedStudyError: if study and rows are not of one search, as where one of them was lost; nothing is changed then.
        ResultsError: if a row is damaged or missing; likewise.
    """
    states = check_agreement(memory.trials(), records, paths)
    for half_written in paths.results.rglob(f"*{NEW}"):
        half_written.unlink()
    unfinished = {proposal.number for proposal in memory.adopt_unfinished()}
    told_late, behind = [], []
    for proposal in memory.proposals():
        number, state = proposal.number, states.get(proposal.number)
        if state is None:
            if proposal.refused is not None:
                records.refuse(proposal, {})
            elif proposal.same_as is not None:
                records.repeat(proposal)
        elif number in unfinished and state != "running":
            told_late.append(number)
        elif number not in unfinished and state == "running":
            records.update(number, state=_STATES[memory.state(number)])
        elif number in unfinished and _is_behind(memory, records, number, reports):
            behind.append(number)
    if not told_late and not behind:
        return
    scored = load(paths.folder).reports.dropna(subset=["score"])
    for number in told_late + behind:
        budget = records.budget_steps(number)
        own = scored[scored["trial"] == number]
        if number in behind:
            # It reports the last one again itself, and then it is decided whether it goes on.
            own = own[own["steps"] <= records.checkpoint_steps(number)][:-1]
        gains = [tuple(pair) if records.aim.second else None for pair in own[list(GAINS)].to_numpy(dtype=float).tolist()]
        for steps, score, pair in zip(own["steps"].tolist(), ratings(own).tolist(), gains, strict=True):
            if math.isfinite(score):
                memory.report(number, due_steps(evaluations_due(steps, budget, reports), budget, reports), score, pair)
        if number in told_late:
            _tell(memory, records, number)


def _is_behind(memory: StudyMemory, records: TrialRecords, number: int, reports: int) -> bool:
    """Whether the study lacks an evaluation of an unfinished trial before its last, as after the loss of its last seconds."""
    due = evaluations_due(records.checkpoint_steps(number), records.budget_steps(number), reports)
    return len(memory.trials()[number].intermediate_values) < due - 1


def _tell(memory: StudyMemory, records: TrialRecords, number: int) -> None:
    """Tell the study the end that a trial's row has."""
    state, outcome = records.state(number), records.outcome(number)
    shortfall = outcome.shortfall if outcome else None
    if state == "complete" and outcome:
        memory.complete(number, records.aim.goal(outcome), shortfall)
    elif state == "pruned":
        memory.prune(number, shortfall)
    elif state == FROZEN:
        memory.freeze(number)
    elif state == "oom":
        memory.run_out_of_memory(number, records.reason(number))
    else:
        memory.fail(number, records.reason(number))


def set_aside(memory: StudyMemory, records: TrialRecords, steps: int) -> None:
    """Freeze unfinished trials that confirm and began with other steps than trials have now.

    Their schedules ran over other steps, so they compare with nothing that confirms from now on, and would go on in vain.
    One without a row has not begun, and takes the steps of now. Trials of a version that did not note their steps are given
    those of their rows.

    Args:
        memory: the study, after `settle`.
        records: rows of the trials.
        steps: of a trial now.
    """
    for trial in memory.trials():
        if CONFIRMS not in trial.user_attrs or trial.state.is_finished():
            continue
        number, noted = trial.number, trial.user_attrs.get(CONFIRM_STEPS)
        begun = records.budget_steps(number) if records.state(number) else steps
        if noted != begun:
            memory.note_steps_of_confirming(number, begun)
        if begun != steps and trial.state is TrialState.RUNNING:
            records.update(number, state=FROZEN)
            memory.freeze(number)


def extend(memory: StudyMemory, records: TrialRecords, steps: int) -> tuple[list[int], list[int]]:
    """Reopen complete trials for a larger budget.

    Args:
        memory: the study, after `settle`.
        records: rows of the trials.
        steps: the new budget, environment steps.

    Returns:
        Numbers of the trials that continue, and of those that cannot because they have no checkpoint any more.
    """
    short = [
        proposal.number
        for proposal in memory.proposals()
        if records.state(proposal.number) == "complete"
        and proposal.same_as is None
        and proposal.confirms is None
        and records.budget_steps(proposal.number) < steps
    ]
    continued = [number for number in short if records.checkpoint_steps(number)]
    for number in continued:
        records.update(number, state="running", finished=None)
    if continued:
        memory.reopen(continued)
    return continued, [number for number in short if number not in continued]
