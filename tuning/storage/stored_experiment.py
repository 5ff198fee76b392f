"""Experiments in a storage: create, look up, withdraw them; and the files of a run, local or not."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import filelock

from common.json_values import checked, read_json
from common.storage.location import Location, StorageError, location
from common.uris import is_uri, stand_for
from tuning.experiment.errors import UsageError
from tuning.experiment.folder import Experiment, ExperimentPaths, check_name, create, free_name, open_experiment
from tuning.experiment.settings import Settings
from tuning.storage.epoch import PATIENCE, Epoch, ended_key, newest
from tuning.storage.search_files import SearchFiles, StoredFiles
from tuning.storage.site_copy import put_site, with_site

if TYPE_CHECKING:
    from common.storage.objects import Objects

_RUNS: dict[Path, Experiment] = {}  # by their folders, which results that this process was given may read yet
_FOR_CHECKS = ("experiment.json", "space.toml", "learned.json")


def storage_of(settings: Settings) -> Location | None:
    """Where a new experiment's storage is, as its settings say, without its name; None for a local folder alone.

    Raises:
        StorageError: if it is no URI that can be used.
        UsageError: if two places are given.
    """
    if is_uri(settings.dir):
        if settings.storage:
            raise UsageError(f"--storage {settings.storage}: --dir {settings.dir} is a storage already; leave one of them out")
        return location(settings.dir)
    if not settings.storage:
        return None
    if not is_uri(settings.storage):
        raise UsageError(
            f"--storage {settings.storage}: it takes a URI, such as s3://bucket/experiments; a folder is for --dir"
        )
    return location(settings.storage)


def is_stored(place: Location) -> bool:
    """Whether there is an experiment.

    Raises:
        StorageError: if the storage cannot be read.
    """
    return _objects(place).has(_FOR_CHECKS[0])


def look_up(place: Location) -> Experiment:
    """An experiment in a storage, for checks: its settings and what belongs to them, in a working copy.

    Raises:
        UsageError: if there is none, or a damaged one.
        StorageError: if the storage cannot be read.
    """
    from common.storage.working_copy import WorkingCopy, working_folder

    folder, objects = working_folder(place, "settings") / place.name, _objects(place)
    stand_for(folder, place.uri)
    if not objects.has(_FOR_CHECKS[0]):
        raise UsageError(f"no experiment in {place}: name the place of one, such as {place / 'ppo-iquitos-1'}")
    WorkingCopy(folder, objects).pull(_FOR_CHECKS)
    try:
        return replace(with_site(open_experiment(folder), objects), storage=place)
    except UsageError as error:
        raise UsageError(str(error).replace(str(folder), str(place))) from error


def experiment_at(given: str | Path, storage: str = "") -> Experiment:
    """The experiment in a folder or at a URI, with its storage if it has one.

    Args:
        given: path or URI. The folder that a search in a storage returned stands for the storage.
        storage: URI of the place that holds it too, as the user gave it.

    Raises:
        UsageError: if there is none, or a damaged one; or if it names a storage that the user did not give.
        StorageError: if its storage cannot be read.
    """
    if is_uri(given):
        return look_up(location(str(given)))
    experiment = open_experiment(given)
    place = copied_from(experiment.paths.folder)
    if place and not _is_of_a_user(experiment.paths.folder):
        return look_up(place)
    named, folder = experiment.settings.storage, experiment.paths.folder
    if not named:
        return experiment
    above = location(named)
    if not storage or location(storage) != above:
        # Another person's folder must not choose where results are sent.
        raise UsageError(
            f"{folder} is at {above} too: continue it with --storage {above}, or by --resume {above / folder.name}"
        )
    return replace(experiment, storage=above / experiment.settings.name, is_local=True)


def copied_from(folder: Path) -> Location | None:
    """The place that a working copy was fetched from; None for another folder."""
    from common.storage.working_copy import INDEX

    try:
        return location(checked(checked(read_json(folder / INDEX), dict[str, Any], "its content").get("uri"), str, "uri"))
    except (OSError, ValueError):
        return None


def create_stored(above: Location, settings: Settings, compatibility: dict[str, Any], learned: str) -> Experiment:
    """Create an experiment in a storage, and in a local folder where the settings name one.

    Args:
        above: see `storage_of`.
        settings: see `tuning.experiment.folder.create`.
        compatibility: see there.
        learned: see there.

    Raises:
        UsageError: if the name is taken; nothing is created then.
        StorageError: if the storage cannot be written to.
    """
    local = None if is_uri(settings.dir) else settings.dir
    name = settings.name or free_name(settings, lambda name: is_stored(above / name))
    check_name(name)
    place = above / name
    objects = _objects(place)
    if objects.listed():
        raise UsageError(f"{place} is there already and holds no experiment: choose another --name")
    with TemporaryDirectory() as staging:
        parent = None if local else Path(staging)
        made = create(replace(settings, name=name), compatibility, learned, parent)
        try:
            _publish(made, objects)
        except BaseException:
            if local:
                shutil.rmtree(made.paths.folder, ignore_errors=True)
            with suppress(StorageError):
                objects.remove(objects.listed())
            raise
    return replace(made, storage=place, is_local=True) if local else look_up(place)


def _publish(made: Experiment, objects: Objects) -> None:
    """Put a new experiment into its storage, the settings last: without them there is none."""
    with Epoch.take(objects):
        for path in (made.paths.space, made.paths.learned):
            if path.exists():
                objects.put(path.name, path)
        put_site(objects, made.settings.scenario)
        objects.put(made.paths.settings.name, made.paths.settings)


def withdraw(experiment: Experiment) -> bool:
    """Remove an experiment from its storage in which no trial was begun and no run works.

    Returns:
        Whether it was removed.
    """
    assert experiment.storage
    objects = _objects(experiment.storage)
    with suppress(StorageError):
        keys = objects.listed()
        if any(key.endswith(".parquet") for key in keys) or ended_key(newest(keys)) not in keys:
            return False
        objects.remove([_FOR_CHECKS[0]])
        objects.remove(keys)
        return True
    return False


@contextmanager
def run_files(experiment: Experiment, say: Callable[[str], None]) -> Iterator[tuple[Experiment, SearchFiles]]:
    """The files of a run: an experiment with a storage is held there, and its files are fetched.

    Args:
        experiment: with the settings that hold from now on.
        say: tells the user why it waits.

    Yields:
        The experiment, with the folder in which the run works, and what becomes of its files.

    Raises:
        UsageError: if another run works on it.
        StorageError: if the storage is lost, also at the end, while the last changes are uploaded.
        OvertakenError: if another run took over.
    """
    place = experiment.storage
    if place is None:
        yield experiment, SearchFiles()
        return
    from common.storage.working_copy import working_folder

    objects, hasty = _objects(place), _objects(place, PATIENCE)
    with Epoch.take(hasty, say) as epoch:
        if epoch.lost:
            say(f"{epoch.lost} was lost; continuing from what it uploaded")
        paths = experiment.paths
        if not experiment.is_local:
            # The last part is the experiment's name, by which results call it.
            paths = ExperimentPaths(working_folder(place, f"run-{epoch.number:08d}") / place.name)
            _remove_older(paths.folder)
            stand_for(paths.folder, place.uri)
        held = _RUNS[paths.folder] = replace(experiment, paths=paths)
        with StoredFiles(paths, objects, epoch, hasty, experiment.is_local) as files:
            yield held, files


def _remove_older(folder: Path) -> None:
    """Remove working copies of earlier runs on this machine, unless a process still holds one, or this one had it."""
    stem, _, _ = folder.parent.name.rpartition("-")
    for older in folder.parent.parent.glob(f"{stem}-*"):
        lock = ExperimentPaths(older / folder.name).lock
        if older / folder.name in _RUNS or not lock.exists():
            continue
        with suppress(filelock.Timeout, OSError), filelock.FileLock(lock, blocking=False):
            shutil.rmtree(older, ignore_errors=True)


def publish(path: Path) -> str:
    """Put a file of a run's folder into the storage too, if the folder has one.

    Args:
        path: of the file, directly in the folder.

    Returns:
        Where the user finds it.

    Raises:
        StorageError: if the storage cannot be written to.
    """
    # Only of a run that this process had: a file of another person's folder could name any place.
    run = _RUNS.get(path.parent)
    if run is None or run.storage is None:
        return str(path)
    _objects(run.storage).put(path.name, path)
    return str(path) if run.is_local else (run.storage / path.name).uri


def run_in(folder: Path) -> Experiment:
    """The experiment of a run that this process had.

    Args:
        folder: that its search returned.
    """
    return _RUNS.get(folder) or open_experiment(folder)


def stopped_at(place: str | Path) -> Path:
    """The folder of a search that was stopped, with all results that it has.

    Args:
        place: of the experiment: its folder, or the URI that a run of this process worked on.

    Raises:
        StorageError: if the storage cannot be read.
    """
    from common.storage.working_copy import WorkingCopy

    for folder, run in _RUNS.items():
        if run.storage and str(run.place) == str(place):
            WorkingCopy(folder, _objects(run.storage)).pull(["results/"])
            return folder
    return Path(place)


def checkpoint_sizes(folder: Path, numbers: Iterable[int]) -> list[int]:
    """Sizes of trials' checkpoints in a storage, bytes.

    Args:
        folder: that a search returned; a working copy.
        numbers: of the trials.
    """
    place = _RUNS[folder].storage
    assert place
    sizes = Counter[str]()
    for key, stamp in _objects(place).listed("trials/").items():
        sizes[key.split("/")[1]] += stamp.nbytes if key.count("/") > 1 else 0
    return [sizes[f"{number:05d}"] for number in numbers]


def _is_of_a_user(folder: Path) -> bool:
    """Whether a folder that was fetched is one that a user named, and not one in the cache."""
    from common.cache_folder import cache_folder
    from common.storage.working_copy import FOLDER

    return not folder.resolve().is_relative_to((cache_folder() / FOLDER).resolve())


def _objects(place: Location, patience: float | None = None) -> Objects:
    from common.storage.objects import PATIENCE as USUAL
    from common.storage.objects import Objects

    return Objects(place, USUAL if patience is None else patience)
