"""Two checkouts of this project under the same search: are the numbers the same, and which one is faster?

Run: `uv run python benchmarks/compare_checkouts.py OLD NEW [--algo ppo] [--rounds 3] [--steps 24000]`.
Each checkout has its own `.venv`. Both run the same command in turn, one trial at a time with the same seed. A machine that
becomes slower in between thus does so for both. The table shows the ratio NEW / OLD of each round and its median; below 1 the
new one is faster. Then it names the columns of the Parquet files that differ, but for times, memory and versions.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd

from results import Results, load
from results.schema import SCHEMA_VERSION

PARTS = ("environment_seconds", "learner_seconds", "evaluation_seconds", "rest_seconds", "seconds")
# What differs between two runs of the same code.
MEASURED = {
    *PARTS, "time", "started", "finished", "steps_per_second", "rss_bytes", "peak_rss_bytes", "vram_bytes",
    "process_vram_bytes", "gpu_memory_bytes", "gpu_utilization", "gpu_temperature_c", "gpu_power_w", "machine_memory_bytes",
    "cpu_cores", "host", "platform", "python", "versions", "git_commit", "granted_ram_bytes", "granted_vram_bytes",
}  # fmt: skip


def python_of(checkout: Path) -> Path:
    """The interpreter of a checkout's environment."""
    found = [checkout / ".venv" / place for place in ("bin/python", "Scripts/python.exe")]
    for path in found:
        if path.exists():
            return path
    sys.exit(f"{checkout} has no .venv: run `uv sync` there")


def search(checkout: Path, folder: Path, arguments: list[str]) -> Results:
    """Run a search in a checkout."""
    command = [
        str(python_of(checkout)),
        "-m",
        "tuning.run",
        "--dir",
        str(folder),
        "--name",
        "one",
        "--concurrency",
        "1",
        *arguments,
    ]
    done = subprocess.run(
        command, cwd=checkout, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return load(folder / "one")


def differing(old: Results, new: Results) -> dict[str, list[str]]:
    """Columns with other values, by table; a column that only one of them has differs."""
    names: dict[str, list[str]] = {}
    for table in ("trials", "reports", "evaluations"):
        first, second = (getattr(results, table) for results in (old, new))
        columns = [name for name in [*first, *(name for name in second if name not in first)] if name not in MEASURED]
        names[table] = [
            name for name in columns if name not in first or name not in second or not first[name].equals(second[name])
        ]
    return names


def seconds_per_step(results: Results) -> pd.Series:
    """Time of each part in all trials, over their steps."""
    return results.trials[list(PARTS)].sum() / results.trials["steps"].sum()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--algo", default="ppo")
    parser.add_argument("--scenario", default="iquitos-38")
    parser.add_argument("--steps", default="24000")
    parser.add_argument("--trials", default="2")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    arguments = [
        "--algo", given.algo, "--scenario", given.scenario, "--steps", given.steps, "--trials", given.trials, "--seed", "3",
        "--evaluations", "2", "--validation-weeks", "4",
    ]  # fmt: skip
    ratios: dict[str, list[float]] = {part: [] for part in PARTS}
    different: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(given.rounds):
            old, new = (
                search(checkout.resolve(), Path(folder) / f"{name}-{number}", arguments)
                for name, checkout in (("old", given.old), ("new", given.new))
            )
            for part, ratio in (seconds_per_step(new) / seconds_per_step(old)).items():
                ratios[str(part)].append(float(ratio))
            different = differing(old, new)
    print(f"{given.algo} on {given.scenario}, {given.trials} trials of {given.steps} steps, schema version {SCHEMA_VERSION}")
    for part, values in ratios.items():
        print(f"{part:22} {statistics.median(values):6.3f}   {' '.join(f'{value:.3f}' for value in values)}")
    print(f"columns that differ: {json.dumps(different)}")


if __name__ == "__main__":
    main()
