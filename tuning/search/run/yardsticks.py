"""What the policies of a search are compared with at its end: the same hours under rules, forecasts and perfect foresight."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

from rich.console import Console

from common.errors import InconsistentError, UserError
from common.texts import option_words, python_command
from envs.environments import fit
from envs.objective.columns import evaluation_columns
from envs.scenarios.splits import Splits
from envs.yardsticks.bound import Objective, TooLongError
from envs.yardsticks.rows import Row, baseline_rows, bound_rows, mpc_rows
from results.table_files import judged_path, write_file
from tuning.cli.console import busy, say
from tuning.experiment.folder import Experiment
from tuning.experiment.settings import Settings

MOST_SECONDS = 60.0  # that they may take; `python -m tuning.headroom` waits for all
_BOUNDS: dict[str, Objective] = {"co2_kg": "co2", "bill": "cost"}  # of objectives beside the score


def write_yardsticks(experiment: Experiment, written: Callable[[Path], None], console: Console) -> None:
    """Write them into the results, once: where they can be computed at the batch backend's speed, and within a minute or two.

    Args:
        experiment: of the search.
        written: told of each file.
        console: shows that it is done, and what is left out.
    """
    settings, folder = experiment.settings, experiment.paths.folder
    controllers, bounds = (judged_path(folder, name, "batch") for name in ("baselines", "bounds"))
    if controllers.exists():
        return
    task = settings.task.judged
    if settings.reward != "improvement" or task.stepped_by != "batch":
        why = task.why_not_batch() or "the reward is the schema's own, by which the uncontrolled site does not score 0"
        say(console, f"not compared with rules, the bound and model predictive control: {why}")
        return
    begun, windows, split = time.monotonic(), task.validation_windows, "validation"

    def check_time(done: float = 0.0) -> None:
        tell(f"{done:.0%} of model predictive control")
        # What is half done by then ends soon, and would be thrown away.
        if time.monotonic() - begun > MOST_SECONDS and done < 0.5:
            raise TooLongError

    rows, limits, left_out = list[Row](), list[Row](), list[str]()
    objectives: tuple[Objective, ...] = (
        "score",
        *(_BOUNDS[own.name] for own in settings.aim.objectives if own.name in _BOUNDS),
    )
    try:
        with busy(console, "comparing with rules, the bound and model predictive control on the same hours") as tell:
            rows += baseline_rows(task, split, windows)
            try:
                if not fit.why_no_bound(task.site):
                    limits += bound_rows(task, split, windows, objectives, MOST_SECONDS - (time.monotonic() - begun))
            except TooLongError:
                left_out.append("the bound")
            try:
                if not fit.why_no_mpc(task.site):
                    check_time()
                    rows += mpc_rows(task, split, windows, "learned", check_time)
            except TooLongError:
                left_out.append("model predictive control")
    except (UserError, InconsistentError) as error:
        say(console, f"nothing to compare with: {error}")
        return
    if left_out:
        plain, words = Settings(), list[str]()
        for name in ("weights", "objective", "require", *(entry.name for entry in fields(Splits))):
            if (value := getattr(settings, name)) != getattr(plain, name):
                words += option_words(name, value)
        command = python_command("tuning.headroom", "--scenario", settings.scenario, *words)
        say(console, f"left out, as it takes over a minute: {' and '.join(left_out)}; {command} computes all")
    for path, content in ((bounds, limits), (controllers, rows)):
        if content:
            write_file(path, content, measures=evaluation_columns())
            written(path)
