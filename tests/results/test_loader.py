"""Results load in order, also where parts are missing or damaged."""

import math
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from common.errors import UserError
from common.measure import SCORE, Measure
from results import Results, ResultsError, load, loader
from results.compaction import compact, unpack
from results.parts import read_table
from results.schema import SCHEMA_VERSION, schema
from results.writer import judged_path, part_path, table_folder, write_part
from tests.results.made import row, tables
from tests.results.trials import KINDS, trial


def test_what_is_written_is_loaded_in_order(experiment: Path) -> None:
    results = load(experiment)
    assert results.trials["trial"].tolist() == [0, 1, 2, 3]
    assert list(zip(results.reports["trial"], results.reports["update"], strict=True)) == [(0, 1), (0, 2), (1, 2)]
    assert results.evaluations.empty
    assert "score" in results.evaluations.columns
    assert results.skipped == ()


def test_the_best_is_the_complete_trial_with_the_highest_score(experiment: Path) -> None:
    assert load(experiment).best["trial"] == 1


def test_without_a_complete_trial_there_is_no_best(tmp_path: Path) -> None:
    write_part(part_path(tmp_path, "trials", 0), "trials", [trial(0, None, "running")], KINDS)
    with pytest.raises(ResultsError, match="no trial is complete"):
        _ = load(tmp_path).best


@pytest.mark.parametrize("damage", ["cut", "empty", "other"])
def test_a_damaged_part_is_named_and_skipped(experiment: Path, damage: str) -> None:
    path = part_path(experiment, "trials", 1)
    content = path.read_bytes()
    path.write_bytes({"cut": content[: len(content) // 2], "empty": b"", "other": b"PAR1 not parquet PAR1"}[damage])
    with pytest.warns(UserWarning, match="00001.parquet"):
        results = load(experiment)
    assert results.skipped == (path,)
    assert results.trials["trial"].tolist() == [0, 2, 3]


def change(path: Path, **columns: object) -> None:
    """Write a part again with other columns, as an older version would; None drops one."""
    table = pq.read_table(path, partitioning=None)
    for name, values in columns.items():
        if name in table.column_names:
            table = table.drop_columns([name])
        if values is not None:
            table = table.append_column(name, pa.array([values]))
    pq.write_table(table.replace_schema_metadata({"schema_version": "1"}), path)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"trial": None}, "it lacks the column trial"),
        ({"state": None, "score": None}, "it lacks the column state, score"),
        ({"trial": "1"}, "column trial is string, not int64"),
        ({"trial": 1.5}, "column trial is double, not int64"),
        ({"score": "much"}, "column score is string, not double"),
        ({"state": 1}, "column state is int64, not string"),
        ({"state": "done"}, "column state holds 'done', which is no state"),
        ({"hp_batch_size": "many"}, "column hp_batch_size is string, but int64 in other files"),
    ],
)
def test_a_part_with_other_columns_is_named_and_skipped(experiment: Path, columns: dict[str, object], said: str) -> None:
    path = part_path(experiment, "trials", 1)
    change(path, **columns)
    with pytest.warns(UserWarning, match=f"00001.parquet: {said}"):
        results = load(experiment)
    assert results.skipped == (path,)
    assert results.trials["trial"].tolist() == [0, 2, 3]
    assert results.trials["trial"].dtype == "int64"
    assert results.best["trial"] == 0


def test_a_part_with_a_row_without_its_number_is_named_and_skipped(experiment: Path) -> None:
    path = part_path(experiment, "trials", 1)
    write_part(path, "trials", [{**trial(1, 0.3), "trial": None}], KINDS)
    with pytest.warns(UserWarning, match="00001.parquet: column trial is empty in a row"):
        assert load(experiment).skipped == (path,)


@pytest.mark.parametrize("content", [[], ["00007.parquet"]])
def test_a_folder_in_the_place_of_a_part_is_named_and_skipped(experiment: Path, content: list[str]) -> None:
    path = part_path(experiment, "trials", 1)
    part = path.read_bytes()
    path.unlink()
    path.mkdir()
    for name in content:
        (path / name).write_bytes(part)
    with pytest.warns(UserWarning, match="00001.parquet: it is a folder"):
        results = load(experiment)
    assert results.skipped == (path,)
    assert results.trials["trial"].tolist() == [0, 2, 3]


def test_a_part_of_an_older_version_may_lack_columns_and_have_others(experiment: Path) -> None:
    change(part_path(experiment, "trials", 1), gpu_share=None, versions=None, crashes=None, hp_momentum=0.9)
    results = load(experiment)
    assert results.skipped == ()
    assert results.best["trial"] == 1
    assert results.best["hp_momentum"] == 0.9


def test_evaluations_of_baselines_have_no_trial(experiment: Path) -> None:
    rows = [{"contender": "bound", "year": 3, "score": 0.2}]
    write_part(judged_path(experiment, "bounds", "batch"), "evaluations", rows)
    results = load(experiment)
    assert results.skipped == ()
    assert results.evaluations["contender"].tolist() == ["bound"]


def test_a_score_that_is_not_finite_is_not_the_best(experiment: Path) -> None:
    for number, score in ((4, math.inf), (5, math.nan), (6, -math.inf)):
        write_part(part_path(experiment, "trials", number), "trials", [trial(number, score)], KINDS)
    results = load(experiment)
    assert results.best["trial"] == 1
    assert results.scored["trial"].tolist() == [0, 1]


def test_where_something_else_than_the_score_is_aimed_at_the_rating_says_which_trial_is_best(experiment: Path) -> None:
    for number, score, rating in ((4, 0.9, -1e15), (5, 0.1, -2600.0), (6, 0.8, -2700.0)):
        row = {**trial(number, score), "rating": rating}
        write_part(part_path(experiment, "trials", number), "trials", [row], KINDS)
    for number in (0, 1):
        part_path(experiment, "trials", number).unlink()
    with pytest.warns(UserWarning, match="trials"):
        assert load(experiment).best["trial"] == 5


def test_a_part_of_a_newer_version_is_named_and_skipped(experiment: Path) -> None:
    path = part_path(experiment, "trials", 1)
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({"schema_version": str(SCHEMA_VERSION + 1)}), path)
    with pytest.warns(UserWarning, match="update the package"):
        assert len(load(experiment).trials) == 3


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="no results in"):
        load(tmp_path / "nowhere")


def test_a_table_without_parts_has_the_columns_that_summaries_read(experiment: Path) -> None:
    evaluations = load(experiment).evaluations
    assert evaluations.empty
    assert list(evaluations.columns) == schema("evaluations").names


def test_measures_come_from_the_files_in_their_order(experiment: Path) -> None:
    measures = {"bill": Measure("bill"), "unheard_of": Measure("unheard_of", kind="int64")}
    rows = [{"trial": 0, "steps": 100, "year": 2, "bill": 4.0, "unheard_of": 7}]
    write_part(part_path(experiment, "evaluations", 0, 100), "evaluations", rows, measures=measures)
    evaluations = load(experiment).evaluations
    own = len(schema("evaluations").names)
    assert list(evaluations.columns[own : own + 2]) == ["bill", "unheard_of"]
    assert evaluations.loc[0, ["bill", "unheard_of"]].tolist() == [4.0, 7]


def test_a_table_that_is_no_folder_is_refused(experiment: Path) -> None:
    folder = table_folder(experiment, "reports")
    shutil.rmtree(folder)
    folder.touch()
    with pytest.raises(ResultsError, match=r"results/reports: Not a directory; restore this folder|results.reports: "):
        load(experiment)


def test_a_home_folder_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UserError, match="no user has this home folder"):
        load("~no-such-user/experiments/one")


def large(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Results:
    """Results of a folder as if it held many part files."""
    monkeypatch.setattr(loader, "FEW_FILES", 3)
    return load(folder)


def count_reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Part files that are opened from now on."""
    opened: list[str] = []
    original = loader.read_piece

    def counted(path: Path, table: str, *given: Any) -> Any:
        opened.append(f"{table}/{path.stem}")
        return original(path, table, *given)

    monkeypatch.setattr(loader, "read_piece", counted)
    return opened


def test_large_tables_are_read_when_they_are_first_used(experiment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = count_reads(monkeypatch)
    results = large(experiment, monkeypatch)
    assert all(name.startswith("trials/") for name in opened)
    assert len(results.reports) == 3
    assert len(opened) == 4 + 3
    assert results.reports is results.reports
    assert len(opened) == 4 + 3


def test_warnings_of_large_tables_come_with_them(experiment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = part_path(experiment, "reports", 0, 100)
    part.write_bytes(b"")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = large(experiment, monkeypatch)
    with pytest.warns(UserWarning, match="skipped .*00000-000000000100.parquet") as told:
        _ = results.reports
    assert told[0].filename == __file__
    assert results.skipped == (part,)


def test_filters_by_trial_open_no_files_of_others(experiment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = load(experiment)
    opened = count_reads(monkeypatch)
    assert results.read("reports", filters=[("trial", "==", 1)])["steps"].tolist() == [200]
    assert opened == ["reports/00001-000000000200"]
    found = results.read("reports", ["steps"], [("trial", "in", [0, 1]), ("steps", ">", 100)])
    assert list(found.columns) == ["steps"]
    assert found["steps"].tolist() == [200, 200]
    assert results.read("reports", filters=[("trial", "==", 7)]).empty


def test_columns_and_filters_give_what_the_whole_table_has(experiment: Path) -> None:
    results = load(experiment)
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
    part_path(parent / "ppo-2", "trials", 3).unlink()
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


@pytest.mark.parametrize("packed", [False, True])
def test_duckdb_and_polars_read_the_same_files(packed: bool, experiment: Path) -> None:
    expected = load(experiment).reports[["trial", "update", "steps"]].to_numpy().tolist()
    if packed:
        compact(experiment)
    files = str(experiment / "results" / "reports" / "*.parquet")
    query = f"select trial, update, steps from read_parquet('{files}', union_by_name = true) order by trial, update"
    assert [list(row) for row in duckdb.sql(query).fetchall()] == expected
    frame = polars.scan_parquet(files, missing_columns="insert").select("trial", "update", "steps").sort("trial", "update")
    assert [list(row) for row in frame.collect().rows()] == expected


def test_a_filter_by_trial_reads_no_row_groups_of_others_from_a_pack(experiment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = load(experiment).read("reports", filters=[("trial", "==", 1)])
    compact(experiment)
    results = load(experiment)
    pd.testing.assert_frame_equal(results.read("reports", filters=[("trial", "==", 1)]), expected)
    pd.testing.assert_frame_equal(results.read("reports", ["steps"], [("trial", "in", [1, 8])]), expected[["steps"]])
    (pack,) = (experiment / "results" / "reports").iterdir()
    assert len(read_table(pack, "reports", None, [1])) == 1


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


def test_a_file_that_is_packed_while_sizes_are_read_has_none(experiment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is there when it is listed, and gone when its size is read."""
    original, gone = Path.stat, part_path(experiment, "reports", 0, 100)

    def stat(path: Path, **given: Any) -> Any:
        if path == gone and sys._getframe(1).f_code.co_filename == loader.__file__:
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return original(path, **given)

    monkeypatch.setattr(Path, "stat", stat)
    assert len(load(experiment).reports) == 3


def unlike_each_other(experiment: Path, tmp_path: Path) -> Results:
    """Two experiments; the second alone has a hyperparameter momentum."""
    part_path(experiment, "reports", 1, 200).unlink()
    parent = twice(experiment, tmp_path)
    for number in range(3):
        change(part_path(parent / "ppo-2", "trials", number), hp_momentum=0.1 * number)
    return load(parent / "ppo-*")


def test_conditions_choose_among_several_experiments(experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = load(twice(experiment, tmp_path) / "ppo-*")
    opened = count_reads(monkeypatch)
    read = results.read("trials", ["trial"], [("experiment", "==", "ppo-2"), ("trial", "<", 2)])
    assert read["experiment"].tolist() == ["ppo-2"] * 2
    assert len(opened) == 3  # trials of the other one are not
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


@pytest.mark.parametrize("filters", [[("trial", "==", 10**30)], [("trial", "in", 3)], [("steps", "in", [["\n" * 99]])]])
@pytest.mark.parametrize("packed", [False, True])
def test_a_condition_that_cannot_be_is_one_line(
    filters: Any, packed: bool, experiment: Path, recwarn: pytest.WarningsRecorder
) -> None:
    if packed:
        compact(experiment)
    results = load(experiment)
    recwarn.clear()
    with pytest.raises(ResultsError, match=r"^filters of reports: [^\n]+$"):
        results.read("reports", filters=filters)
    assert not recwarn.list


@pytest.mark.parametrize("packed", [False, True])
def test_values_of_numpy_and_pandas_are_conditions_too(packed: bool, experiment: Path) -> None:
    if packed:
        compact(experiment)
    results = load(experiment)
    for given in (np.array([1]), pd.Series([1]), {1}, range(1, 2), (np.int64(1),), [1.0, None]):
        assert results.read("reports", filters=[("trial", "in", given)])["trial"].tolist() == [1]
    assert results.read("reports", filters=[("trial", "==", np.int64(1)), ("trial", "<", 1.5)])["trial"].tolist() == [1]
    assert results.read("reports", filters=[("trial", "in", [])]).empty
    with pytest.raises(ResultsError, match="reports has no column '3'"):
        results.read("reports", [3])  # type: ignore[list-item]


def test_an_experiment_that_is_the_working_folder_has_its_name(
    experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    shutil.copytree(experiment, other)
    monkeypatch.chdir(experiment)
    assert load([".", other]).names == (experiment.resolve().name, "other")


def long(experiment: Path, monkeypatch: pytest.MonkeyPatch, *given: Any) -> pd.DataFrame:
    """Reports where even a few rows are long, so that columns are read one by one."""
    with monkeypatch.context() as patched:
        patched.setattr(loader, "LONG", 1)
        return load(experiment).read("reports", *given)


@pytest.mark.parametrize("packed", ["none", "some", "all"])
def test_long_tables_are_read_column_by_column_and_are_the_same(
    packed: str, experiment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_part(part_path(experiment, "reports", 0, 300), "reports", [{"trial": 0, "update": 3, "steps": 300, "kl": 0.5}])
    change(part_path(experiment, "reports", 1, 200), joy="much", gradient_steps=None)
    write_part(part_path(experiment, "trials", 7), "trials", [trial(7, 0.5)], KINDS)
    write_part(part_path(experiment, "reports", 7, 100), "reports", [{"trial": 7, "update": 1, "steps": 100}])
    expected = load(experiment).reports
    some = load(experiment).read("reports", ["steps", "joy", "trial"])
    if packed != "none":
        compact(experiment)
    if packed == "some":  # the pack has trials 0 and 7, so rows have to be sorted
        unpack(experiment, 1)
    pd.testing.assert_frame_equal(long(experiment, monkeypatch), expected)
    pd.testing.assert_frame_equal(long(experiment, monkeypatch, ["steps", "joy", "trial"]), some)


def test_a_long_pack_that_is_damaged_in_a_column_is_named_and_skipped(
    experiment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compact(experiment)
    (pack,) = (experiment / "results" / "reports").iterdir()
    column = pq.read_metadata(pack).row_group(0).column(pq.read_schema(pack).names.index("seconds"))
    content = bytearray(pack.read_bytes())
    content[column.data_page_offset + column.total_compressed_size - 3] ^= 1
    pack.write_bytes(content)
    write_part(part_path(experiment, "reports", 5, 100), "reports", [{"trial": 5, "update": 1, "steps": 100}])
    with pytest.warns(UserWarning, match=r"skipped .*packed-00000\.parquet: .*CRC"):
        found = long(experiment, monkeypatch)
    assert found["trial"].tolist() == [5]


def test_a_pack_counts_as_the_parts_that_it_replaces_where_types_differ(experiment: Path) -> None:
    for steps in (100, 200):
        change(part_path(experiment, "reports", 0, steps), joy=1.0)
    compact(experiment)
    for number in (5, 6):
        path = part_path(experiment, "reports", number, 100)
        write_part(path, "reports", [{"trial": number, "update": 1, "steps": 100}])
        change(path, joy="much", **{f"only_{number}": 1})
    with pytest.warns(UserWarning, match="column joy is string, but double in other files"):
        assert load(experiment).reports["trial"].tolist() == [0, 0, 1]


def test_a_trial_that_repeats_another_is_not_the_best(tmp_path: Path) -> None:
    found = tables(tmp_path, [row(0, 0.1), row(1, 0.2), row(2, 0.3, same_as=1)])
    assert found.scored["trial"].tolist() == [0, 1]
    assert found.best["trial"] == 1


def test_what_evaluations_measure_comes_from_their_last_file_that_can_be_read(experiment: Path) -> None:
    assert load(experiment).measures == {}
    measures = {"co2_kg": Measure("co2_kg", "kg", "emission", label="CO2")}
    write_part(part_path(experiment, "evaluations", 0, 100), "evaluations", [], measures={"bill": Measure("bill")})
    write_part(part_path(experiment, "evaluations", 1, 200), "evaluations", [], measures=measures)
    part_path(experiment, "evaluations", 2, 200).write_bytes(b"PAR1 and no more")
    with pytest.warns(UserWarning, match="skipped"):
        assert load(experiment).measures == {SCORE.name: SCORE, **measures}
