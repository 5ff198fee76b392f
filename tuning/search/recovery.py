"""What is to be settled before a search goes on: what a killed run left, and what is asked anew."""

from __future__ import annotations

from optuna.trial import TrialState

from common.files import NEW
from results import load
from tuning.experiment.folder import ExperimentPaths
from tuning.search.study import StudyMemory
from tuning.trial.records import TrialRecords

_STATES = {TrialState.COMPLETE: "complete", TrialState.PRUNED: "pruned", TrialState.FAIL: "failed"}


def settle(memory: StudyMemory, records: TrialRecords, paths: ExperimentPaths, reports: int) -> None:
    """Bring study and rows together, where a kill came between the writing of one and of the other; remove half-written files.

    Rows are written first, so an ended trial whose row says so is told as that; the other way round it happens only
    where ended trials were to go on.

    Args:
        memory: the study.
        records: rows of the trials.
        paths: of the experiment.
        reports: evaluations of a trial.
    """
    for left in paths.results.rglob(f"*{NEW}"):
        left.unlink()
    unfinished = {proposal.number for proposal in memory.unfinished()}
    told_late = []
    for proposal in memory.proposals():
        number, state = proposal.number, records.state(proposal.number)
        if state is None:
            if proposal.refused is not None:
                records.refuse(proposal, {})
            elif proposal.same_as is not None:
                records.repeat(proposal)
        elif number in unfinished and state != "running":
            told_late.append(number)
        elif number not in unfinished and state == "running":
            records.update(number, state=_STATES[memory.state(number)])
    if not told_late:
        return
    scored = load(paths.folder).reports.dropna(subset=["score"])
    for number in told_late:
        budget = records.budget_steps(number)
        own = scored[scored["trial"] == number]
        for steps, score in zip(own["steps"].tolist(), own["score"].tolist(), strict=True):
            memory.report(number, budget * min(reports, steps * reports // budget) // reports, score)
        _tell(memory, records, number)


def _tell(memory: StudyMemory, records: TrialRecords, number: int) -> None:
    """Tell the study what a row says."""
    state, score = records.state(number), records.score(number)
    if state == "complete" and score is not None:
        memory.complete(number, score)
    elif state == "pruned":
        memory.prune(number)
    elif state == "oom":
        memory.run_out_of_memory(number, records.reason(number))
    else:
        memory.fail(number, records.reason(number))


def extend(memory: StudyMemory, records: TrialRecords, steps: int) -> tuple[list[int], list[int]]:
    """Let complete trials go on to a larger budget.

    Args:
        memory: the study, settled.
        records: rows of the trials.
        steps: the new budget.

    Returns:
        Numbers of the trials that go on, and of those that cannot, as they have no checkpoint any more.
    """
    short = [
        proposal.number
        for proposal in memory.proposals()
        if records.state(proposal.number) == "complete"
        and proposal.same_as is None
        and records.budget_steps(proposal.number) < steps
    ]
    going = [number for number in short if records.checkpoint_steps(number)]
    for number in going:
        records.update(number, state="running", finished=None)
    if going:
        memory.reopen(going)
    return going, [number for number in short if number not in going]
