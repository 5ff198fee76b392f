"""Size and time of a report of made-up searches: `python -m benchmarks.report_size`.

Each search has PPO's whole space, 20 evaluations and 100 updates a trial; a tenth are complete, the others were frozen early.
Its tables are read before. Times are those of a process of its own: the wall clock, and the processor time, both with what is
imported.
"""

import argparse
import gc
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.scaling.whole import whole
from results import load

ROOT = Path(__file__).parents[1]


def draw(trials: int) -> None:
    """Make a report of a made-up search, and print a row of the table."""
    with tempfile.TemporaryDirectory() as place:
        results = load(whole(Path(place), trials).paths.folder)
        for table in ("trials", "reports", "evaluations"):
            getattr(results, table)
        gc.collect()
        wall, processor = time.monotonic(), time.process_time()
        from results.report.page import page
        from results.report.sections import Sources, sections

        size = len(page("made", sections(Sources((results,))))) / 1e6
        wall, processor = time.monotonic() - wall, time.process_time() - processor
        print(f"| {trials:,} | {size:.2f} | {wall:.1f} | {processor:.1f} |", flush=True)


def main() -> None:
    """Print a table: trials, bytes of the page, seconds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--trials", type=int, nargs="+", default=[20, 200, 2000])
    options = parser.parse_args()
    print("| trials | page, MB | seconds | of the processor |\n|---:|---:|---:|---:|", flush=True)
    for trials in options.trials:
        # A process for each, so that all import the same.
        code = f"from benchmarks.report_size import draw; draw({trials})"
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
