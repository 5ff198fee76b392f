"""How long large experiments take to load: many part files, the same packed, and a part of the columns and trials.

Run: `uv run python benchmarks/loading.py [--rows 1000000] [--trials 200]`. It makes up an experiment in a temporary folder, in
which each trial has ten part files of reports, and a row with PPO's hyperparameters. Each reading is a process of its own, and
loads `trials` too. Seconds of the processor stand beside those of the clock, as they say more on a busy machine.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from results.compaction import compact
from results.gathered import SETTLED
from results.schema import schema
from results.writer import part_path
from search_spaces.ppo import PPO

PARTS = 10  # files of a trial
READINGS = {
    "results.trials": "r.trials",
    "results.reports": "r.reports",
    "trial, steps and score": 'r.read("reports", ["trial", "steps", "score"])',
    "one trial": 'r.read("reports", filters=[("trial", "==", 7)])',
}
# Prints seconds of the clock and of the processor without imports, rows, and the most memory of the process in MiB.
CODE = """
import sys, time, warnings
warnings.simplefilter("ignore")
import pandas, pyarrow.compute, pyarrow.parquet
from results import load
begin, work = time.perf_counter(), time.process_time()
r = load(sys.argv[1])
rows = len({reading})
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))  # of Linux
print(time.perf_counter() - begin, time.process_time() - work, rows, peak // 1024)
"""


def make(folder: Path, rows: int, trials: int) -> None:
    """Write the part files of an experiment."""
    columns, of_trials = schema("reports"), schema("trials", {own.name: float for own in PPO.parameters})
    random = np.random.default_rng(0)
    each = max(1, rows // trials // PARTS)
    for trial in range(trials):
        row = {"trial": trial, "state": "complete", "score": 0.1, "updates": each * PARTS}
        path = part_path(folder, "trials", trial)
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist([row], schema=of_trials), path, write_page_checksum=True)
        for part in range(PARTS):
            updates = np.arange(part * each, (part + 1) * each) + 1
            values = {field.name: random.random(each) for field in columns if field.type == pa.float64()}
            values |= {field.name: np.full(each, 7) for field in columns if field.type == pa.int64()}
            values |= {"trial": np.full(each, trial), "update": updates, "steps": updates * 4096}
            values["time"] = np.datetime64("2026-01-01", "us") + updates.astype("timedelta64[s]")
            path = part_path(folder, "reports", trial, int(updates[-1]) * 4096)
            path.parent.mkdir(parents=True, exist_ok=True)
            arrays = [pa.array(values[field.name]).cast(field.type) for field in columns]
            pq.write_table(pa.table(arrays, schema=columns), path, write_page_checksum=True)


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
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--trials", type=int, default=200)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        make(folder, given.rows, given.trials)
        print(f"{given.rows:,} reports of {given.trials} trials in {given.trials * PARTS:,} part files")
        read(folder)
        time.sleep(SETTLED)  # rows of trials are gathered when they are that old
        begin = time.perf_counter()
        done = compact(folder)[0]
        print(f"packed in {time.perf_counter() - begin:.1f} s: {done.before:,} files are {done.after} now")
        read(folder)


if __name__ == "__main__":
    main()
