"""Journals of experiments at a URI are read, by several readers at once."""

from dataclasses import replace
from pathlib import Path

import pytest

from common.errors import UsageError, UserError
from common.storage.location import location
from common.storage.objects import Objects
from tests.tuning.search.proposals.test_learning import rising, trained
from tests.uploads import upload
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import Experiment, create
from tuning.experiment.reading import open_to_read
from tuning.experiment.settings import Settings
from tuning.search.proposals.learning import learned_from
from tuning.search.record.study import read_trials
from tuning.storage.journal_reading import with_journal
from tuning.trial.protocol import Proposal
from tuning.trial.records import TrialRecords


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another machine: a folder with a cache of its own."""
    folder = tmp_path_factory.mktemp("there")
    monkeypatch.setenv("BUILDING_TUNER_CACHE", str(folder / "cache"))
    monkeypatch.chdir(folder)


@pytest.fixture
def share(tmp_path: Path) -> str:
    return (tmp_path / "share").as_uri()


def pieces(of: Experiment, uri: str, size: int) -> None:
    """Upload an experiment with its journal in pieces, as a search does."""
    content = of.paths.study.read_bytes()
    objects = upload(of.paths.folder, uri)
    objects.remove(["study.journal"])
    objects.put_all((f"study/{at // size:08d}.journal", content[at : at + size]) for at in range(0, len(content), size))


@pytest.mark.parametrize("size", [None, 1000])
def test_a_search_learns_from_an_experiment_at_a_uri(tmp_path: Path, share: str, size: int | None) -> None:
    of = create(Settings(name="before", dir=str(tmp_path), backend="batch", steps=1000))
    trained(of, [rising(0.1), rising(0.2), rising(0.3)])
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
    with pytest.raises(UserError, match="no experiment in file:"):
        learned_from(Settings(learn_from=(f"{share}/none",)))


def test_a_journal_without_a_middle_piece_ends_before_it(tmp_path: Path, share: str) -> None:
    of = create(Settings(name="before", dir=str(tmp_path), backend="batch", steps=1000))
    trained(of, [rising(0.1), rising(0.2)])
    pieces(of, f"{share}/before", 500)
    Objects(location(f"{share}/before")).remove(["study/00000002.journal"])
    with with_journal(open_to_read(f"{share}/before")) as found:
        assert found.paths.study.read_bytes() == of.paths.study.read_bytes()[:1000]
    assert not found.paths.folder.exists()


def test_readers_at_once_do_not_disturb_each_other(tmp_path: Path, share: str) -> None:
    of = create(Settings(name="before", dir=str(tmp_path), backend="batch", steps=1000))
    trained(of, [rising(0.1), rising(0.2)])
    pieces(of, f"{share}/before", 500)
    first = open_to_read(f"{share}/before")
    with with_journal(first) as mine:
        with with_journal(open_to_read(f"{share}/before")) as other:
            assert other.paths.study.read_bytes() == of.paths.study.read_bytes()
        open_to_read(f"{share}/before")
        assert mine.paths.study.read_bytes() == of.paths.study.read_bytes()
        assert len(read_trials(mine)) == 2
    with with_journal(of) as local:
        assert local == of


def test_a_journal_that_lacks_trials_of_the_results_is_damaged(tmp_path: Path, share: str) -> None:
    of = create(Settings(name="before", dir=str(tmp_path), backend="batch", steps=1000))
    trained(of, [rising(0.1), rising(0.2)])
    TrialRecords(of).begin(Proposal(7, algorithm("ppo").preset("default")))
    pieces(of, f"{share}/before", 500)
    with pytest.raises(UsageError, match=r"study.journal is damaged \(it lacks trial 7 .*restore") as caught:
        learned_from(Settings(learn_from=(f"{share}/before",)))
    assert "journal-" not in str(caught.value)
