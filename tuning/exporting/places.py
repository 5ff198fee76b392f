"""Where files of an exported policy go, and those that say what it is."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from common.errors import UsageError
from common.json_values import checked
from common.paths import missing_folders, remove_empty
from results import ResultsError, load
from tuning.experiment.folder import Experiment
from tuning.exporting.model_card import card, hyperparameters_toml
from tuning.trial.records import TrialRecords


@contextmanager
def beside(to: Path) -> Iterator[Path]:
    """A new folder beside the target, which becomes it in the end; after an error nothing is left."""
    created = missing_folders(to.parent)
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        # Not named after the target: a name has a limited number of letters.
        scratch = TemporaryDirectory(prefix=".export-", dir=to.parent)
    except OSError as error:
        remove_empty(created)
        raise UsageError(f"--to {to}: cannot create files in {to.parent}: {error.strerror}") from error
    try:
        with scratch as name:
            # A folder within: the outer one is readable by its owner alone.
            new = Path(name) / to.name
            new.mkdir()
            yield new
            new.rename(to)
    finally:
        # They are not empty where the target is in them.
        remove_empty(created)


def write_facts(
    folder: Path,
    experiment: Experiment,
    number: int,
    steps: int,
    about: Mapping[str, str],
    interface: Mapping[str, Any],
    judged: tuple[pd.DataFrame | None, str],
) -> None:
    """Write what a policy of a trial sees and does, its hyperparameters, its model card and an example controller.

    `about` is as of `about_policy`, `judged` as of `tuning.exporting.model_card.own_judgement`.
    """
    results, in_environment = load(experiment.paths.folder), bool(experiment.settings.env)
    rows = results.evaluations
    rows = rows[(rows["trial"] == number) & (rows["steps"] == steps)]
    texts = {
        "policy.json": json.dumps(interface, indent=1),
        "hyperparameters.toml": hyperparameters_toml(TrialRecords(experiment).assignment(number), experiment.settings),
        "README.md": card(about, rows, results.measures, *judged, in_environment),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    example = "environment_controller.py" if in_environment else "controller.py"
    shutil.copyfile(Path(__file__).with_name(example), folder / "controller.py")


def about_policy(experiment: Experiment, number: int, where: Mapping[str, str], steps: int) -> dict[str, str]:
    """Facts of a policy that was trained for so many steps, by name; `where` says in what."""
    settings, row = experiment.settings, TrialRecords(experiment).row(number)
    return {
        "policy": f"{settings.name}, trial {number}", "algorithm": settings.algo, **where,
        "reward": settings.rewarded_by, **settings.aim.facts,
        **({} if settings.teacher == "none" else {"began as a copy of": settings.teacher}),
        "trained for": f"{steps:,} steps with seed {TrialRecords(experiment).seed(number)}",
        "versions": ", ".join(f"{name} {value}" for name, value in _versions(row.get("versions"), number).items()),
        "commit": row.get("git_commit") or "not known",
    }  # fmt: skip


def _versions(text: str | None, number: int) -> dict[str, str | None]:
    """Versions of packages in a trial's row. Raises a ResultsError if the text is none of versions."""
    try:
        versions: dict[str, str | None] = checked(json.loads(text or "{}"), dict[str, str | None], "versions")
    except (ValueError, RecursionError) as error:
        raise ResultsError(f"the row of trial {number} is damaged ({error}): restore its file from a copy") from error
    return versions
