"""What grows with the number of trials: proposals, the journal, and what the driver takes. Prints Markdown.

Run: `uv run python -m benchmarks.scaling [--trials 100 1000 10000] [--journal 1000 10000] [--slots 1000]
[--again 10000]`. All trials are made
up, no Ray is started, and seconds are those of the processor. README.md beside it has results.
"""

import argparse
import tempfile
import time
from pathlib import Path
from statistics import fmean

import psutil

from benchmarks.scaling.made import experiment, grow
from benchmarks.scaling.proposals import seconds
from benchmarks.scaling.virtual import search
from benchmarks.scaling.whole import GOES_ON, rows
from common.units import MIB
from results import load
from tuning.search.record.study import StudyMemory

MOST_OF_GP = 1000  # trials


def proposals(trials: list[int], samplers: list[str]) -> None:
    """Print the time of proposals and decisions."""
    print("| sampler | scheduler | trials | running | first proposal, s | a later one, s | a decision, s |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for sampler in samplers:
        for scheduler, running in (("none", 1), ("freeze-thaw", 1), ("freeze-thaw", 1000)):
            for count in trials:
                if running < count and (sampler != "gp" or (count <= MOST_OF_GP and scheduler == "none")):
                    first, later, decision = seconds(sampler, scheduler, count, running)
                    shown = f"{decision:.3f}" if scheduler == "freeze-thaw" else ""
                    print(
                        f"| {sampler} | {scheduler} | {count:,} | {running:,} | {first:.2f} | {later:.3f} | {shown} |",
                        flush=True,
                    )


def journal(trials: list[int]) -> None:
    """Print size and opening of journals."""
    print("| trials | journal, MB | to open it, s |\n|---:|---:|---:|")
    for count in trials:
        with tempfile.TemporaryDirectory() as folder:
            made = experiment(Path(folder))
            grow(made, count, frozen=True)
            begin = time.process_time()
            memory = StudyMemory.open(made)
            taken = time.process_time() - begin
            assert len(memory.trials()) == count
            print(f"| {count:,} | {made.paths.study.stat().st_size / 1e6:.1f} | {taken:.2f} |", flush=True)


def again(trials: list[int]) -> None:
    """Print what a search takes that goes on, is loaded and is drawn."""
    print(f"| trials | {' | '.join(GOES_ON)} |\n|---:|---:|---:|---:|---:|---:|")
    for count in trials:
        print(f"| {count:,} | {' | '.join(rows(count))} |", flush=True)


def driver(slots: int, evaluations: int, sampler: str, scheduler: str) -> None:
    """Print what a search's driver takes without Ray, by kind of call."""
    with tempfile.TemporaryDirectory() as folder:
        made = experiment(Path(folder), sampler=sampler, scheduler=scheduler, trials=100_000, concurrency=slots)
        spent = search(made, slots, lambda so_far, begun: so_far.counts["evaluation"] >= evaluations)
        begun = len(load(made.paths.folder).trials)
    memory = psutil.Process().memory_info().rss / MIB
    print(f"{slots:,} at once, {sampler}, {scheduler}: {begun:,} trials begun, {memory:.0f} MiB of the process")
    print("| call | calls | ms each | the last tenth, ms each |\n|---|---:|---:|---:|")
    for kind, each in spent.seconds.items():
        if each:
            last = each[-max(1, len(each) // 10) :]
            print(f"| {kind} | {len(each):,} | {1e3 * fmean(each):.2f} | {1e3 * fmean(last):.2f} |", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--trials", type=int, nargs="*", default=[100, 1000, 10_000, 100_000])
    parser.add_argument("--samplers", nargs="*", default=["tpe", "gp"])
    parser.add_argument("--journal", type=int, nargs="*", default=[100, 1000, 10_000])
    parser.add_argument("--slots", type=int, nargs="*", default=[100, 1000], help="trials at once, in virtual time")
    parser.add_argument("--again", type=int, nargs="*", default=[1000, 10_000], help="trials of a search that goes on")
    parser.add_argument("--evaluations", type=int, default=1000, help="of all trials, in virtual time")
    options = parser.parse_args()
    proposals(options.trials, options.samplers)
    journal(options.journal)
    again(options.again)
    for slots in options.slots:
        driver(slots, options.evaluations, "tpe", "asha")


if __name__ == "__main__":
    main()
