"""One job in a process of its own: `python -m benchmarks.real_searches.job FOLDER`.

`task.json` in the folder says what to do; `done.json` is written last, and holds columns of the job's row. Errors that a user
can correct are in `error.txt`, in one line.
"""

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

from benchmarks.real_searches.methods import parsed, search_of
from benchmarks.real_searches.records import Task, Terms, Winner
from benchmarks.real_searches.sites import environment_of
from common.errors import UserError
from common.files import write_whole
from common.json_values import read_json

TASK, DONE, ERROR = "task.json", "done.json", "error.txt"
PREPARE, SEARCH, JUDGE, BOUND = "prepare", "search", "judge", "bound"


def search_task(scenario: str, method: str, seed: int, terms: Terms) -> dict[str, Any]:
    """What a job is told to search."""
    return {"kind": SEARCH, "scenario": scenario, "method": method, "seed": seed, "terms": asdict(terms)}


def judge_task(scenario: str, winner: Winner, seed: int) -> dict[str, Any]:
    """What a job is told to train again."""
    return {"kind": JUDGE, "scenario": scenario, "winner": asdict(winner), "seed": seed}


def carry_out(task: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Carry out a task; returns columns of its row."""
    if task["kind"] == SEARCH:
        terms = Terms(**task["terms"])
        own = Task(task["scenario"], task["seed"], terms, folder, parsed(task["method"])[1])
        return search_of(task["method"])(own).to_row()
    if task["kind"] == JUDGE:
        return _judge(task)
    return _prepare(task) if task["kind"] == PREPARE else _bound(task)


def _judge(task: dict[str, Any]) -> dict[str, Any]:
    from rich.console import Console

    from benchmarks.real_searches.again import score_again
    from envs.objective.weights import DEFAULT
    from envs.seen import Seen
    from envs.task import SiteTask
    from tuning.runtime.ray_session import ray_session

    winner = Winner(**task["winner"])
    if winner.library == "ours" and environment_of(task["scenario"]):
        with ray_session(num_cpus=1):
            found = score_again(task["scenario"], winner, task["seed"])
    elif winner.library == "ours":
        with ray_session(num_cpus=1):
            from tuning.search.run.preparation import prepare

            prepare(
                SiteTask(task["scenario"]), Console(force_terminal=False), ("train", "test"),
                [Seen.of(DEFAULT, winner.hyperparameters)],
            )  # fmt: skip
            found = score_again(task["scenario"], winner, task["seed"])
    else:
        found = score_again(task["scenario"], winner, task["seed"])
    return {"score": found, "steps": winner.steps, "hyperparameters": json.dumps(winner.hyperparameters)}


def _prepare(task: dict[str, Any]) -> dict[str, Any]:
    """Years, tables and uncontrolled runs of a site, and compiled code: what no search has to pay for."""
    if environment_of(task["scenario"]):
        from common.paths import cache_folder

        cache_folder().mkdir(parents=True, exist_ok=True)
        return {}
    from rich.console import Console

    from benchmarks.real_searches.same_step import same_step_env
    from envs.scenarios.splits import SPLITS
    from envs.task import SiteTask
    from tuning.runtime.ray_session import ray_session

    with ray_session(num_cpus=task["cores"]):
        from tuning.search.run.preparation import prepare

        prepare(SiteTask(task["scenario"]), Console(force_terminal=False), SPLITS)
    env = same_step_env(task["scenario"], 1)
    env.set_seed(0)
    env.advance(env.action_space.sample())
    return {}


def _bound(task: dict[str, Any]) -> dict[str, Any]:
    if environment_of(task["scenario"]):
        return {"score": None, "why_none": "an environment has none"}
    import numpy as np

    from envs.environments.fit import why_no_bound
    from envs.task import SiteTask
    from envs.yardsticks.bound import bound

    asked = SiteTask(task["scenario"])
    if reason := why_no_bound(asked.site):
        return {"score": None, "why_none": reason}
    windows = asked.site.windows("test")
    scores = [bound(asked, window, "score").score for window in windows]
    return {"score": float(np.average(scores, weights=[window.hours for window in windows])), "why_none": None}


def main(folder: Path) -> int:
    """Carry out the task of a folder; returns the exit status."""
    from tuning.runtime.processes import end_with_parent
    from tuning.runtime.ray_session import set_environment
    from tuning.trial.provenance import provenance

    end_with_parent()
    # Ray reads some of it when it is imported.
    set_environment()
    try:
        found = carry_out(read_json(folder / TASK), folder)
    except UserError as error:
        (folder / ERROR).write_text(str(error), encoding="utf-8")
        print(f"error: {error}", file=sys.stderr)
        return 2
    of = {name: text for name, text in provenance().items() if name in ("host", "versions", "git_commit")}
    write_whole(folder / DONE, lambda file: file.write(json.dumps(of | found).encode()))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
