"""A local experiment moves to a storage: wholly or not at all, whenever the command is killed.

1. The folder is locked, and the next epoch is taken in the storage.
2. `moved.token` is put there, then the journal, the rows, checkpoints and the rest. Without settings it is no experiment yet.
3. The folder notes where it goes. From here on it does not go on by itself.
4. The settings are put. Now the experiment is there.
5. The folder notes that it has gone.

A kill before the third step changes nothing here. After it, the same command looks whether the settings are there, under the
token of this move. If not, it begins again. What an earlier attempt put is put anew, and what the folder lacks is removed.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from common.errors import UsageError
from common.storage.location import Location
from common.units import MIB
from results.live import PROGRESS_FILE
from tuning.experiment.folder import Experiment, ExperimentPaths, open_experiment, save
from tuning.experiment.lock import experiment_lock, trial_lock
from tuning.experiment.moved import TOKEN, Move, move_of, note_move, refuse_moved
from tuning.storage.epoch import FOLDER as EPOCHS
from tuning.storage.epoch import LARGE, LARGE_PATIENCE, PATIENCE, Epoch
from tuning.storage.journal_chunks import CHUNK, chunk_key, put_journal
from tuning.storage.site_copy import put_site, site_keys
from tuning.storage.stored_checkpoints import STATE
from tuning.storage.trial_files import REPLAY
from tuning.storage.upload_queue import make

if TYPE_CHECKING:
    from common.storage.objects import Objects

_AT_ONCE = 64  # small files of one change
_REPORT = "report.html"
_FOLDERS = ("csv", "tensorboard", "rollouts")  # of which every file is copied


def refuse_other(objects: Objects, move: Move | None, paths: ExperimentPaths) -> bool:
    """Whether an experiment that is to be moved is in a place already.

    Args:
        objects: of the place.
        move: of the experiment to that place, as its folder notes it.
        paths: of that folder.

    Raises:
        UsageError: if there is something else, or nothing where the experiment has gone.
        StorageError: if the storage cannot be read.
    """
    token, place = "", objects.location
    # The user decides: what is not there now may have been there, and have gone on.
    remedy = f"to continue from {paths.folder} as it is, delete {paths.moved}"
    with suppress(FileNotFoundError):
        # A move writes ASCII. Any other token is that of no move.
        token = objects.read(TOKEN).decode(errors="replace")
    if objects.has(_settings_key()):
        if move and token == move.token:
            return True
        raise UsageError(
            f"{place} is another experiment: "
            + (remedy if move else f"choose another --storage, or continue that with --resume {place}")
        )
    if move and move.is_over:
        raise UsageError(f"{place} holds no experiment, and {paths.folder} has moved there: restore it; or {remedy}")
    if not token and any(not key.startswith(f"{EPOCHS}/") for key in objects.listed()):
        raise UsageError(f"{place} is there already and holds no experiment: {remedy if move else 'choose another --storage'}")
    return False


def move_to_storage(
    experiment: Experiment,
    scenario: str,
    check: Callable[[Experiment], None],
    say: Callable[[str], None],
    objects: Callable[[Location, float], Objects] | None = None,
) -> None:
    """Move an experiment that is in a folder alone to the place `moves_to`. Its folder keeps all files.

    Args:
        experiment: of `tuning.storage.stored_experiment.experiment_at`.
        scenario: where its site's data are on this machine.
        check: called while the folder is locked; raises if the experiment cannot go on.
        say: tells the user what happens.
        objects: gives the objects of a place, with a patience in seconds.

    Raises:
        UsageError: if a run works on it here or there, or something else is there.
        StorageError: if the storage cannot be written to; nothing is moved then.
        OvertakenError: if another command moves an experiment there.
        TimeoutError: if a process of a run that was killed still trains a trial.
    """
    from common.storage.objects import Objects

    place, paths, of_place = experiment.moves_to, experiment.paths, objects or Objects
    assert place
    with experiment_lock(paths):
        _await_trials(paths)
        check(experiment)
        hasty = of_place(place, PATIENCE)
        with Epoch.take(hasty, say) as epoch:
            move = move_of(paths)
            if not move or move.place != place:
                refuse_moved(paths)  # by another command, since this one looked
            if not refuse_other(hasty, move, paths):
                move = Move(place.uri, uuid.uuid4().hex)
                # Its settings may have changed since they were read.
                content = _settings_there(open_experiment(paths.folder), place)
                _copy(paths, scenario, _Changes(hasty, of_place(place, LARGE_PATIENCE), epoch), move.token, say)
                note_move(paths, move)
                make(hasty, epoch.confirm, lambda objects: objects.put(_settings_key(), content))
            assert move
            note_move(paths, replace(move, is_over=True))
    say(f"{paths.folder} has moved to {place}; the folder is kept to be read")


class _Changes:
    """Makes changes that a run may make which holds an epoch; a large file may take longer than others."""

    def __init__(self, hasty: Objects, patient: Objects, epoch: Epoch) -> None:
        self.objects, self._patient, self._epoch = hasty, patient, epoch

    def make(self, change: Callable[[Objects], None]) -> None:
        make(self.objects, self._epoch.confirm, change)

    def put_files(self, folder: Path, files: Sequence[Path]) -> None:
        """Put files of a folder, in no order."""
        pairs = [(path.relative_to(folder).as_posix(), path) for path in files]
        large = [pair for pair in pairs if _size(pair[1]) > LARGE]
        small = [pair for pair in pairs if _size(pair[1]) <= LARGE]
        for first in range(0, len(small), _AT_ONCE):
            self.make(partial(_put_all, small[first : first + _AT_ONCE]))
        for pair in large:
            make(self._patient, self._epoch.confirm, partial(_put_all, [pair]))


def _copy(paths: ExperimentPaths, scenario: str, changes: _Changes, token: str, say: Callable[[str], None]) -> None:
    """Make the place what the folder is, but for the settings."""
    changes.make(lambda objects: objects.put(TOKEN, token.encode()))
    files = list(_files(paths))
    length = paths.study.stat().st_size if paths.study.exists() else 0
    say(f"moving to {changes.objects.location}: {len(files):,} files, {(sum(map(_size, files)) + length) / MIB:,.1f} MiB")
    for begin in range(0, length, CHUNK):
        changes.make(partial(_put_piece, paths.study, begin, min(begin + CHUNK, length)))
    changes.put_files(paths.folder, files)
    changes.make(lambda objects: put_site(objects, scenario))
    here = {path.relative_to(paths.folder).as_posix() for path in files} | set(site_keys(scenario))
    here |= {TOKEN, *(chunk_key(number) for number in range(-(-length // CHUNK)))}
    rest = [key for key in changes.objects.listed() if key not in here and not key.startswith(f"{EPOCHS}/")]
    changes.make(lambda objects: objects.remove(rest))


def _put_all(pairs: Sequence[tuple[str, Path]], objects: Objects) -> None:
    objects.put_all(pairs)


def _put_piece(study: Path, begin: int, end: int, objects: Objects) -> None:
    put_journal(objects, study, begin, end)


def _files(paths: ExperimentPaths) -> Iterator[Path]:
    """Files of an experiment that a storage has under the same names, without settings; not what was written in part."""
    yield from (
        path for path in (paths.space, paths.learned, paths.folder / PROGRESS_FILE, paths.folder / _REPORT) if path.exists()
    )
    yield from sorted(paths.results.rglob("*.parquet"))
    trials = paths.checkpoints(0).parent
    yield from sorted(trials.glob("*.memory"))
    for state in sorted(trials.glob(f"*/*/{STATE}")):
        if state.parent.name.isdecimal():
            yield from sorted(path for path in state.parent.rglob("*") if path.is_file())
    yield from sorted(trials.glob(f"*/{REPLAY}/*.npz"))
    for name in _FOLDERS:
        yield from sorted(path for path in (paths.folder / name).rglob("*") if path.is_file())


def _settings_key() -> str:
    return ExperimentPaths(Path()).settings.name


def _settings_there(experiment: Experiment, place: Location) -> bytes:
    """File of the settings that the experiment has in a storage."""
    # Its study has its name, also where the folder was renamed.
    settings = replace(experiment.settings, dir=place.parent.uri)
    with TemporaryDirectory() as folder:
        there = replace(experiment, settings=settings, paths=ExperimentPaths(Path(folder)))
        save(there)
        return there.paths.settings.read_bytes()


def _await_trials(paths: ExperimentPaths) -> None:
    """Wait until no process of a run that was killed trains a trial.

    Raises:
        UsageError: if one goes on.
    """
    for path in sorted(paths.trial_lock(0).parent.glob("*.lock")):
        try:
            with trial_lock(path):
                pass
        except TimeoutError as error:
            raise UsageError(f"{paths.folder} cannot move yet: {path.name}: {error}") from error


def _size(path: Path) -> int:
    return path.stat().st_size
