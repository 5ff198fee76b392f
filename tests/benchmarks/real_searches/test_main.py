"""The command: what is left to do, what is refused, and the table. Nothing is trained here."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.real_searches import __main__ as command
from benchmarks.real_searches import pool
from benchmarks.real_searches.__main__ import Options
from benchmarks.real_searches.again import fresh_seed
from benchmarks.real_searches.records import Winner
from common.errors import UserError

WINNER = Winner("stable-baselines3", {"gamma": 0.95}, 100, 300, 0.3, 5, 9, 900)


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[pool.Job]:
    """Jobs that begin; each is done at once, but those with `sb3` in their title fail the first time."""
    jobs: list[pool.Job] = []

    def run(given: Sequence[pool.Job], divided: Any, say: Any) -> list[str]:
        failed = []
        for job in given:
            jobs.append(job)
            if "sb3" in job.title and sum(own.title == job.title for own in jobs) == 1:
                failed.append(f"{job.title}: no luck")
                continue
            job.cache.mkdir(parents=True, exist_ok=True)
            kind = job.task["kind"]
            rows: dict[str, dict[str, Any]] = {
                "prepare": {}, "search": WINNER.to_row(), "bound": {"score": 0.4, "why_none": None},
                "judge": {"score": 0.2, "steps": 100, "hyperparameters": "{}"},
            }  # fmt: skip
            job.on_done({**rows[kind], "seconds": 60.0, "finished": "now"})
        return failed

    monkeypatch.setattr(pool, "run", run)
    monkeypatch.setattr(pool, "slots", lambda cores, at_once: [tuple(range(cores))] * at_once)
    return jobs


def options(schema: Path, work: Path, **changes: Any) -> Options:
    given = {"sites": (str(schema),), "methods": ("ours", "ours:gamma=0.9"), "seeds": (0, 1), "runs": 2, "work": work}
    return Options(**(given | changes))


def test_the_same_command_does_what_is_missing_and_nothing_twice(
    small_schema: Path, tmp_path: Path, begun: list[pool.Job], capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("stable_baselines3")
    given = options(small_schema, tmp_path, methods=("ours", "sb3"))
    assert command.main(given) == 1
    kinds = [job.task["kind"] for job in begun]
    assert kinds == ["prepare", *["search"] * 4, "bound", *["judge"] * 4]
    assert "no luck" in capsys.readouterr().err
    # What failed is done now, and its trainings fail in their turn.
    before = len(begun)
    assert command.main(given) == 1
    again = [(job.task["kind"], job.title.split(", ")[1]) for job in begun[before:]]
    assert again == [("search", "sb3"), ("search", "sb3"), *[("judge", "sb3")] * 4]
    before = len(begun)
    assert command.main(given) == 0
    assert [job.task["kind"] for job in begun[before:]] == ["judge"] * 4
    before = len(begun)
    assert command.main(given) == 0
    assert begun[before:] == []


def test_winners_are_trained_again_with_fresh_seeds_by_their_library(
    small_schema: Path, tmp_path: Path, begun: list[pool.Job], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(options(small_schema, tmp_path)) == 0
    judged = [job.task for job in begun if job.task["kind"] == "judge"]
    assert [task["seed"] for task in judged] == [fresh_seed(seed, run) for seed in (0, 0, 1, 1) for run in (0, 1)]
    assert all(Winner(**task["winner"]) == WINNER for task in judged)
    searches = [job for job in begun if job.task["kind"] == "search"]
    assert [job.task["method"] for job in searches] == ["ours", "ours:gamma=0.9"] * 2
    # Each search pays for what it prepares itself; trainings of the judgement do not leave it to later searches.
    assert all(job.links for job in searches)
    judging = {job.cache for job in begun if job.task["kind"] in ("judge", "bound")}
    assert len(judging) == 1
    assert judging.isdisjoint({job.cache for job in searches})
    printed = capsys.readouterr().out
    assert "| ours | 2 | +0.3000 | +0.2000 |  | 50.0% | 5.0 | 1.0 |" in printed
    assert "| ours:gamma=0.9 | 2 | +0.3000 | +0.2000 | +0.0000 (+0.0000 to +0.0000) | 50.0% |" in printed
    assert (tmp_path / "table.md").read_text() == printed.removesuffix("\n")


def test_another_machine_goes_on_with_the_rows(small_schema: Path, tmp_path: Path, begun: list[pool.Job]) -> None:
    rows = tmp_path / "rows"
    assert command.main(options(small_schema, tmp_path / "one", rows=rows, seeds=(0,))) == 0
    assert sorted(path.name for path in rows.iterdir()) == ["bounds.parquet", "cells.parquet", "judged.parquet", "terms.json"]
    begun.clear()
    assert command.main(options(small_schema, tmp_path / "other", rows=rows)) == 0
    searched = [job.task["seed"] for job in begun if job.task["kind"] == "search"]
    assert searched == [1, 1]
    with pytest.raises(UserError, match="searches are compared under equal terms, so choose another --rows"):
        command.main(options(small_schema, tmp_path / "third", rows=rows, budget="1m"))
