"""Made-up searches with everything on the disk: journal, rows, reports and evaluations, checkpoints.

And what such a search takes when it goes on, is loaded and is drawn; each in a process of its own.
"""

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.scaling.made import REPORTS, STEPS, assignments, evaluations_of, experiment, grow, rating
from benchmarks.scaling.virtual import search
from envs.objective.columns import measures
from results.table_files import write_rows
from search_spaces import Assignment
from tuning.experiment.folder import Experiment, open_experiment
from tuning.trial.checkpoint_files import TrialState, write_state
from tuning.trial.evaluations import due_steps
from tuning.trial.protocol import Proposal
from tuning.trial.records import TrialRecords

UPDATES = 5  # for each evaluation
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
MEASURES = {name: own for name, own in measures().items() if own.label}
GOES_ON = ("resume", "trials", "reports", "evaluations", "report")
_CODE = "import sys; from benchmarks.scaling.whole import print_seconds; print_seconds(*sys.argv[1:])"
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


def rows(trials: int) -> list[str]:
    """Make a search of some trials, and measure each step: seconds of the processor, and the most memory in MiB."""
    with tempfile.TemporaryDirectory() as folder:
        made = whole(Path(folder), trials)
        environment = {**os.environ, "BUILDING_TUNER_CACHE": f"{folder}/cache"}
        cells = []
        for step in GOES_ON:
            command = [sys.executable, "-c", _CODE, step, str(made.paths.folder)]
            cells.append(subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True).stdout.strip())
        return cells


def print_seconds(step: str, folder: str) -> None:
    """Do one step of `GOES_ON`, and print what it takes."""
    warnings.simplefilter("ignore")
    import pandas  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    from results import load
    from results.report.writing import write

    begin = time.process_time()
    if step == "resume":
        _resume(open_experiment(folder))
    elif step == "report":
        write(folder, Path(folder) / "report.html")
    else:
        getattr(load(folder), step)
    seconds = time.process_time() - begin
    peak = next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(f"{seconds:.1f} ({peak // 1024:,})")


def _resume(of: Experiment) -> None:
    """What `--resume` does until the first proposal, without Ray."""
    from tuning.search.record.record import check_study
    from tuning.search.run.opening import check_continued

    checked = check_continued(of, replace(of.settings, resume=str(of.paths.folder), concurrency=2))
    check_study(of)
    search(replace(of, settings=checked.settings), 2, lambda spent, begun: begun >= 1)
