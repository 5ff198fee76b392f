"""How long large experiments take to load: all reports, a part of the columns, one trial; and the rows of trials.

Run: `uv run python benchmarks/loading.py [--trials 10000] [--rows 100]`. It makes up an experiment in a temporary folder, in
which each trial has a row with PPO's hyperparameters, and a file with so many rows of reports. Each reading is a process of its
own. Seconds of the processor stand beside those of the clock, as they say more on a busy machine.
"""

import argparse
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import numpy as np

from results.schema import schema
from results.table_files import write_rows
from search_spaces.on_policy import PPO

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
READINGS = {
    "results.reports": "load(sys.argv[1]).reports",
    "trial, steps and score": 'load(sys.argv[1]).read("reports", ["trial", "steps", "score"])',
    "one trial": 'load(sys.argv[1]).read("reports", filters=[("trial", "==", 7)])',
    "results.trials": "load(sys.argv[1]).trials",
}
# Prints seconds of the clock and of the processor without imports, rows, and the most memory of the process in MiB.
CODE = """
import sys, time, warnings
warnings.simplefilter("ignore")
import pandas, pyarrow.compute, pyarrow.parquet
from results import load
begin, work = time.perf_counter(), time.process_time()
rows = len({reading})
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))  # of Linux
print(time.perf_counter() - begin, time.process_time() - work, rows, peak // 1024)
"""


def make(folder: Path, trials: int, rows: int) -> None:
    """Write the files of an experiment."""
    random, kinds = np.random.default_rng(0), {own.name: float for own in PPO.parameters}
    numbers = [field.name for field in schema("reports") if str(field.type) == "double"]
    given = {f"{prefix}_{name}": 0.5 for name in kinds for prefix in ("hp", "used")}
    reports = [
        {
            "update": update,
            "steps": update * 4096,
            "time": BEGIN + timedelta(seconds=update),
            **dict(zip(numbers, random.random(len(numbers)).tolist(), strict=True)),
        }
        for update in range(1, rows + 1)
    ]
    with patch("os.fsync"):  # nothing has to outlast a crash of the machine
        for trial in range(trials):
            row = {"trial": trial, "state": "complete", "score": 0.1, "updates": rows, "algorithm": "ppo", **given}
            write_rows(folder, "trials", trial, [row], kinds)
            write_rows(folder, "reports", trial, [{"trial": trial, **own} for own in reports])


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
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=100)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        make(folder, given.trials, given.rows)
        print(f"{given.trials * given.rows:,} reports of {given.trials:,} trials")
        read(folder)


if __name__ == "__main__":
    main()
