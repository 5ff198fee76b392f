"""An experiment's folder: paths of its files; create, open and save it."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from common.files import read_text, write_whole
from results.schema import FOLDER
from results.writer import part_path
from tuning.experiment.errors import UsageError
from tuning.experiment.settings import Settings

_COMPATIBILITY = "marks"  # key in the file
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class ExperimentPaths:
    """Paths of all files of an experiment; nothing else builds one.

    Attributes:
        folder: of the experiment, absolute.
    """

    folder: Path

    @property
    def settings(self) -> Path:
        """Settings and when they were made, as JSON."""
        return self.folder / "experiment.json"

    @property
    def study(self) -> Path:
        """Optuna's journal."""
        return self.folder / "study.journal"

    @property
    def space(self) -> Path:
        """The user's changes to the search space, if there are any."""
        return self.folder / "space.toml"

    @property
    def lock(self) -> Path:
        """Locked while a run works on the experiment."""
        return self.folder / "experiment.lock"

    @property
    def owner(self) -> Path:
        """Which run that is, as JSON; removed when it ends, so one that is left over tells of a run that was killed."""
        return self.folder / "owner.json"

    def running(self, run: str) -> Path:
        """File that is there while a run lets its trials go on; trials stop when it is removed.

        Args:
            run: name of the run.
        """
        return self.folder / f"running-{run}"

    @property
    def tune(self) -> Path:
        """Ray Tune's own bookkeeping; nothing reads it."""
        return self.folder / "tune"

    @property
    def results(self) -> Path:
        """Folder of the results' tables."""
        return self.folder / FOLDER

    def part(self, table: str, trial: int, steps: int | None = None) -> Path:
        """Part file of a table; see `results.writer.part_path`."""
        return part_path(self.folder, table, trial, steps)

    def checkpoints(self, trial: int) -> Path:
        """Folder of a trial's checkpoints."""
        return self.folder / "trials" / f"{trial:05d}"

    def memory_marker(self, trial: int) -> Path:
        """Written by a trial's process that ended itself because it took too much memory: how much, bytes."""
        return self.folder / "trials" / f"{trial:05d}.memory"

    def trial_lock(self, trial: int) -> Path:
        """Locked by the process that trains a trial."""
        return self.folder / "trials" / f"{trial:05d}.lock"


@dataclass(frozen=True)
class Experiment:
    """An experiment that exists.

    Attributes:
        settings: of it.
        paths: of its files.
        compatibility: facts to compare when it is continued, by name. `scenario` and `space` have to be the same; a
            difference of `machine` is told.
    """

    settings: Settings
    paths: ExperimentPaths
    compatibility: dict[str, Any] = field(default_factory=dict)

    def trusting(self, trust_scenario: bool) -> Experiment:
        """The experiment with its scenario trusted in this process, or not; nothing is stored."""
        return replace(self, settings=replace(self.settings, trust_scenario=trust_scenario))


def create(settings: Settings, compatibility: dict[str, Any] | None = None) -> Experiment:
    """Create the folder of a new experiment.

    Args:
        settings: checked; without a name, the first free one is taken.
        compatibility: see `Experiment`.

    Raises:
        UsageError: if the name is taken or no name for a folder; nothing is created then.
    """
    parent = Path(settings.dir).expanduser().resolve()
    name = settings.name or _free_name(parent, settings)
    check_name(name)
    paths = ExperimentPaths(parent / name)
    try:
        paths.folder.mkdir(parents=True)
    except FileExistsError:
        raise UsageError(f"{paths.folder} is there already and holds no experiment: choose another --name") from None
    except OSError as error:
        raise UsageError(f"cannot create {paths.folder}: {error.strerror}; choose another --dir") from error
    paths.results.mkdir()
    if settings.space:
        # A copy: the file may change before the experiment is continued.
        shutil.copyfile(Path(settings.space).expanduser(), paths.space)
    experiment = Experiment(replace(settings, name=name, dir=str(parent)), paths, compatibility or {})
    save(experiment)
    return experiment


def check_name(name: str) -> None:
    """Check that a name can be that of a folder, here and on other systems, and names none outside.

    Raises:
        UsageError: if it cannot.
    """
    if not NAME.fullmatch(name):
        raise UsageError(f"--name {name}: letters, digits, dots, dashes and underscores make a name")


def existing(settings: Settings) -> Path | None:
    """Folder of an experiment that has these settings' name; None where there is none, or they have no name."""
    if not NAME.fullmatch(settings.name):
        return None
    paths = ExperimentPaths(Path(settings.dir).expanduser().resolve() / settings.name)
    return paths.folder if paths.settings.is_file() else None


def save(experiment: Experiment) -> None:
    """Write an experiment's settings."""
    content = {
        "settings": experiment.settings.to_json(),
        _COMPATIBILITY: experiment.compatibility,
        "written": datetime.now(UTC).isoformat(),
    }
    write_whole(experiment.paths.settings, lambda file: file.write(json.dumps(content, indent=1).encode()))


def open_experiment(folder: str | Path) -> Experiment:
    """Open an experiment.

    Raises:
        UsageError: if the folder holds none, a damaged one, or one of another version.
    """
    paths = ExperimentPaths(Path(folder).expanduser().resolve())
    if not paths.settings.is_file():
        raise UsageError(f"no experiment in {paths.folder}: an experiment's folder holds {paths.settings.name}")
    try:
        content = json.loads(read_text(paths.settings))
        if not isinstance(content["settings"], dict):
            raise TypeError("its settings are no names with values")
        return Experiment(Settings.from_json(content["settings"]), paths, content.get(_COMPATIBILITY, {}))
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{paths.settings} is damaged ({error}): restore it from a copy") from error


def _free_name(parent: Path, settings: Settings) -> str:
    path = Path(settings.scenario)
    scenario = path.parent.name if path.suffix == ".json" else path.name
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{settings.algo}-{scenario}")
    number = 1
    while (parent / f"{stem}-{number}").exists():
        number += 1
    return f"{stem}-{number}"
