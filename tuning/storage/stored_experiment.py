"""Experiments in a storage: create, look up, withdraw them; and the files of a run, local or not."""

import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import filelock

from common.errors import UsageError
from common.json_values import checked, read_json
from common.paths import cache_folder, name_fault, user_path
from common.storage.location import Location, StorageError, location
from common.storage.objects import Objects
from common.storage.working_copy import FOLDER, INDEX, working_folder
from common.uris import is_uri, stand_for
from results.places import EXPERIMENT, local_folder
from tuning.experiment.folder import STATED, Experiment, ExperimentPaths, check_name, create, free_name, open_experiment
from tuning.experiment.lock import move_of, refuse_moved
from tuning.experiment.reading import FOLDER as SITE
from tuning.experiment.reading import site_files, with_found_site
from tuning.experiment.settings import OF_A_RUN, Settings
from tuning.storage.lease import PATIENCE, RUNS, Guarded, Lease, OvertakenError, has_ended
from tuning.storage.moving import refuse_other
from tuning.storage.search_files import TRIALS, SearchFiles, StoredFiles

_RUNS: dict[Path, Experiment] = {}  # by their folders, which results that this process was given may read yet


def storage_of(settings: Settings) -> Location | None:
    """Where a new experiment's storage is, as its settings say, without its name; None for a local folder alone."""
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
    """Whether there is an experiment."""
    return Objects(place).has(EXPERIMENT)


def look_up(place: Location) -> Experiment:
    """An experiment in a storage, for checks: its settings and what belongs to them, in a working copy."""
    if not is_stored(place):
        below = Objects(place).folders()
        what = f"name the place of one, such as {place / below[0]}" if below else "nothing is there; correct the URI"
        raise UsageError(f"no experiment in {place}: {what}")
    folder = local_folder(place.uri, STATED, "settings")
    try:
        return replace(with_found_site(open_experiment(folder), place.uri), storage=place)
    except UsageError as error:
        raise UsageError(str(error).replace(str(folder), str(place))) from error


def experiment_at(given: str | Path, storage: str = "") -> Experiment:
    """The experiment in a folder or at a URI, with its storage if it has one.

    Raises a UsageError if there is none, or a damaged one; if it names a storage that the user did not give; or if it has
    moved.

    Args:
        given: path or URI. The folder that a search in a storage returned stands for the storage.
        storage: URI of the place that holds it too, as the user gave it. An experiment that was in a folder alone moves there.
    """
    if is_uri(given):
        return look_up(location(str(given)))
    experiment = open_experiment(given)
    named, folder = experiment.settings.storage, experiment.paths.folder
    place = copied_from(folder)
    # A folder with a copy that lies elsewhere is one that a user named.
    if place and folder.resolve().is_relative_to((cache_folder() / FOLDER).resolve()):
        return look_up(place)
    if not named:
        if storage:
            return _moving(experiment, location(storage))
        refuse_moved(experiment.paths)
        return experiment
    above = location(named)
    if not storage or location(storage) != above:
        # Another person's folder must not choose where results are sent.
        raise UsageError(
            f"{folder} is at {above} too: continue it with --storage {above}, or by --resume {above / folder.name}"
        )
    return replace(experiment, storage=above / experiment.settings.name, is_local=True)


def begun_elsewhere(above: Location, settings: Settings) -> Experiment | None:
    """The experiment with a local folder and a storage that the same command began on another machine; None without one."""
    if name_fault(settings.name) or not is_stored(above / settings.name):
        return None
    folder, place = user_path(settings.dir).resolve() / settings.name, above / settings.name
    # A command that was killed as it began has fetched nothing here yet, or a part.
    is_begun = folder.exists() and any(not path.name.startswith(".storage") for path in folder.iterdir())
    if is_begun and copied_from(folder) != place:
        return None
    there = look_up(place)
    # One without a local folder would go on without its storage there.
    named = there.settings.storage
    return replace(there, comes_to=folder) if named and location(named) == above else None


def _moving(experiment: Experiment, above: Location) -> Experiment:
    """An experiment of a folder alone, with the place that it moves to; or the one that is there since."""
    folder = experiment.paths.folder
    check_name(folder.name)
    place, move = above / folder.name, move_of(experiment.paths)
    if not move or move.place != place:
        refuse_moved(experiment.paths)
    if not refuse_other(Objects(place), move, experiment.paths):
        return replace(experiment, moves_to=place)
    there = look_up(place)
    assert move
    # If it is not noted as over, it may all the same have gone on there since, with other settings.
    return there if move.is_over else replace(there, paths=experiment.paths, storage=None, moves_to=place)


def copied_from(folder: Path) -> Location | None:
    """The place that a working copy was fetched from; None for another folder."""
    try:
        return location(checked(checked(read_json(folder / INDEX), dict[str, Any], "its content").get("uri"), str, "uri"))
    except (OSError, ValueError):
        return None


def create_stored(above: Location, settings: Settings, compatibility: dict[str, Any], learned: str) -> Experiment:
    """Create an experiment in a storage, and in a local folder where the settings name one; see `create`.

    Raises a UsageError if the name is taken; nothing is created then.
    """
    local = None if is_uri(settings.dir) else settings.dir
    name = settings.name or _free_name(above, settings, local)
    check_name(name)
    place = above / name
    _refuse_taken(place, Objects(place).listed())
    with TemporaryDirectory() as staging:
        made = create(replace(settings, name=name), compatibility, learned, None if local else Path(staging))
        try:
            _publish(made, place)
        except BaseException:
            if local:
                shutil.rmtree(made.paths.folder, ignore_errors=True)
            raise
    if local:
        return replace(made, storage=place, is_local=True)
    there = look_up(place)
    return replace(there, settings=replace(there.settings, **{name: getattr(settings, name) for name in OF_A_RUN}))


def _free_name(above: Location, settings: Settings, local: str | None) -> str:
    """The first name of which there is nothing in the storage, and nothing in the local folder."""
    taken, folder = set(Objects(above).folders()), user_path(local).resolve() if local else None
    return free_name(settings, lambda name: name in taken or bool(folder and (folder / name).exists()))


def _refuse_taken(place: Location, keys: Collection[str]) -> None:
    """Refuse to create an experiment where there is something, but for what a creation leaves that was killed."""
    rest = [key for key in keys if not key.startswith(RUNS)]
    if EXPERIMENT in rest:
        raise UsageError(f"{place} is an experiment already: continue it with --resume {place}, or choose another --name")
    # A run held the place before anything was put there; the settings are put last.
    is_of_a_creation = len(rest) < len(keys) and all(key in STATED or key.startswith(SITE) for key in rest)
    if rest and not is_of_a_creation:
        raise UsageError(f"{place} is there already and holds no experiment: choose another --name")


def _publish(made: Experiment, place: Location) -> None:
    """Put a new experiment into its storage, the settings last: without them there is none."""
    hasty, paths = Objects(place, PATIENCE), made.paths
    # A run that is refused here has nothing there, and removes nothing.
    with Lease.take(hasty) as lease, ExitStack() as after_failure:
        _refuse_taken(place, hasty.listed())
        guarded = Guarded(place, lease.confirm)
        # What was there when this run began to hold the place belongs to no experiment.
        after_failure.callback(_emptied, hasty, guarded, lease)
        guarded.remove(key for key in hasty.listed() if not key.startswith(RUNS))
        files = {path.name: path for path in (paths.space, paths.learned) if path.exists()}
        guarded.put_all((files | site_files(made.settings.scenario)).items())
        guarded.put(paths.settings.name, paths.settings)
        after_failure.pop_all()


def _emptied(hasty: Objects, guarded: Guarded, lease: Lease) -> bool:
    """Remove an experiment that a run holds, its settings first, and then what tells of runs; whether it was removed."""
    try:
        guarded.remove([EXPERIMENT])
        guarded.remove(key for key in hasty.listed() if not key.startswith(RUNS))
        lease.remove()
    except (StorageError, OvertakenError):
        return False
    return True


def withdraw(experiment: Experiment) -> bool:
    """Remove an experiment from its storage in which no trial was begun and no run works; whether it was removed."""
    assert experiment.storage
    hasty = Objects(experiment.storage, PATIENCE)
    try:
        if not has_ended(hasty):
            return False  # it is not waited for
        with Lease.take(hasty) as lease:
            # From here on no other run begins a trial.
            is_begun = any(key.endswith(".parquet") for key in hasty.listed())
            return not is_begun and _emptied(hasty, Guarded(experiment.storage, lease.confirm), lease)
    except (StorageError, UsageError, OvertakenError):
        return False


@contextmanager
def run_files(experiment: Experiment, say: Callable[[str], None]) -> Iterator[tuple[Experiment, SearchFiles]]:
    """The files of a run: an experiment with a storage is held there, and its files are fetched.

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

    objects = Objects(place)
    with Lease.take(Objects(place, PATIENCE), say) as lease:
        if not objects.has(EXPERIMENT):
            raise UsageError(
                f"{place} was removed: start the command again; if it stays so, restore it or choose another --name"
            )
        if lease.lost:
            say(f"{lease.lost} was lost; continuing from what it uploaded")
        paths = experiment.paths
        if not experiment.is_local:
            # The last part is the experiment's name, by which results call it.
            paths = ExperimentPaths(working_folder(place, f"run-{lease.number:08d}") / place.name)
            _remove_older(paths.folder)
            stand_for(paths.folder, place.uri)
        held = _RUNS[paths.folder] = replace(experiment, paths=paths)
        with StoredFiles(paths, objects, lease, experiment.is_local) as files:
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
    """Put a file of a run's folder into the storage too, if the folder has one; where the user finds it."""
    # Only of a run that this process had: a file of another person's folder could name any place.
    run = _RUNS.get(path.parent)
    if run is None or run.storage is None:
        return str(path)
    Objects(run.storage).put(path.name, path)
    return str(path) if run.is_local else (run.storage / path.name).uri


def run_in(folder: Path) -> Experiment:
    """The experiment of a run that this process had, by the folder that its search returned."""
    return _RUNS.get(folder) or open_experiment(folder)


def stopped_at(place: str | Path) -> Path:
    """The folder in which a search of this process was stopped, by the folder or URI of its experiment."""
    return next((folder for folder, run in _RUNS.items() if str(run.place) == str(place)), Path(place))


def checkpoint_sizes(folder: Path, numbers: Iterable[int]) -> list[int]:
    """Sizes of trials' checkpoints in the storage of a folder that a search returned, bytes."""
    place = _RUNS[folder].storage
    assert place
    sizes = Counter[str]()
    for key, stamp in Objects(place).listed(TRIALS).items():
        sizes[key.split("/")[1]] += stamp.nbytes if key.count("/") > 1 else 0
    return [sizes[f"{number:05d}"] for number in numbers]
