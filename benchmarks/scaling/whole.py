"""Made-up searches with everything on the disk: journal, rows, reports and evaluations, checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.scaling.made import REPORTS, STEPS, assignments, evaluations_of, experiment, grow, rating
from envs.objective.columns import measures
from results.table_files import write_rows
from search_spaces import Assignment
from tuning.experiment.folder import Experiment
from tuning.trial.checkpoint_files import TrialState, write_state
from tuning.trial.evaluations import due_steps
from tuning.trial.protocol import Proposal
from tuning.trial.records import TrialRecords

UPDATES = 5  # for each evaluation
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
MEASURES = {name: own for name, own in measures().items() if own.label}
KEPT = 10  # complete trials that keep their checkpoints


def whole(folder: Path, trials: int) -> Experiment:
    """A search that was stopped, in a folder: a tenth of its trials are complete, the others frozen early."""
    budget, kept = f"{10 * trials * STEPS}", f"best:{KEPT}"
    made = experiment(folder, trials=trials + 100, budget=budget, keep_checkpoints=kept, backend="batch")
    grow(made, trials, frozen=True)
    records = TrialRecords(made)
    # They are read at once, so nothing has to outlast a crash of the machine.
    with patch("os.fsync"):
        for number, assignment in enumerate(assignments(trials)):
            last = _row(records, number, assignment)
            _checkpoint(made, number, last)
            write_rows(made.paths.folder, "reports", number, list(_reports(number, assignment)))
            evaluations = list(_evaluations(number, assignment))
            write_rows(made.paths.folder, "evaluations", number, evaluations, measures=MEASURES)
    return made


def _row(records: TrialRecords, number: int, assignment: Assignment) -> int:
    """Write the row of a trial; its steps."""
    done, is_whole = evaluations_of(number), number % 10 == 0
    steps = due_steps(done, STEPS, REPORTS)
    seconds = 60.0 * done
    measured: dict[str, Any] = {
        "state": "complete" if is_whole else "frozen", "steps": steps, "updates": UPDATES * done, "seconds": seconds,
        "score": rating(assignment, done, number), "started": BEGIN + timedelta(seconds=number), "device": "cpu",
        "finished": BEGIN + timedelta(seconds=number + seconds), "environment_seconds": 0.4 * seconds,
        "learner_seconds": 0.5 * seconds, "evaluation_seconds": 0.1 * seconds,
    }  # fmt: skip
    records._write({**records._new(Proposal(number, assignment)), **measured})
    return steps


def _checkpoint(made: Experiment, number: int, steps: int) -> None:
    """Write a small checkpoint of a trial that may go on; of the complete ones the first keep theirs."""
    if number % 10 == 0 and number >= 10 * KEPT:
        return
    folder = made.paths.checkpoints(number) / f"{steps:012d}"
    folder.mkdir(parents=True)
    write_state(folder, TrialState(steps=steps, updates=UPDATES, seconds=60.0), {"content": [0.0] * 100}, {})


def _reports(number: int, assignment: Assignment) -> Iterator[dict[str, Any]]:
    for evaluation in range(1, evaluations_of(number) + 1):
        for update in range(1, UPDATES + 1):
            row = {
                "trial": number,
                "update": (evaluation - 1) * UPDATES + update,
                "steps": due_steps(evaluation, STEPS, REPORTS) - (UPDATES - update) * (STEPS // REPORTS // UPDATES),
                "time": BEGIN + timedelta(seconds=number + 60 * evaluation),
                "seconds": 60.0 * evaluation,
            }
            if update == UPDATES:
                row["score"] = rating(assignment, evaluation, number)
            yield row


def _evaluations(number: int, assignment: Assignment) -> Iterator[dict[str, Any]]:
    for evaluation in range(1, evaluations_of(number) + 1):
        score = rating(assignment, evaluation, number)
        yield {
            "trial": number, "steps": due_steps(evaluation, STEPS, REPORTS), "year": 0, "split": "validation",
            "backend": "batch", "hours": 2016, "score": score, **dict.fromkeys(MEASURES, 90.0),
        }  # fmt: skip
