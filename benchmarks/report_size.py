"""Size and time of a report of made-up searches: `python -m benchmarks.report_size`.

Each search has PPO's whole space, 20 evaluations and 100 updates a trial. Its tables are in memory, so no file is read.
Times are those of a process of its own: the wall clock, and the processor time, both with what is imported.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from results import Results
from results.experiment_file import Range, read_facts
from tests.results.made import BEGIN, settle

ROOT = Path(__file__).parents[1]
UPDATES, EVALUATIONS, STEPS = 100, 20, 500_000  # of a trial
SLOTS = 2


def make(folder: Path, trials: int) -> Results:
    """A search whose scores follow from two hyperparameters and noise; two of three trials stop early.

    Args:
        folder: for the experiment.
        trials: how many.
    """
    import pandas as pd

    from envs.objective.columns import evaluation_columns
    from results.schema import schema

    settle(folder, reports=EVALUATIONS)
    ranges = read_facts(folder).ranges
    random = np.random.default_rng(0)
    rows, reports, evaluations = [], [], []
    for number in range(trials):
        places = random.uniform(size=len(ranges))
        given = {f"hp_{own.name}": _value(own, place) for own, place in zip(ranges.values(), places, strict=True)}
        end = float(0.2 - 0.2 * abs(places[0] - 0.6) - 0.1 * places[1] + 0.02 * random.standard_normal())
        rungs = EVALUATIONS if number % 3 == 0 else int(random.integers(2, EVALUATIONS))
        begin = BEGIN + timedelta(seconds=30.0 * (number // SLOTS))
        curve = [end * (1.0 - np.exp(-4.0 * rung / EVALUATIONS)) for rung in range(1, EVALUATIONS + 1)]
        for update in range(1, rungs * UPDATES // EVALUATIONS + 1):
            seconds = 30.0 * update / UPDATES
            is_rung = update % (UPDATES // EVALUATIONS) == 0
            score = curve[update * EVALUATIONS // UPDATES - 1] if is_rung else None
            steps = update * STEPS // UPDATES
            common = {"trial": number, "steps": steps, "score": None if score is None else float(score)}
            reports.append({**common, "update": update, "time": begin + timedelta(seconds=seconds), "seconds": seconds})
            if score is not None:
                terms = {"term_co2": 0.7 * score, "term_cost": 0.3 * score}
                amounts = {"import_kwh": 90.0, "uncontrolled_import_kwh": 100.0, "co2_kg": 9.0, "uncontrolled_co2_kg": 10.0}
                facts = {"split": "validation", "year": 0, "backend": "batch", "hours": 1680}
                evaluations.append({**common, **terms, **amounts, **facts})
        state = "complete" if rungs == EVALUATIONS else "pruned"
        rows.append(_row(number, state, curve[rungs - 1], rungs, begin, given))
    tables = {}
    for name, content in (("trials", rows), ("reports", reports), ("evaluations", evaluations)):
        measures = evaluation_columns() if name == "evaluations" else None
        empty = schema(name, measures=measures).empty_table().to_pandas()
        frame = pd.DataFrame(content)
        # Columns that no row fills have the types that they have in a file.
        filled = {column: empty[column].reindex(frame.index) for column in empty if column not in frame}
        tables[name] = pd.concat([frame, pd.DataFrame(filled, index=frame.index)], axis=1)
    made = Results(folder, tables)
    vars(made)["measures"] = evaluation_columns()
    return made


def _value(own: Range, place: float) -> Any:
    if own.choices:
        text = own.choices[int(place * len(own.choices))]
        return {"True": True, "False": False}.get(text, text)
    # The inverse of `Range.positions`.
    if not own.log:
        value = own.low + place * (own.high - own.low)
    elif own.from_one:
        value = 1.0 - (1.0 - own.low) * ((1.0 - own.high) / (1.0 - own.low)) ** place
    else:
        value = own.low * (own.high / own.low) ** place
    return round(value) if own.whole or own.powers else value


def _row(number: int, state: str, score: float, rungs: int, begin: Any, given: dict[str, Any]) -> dict[str, Any]:
    seconds = 30.0 * rungs / EVALUATIONS
    parts = {"environment_seconds": 0.3 * seconds, "learner_seconds": 0.6 * seconds, "evaluation_seconds": 0.1 * seconds}
    memory = {"predicted_ram_bytes": 10**9, "granted_ram_bytes": 2 * 10**9, "peak_rss_bytes": 10**9 + 10**5 * number}
    facts = {"algorithm": "ppo", "scenario": "made", "reward": "improvement", "device": "cpu", "host": "here", **memory}
    steps = {"steps": rungs * STEPS // EVALUATIONS, "budget_steps": STEPS, "updates": rungs}
    return {
        "trial": number,
        "state": state,
        "score": float(score),
        "started": begin,
        "seconds": seconds,
        **parts,
        **facts,
        **steps,
        **given,
    }


def draw(trials: int) -> None:
    """Make a report of a made-up search, and print a row of the table."""
    with tempfile.TemporaryDirectory() as place:
        results = make(Path(place) / f"made-{trials}", trials)
        import gc

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
