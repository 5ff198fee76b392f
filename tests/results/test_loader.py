"""Results load in order, also where files are missing or damaged."""

import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars
import pytest

from common.measure import SCORE, Measure
from results import Results, ResultsError, frames, load, loader
from results.loader import not_dominated, spread_out
from results.schema import schema
from results.table_files import read_file, rows_path, table_folder, write_file, write_rows
from tests.results.made import row, tables
from tests.results.trials import KINDS, trial


@pytest.fixture
def results(experiment: Path) -> Results:
    return load(experiment)


def test_what_is_written_is_loaded_in_order(results: Results) -> None:
    assert results.trials["trial"].tolist() == [0, 1, 2, 3]
    assert list(zip(results.reports["trial"], results.reports["update"], strict=True)) == [(0, 1), (0, 2), (1, 2)]
    assert results.evaluations.empty
    assert list(results.evaluations.columns) == schema("evaluations").names
    assert results.skipped == ()


def test_files_that_differ_in_the_type_of_a_column_are_refused(experiment: Path) -> None:
    """As after files of two experiments were mixed."""
    write_rows(experiment, "trials", 100, [{"trial": 100, "state": "failed", "hp_batch_size": "many"}], {"batch_size": str})
    with pytest.raises(ResultsError, match=r"results.trials: its files differ .*; restore them from one copy"):
        load(experiment)


def test_a_score_that_is_not_finite_is_not_the_best(experiment: Path) -> None:
    for number, score in ((4, math.inf), (5, math.nan), (6, -math.inf)):
        write_rows(experiment, "trials", number, [trial(number, score)], KINDS)
    results = load(experiment)
    assert results.best["trial"] == 1
    assert results.scored["trial"].tolist() == [0, 1]


def test_where_something_else_than_the_score_is_aimed_at_the_rating_says_which_trial_is_best(experiment: Path) -> None:
    for number, score, rating in ((0, 0.9, -1e15), (1, 0.9, -1e9), (4, 0.1, -2600.0), (5, 0.8, -2700.0)):
        row = {**trial(number, score), "rating": rating}
        write_rows(experiment, "trials", number, [row], KINDS)
    assert load(experiment).best["trial"] == 4


def test_a_table_that_is_no_folder_is_refused(experiment: Path) -> None:
    folder = table_folder(experiment, "reports")
    shutil.rmtree(folder)
    folder.touch()
    with pytest.raises(ResultsError, match=r"results/reports: Not a directory; restore this folder|results.reports: "):
        load(experiment)


def count_reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Files that are opened from now on."""
    opened: list[str] = []
    original = frames.read_table

    def counted(path: Path, columns: Any = None) -> Any:
        opened.append(f"{path.parent.name}/{path.stem}")
        return original(path, columns)

    monkeypatch.setattr(frames, "read_table", counted)
    return opened


def test_large_tables_are_read_and_warn_when_they_are_first_used(experiment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = rows_path(experiment, "reports", 0)
    part.write_bytes(b"")
    opened = count_reads(monkeypatch)
    monkeypatch.setattr(loader, "FEW_FILES", 2)
    results = load(experiment)
    assert opened == []
    with pytest.warns(UserWarning, match="skipped .*reports.00000.parquet") as told:
        assert results.reports is results.reports
    assert opened == ["reports/00000", "reports/00001"]
    assert told[0].filename == __file__
    assert results.skipped == (part,)
    assert results.reports["trial"].tolist() == [1]
    with pytest.warns(UserWarning, match="skipped"):
        results.read("reports")


def test_filters_by_trial_open_no_files_of_others(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = count_reads(monkeypatch)
    assert results.read("reports", filters=[("trial", "==", 1)])["steps"].tolist() == [200]
    assert opened == ["reports/00001"]
    found = results.read("reports", ["steps"], [("trial", "in", [0, 1]), ("steps", ">", 100)])
    assert list(found.columns) == ["steps"]
    assert found["steps"].tolist() == [200, 200]
    assert results.read("reports", filters=[("trial", "==", 7)]).empty


def test_an_experiment_has_one_site_also_where_its_files_were_moved(tmp_path: Path) -> None:
    for number, place in enumerate("ab"):
        write_rows(tmp_path, "trials", number, [{**trial(number, 0.1 * number), "scenario": f"/{place}/pump.py:make"}], KINDS)
    results = load(tmp_path)
    assert results.best["trial"] == 1
    assert results.trials["scenario"].tolist() == ["/a/pump.py:make"] * 2


def test_columns_and_filters_give_what_the_whole_table_has(results: Results) -> None:
    whole = results.reports
    found = results.read("reports", ["update", "trial"], [("trial", "not in", [1]), ("update", "<=", 1)])
    expected = whole[~whole["trial"].isin([1]) & (whole["update"] <= 1)][["update", "trial"]].reset_index(drop=True)
    pd.testing.assert_frame_equal(found, expected)
    pd.testing.assert_frame_equal(results.read("trials"), results.trials)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("runs",), "there is no table 'runs': tables are trials, reports, evaluations"),
        (("reports", ["joy"]), "reports has no column 'joy'"),
        (("reports", None, [("joy", "==", 1)]), "reports has no column 'joy'"),
        (("reports", None, [("steps", "~", 1)]), "filters of reports: "),
        (("reports", None, [("steps", "==", "many")]), "filters of reports: "),
    ],
)
def test_what_cannot_be_read_is_named(given: tuple[Any, ...], said: str, experiment: Path) -> None:
    with pytest.raises(ResultsError, match=said):
        load(experiment).read(*given)


def twice(experiment: Path, tmp_path: Path) -> Path:
    """A folder with two experiments and something else."""
    parent = tmp_path / "several"
    for name in ("ppo-1", "ppo-2"):
        shutil.copytree(experiment / "results", parent / name / "results")
    path = rows_path(parent / "ppo-2", "trials", 0)
    write_file(path, read_file(path)[:3], KINDS)
    (parent / "ppo-notes").mkdir()
    return parent


def test_several_experiments_are_told_apart_by_a_column(experiment: Path, tmp_path: Path) -> None:
    parent = twice(experiment, tmp_path)
    results = load(parent / "ppo-*")
    assert results.trials["experiment"].tolist() == ["ppo-1"] * 4 + ["ppo-2"] * 3
    assert list(results.trials.columns)[:2] == ["experiment", "trial"]
    assert results.trials["trial"].dtype == "int64"
    assert [own.folder.name for own in results.experiments] == ["ppo-1", "ppo-2"]
    assert results.folder == parent
    assert len(results.reports) == 6
    assert results.best["trial"] == 1
    assert results.skipped == ()
    assert results.read("reports", ["trial"], [("trial", "==", 1)])["experiment"].tolist() == ["ppo-1", "ppo-2"]
    same = load([parent / "ppo-2", str(parent / "ppo-*")])
    assert same.names == ("ppo-2", "ppo-1")
    with pytest.raises(ResultsError, match=r"these are 2 experiments, and this takes one: give one of results.experiments"):
        _ = results.single


def test_a_pattern_that_finds_one_experiment_gives_what_takes_one_that_one(experiment: Path) -> None:
    found = load(f"{experiment}*")
    assert found.trials["experiment"].unique().tolist() == [experiment.name]
    assert found.single.folder == experiment
    assert found.recommended["trial"] == load(experiment).recommended["trial"]


def test_a_column_that_is_wanted_alone_needs_no_list(results: Results) -> None:
    assert results.read("reports", "update")["update"].tolist() == [1, 2, 2]


def test_where_nothing_is_best_the_line_says_what_helps(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    with pytest.raises(ResultsError, match=r"no trial is complete yet.*--resume continues the search, and with --retry-failed"):
        _ = load(tmp_path).best
    (tmp_path / "judgement.json").touch()
    with pytest.raises(ResultsError, match=r"is a judgement, which has no best trial: results.judgement makes"):
        _ = load(tmp_path).best


def test_ratings_on_several_sites_are_not_compared(experiment: Path, tmp_path: Path) -> None:
    results = load(twice(experiment, tmp_path) / "ppo-*")
    best = results.best_of_sites
    assert best["trial"].tolist() == [results.best["trial"]]
    elsewhere = results.trials.assign(scenario=results.trials["experiment"].map({"ppo-1": "mall", "ppo-2": "homes"}))
    several = replace(results)
    vars(several)["trials"] = elsewhere
    with pytest.raises(ResultsError, match=r"several sites \(homes, mall\) do not compare: best_of_sites"):
        _ = several.best
    assert several.best_of_sites["scenario"].tolist() == ["homes", "mall"]


def test_experiments_of_one_name_are_told_apart_by_their_paths(experiment: Path, tmp_path: Path) -> None:
    other = shutil.copytree(experiment, tmp_path / "elsewhere" / experiment.name)
    assert load([experiment, other]).names == (str(experiment), str(other))


def test_a_pattern_without_an_experiment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="no folder of an experiment has such a name"):
        load(tmp_path / "ppo-*")
    with pytest.raises(ResultsError, match="no experiments are given"):
        load([])


def test_a_folder_with_a_bracket_in_its_name_is_no_pattern(experiment: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(experiment, tmp_path / "a[1]")
    assert load(folder).folder == folder


def test_duckdb_and_polars_read_the_same_files(experiment: Path) -> None:
    expected = load(experiment).reports[["trial", "update", "steps"]].to_numpy().tolist()
    files = str(experiment / "results" / "reports" / "*.parquet")
    query = f"select trial, update, steps from read_parquet('{files}', union_by_name = true) order by trial, update"
    assert [list(row) for row in duckdb.sql(query).fetchall()] == expected
    frame = polars.scan_parquet(files, missing_columns="insert").select("trial", "update", "steps").sort("trial", "update")
    assert [list(row) for row in frame.collect().rows()] == expected


def test_a_pattern_is_not_looked_at_as_a_file(experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows refuses to: WinError 123."""
    parent, original = twice(experiment, tmp_path), Path.stat

    def stat(path: Path, **given: Any) -> Any:
        if "*" in str(path):
            raise OSError(22, "The filename, directory name, or volume label syntax is incorrect", str(path))
        return original(path, **given)

    monkeypatch.setattr(Path, "stat", stat)
    assert load(parent / "ppo-*").names == ("ppo-1", "ppo-2")
    assert load([str(parent / "ppo-*")]).names == ("ppo-1", "ppo-2")
    with pytest.raises(ResultsError, match="no folder of an experiment has such a name"):
        load("a\0b/ppo-*")


def test_experiments_on_two_drives_share_no_folder(experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def commonpath(paths: object) -> str:
        raise ValueError("Paths don't have the same drive")

    monkeypatch.setattr(loader.os.path, "commonpath", commonpath)
    parent = twice(experiment, tmp_path)
    results = load(parent / "ppo-*")
    assert results.folder == parent
    assert len(results.trials) == 7


def unlike_each_other(experiment: Path, tmp_path: Path) -> Results:
    """Two experiments; the second alone has a hyperparameter momentum."""
    rows_path(experiment, "reports", 1).unlink()
    parent = twice(experiment, tmp_path)
    for number in range(3):
        row = {**trial(number, 0.3), "hp_momentum": 0.1 * number}
        write_rows(parent / "ppo-2", "trials", number, [row], {**KINDS, "momentum": float})
    return load(parent / "ppo-*")


def test_conditions_choose_among_several_experiments(experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = load(twice(experiment, tmp_path) / "ppo-*")
    opened = count_reads(monkeypatch)
    read = results.read("trials", ["trial"], [("experiment", "==", "ppo-2"), ("trial", "<", 2)])
    assert read["experiment"].tolist() == ["ppo-2"] * 2
    assert len(opened) == 1  # those of the other one are not
    assert set(results.read("reports", None, [("experiment", "not in", ["ppo-2"])])["experiment"]) == {"ppo-1"}
    assert results.read("reports", ["experiment"])["experiment"].tolist() == ["ppo-1"] * 3 + ["ppo-2"] * 3
    none = results.read("reports", ["steps"], [("experiment", "in", ["ppo-3"])])
    assert none.empty
    assert list(none.columns) == ["experiment", "steps"]


def test_columns_of_several_experiments_come_in_their_order_and_some_may_lack_one(experiment: Path, tmp_path: Path) -> None:
    results = unlike_each_other(experiment, tmp_path)
    read = results.read("trials", ["hp_momentum", "trial", "experiment", "score"])
    assert list(read.columns) == ["hp_momentum", "trial", "experiment", "score"]
    assert read["hp_momentum"].isna().tolist() == [True] * 4 + [False] * 3
    pd.testing.assert_series_equal(read["hp_momentum"], results.trials["hp_momentum"])
    assert list(results.read("trials", ["score", "trial"]).columns) == ["experiment", "score", "trial"]
    with pytest.raises(ResultsError, match="trials has no column 'joy'"):
        results.read("trials", ["hp_momentum", "joy"])


@pytest.mark.parametrize(
    ("sign", "value", "without"),
    [("==", 0.1, 0), ("!=", 0.1, 0), (">=", 0.0, 0), ("in", [0.1], 0), ("not in", [0.1], 4), ("not in", [0.1, None], 0)],
)
def test_a_column_that_an_experiment_lacks_is_empty_for_conditions(
    sign: str, value: object, without: int, experiment: Path, tmp_path: Path
) -> None:
    results = unlike_each_other(experiment, tmp_path)
    read = results.read("trials", filters=[("hp_momentum", sign, value)])
    assert (read["experiment"] == "ppo-1").sum() == without
    # As Arrow has it for the empty cells of one experiment.
    empty = results.experiments[0].read("trials", filters=[("hp_target_kl", sign, value)])
    assert len(empty) == without


def test_values_of_numpy_and_pandas_are_conditions_too(results: Results) -> None:
    for given in (np.array([1]), pd.Series([1]), {1}, range(1, 2), (np.int64(1),), [1.0, None]):
        assert results.read("reports", filters=[("trial", "in", given)])["trial"].tolist() == [1]
    assert results.read("reports", filters=[("trial", "==", np.int64(1)), ("trial", "<", 1.5)])["trial"].tolist() == [1]
    assert results.read("reports", filters=[("trial", "in", [])]).empty
    with pytest.raises(ResultsError, match="reports has no column '3'"):
        results.read("reports", [3])  # type: ignore[list-item]


def test_a_trial_that_repeats_another_is_not_the_best(tmp_path: Path) -> None:
    found = tables(tmp_path, [row(0, 0.1), row(1, 0.2), row(2, 0.3, same_as=1)])
    assert found.scored["trial"].tolist() == [0, 1]
    assert found.best["trial"] == 1


def test_what_evaluations_measure_comes_from_their_last_file_that_can_be_read(experiment: Path) -> None:
    assert load(experiment).measures == {}
    measures = {"co2_kg": Measure("co2_kg", "kg", "emission", label="CO2")}
    write_rows(experiment, "evaluations", 0, [], measures={"bill": Measure("bill")})
    write_rows(experiment, "evaluations", 1, [], measures=measures)
    rows_path(experiment, "evaluations", 2).write_bytes(b"PAR1 and no more")
    with pytest.warns(UserWarning, match="skipped"):
        assert load(experiment).measures == {SCORE.name: SCORE, **measures}


pytestmark = pytest.mark.filterwarnings("ignore:.*lack")


def write(folder: Path, number: int, gains: tuple[float, float], state: str = "complete", **more: Any) -> None:
    row = {**trial(number, 0.1, state), "gain": gains[0], "gain_2": gains[1], "rating": sum(gains) / 2, **more}
    write_rows(folder, "trials", number, [row], KINDS)


def test_a_point_is_dominated_where_another_is_as_good_in_all_and_better_in_one() -> None:
    points = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.5, 0.4], [0.2, 0.2], [1.0, 0.0]])
    assert not_dominated(points).tolist() == [True, True, True, False, False, True]
    # As the definition has it, point by point.
    random = np.random.default_rng(0).integers(0, 5, (60, 2))
    by_hand = [not any((other >= own).all() and (other > own).any() for other in random) for own in random]
    assert not_dominated(random).tolist() == by_hand
    assert not_dominated(np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 1.0]])).tolist() == [True, True, False]
    assert not_dominated(np.empty((0, 2))).tolist() == []


def test_the_first_few_stand_for_the_whole_front() -> None:
    front = np.array([[0.0, 1.0], [0.05, 0.98], [0.6, 0.6], [0.97, 0.1], [1.0, 0.0]])
    assert spread_out(front)[:3] == [2, 0, 4]
    assert sorted(spread_out(front)) == [0, 1, 2, 3, 4]
    assert spread_out(np.zeros((0, 2))) == []
    # Equal members, one wide in nothing.
    assert sorted(spread_out(np.array([[0.3, 0.3], [0.3, 0.3]]))) == [0, 1]


def test_no_member_misses_a_requirement_repeats_another_one_or_trained_again(tmp_path: Path) -> None:
    write(tmp_path, 0, (0.1, 0.3))
    write(tmp_path, 1, (0.3, 0.1), "frozen")
    write(tmp_path, 2, (0.05, 0.05))
    write(tmp_path, 3, (0.9, 0.9), shortfall=0.1, rating=-1.1e15)
    write(tmp_path, 4, (0.8, 0.8), confirms=0, confirm_run=0, confirm_role="best")
    write(tmp_path, 5, (0.7, 0.7), "pruned")
    write(tmp_path, 6, (0.1, 0.3), same_as=0)
    results = load(tmp_path)
    assert results.front["trial"].tolist() == [1, 0]
