"""What a search costs beside collecting, learning and evaluating.

Run: `uv run python benchmarks/tuner_overhead.py [--trials 20] [--steps 250000] [--concurrency 2]`. It starts the search as a
user does, in a process of its own with an empty experiment. It multiplies the wall time by the number of trials at once, and
compares that with the time that trials spent by their reports. The years are prepared before, once for a site.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from results import Results, load


def spent_seconds(results: Results) -> dict[str, float]:
    """Wall time of the trials' parts, seconds; collecting is stepping the environment and the policy's inference."""
    reports = results.reports
    steps = reports.groupby("trial")["steps"].diff().fillna(reports["steps"])
    rounds = float((steps / reports["steps_per_second"]).sum())
    learner = float(reports["learner_seconds"].sum())
    return {"collecting": rounds - learner, "learner": learner, "evaluation": float(reports["evaluation_seconds"].sum())}


def idle_seconds(results: Results, concurrency: int) -> float:
    """Time that places for trials stood empty at the end, as there was none left to begin, seconds."""
    ends = results.trials["finished"].sort_values().iloc[-concurrency:]
    return float((ends.max() - ends).dt.total_seconds().sum())


def search(folder: Path, name: str, *arguments: str) -> float:
    """Run a search; its wall time in seconds."""
    command = [sys.executable, "-m", "tuning.run", "--algo", "ppo", "--dir", str(folder), "--name", name, *arguments]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--steps", type=int, default=250_000)
    parser.add_argument("--concurrency", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        search(Path(folder), "warm", "--trials", "1", "--steps", "4096")
        began = datetime.now(UTC)
        wall = search(
            Path(folder), "measured", "--trials", str(given.trials), "--steps", str(given.steps),
            "--concurrency", str(given.concurrency), "--scheduler", "none",
        )  # fmt: skip
        results = load(Path(folder) / "measured")
    trials = results.trials
    total = wall * given.concurrency
    spent = spent_seconds(results)
    idle = idle_seconds(results, given.concurrency)
    first = float((trials["started"].min() - began).total_seconds())
    rest = float(trials["seconds"].sum()) - sum(spent.values())
    overhead = total - sum(spent.values()) - idle
    print(f"{given.trials} trials of {given.steps:,} steps, {given.concurrency} at once: {wall:.0f} s")
    for name, seconds in {**spent, "idle at the end, as no trial was left": idle}.items():
        print(f"  {seconds / total:6.1%}  {name}")
    print(f"overhead of the tuner: {overhead / total:.1%}, of which")
    print(f"  {first * given.concurrency / total:6.1%}  until the first trial is handed out: imports, Ray")
    print(f"  {rest / total:6.1%}  within trials: building, saving, reporting")
    print(f"  {(overhead - rest) / total - first / wall:6.1%}  the rest: processes of trials, the study, the end")


if __name__ == "__main__":
    main()
