"""Made-up experiments: the trials of a search with a known answer, without training."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from common.measure import SCORE
from envs.objective.columns import evaluation_columns
from results import Results
from results.experiment_file import FORMAT
from results.schema import schema
from search_spaces.on_policy import PPO

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
KINDS = {"learning_rate": float, "gamma": float, "n_steps": int, "batch_size": int, "shared_policy": bool}
REPORTS, BUDGET = 4, 4000  # evaluations and steps of a trial
MEASURES = evaluation_columns()
Row = dict[str, Any]


def settle(folder: Path, **settings: Any) -> None:
    """Write `experiment.json` with the PPO space and some settings."""
    unsearched = {own.name: own.default for own in PPO.parameters if own.search is None}
    ranges = PPO.ranges(unsearched, {"steps": 400_000.0}) | {"shared_policy": {"choices": [False, True]}}
    known = {"name": folder.name, "evaluations": REPORTS, "steps": BUDGET, "start_from": ["default"], **settings}
    content = {"format": FORMAT, "settings": known, "marks": {"ranges": ranges}}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "experiment.json").write_text(json.dumps(content), encoding="utf-8")


def drawn(number: int) -> Row:
    """Hyperparameters of a trial; trial 0 has the default's."""
    if number == 0:
        return {"learning_rate": 5e-4, "gamma": 0.99, "n_steps": 4096, "batch_size": 512, "shared_policy": False}
    random = np.random.default_rng(number)
    steps = int(2 ** random.integers(9, 15))
    return {
        "learning_rate": float(np.exp(random.uniform(np.log(3e-5), np.log(3e-3)))),
        "gamma": 1.0 - float(np.exp(random.uniform(np.log(1e-3), np.log(0.1)))),
        "n_steps": steps,
        "batch_size": max(64, steps >> int(random.integers(1, 6))),
        "shared_policy": bool(random.random() < 0.5),
    }


def sharing(given: Mapping[str, Any]) -> float:
    """A score that `shared_policy` decides, and `learning_rate` a little."""
    return 0.2 * given["shared_policy"] - 0.01 * abs(np.log10(given["learning_rate"] / 3e-4))


def row(number: int, score: float | None, state: str = "complete", **columns: Any) -> Row:
    """A row of `trials`."""
    given = {f"hp_{name}": value for name, value in drawn(number).items()}
    parts = {"environment_seconds": 10.0, "learner_seconds": 20.0, "evaluation_seconds": 5.0, "rest_seconds": 5.0}
    memory = {"predicted_ram_bytes": 10**9, "granted_ram_bytes": 2 * 10**9, "peak_rss_bytes": 12 * 10**8}
    facts = {"algorithm": "ppo", "scenario": "made", "reward": "improvement", "device": "cpu", "host": "here"}
    times = {"started": BEGIN + timedelta(seconds=40 * number), "seconds": 40.0, **parts}
    budget = {"kept_steps": BUDGET, "steps": BUDGET, "budget_steps": BUDGET, "updates": REPORTS}
    return {"trial": number, "state": state, "score": score, **facts, **times, **budget, **memory, **given, **columns}


def again(first: int, of: int, scores: Sequence[float]) -> list[Row]:
    """Trainings of a trial again with fresh seeds, numbered from `first` on; those of trial 0 are the default's."""
    role = "best" if of else "default"
    return [row(first + run, own, confirms=of, confirm_run=run, confirm_role=role) for run, own in enumerate(scores)]


def reports(number: int, score: float, begin: float | None = None) -> list[Row]:
    """Reports of a trial that runs for 10 s to each evaluation, the first trial first; it rises to its score."""
    first = 40.0 * number if begin is None else begin
    return [
        {
            "trial": number, "update": rung, "steps": rung * BUDGET // REPORTS, "seconds": 10.0 * rung,
            "time": BEGIN + timedelta(seconds=first + 10.0 * rung), "score": score * rung / REPORTS,
        }
        for rung in range(1, REPORTS + 1)
    ]  # fmt: skip


def tables(folder: Path, trials: list[Row], reported: list[Row] | None = None, evaluations: list[Row] | None = None) -> Results:
    """Results with these rows, as they would be loaded from files."""

    def table(name: str, rows: list[Row] | None, **more: Any) -> pd.DataFrame:
        return pa.Table.from_pylist(rows or [], schema=schema(name, **more)).to_pandas()

    results = Results(folder)
    # Its cached properties, as the files would tell.
    vars(results).update(
        trials=table("trials", trials, hyperparameters=KINDS), reports=table("reports", reported),
        evaluations=table("evaluations", evaluations, measures=MEASURES), measures={SCORE.name: SCORE, **MEASURES},
    )  # fmt: skip
    return results


def evaluation(number: int, steps: int, score: float, **columns: Any) -> Row:
    """A row of `evaluations` of 1,000 h."""
    terms = {"term_co2": 0.75 * score, "term_cost": 0.25 * score, "term_ev": 0.0}
    facts = {"trial": number, "steps": steps, "split": "validation", "year": 0, "backend": "batch", "hours": 1000}
    return {**facts, "score": score, **terms, **columns}


def search(
    folder: Path, count: int, score: Callable[[Mapping[str, Any]], float] = sharing, noise: float = 0.0, seed: int = 99
) -> Results:
    """A search of some trials, one after the other, all complete; four reports and as many evaluations each."""
    settle(folder)
    random = np.random.default_rng(seed)
    scores = [score(drawn(number)) + noise * float(random.standard_normal()) for number in range(count)]
    trials = [row(number, own) for number, own in enumerate(scores)]
    reported = [own for number, end in enumerate(scores) for own in reports(number, end)]
    evaluated = [evaluation(own["trial"], own["steps"], own["score"]) for own in reported]
    return tables(folder, trials, reported, evaluated)
