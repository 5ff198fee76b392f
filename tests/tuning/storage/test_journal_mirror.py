"""Journals of experiments at a URI are read, by several readers at once."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from common.errors import UsageError
from common.storage.location import location
from common.storage.objects import Objects
from tests.tuning.search.proposals.test_learning import rising, trained
from tests.tuning.storage.stand_in import Changes, KilledError
from tests.uploads import upload
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import Experiment, create
from tuning.experiment.reading import open_to_read
from tuning.experiment.settings import Settings
from tuning.search.proposals.learning import learned_from
from tuning.search.record.study import read_trials
from tuning.storage import journal_mirror
from tuning.storage.journal_mirror import JournalMirror, with_journal
from tuning.storage.journal_mirror import _key as key
from tuning.storage.lease import Guarded
from tuning.trial.protocol import Proposal
from tuning.trial.records import TrialRecords

pytestmark = pytest.mark.usefixtures("elsewhere")


@pytest.fixture
def of(tmp_path: Path) -> Experiment:
    own = create(Settings(name="before", dir=str(tmp_path), backend="batch", steps=1000))
    trained(own, [rising(0.1), rising(0.2), rising(0.3)])
    return own


def pieces(of: Experiment, uri: str, size: int) -> None:
    """Upload an experiment with its journal in pieces, as a search does."""
    content = of.paths.study.read_bytes()
    objects = upload(of.paths.folder, uri)
    objects.put_all((key(at // size), content[at : at + size]) for at in range(0, len(content), size))


@pytest.mark.parametrize("size", [None, 1000])
def test_a_search_learns_from_an_experiment_at_a_uri(of: Experiment, share: str, size: int | None) -> None:
    uri = f"{share}/before"
    if size:
        pieces(of, uri, size)
    else:
        upload(of.paths.folder, uri)
    (here,) = learned_from(Settings(learn_from=(str(of.paths.folder),)))
    (there,) = learned_from(Settings(learn_from=(f"{uri}/",)))
    assert there == replace(here, folder=uri)
    with pytest.raises(UsageError, match="it is given twice"):
        learned_from(Settings(learn_from=(uri, f"{uri}/")))


def test_a_journal_without_a_middle_piece_ends_before_it(of: Experiment, share: str) -> None:
    pieces(of, f"{share}/before", 500)
    Objects(location(f"{share}/before")).remove([key(2)])
    with with_journal(open_to_read(f"{share}/before")) as found:
        assert found.paths.study.read_bytes() == of.paths.study.read_bytes()[:1000]
    assert not found.paths.folder.exists()


def test_readers_at_once_do_not_disturb_each_other(of: Experiment, share: str) -> None:
    pieces(of, f"{share}/before", 500)
    first = open_to_read(f"{share}/before")
    with with_journal(first) as mine:
        with with_journal(open_to_read(f"{share}/before")) as other:
            assert other.paths.study.read_bytes() == of.paths.study.read_bytes()
        open_to_read(f"{share}/before")
        assert mine.paths.study.read_bytes() == of.paths.study.read_bytes()
        assert len(read_trials(mine)) == 3
    with with_journal(of) as local:
        assert local == of


def test_a_journal_that_lacks_trials_of_the_results_is_damaged(of: Experiment, share: str) -> None:
    TrialRecords(of).begin(Proposal(7, algorithm("ppo").preset("default")))
    pieces(of, f"{share}/before", 500)
    with pytest.raises(UsageError, match=r"study.journal is damaged \(it lacks trial 7 .*restore") as caught:
        learned_from(Settings(learn_from=(f"{share}/before",)))
    assert "journal-" not in str(caught.value)


@pytest.fixture
def own(objects: Objects, monkeypatch: pytest.MonkeyPatch) -> Guarded:
    """Changes the experiment of `objects`, whose journal is in small pieces."""
    monkeypatch.setattr(journal_mirror, "PIECE", 16)
    return Guarded(objects.location, lambda: None)


def append(path: Path, first: int, last: int) -> bytes:
    """Append lines of 8 bytes; the whole content."""
    with path.open("ab") as file:
        file.write(b"".join(f"line {n:02d}\n".encode() for n in range(first, last)))
    return path.read_bytes()


def fetched(objects: Objects, folder: Path) -> bytes:
    path = folder / "fetched"
    JournalMirror(path).fetch(objects)
    return path.read_bytes() if path.exists() else b""


def test_a_journal_that_grows_is_the_same_there_and_full_pieces_stay(
    objects: Objects, own: Guarded, changes: Changes, tmp_path: Path
) -> None:
    path = tmp_path / "study.journal"
    mirror = JournalMirror(path)
    mirror.put(own)
    assert fetched(objects, tmp_path) == b""
    for first, last in ((0, 1), (1, 3), (3, 3), (3, 4), (4, 9), (9, 10)):
        content = append(path, first, last)
        mirror.put(own)
        assert fetched(objects, tmp_path) == content
    assert changes == [f"+{key(number)}" for number in (0, 0, 1, 1, 2)]
    # Another process goes on.
    next_run = JournalMirror(path)
    next_run.fetch(objects)
    for last in (11, 12):
        content = append(path, last - 1, last)
        next_run.put(own)
        assert fetched(objects, tmp_path) == content


@pytest.mark.parametrize("kill_at", range(5))
def test_whatever_a_kill_leaves_is_a_beginning(
    objects: Objects, own: Guarded, changes: Changes, tmp_path: Path, kill_at: int
) -> None:
    path = tmp_path / "study.journal"
    mirror, content = JournalMirror(path), b""
    changes.die_at(kill_at)
    with suppress(KilledError):
        for number in range(9):
            content = append(path, number, number + 1)
            mirror.put(own)
    changes.before = lambda change: None
    assert fetched(objects, tmp_path) == content[:-8]


@pytest.mark.parametrize("number", [2, 5])
def test_a_line_that_was_copied_in_part_is_cut(objects: Objects, own: Guarded, tmp_path: Path, number: int) -> None:
    """As by hand, of a folder in which a run was killed."""
    path = tmp_path / "study.journal"
    whole = append(path, 0, number)
    objects.put(key(0), whole + b"line")
    mirror = JournalMirror(path)
    mirror.fetch(objects)
    assert path.read_bytes() == whole
    whole = append(path, number, number + 1)
    mirror.put(own)
    assert fetched(objects, tmp_path) == whole
