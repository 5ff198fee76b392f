"""How long a large experiment takes to load: whole, and a part of it.

Run: `uv run python -m benchmarks.loading [--trials 2000] [--rows 500]`. It makes up an experiment in a temporary folder, in
which each trial has a row with PPO's hyperparameters, so many evaluations, and a report for each fifth of these. Each reading
is a process of its own. Seconds of the processor stand beside those of the clock, as they say more on a busy machine.
"""

import argparse
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import numpy as np

from envs.objective.columns import evaluation_columns
from results.schema import schema
from results.table_files import write_rows
from search_spaces.on_policy import PPO

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
YEARS = 5  # of an evaluation, a row each
READINGS = {
    "all tables": "r = load(sys.argv[1]); rows = len(r.trials) + len(r.reports) + len(r.evaluations)",
    "trials": "rows = len(load(sys.argv[1]).trials)",
    "evaluations": "rows = len(load(sys.argv[1]).evaluations)",
    "trial, steps and score": 'rows = len(load(sys.argv[1]).read("evaluations", ["trial", "steps", "score"]))',
    "one trial": 'rows = len(load(sys.argv[1]).read("evaluations", filters=[("trial", "==", 7)]))',
}
# Prints seconds of the clock and of the processor without imports, rows, and the most memory of the process in MiB.
CODE = """
import sys, time, warnings
warnings.simplefilter("ignore")
import pandas, pyarrow.compute, pyarrow.parquet
from results import load
begin, work = time.perf_counter(), time.process_time()
{reading}
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))  # of Linux
print(time.perf_counter() - begin, time.process_time() - work, rows, peak // 1024)
"""


def make(folder: Path, trials: int, rows: int) -> None:
    """Write the files of an experiment."""
    random, kinds, measures = np.random.default_rng(0), {own.name: float for own in PPO.parameters}, evaluation_columns()
    numbers = [field.name for field in schema("reports") if str(field.type) == "double"]
    given = {f"{prefix}_{name}": 0.5 for name in kinds for prefix in ("hp", "used")}
    evaluated = {"scenario": "iquitos", "split": "validation", "backend": "batch", "hours": 8760, "score": 0.1}
    measured = {name: 3.0 if measure.kind == "float64" else 3 for name, measure in measures.items()}
    evaluations = [
        {"steps": 4096 * (1 + row // YEARS), "year": row % YEARS, **evaluated, **measured, "co2_kg": float(random.random())}
        for row in range(rows)
    ]
    reports = [
        {"update": update, "steps": update * 4096, "time": BEGIN + timedelta(seconds=update), **dict.fromkeys(numbers, 0.5)}
        for update in range(1, rows // YEARS + 1)
    ]
    with patch("os.fsync"):  # nothing has to outlast a crash of the machine
        for trial in range(trials):
            row = {"trial": trial, "state": "complete", "score": 0.5, "updates": len(reports), "algorithm": "ppo", **given}
            write_rows(folder, "trials", trial, [row], kinds)
            write_rows(folder, "reports", trial, [{"trial": trial, **own} for own in reports])
            write_rows(folder, "evaluations", trial, [{"trial": trial, **own} for own in evaluations], measures=measures)


def read(folder: Path) -> None:
    """Print a line for each reading."""
    for name, reading in READINGS.items():
        code = CODE.replace("{reading}", reading)
        done = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True)
        clock, work, rows, memory = done.stdout.split()
        print(f"  {name}: {float(clock):.2f} s ({float(work):.2f} s of the processor), {int(rows):,} rows, {memory} MiB")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--rows", type=int, default=500)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        make(folder, given.trials, given.rows)
        print(f"{given.trials * given.rows:,} evaluations of {given.trials:,} trials")
        read(folder)


if __name__ == "__main__":
    main()
