"""What a report is made from."""

from pathlib import Path

import pytest

from results.loader import load
from results.report.sections import sections
from results.report.sources import read_sources, rollouts_in, shown_rollouts
from results.rollout import table, write
from results.table_files import ResultsError
from tests.results.report.made import hours


def roll(path: Path) -> Path:
    frame = hours(2)
    write(path, table({name: frame[name].to_numpy() for name in frame}, {"trial": "1"}))
    return path


def test_an_experiment_brings_the_rollout_of_its_best_trial(experiment: Path) -> None:
    for number in (0, 1, 2):
        roll(experiment / "rollouts" / f"trial-{number:05d}-000000000200-year-0.parquet")
    assert [path.name[:11] for path in shown_rollouts(load(experiment))] == ["trial-00001"]
    sources = read_sources([experiment])
    assert (len(sources.experiments), len(sources.policies), len(sources.judgements)) == (1, 1, 0)


def test_rollouts_are_taken_as_files_and_as_a_folder(tmp_path: Path) -> None:
    paths = [roll(tmp_path / f"trial-0000{number}-000000000200-year-0.parquet") for number in (1, 2)]
    assert [one.path for one in read_sources([tmp_path]).policies] == paths
    assert [one.path for one in read_sources([paths[1]]).policies] == paths[1:]
    assert rollouts_in(tmp_path / "none") == ()


def test_a_folder_with_judgement_json_is_a_judgement(experiment: Path) -> None:
    (experiment / "judgement.json").write_text("{}")
    assert len(read_sources([experiment]).judgements) == 1


def test_a_place_without_results_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match=r"no results in .*: give the folder of an experiment"):
        read_sources([tmp_path])
    with pytest.raises(ResultsError, match="a report is of something"):
        read_sources([])


def test_a_place_that_is_given_twice_counts_once(experiment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(experiment)
    sources = read_sources([experiment, ".", experiment.parent / "." / experiment.name])
    assert [one.folder for one in sources.experiments] == [experiment]
    assert sections(read_sources(["."]))[0].title == experiment.name
