"""A judgement in one call: what is printed is returned."""

from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from common.paths import name_fault
from envs.scenarios.scenario import Scenario
from results.table_files import judged_path, write_file
from tests.tuning.cli.printing import without_drawing
from tests.tuning.trial.small_trials import completed
from tuning.experiment.folder import create
from tuning.experiment.settings import Settings
from tuning.judging.comparison import compare
from tuning.judging.race import Race
from tuning.judging.settings import JudgeSettings
from tuning.runtime.processes import Interrupted

pytestmark = pytest.mark.usefixtures("no_report")


@pytest.fixture
def no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    without_drawing(monkeypatch)


@pytest.fixture
def given(small_schema: Path, tmp_path: Path) -> JudgeSettings:
    return settings_of(small_schema, tmp_path)


def settings_of(site: Path, tmp_path: Path, **more: Any) -> JudgeSettings:
    """Settings that judge a search with one complete trial."""
    of = create(Settings(scenario=str(site), backend="batch", name="e", dir=str(tmp_path), steps=100_000, **more))
    completed(of, (0.05, {"gamma": 0.9}))
    return JudgeSettings((of.paths.folder,), name="one", dir=tmp_path / "j")


def test_what_is_returned_is_what_is_written_and_printed(given: JudgeSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Race) -> None:
        self.failed = {"e 0": "run 1 failed: it diverged"}

    monkeypatch.setattr(Race, "run", fail)
    out = StringIO()
    comparison = compare(given, Console(file=out, width=200))
    assert comparison.folder == given.dir / "one"
    assert comparison.finalists == ()
    assert "e 0 failed and cannot win: run 1 failed: it diverged" in comparison.verdict
    for line in comparison.verdict:
        assert line in out.getvalue()
    pd.testing.assert_frame_equal(pd.read_parquet(comparison.folder / "judgement.parquet"), comparison.table)


def test_an_interrupt_is_raised_after_the_line_that_says_how_to_continue(
    given: JudgeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UV_RUN_RECURSION_DEPTH", raising=False)

    def interrupt(self: Race) -> None:
        write_file(judged_path(given.dir / "one", "bounds", "batch"), [])
        raise KeyboardInterrupt

    monkeypatch.setattr(Race, "run", interrupt)
    out = StringIO()
    with pytest.raises(Interrupted):
        compare(replace(given, mpc=("learned", "exact")), Console(file=out, width=200))
    command = f"python -m tuning.judge {given.experiments[0]} --mpc learned exact --name one --dir {given.dir}"
    assert f"stopped; continue with: {command}\n" in out.getvalue()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("Ray did not start")])
def test_one_that_ends_before_its_first_run_leaves_nothing(
    given: JudgeSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def end(self: Race) -> None:
        raise error

    monkeypatch.setattr(Race, "run", end)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(type(error)):
        compare(replace(given, dir=tmp_path / "new" / "folder"), Console(quiet=True))
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(("title", "name"), [("_é", "site-1"), ("iquitos:pv_kwp=4162", "iquitos-pv_kwp-4162-1")])
def test_without_a_name_it_has_the_first_that_is_free(
    given: JudgeSettings, monkeypatch: pytest.MonkeyPatch, title: str, name: str
) -> None:
    monkeypatch.setattr(Scenario, "title", title)
    monkeypatch.setattr(Race, "run", lambda self: self.failed.update({"e 0": "it diverged"}))
    first, second = (compare(replace(given, name=""), Console(quiet=True)).folder.name for _ in range(2))
    assert (first, second) == (name, f"{name[:-1]}2")
    assert not name_fault(first)


def test_the_aim_of_the_search_stands_first_in_the_verdict_and_in_the_file(
    small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Race, "run", lambda self: self.failed.update({"e 0": "it diverged"}))
    judged = compare(settings_of(small_schema, tmp_path, objective="daily_peak_kw"), Console(quiet=True))
    assert judged.verdict[0] == "aim: objective: daily_peak_kw (less is better)"
    assert pq.read_schema(judged.folder / "judgement.parquet").metadata[b"objective"] == b"daily_peak_kw (less is better)"
