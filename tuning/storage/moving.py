"""A local experiment moves to a storage: wholly or not at all, whenever the command is killed.

1. The folder is locked, and the lease is taken in the storage.
2. `moved.token` is put there, then the journal, the rows, checkpoints and the rest. Without settings it is no experiment yet.
3. The folder notes where it goes. From here on it does not go on by itself.
4. The settings are put. Now the experiment is there.
5. The folder notes that it has gone.

A kill before the third step changes nothing here. After it, the same command looks whether the settings are there, under the
token of this move. If not, it begins again. What an earlier attempt put is put anew, and what the folder lacks is removed.
"""

import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from common.errors import UsageError
from common.storage.location import Location
from common.storage.objects import Objects
from common.texts import counted
from common.units import MIB
from results.live import PROGRESS_FILE
from results.places import EXPERIMENT, ROLLOUTS
from tuning.experiment.folder import Experiment, ExperimentPaths, open_experiment, save
from tuning.experiment.lock import TOKEN, Move, experiment_lock, move_of, note_move, refuse_moved, trial_lock
from tuning.experiment.reading import site_files
from tuning.storage.lease import PATIENCE, RUNS, Guarded, Lease
from tuning.storage.search_files import STATE
from tuning.storage.trial_files import REPLAY

_REPORT = "report.html"
_FOLDERS = ("csv", "tensorboard", ROLLOUTS)  # of which every file is copied


def refuse_other(objects: Objects, move: Move | None, paths: ExperimentPaths) -> bool:
    """Whether an experiment that is to be moved is in a place already, by what its folder notes of the move.

    Raises a UsageError if there is something else, or nothing where the experiment has gone.
    """
    token, place = "", objects.location
    # The user decides: what is not there now may have been there, and have gone on.
    remedy = f"to continue from {paths.folder} as it is, delete {paths.moved}"
    with suppress(FileNotFoundError):
        # A move writes ASCII. Any other token is that of no move.
        token = objects.read(TOKEN).decode(errors="replace")
    if objects.has(EXPERIMENT):
        if move and token == move.token:
            return True
        raise UsageError(
            f"{place} is another experiment: "
            + (remedy if move else f"choose another --storage, or continue that with --resume {place}")
        )
    if move and move.is_over:
        raise UsageError(f"{place} holds no experiment, and {paths.folder} has moved there: restore it; or {remedy}")
    if not token and any(not key.startswith(RUNS) for key in objects.listed()):
        raise UsageError(f"{place} is there already and holds no experiment: {remedy if move else 'choose another --storage'}")
    return False


def move_to_storage(
    experiment: Experiment, scenario: str, check: Callable[[Experiment], None], say: Callable[[str], None]
) -> None:
    """Move an experiment that is in a folder alone to the place `moves_to`. Its folder keeps all files.

    `check` is called while the folder is locked; it raises if the experiment cannot go on. The site's data are at `scenario` on
    this machine.

    Raises a UsageError if a run works on it here or there, or something else is there, an OvertakenError if another command
    moves an experiment there.
    """
    place, paths = experiment.moves_to, experiment.paths
    assert place
    with experiment_lock(paths):
        _await_trials(paths)
        check(experiment)
        objects = Objects(place, PATIENCE)
        with Lease.take(objects, say) as lease:
            move = move_of(paths)
            if not move or move.place != place:
                refuse_moved(paths)  # by another command, since this one looked
            if not refuse_other(objects, move, paths):
                move, guarded = Move(place.uri, uuid.uuid4().hex), Guarded(place, lease.confirm)
                # Its settings may have changed since they were read.
                content = _settings_there(open_experiment(paths.folder), place)
                guarded.put(TOKEN, move.token.encode())
                files = {path.relative_to(paths.folder).as_posix(): path for path in _files(paths)} | site_files(scenario)
                size = sum(path.stat().st_size for path in files.values())
                say(f"moving to {place}: {counted(len(files), 'file')}, {size / MIB:,.1f} MiB")
                guarded.put_all(files.items())
                guarded.remove(key for key in objects.listed() if key not in {TOKEN, *files} and not key.startswith(RUNS))
                note_move(paths, move)
                guarded.put(EXPERIMENT, content)
            assert move
            note_move(paths, replace(move, is_over=True))
    say(f"{paths.folder} has moved to {place}; the folder is kept to be read")


def _files(paths: ExperimentPaths) -> Iterator[Path]:
    """Files of an experiment that a storage has under the same names, without settings; not what was written in part."""
    named = (paths.study, paths.space, paths.learned, paths.folder / PROGRESS_FILE, paths.folder / _REPORT)
    yield from (path for path in named if path.exists())
    yield from paths.results.rglob("*.parquet")
    trials = paths.checkpoints(0).parent
    yield from trials.glob("*.memory")
    yield from (
        path
        for state in trials.glob(f"*/*/{STATE}")
        if state.parent.name.isdecimal()
        for path in state.parent.rglob("*")
        if path.is_file()
    )
    yield from trials.glob(f"*/{REPLAY}/*.npz")
    for name in _FOLDERS:
        yield from (path for path in (paths.folder / name).rglob("*") if path.is_file())


def _settings_there(experiment: Experiment, place: Location) -> bytes:
    # Its study has its name, also where the folder was renamed.
    settings = replace(experiment.settings, dir=place.parent.uri)
    with TemporaryDirectory() as folder:
        there = replace(experiment, settings=settings, paths=ExperimentPaths(Path(folder)))
        save(there)
        return there.paths.settings.read_bytes()


def _await_trials(paths: ExperimentPaths) -> None:
    """Wait until no process of a run that was killed trains a trial; UsageError if one goes on."""
    for path in sorted(paths.trial_lock(0).parent.glob("*.lock")):
        try:
            with trial_lock(path):
                pass
        except TimeoutError as error:
            raise UsageError(f"{paths.folder} cannot move yet: {path.name}: {error}") from error
