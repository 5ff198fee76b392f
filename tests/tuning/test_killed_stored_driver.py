"""The same as `test_killed_driver.py` with the experiment in a storage: after each kill only its URI is left.

The driver dies at one of its operations, on the disk or in the storage, whichever thread does it. Its working copy is deleted,
and the next run has another cache.
"""

import math
import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from common.storage.location import Location, location
from common.storage.objects import Objects
from common.storage.stores import RemoteStore
from common.storage.working_copy import WorkingCopy
from results import load
from tests.tuning import test_killed_driver as local
from tests.tuning.killed_search import compare
from tuning.storage import lease
from tuning.storage.journal_mirror import JournalMirror
from tuning.storage.moving import move_to_storage
from tuning.storage.stored_experiment import create_stored, experiment_at, look_up, run_files
from tuning.storage.trial_files import PushedFiles

pytestmark = local.pytestmark

STORED = ((RemoteStore, "put"), (RemoteStore, "create"), (RemoteStore, "remove"))


def search(place: Location, folder: Path, at_once: int, kill_at: float, order: random.Random) -> bool:
    """Run a search in a process of its own, which dies at one of its operations.

    Args:
        place: of the experiment.
        folder: for the cache of this run.
        at_once: trials.
        kill_at: which operation it dies at.
        order: draws which trial reports next.

    Returns:
        Whether it got to its end.
    """
    folder.mkdir(parents=True)

    def run() -> None:
        os.environ["BUILDING_TUNER_CACHE"] = str(folder / "cache")
        with local.dying_search(at_once, order) as patched:
            patched.setattr(lease, "WATCH_SECONDS", 0.0)
            patched.setattr(lease, "SETTLE_SECONDS", 0.0)
            patched.setattr(local, "OPERATIONS", (*local.OPERATIONS, *STORED))
            patched.setattr(PushedFiles, "saved", noting(folder, PushedFiles.saved))
            experiment = look_up(place)
            local.die_at(patched, kill_at)
            with run_files(experiment, lambda line: None) as (held, files):
                local.run_made_up(held, at_once, files)

    return local.forked(folder, run)


def noting(folder: Path, saved: Callable[[PushedFiles], None]) -> Callable[[PushedFiles], None]:
    """Note each evaluation that is made, with its run, before its checkpoint is pushed."""

    def noted(own: PushedFiles) -> None:
        newest = max(own.experiment.paths.checkpoints(own._number).glob("0*"))
        with (folder.parent / "made").open("a") as file:
            file.write(f"{folder.name} {own._number} {newest.name}\n")
        saved(own)

    return noted


def made_again(folder: Path) -> int:
    """Most evaluations of one trial that a run made although an earlier one had."""
    again, known = Counter[tuple[str, str]](), set[tuple[str, str]]()
    for line in (folder / "made").read_text().splitlines():
        run, number, steps = line.split()
        again[run, number] += (number, steps) in known
        known.add((number, steps))
    return max(again.values())


def begun(above: Location, name: str, budget: int) -> Location:
    """Create the experiment."""
    return create_stored(above, local.settings(name, above.uri, budget), {}, "").storage or above


def fetched(place: Location, folder: Path) -> Path:
    """All that a storage has of an experiment."""
    objects = Objects(place)
    WorkingCopy(folder, objects).pull([""])
    JournalMirror(folder / "study.journal").fetch(objects)
    return folder


def check_kills(above: Location, folder: Path, at_once: int, trials: int, most: int, least: int, confirmations: int) -> None:
    """Kill a search again and again, and compare it with a local one that is left alone.

    Args:
        above: where it is.
        folder: for the caches of its runs.
        at_once: trials.
        trials: that its budget pays for.
        most: operations that a run makes at first.
        least: kills.
        confirmations: that it has at least.
    """
    drawn, budget, kills, known = random.Random(at_once), trials * local.STEPS_OF_A_TRIAL, 0, 0
    place = begun(above, "killed", budget)
    objects = Objects(place)
    while not search(place, folder / str(kills), at_once, drawn.randrange(2 * most) / 2.0, drawn):
        kills, before, known = kills + 1, known, sum(own.nbytes for own in objects.listed("results/reports/").values())
        # A run fetches first what is known, and this grows: one that got no further is followed by one that lives longer.
        most += most // 20 if known == before else 0
    print(f"killed {kills} times, at most after {most} operations")
    assert kills >= least
    assert made_again(folder) <= 1
    found = fetched(place, folder / "fetched")
    local.check(found, budget)
    assert len(load(found).confirmations) >= confirmations
    if at_once == 1:
        whole = folder / "whole"
        local.begun(whole, budget)
        assert local.search(whole, budget, 1, math.inf, drawn)
        compare(found, whole)


def test_a_search_that_is_killed_anywhere_goes_on_from_its_uri(tmp_path: Path) -> None:
    above = location(f"file://{tmp_path}/storage")
    check_kills(above, tmp_path, at_once=1, trials=4, most=1000, least=2, confirmations=0)


def test_a_search_that_moves_from_a_folder_is_the_one_that_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder was renamed before: its study keeps its name. `storage/test_moving.py` kills moves."""
    for name in ("WATCH_SECONDS", "SETTLE_SECONDS"):
        monkeypatch.setattr(lease, name, 0.0)
    above, budget, order = location(f"file://{tmp_path}/storage"), 4 * local.STEPS_OF_A_TRIAL, random.Random(1)
    for name, kill_at in (("whole", math.inf), ("killed", 300.0)):  # a frozen trial waits then that goes on
        local.begun(tmp_path / name, budget)
        local.search(tmp_path / name, budget, 1, kill_at, order)
    renamed = (tmp_path / "killed").rename(tmp_path / "renamed")
    going = experiment_at(renamed, above.uri)
    move_to_storage(going, going.settings.scenario, lambda experiment: None, lambda line: None)
    assert search(above / renamed.name, tmp_path / "run", 1, math.inf, order)
    found = fetched(above / renamed.name, tmp_path / "fetched")
    local.check(found, budget)
    compare(found, tmp_path / "whole")


@pytest.mark.torture
@pytest.mark.parametrize("at_once", [1, 2])
def test_so_it_does_with_many_kills_in_a_folder(tmp_path: Path, at_once: int) -> None:
    above = location(f"file://{tmp_path}/storage")
    check_kills(above, tmp_path, at_once, trials=12, most=400, least=15, confirmations=4)


@pytest.mark.torture
@pytest.mark.parametrize("at_once", [1, 2])
def test_so_it_does_with_many_kills_and_a_server(s3_bucket: str, tmp_path: Path, at_once: int) -> None:
    check_kills(location(s3_bucket), tmp_path, at_once, trials=12, most=160, least=25, confirmations=4)
