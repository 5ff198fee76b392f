"""Packed rows are the rows; a kill at any step loses and doubles none, and a trial that goes on gets its part files back."""

import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import filelock
import pandas as pd
import pyarrow.parquet as pq
import pytest

from results import Results, ResultsError, compaction, load
from results.compaction import compact, unpack
from results.packs import LOCK, listed, locked
from results.parts import PACKED
from results.schema import SCHEMA_VERSION
from results.writer import drop_parts_after, part_path, table_folder, write_part
from tests.results.made import KINDS, MEASURES, evaluation, reports, row

STATES = ("complete", "frozen", "running", "pruned")


def begin(folder: Path, number: int, state: str, rungs: int = 4) -> None:
    """Write a trial with a part file for each evaluation."""
    write_part(part_path(folder, "trials", number), "trials", [row(number, 0.1 * number, state, updates=rungs)], KINDS)
    for own in reports(number, 0.1 * number, rungs):
        write_part(part_path(folder, "reports", number, own["steps"]), "reports", [own])
        measured = evaluation(number, own["steps"], own["score"])
        write_part(part_path(folder, "evaluations", number, own["steps"]), "evaluations", [measured], measures=MEASURES)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    for number, state in enumerate(STATES):
        begin(folder, number, state)
    return folder


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    for number, state in enumerate(("complete", "frozen", "running")):
        begin(folder, number, state, rungs=2)
    return folder


@pytest.fixture
def experiment(written: Path, tmp_path: Path) -> Path:
    return shutil.copytree(written, tmp_path / "experiment")


def whole(folder: Path) -> Results:
    """Results, where no warning tells of anything skipped or lacking."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return load(folder)


def same(first: Results, second: Results) -> None:
    for name in ("trials", "reports", "evaluations"):
        pd.testing.assert_frame_equal(getattr(first, name), getattr(second, name))


def files(folder: Path, table: str) -> list[str]:
    return sorted(path.name for path in table_folder(folder, table).iterdir())


def is_packed(folder: Path, trial: int) -> bool:
    packs = [pack for table in PACKED for pack in listed(table_folder(folder, table)).packs]
    return any(trial in pq.read_table(pack, columns=["trial"])["trial"].to_pylist() for pack in packs)


def test_what_is_packed_loads_alike_and_running_trials_keep_their_parts(experiment: Path) -> None:
    before = whole(experiment)
    done = compact(experiment)
    assert [(own.table, own.trials, own.before, own.after, own.stuck) for own in done] == [
        ("reports", 3, 16, 5, 0), ("evaluations", 3, 16, 5, 0), ("trials", 0, 4, 4, 0),
    ]  # fmt: skip
    assert len(files(experiment, "reports")) == 5
    assert all(name.startswith(("00002-", "packed-")) for name in files(experiment, "reports"))
    same(whole(experiment), before)
    assert is_packed(experiment, 0)
    assert not is_packed(experiment, 2)


def test_a_second_compaction_changes_nothing_and_a_third_adds_what_ended_since(experiment: Path) -> None:
    compact(experiment)
    once = files(experiment, "reports")
    assert compact(experiment)[0].trials == 0
    assert files(experiment, "reports") == once
    begin(experiment, 4, "complete")
    before = whole(experiment)
    assert compact(experiment)[0].trials == 1
    assert len(listed(table_folder(experiment, "reports")).packs) == 1
    same(whole(experiment), before)


def test_a_pack_has_units_checksums_and_a_version_that_earlier_packages_refuse(experiment: Path) -> None:
    compact(experiment)
    (pack,) = listed(table_folder(experiment, "reports")).packs
    columns = pq.read_schema(pack)
    assert columns.metadata[b"schema_version"] == str(SCHEMA_VERSION).encode() == b"2"
    assert columns.field("seconds").metadata[b"unit"] == b"s"
    part = pq.read_table(pack)
    changed = part.drop_columns(["entropy"]).replace_schema_metadata(columns.metadata)
    pq.write_table(changed, pack)
    with pytest.warns(UserWarning, match="packed-00000.parquet: its columns have changed since it was written"):
        _ = load(experiment).reports


class Killed(BaseException):
    """Stands for a kill."""


def killed_at_each_step(
    monkeypatch: pytest.MonkeyPatch, work: Callable[[], object], check: Callable[[], None], prepare: Callable[[], None]
) -> int:
    """Let work be killed before each of its renames and deletions, and after the last one; how many there are."""
    step = 0
    while True:
        prepare()
        count = 0

        def counted(original: Callable[..., Any]) -> Callable[..., Any]:
            def call(*given: Any, **named: Any) -> Any:
                nonlocal count
                count += 1
                if count > step:  # noqa: B023
                    raise Killed  # nothing that follows happens, clearing up included
                return original(*given, **named)

            return call

        with monkeypatch.context() as patched:
            for name in ("unlink", "replace", "rename"):
                patched.setattr(Path, name, counted(getattr(Path, name)))
            try:
                work()
                return step
            except Killed:
                pass
        check()
        step += 1


def test_a_kill_at_any_step_of_a_compaction_loses_and_doubles_nothing(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, before = tmp_path / "experiment", whole(small)

    def prepare() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(small, folder)

    def check() -> None:
        same(whole(folder), before)
        compact(folder)
        same(whole(folder), before)
        assert len(files(folder, "reports")) == 3  # what was left behind is gone

    steps = killed_at_each_step(monkeypatch, lambda: compact(folder), check, prepare)
    assert steps >= 2 * (1 + 4)  # a rename and four deletions for each table


@pytest.mark.parametrize("work", [compact, lambda folder: unpack(folder, 1)], ids=["merge", "unpack"])
def test_a_kill_while_packs_are_written_anew_loses_and_doubles_nothing(
    work: Callable[[Path], object], small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, packed = tmp_path / "experiment", tmp_path / "packed"
    shutil.copytree(small, packed)
    compact(packed)
    begin(packed, 3, "complete", rungs=1)
    before = whole(packed)

    def prepare() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(packed, folder)

    def check() -> None:
        same(whole(folder), before)
        work(folder)
        same(whole(folder), before)

    steps = killed_at_each_step(monkeypatch, lambda: work(folder), check, prepare)
    assert steps >= 2 * 3
    assert is_packed(folder, 1) == (work is compact)


def test_a_trial_that_goes_on_has_its_part_files_as_before(experiment: Path) -> None:
    def own() -> list[list[str]]:
        tables = ("reports", "evaluations")
        return [[name for name in files(experiment, table) if name.startswith("00001-")] for table in tables]

    before = own()
    compact(experiment)
    assert own() == [[], []]
    with locked(experiment):
        unpack(experiment, 1)
    assert own() == before
    drop_parts_after(experiment, "reports", 1, 2000)  # work is done again from an earlier checkpoint
    with pytest.warns(UserWarning, match="its reports lack update 3 to 4"):
        results = load(experiment)
    assert results.read("reports", filters=[("trial", "==", 1)])["steps"].tolist() == [1000, 2000]
    with locked(experiment):
        unpack(experiment, 2)  # which no pack holds
    unpack(experiment, 0)
    unpack(experiment, 3)
    assert listed(table_folder(experiment, "reports")).packs == []


def test_a_trial_that_a_process_trains_is_not_packed_whatever_its_row_says(experiment: Path) -> None:
    (experiment / "trials").mkdir()
    with filelock.FileLock(experiment / "trials" / "00003.lock"):
        compact(experiment)
    assert not is_packed(experiment, 3)
    compact(experiment)
    assert is_packed(experiment, 3)


def test_a_trial_with_a_damaged_part_keeps_its_parts(experiment: Path) -> None:
    part = part_path(experiment, "reports", 0, 1000)
    part.write_bytes(part.read_bytes()[:100])
    compact(experiment)
    assert part.exists()
    assert part_path(experiment, "reports", 0, 2000).exists()
    assert not part_path(experiment, "reports", 3, 2000).exists()


def test_files_that_another_program_has_open_do_not_count_and_go_the_next_time(
    experiment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = whole(experiment)
    original = Path.unlink

    def refused(path: Path, missing_ok: bool = False) -> None:
        if path.suffix == ".parquet":
            raise PermissionError(13, "in use")
        original(path, missing_ok=missing_ok)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", refused)
        assert [own.stuck for own in compact(experiment)] == [12, 12, 0]
        same(whole(experiment), before)
        with pytest.raises(ResultsError, match="is open in another program: close it, so that trial 1 can go on"):
            unpack(experiment, 1)
    assert [own.after for own in compact(experiment)] == [5, 5, 4]
    same(whole(experiment), before)


def test_parts_that_a_kill_left_are_kept_where_the_pack_was_damaged_since(experiment: Path, written: Path) -> None:
    compact(experiment)
    shutil.copytree(table_folder(written, "reports"), table_folder(experiment, "reports"), dirs_exist_ok=True)
    (pack,) = listed(table_folder(experiment, "reports")).packs
    content = bytearray(pack.read_bytes())
    content[40] ^= 255  # in a page, not in the footer
    pack.write_bytes(bytes(content))
    compact(experiment)
    assert part_path(experiment, "reports", 0, 1000).exists()
    before = files(experiment, "reports")
    with pytest.raises(ResultsError, match=r"packed-00000\.parquet cannot be used: "):
        unpack(experiment, 0)
    assert files(experiment, "reports") == before


def test_a_reader_beside_a_compaction_sees_each_row_once(experiment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compaction happens between the reader's listing and its reading."""
    from results import loader

    before = whole(experiment)
    original, done = loader.read_piece, []

    def late(path: Path, table: str, *given: Any) -> Any:
        if table == "reports" and not done:
            done.append(True)
            compact(experiment)
        return original(path, table, *given)

    monkeypatch.setattr(loader, "read_piece", late)
    same(whole(experiment), before)
    assert done


def test_a_folder_without_trials_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="no results of a search in"):
        compact(tmp_path)


def test_the_lock_is_free_after_a_compaction(experiment: Path) -> None:
    compact(experiment)
    with filelock.FileLock(experiment / "results" / LOCK, blocking=False):
        pass


def test_packs_are_split_between_trials_and_full_ones_are_left_alone(experiment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "PACK_ROWS", 4)  # the rows of a trial
    before = whole(experiment)
    compact(experiment)
    first = listed(table_folder(experiment, "reports")).packs
    assert [len(pq.read_table(pack)["trial"].unique()) for pack in first] == [1, 1, 1]
    same(whole(experiment), before)
    begin(experiment, 4, "complete")
    compact(experiment)
    assert set(first) < set(listed(table_folder(experiment, "reports")).packs)


def test_changes_of_an_unpacking_lose_no_row_where_they_are_copied_one_after_another(experiment: Path, tmp_path: Path) -> None:
    compact(experiment)
    copy = tmp_path / "copy"
    shutil.copytree(experiment, copy)
    before = load(copy)
    with locked(experiment):
        changed = unpack(experiment, 1)
    assert len(changed) == len(set(changed)) > 8
    for path in changed:
        target = copy / path.relative_to(experiment)
        if path.exists():
            shutil.copyfile(path, target)
        else:
            target.unlink()
        now = load(copy)
        assert now.skipped == ()
        pd.testing.assert_frame_equal(now.reports, before.reports)
        pd.testing.assert_frame_equal(now.evaluations, before.evaluations)
    for table in PACKED:
        assert [path.name for path in sorted(table_folder(copy, table).iterdir())] == [
            path.name for path in sorted(table_folder(experiment, table).iterdir())
        ]
    with locked(experiment):
        assert unpack(experiment, 1) == []


def test_a_long_table_has_its_columns_in_the_order_of_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pack is read first, and holds the later trial here, with another measure than the earlier one's part."""

    def begin_with(measure: str, number: int, *ends: int) -> None:
        write_part(part_path(tmp_path, "trials", number), "trials", [row(number, 0.1)], KINDS)
        for end in ends:
            measured = {"trial": number, "steps": end, "year": 0, "score": 0.1, measure: 1.0}
            path = part_path(tmp_path, "evaluations", number, end)
            write_part(path, "evaluations", [measured], measures={measure: ("float64", "", "")})

    begin_with("second", 1, 100, 200)
    compact(tmp_path)
    begin_with("first", 0, 100, 200)
    expected = list(load(tmp_path).read("evaluations").columns)
    assert expected.index("first") < expected.index("second")
    monkeypatch.setattr("results.loader.LONG", 1)
    assert list(load(tmp_path).read("evaluations").columns) == expected
