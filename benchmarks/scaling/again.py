"""What a search of many trials takes when it goes on, is loaded and is drawn; each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path

from benchmarks.scaling.virtual import search
from benchmarks.scaling.whole import whole
from tuning.experiment.folder import Experiment, open_experiment

STEPS = ("resume", "trials", "reports", "evaluations", "report")
_CODE = "import sys; from benchmarks.scaling.again import print_seconds; print_seconds(*sys.argv[1:])"


def rows(trials: int) -> list[str]:
    """Make a search of some trials, and measure each step: seconds of the processor, and the most memory in MiB."""
    with tempfile.TemporaryDirectory() as folder:
        made = whole(Path(folder), trials)
        environment = {**os.environ, "BUILDING_TUNER_CACHE": f"{folder}/cache"}
        cells = []
        for step in STEPS:
            command = [sys.executable, "-c", _CODE, step, str(made.paths.folder)]
            cells.append(subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True).stdout.strip())
        return cells


def print_seconds(step: str, folder: str) -> None:
    """Do one step of `STEPS`, and print what it takes."""
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
