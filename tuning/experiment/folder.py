"""An experiment's folder: paths of its files; create, open and save it."""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from common.errors import OtherFormatError, UsageError
from common.files import write_whole
from common.json_values import checked, parsed, read_json, write_json
from common.paths import fit_name, missing_folders, name_fault, refuse_links, remove_empty, shortened, user_path
from common.texts import option_words, python_command
from results.experiment_file import FORMAT
from results.live import OWNER_FILE
from results.places import EXPERIMENT
from results.schema import FOLDER
from results.table_files import rows_path
from tuning.experiment.settings import Settings

if TYPE_CHECKING:
    from common.storage.location import Location

SPACE, FROM_OTHERS = "space.toml", "learned.json"
STATED = EXPERIMENT, SPACE, FROM_OTHERS  # names of the files that say what an experiment is
_COMPATIBILITY = "marks"  # key in the file
# Settings beyond the file's checksum: a folder may be moved or renamed by hand.
_MAY_BE_EDITED = ("name", "dir", "storage", "scenario")
LEARNED = "learned"  # fact: checksum of what was learned from other experiments
# Types of the facts to compare; an experiment may have none of them.
_FACTS = {
    "scenario": str,
    "space": dict[str, str],
    "ranges": dict[str, dict[str, Any]],
    "machine": dict[str, str],
    LEARNED: str,
}


class _Below:
    """Something of a constant name in the folder of an experiment."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, paths: ExperimentPaths, owner: object) -> Path:
        return paths.folder / self._name


@dataclass(frozen=True)
class ExperimentPaths:
    """Paths of all files of an experiment; nothing else builds one."""

    folder: Path

    settings = _Below(EXPERIMENT)  # settings, as JSON
    study = _Below("study.journal")  # Optuna's journal
    space = _Below(SPACE)  # the user's changes to the search space, if there are any
    learned = _Below(FROM_OTHERS)  # trials and ranks of other experiments that it learns from, as JSON, if there are any
    lock = _Below("experiment.lock")  # locked while a run works on the experiment
    # Which run that is, as JSON; removed when it ends, so one that is left over tells of a run that was killed.
    owner = _Below(OWNER_FILE)
    # Where the experiment has gone that was in this folder alone, as JSON; see `tuning.experiment.lock.Move`.
    moved = _Below("moved.json")
    tune = _Below("tune")  # Ray Tune's own bookkeeping; nothing reads it
    results = _Below(FOLDER)  # folder of the results' tables

    def running(self, run: str) -> Path:
        """File that is there while a run lets its trials go on; trials stop when it is removed."""
        return self.folder / f"running-{run}"

    def leaving(self, run: str, trial: int) -> Path:
        """File that tells a trial to write a checkpoint and end, as its node goes; another node continues it."""
        return self.folder / f"running-{run}-leave-{trial:05d}"

    def part(self, table: str, trial: int) -> Path:
        """File with a trial's rows of a table; see `results.table_files.rows_path`."""
        return rows_path(self.folder, table, trial)

    def checkpoints(self, trial: int) -> Path:
        """Folder of a trial's checkpoints."""
        return self.folder / "trials" / f"{trial:05d}"

    def csv(self, trial: int) -> Path:
        """Reports of a trial as CSV, if they are wanted."""
        return self.folder / "csv" / f"{trial:05d}.csv"

    def tensorboard(self, trial: int) -> Path:
        """Folder of a trial's events for TensorBoard, if they are wanted."""
        return self.folder / "tensorboard" / f"{trial:05d}"

    def memory_marker(self, trial: int) -> Path:
        """Written by a trial's process that ended itself because it took too much memory: how much, bytes."""
        return self.folder / "trials" / f"{trial:05d}.memory"

    def trial_lock(self, trial: int) -> Path:
        """Locked by the process that trains a trial."""
        return self.folder / "trials" / f"{trial:05d}.lock"


@dataclass(frozen=True)
class Experiment:
    """An experiment that exists."""

    settings: Settings
    paths: ExperimentPaths
    # Facts to compare when it is continued. `scenario` and `space` have to be the same; a difference of `machine` is told.
    compatibility: dict[str, Any] = field(default_factory=dict)
    storage: Location | None = None  # where it is, beside or instead of a local folder
    is_local: bool = False  # whether the folder is the user's; else, with a storage, a working copy
    begun_with: str = ""  # what results call its scenario, where this machine has a copy of it; empty for the settings' name
    moves_to: Location | None = None  # where its folder is moved before it goes on
    comes_to: Path | None = None  # local folder that it gets on this machine beside its storage, before it goes on

    @property
    def place(self) -> str | Path:
        """What the user calls it by: its folder, or the URI of its storage."""
        return self.paths.folder if self.storage is None or self.is_local else self.storage.uri

    @property
    def scenario(self) -> str:
        """Its scenario or environment, as results name it."""
        return self.begun_with or self.settings.env or self.settings.scenario

    @property
    def again(self) -> dict[str, Any]:
        """Settings of this run that a command which continues needs again, as no file has them."""
        names = ("trust_scenario", "address", "callback", "track", *(["storage"] if self.is_local else []))
        given = {name: getattr(self.settings, name) for name in names}
        return {name: value for name, value in given.items() if value}

    def trusting(self, trust_scenario: bool) -> Experiment:
        """The experiment with its scenario trusted in this process, or not; nothing is stored."""
        return replace(self, settings=replace(self.settings, trust_scenario=trust_scenario))


def continue_command(place: str | Path, again: Mapping[str, Any] = MappingProxyType({})) -> str:
    """The command that continues an experiment, with what is taken from no file: trust, cluster, callbacks, storage."""
    return python_command("tuning.run", "--resume", place, *again_words(again))


def again_words(again: Mapping[str, Any]) -> list[str]:
    """Settings that a command needs again, as they are typed."""
    return [word for name, value in again.items() for word in option_words(name, value)]


def create(
    settings: Settings, compatibility: dict[str, Any] | None = None, learned: str = "", parent: Path | None = None
) -> Experiment:
    """Create the folder of a new experiment; without a name, the first free one is taken.

    Without a `parent` it is created in the folder `dir` of the settings. `learned` is the content of its file of that name.
    Raises a UsageError if the name is taken or no name for a folder; nothing is created then.
    """
    above = parent or user_path(settings.dir).resolve()
    if parent is None:
        settings = replace(settings, dir=str(above))
    name = settings.name or free_name(settings, lambda name: (above / name).exists())
    check_name(name)
    paths = ExperimentPaths(above / name)
    if paths.folder.exists():
        raise UsageError(f"{paths.folder} is there already and holds no experiment: choose another --name")
    experiment = Experiment(replace(settings, name=name), paths, compatibility or {})
    created = missing_folders(paths.folder)
    try:
        paths.folder.mkdir(parents=True)
    except FileExistsError:
        raise UsageError(f"{paths.folder} was just created by another run: choose another --name") from None
    except OSError as error:
        remove_empty(created)
        raise UsageError(f"cannot create {paths.folder}: {error.strerror}; choose another --dir") from error
    try:
        paths.results.mkdir()
        if settings.space:
            # A copy: the file may change before the experiment is continued.
            shutil.copyfile(user_path(settings.space), paths.space)
        if learned:
            write_whole(paths.learned, learned.encode())
        save(experiment)
    except BaseException as error:
        discard(paths.folder, created)
        if not isinstance(error, OSError):
            raise
        raise UsageError(f"cannot fill {paths.folder}: {error.strerror}; free some space, or choose another --dir") from error
    return experiment


def discard(folder: Path, created: tuple[Path, ...]) -> bool:
    """Remove a folder in which no trial has been begun, if this process created it; whether it was removed."""
    # The row of a trial is the first that it writes.
    if folder not in created or any(folder.rglob("*.parquet")):
        return False
    shutil.rmtree(folder, ignore_errors=True)
    remove_empty(tuple(parent for parent in created if parent != folder))
    return not folder.exists()


def check_name(name: str) -> None:
    """Raise a UsageError unless a name can be that of a folder, here and on other systems; see `name_fault`."""
    if fault := name_fault(name):
        raise UsageError(f"--name {shortened(name)}: {fault}")


def existing(settings: Settings) -> Path | None:
    """Folder of an experiment that has these settings' name; None where there is none, or they have no name."""
    if name_fault(settings.name):
        return None
    paths = ExperimentPaths(user_path(settings.dir).resolve() / settings.name)
    return paths.folder if paths.settings.is_file() else None


def save(experiment: Experiment) -> None:
    """Write an experiment's settings."""
    settings = replace(experiment.settings, scenario=experiment.begun_with or experiment.settings.scenario).to_json()
    content = {
        "format": FORMAT,
        "settings": settings,
        _COMPATIBILITY: experiment.compatibility,
        "written": datetime.now(UTC).isoformat(),
        "sha256": _checksum(settings, experiment.compatibility),
    }
    write_json(experiment.paths.settings, content)


def _checksum(settings: dict[str, Any], compatibility: dict[str, Any]) -> str:
    fixed = {name: value for name, value in settings.items() if name not in _MAY_BE_EDITED}
    return hashlib.sha256(json.dumps([fixed, compatibility], sort_keys=True).encode()).hexdigest()


def open_experiment(folder: str | Path) -> Experiment:
    """Open an experiment.

    Raises a UsageError if there is none, or a damaged one; a LinkError; an OtherFormatError if another version wrote it.
    """
    paths = ExperimentPaths(user_path(folder).resolve())
    if not paths.settings.exists():
        usual = paths.folder.parent / Settings.dir / paths.folder.name  # where its name was given in place of its folder
        meant = f"; did you mean {usual}?" if (usual / EXPERIMENT).is_file() else ""
        raise UsageError(f"no experiment in {paths.folder}: give the folder that holds {EXPERIMENT}{meant}")
    refuse_links(paths.folder)
    try:
        return _read(paths)
    except OSError as error:
        raise UsageError(f"{paths.settings} cannot be read ({error.strerror}): make it readable, or restore it") from error
    except ValueError as error:
        raise UsageError(f"{paths.settings} is damaged ({error}): restore it from a copy") from error


def _read(paths: ExperimentPaths) -> Experiment:
    """The experiment that a file of settings describes. Raises a ValueError if its content is not what `save` wrote."""
    content = checked(read_json(paths.settings), dict[str, Any], "its content")
    check_format(paths.settings, content, FORMAT)
    settings, compatibility = content.get("settings"), content.get(_COMPATIBILITY, {})
    checked(compatibility, dict[str, Any], _COMPATIBILITY)
    for name, kind in _FACTS.items():
        if name in compatibility:
            checked(compatibility[name], kind, name)
    checked(parsed(compatibility.get("machine", {}).get("versions", "{}")), dict[str, str | None], "versions")
    experiment = Experiment(Settings.from_json(settings), paths, compatibility)
    if fault := name_fault(experiment.settings.name):
        raise ValueError(f"name is {shortened(ascii(experiment.settings.name))}: {fault}")
    if content.get("sha256") != _checksum(settings, compatibility):
        raise ValueError("a setting in it has changed since it was written")
    return experiment


def check_format(path: Path, content: dict[str, Any], known: int) -> None:
    """Raise an OtherFormatError unless the `format` that a file names is the known one; a ValueError if it is no number."""
    version = checked(content.get("format"), int, "format")
    if version != known:
        raise OtherFormatError(
            f"{path} has format {version}, and this version of the package reads {known}: use the version that wrote it"
        )


def free_name(settings: Settings, is_taken: Callable[[str], bool]) -> str:
    """The first name for a new experiment that is free."""
    path = Path(settings.scenario)
    scenario = path.parent.name if path.suffix == ".json" else path.name
    return first_free(fit_name(f"{settings.algo}-{settings.env_task.title if settings.env else scenario}"), is_taken)


def first_free(stem: str, is_taken: Callable[[str], bool]) -> str:
    """The first of `stem-1`, `stem-2`, ... that is not taken."""
    return next(name for number in itertools.count(1) if not is_taken(name := f"{stem}-{number}"))
