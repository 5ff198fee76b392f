"""The course of a race over runs that are made up: who is trained, judged, dropped, and what is done only once."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from common.errors import ScenarioError
from envs.environments.backend import Backend
from envs.forecasts import Method
from envs.objective.columns import evaluation_columns
from envs.objective.evaluate import ValidityError
from envs.scenarios.scenario import Scenario
from envs.task import SiteTask
from envs.yardsticks.mpc_runs import NAMES
from envs.yardsticks.rows import bound_rows
from results.schema import SCHEMA_VERSION
from results.table_files import ResultsError, read_file, write_file, write_rows
from tuning.experiment.folder import create
from tuning.experiment.settings import Settings
from tuning.judging import race
from tuning.judging.evaluations import Job
from tuning.judging.folder import Contender, Judgement, RaceSettings, create_or_open
from tuning.judging.race import Race
from tuning.judging.settings import JudgeSettings, Mpc

YARDSTICK, LIMIT = {"contender": "uncontrolled", "year": 0}, {"contender": "bound of score", "year": 0}


def control(method: Method) -> dict[str, Any]:
    return {"contender": NAMES[method], "hours": 10, "score": 0.05, "backend": "batch"}


SCORES = {"good": 0.070, "close": 0.0699, "bad": 0.01}
WITHOUT = {"uncontrolled_ev_required_kwh": 10.0, "uncontrolled_ev_missing_kwh": 2.0, "uncontrolled_ev_served": 0.8}


@pytest.fixture
def console() -> Console:
    return Console(width=200, record=True)


class Made:
    """Stands in for training and for evaluations in other processes: notes what was asked, and makes up scores."""

    def __init__(self, patch: pytest.MonkeyPatch, schema: Path, folder: Path, console: Console) -> None:
        self.trained: list[tuple[str, int]] = []
        self.judged: list[str] = []
        self.failing: tuple[str, ...] = ()
        self.missing: dict[str, float] = {}
        self.scores = dict(SCORES)
        self.off_by = 0.0
        self._folder, self._console = folder, console
        patch.setattr(race, "train", self._train)
        patch.setattr(race, "run_all", self._run_all)
        patch.setattr(race, "prepare", lambda *arguments: None)
        patch.setattr(race, "ray_session", lambda *_: Console(quiet=True))
        patch.setattr(race, "baseline_job", lambda task, part: Job(part, lambda: [YARDSTICK]))
        patch.setattr(race, "yearly_jobs", self._yearly_jobs)
        patch.setattr(race, "run_jobs", self._run_jobs)
        self.settings = Settings(scenario=str(schema), backend="batch", name="of", dir=str(folder), steps=1000)
        create(self.settings)

    def _train(self, experiment: Any, runs: int, console: Console) -> list[int]:
        name = experiment.settings.name
        self.trained.append((name, runs))
        return list(range(runs - (name in self.failing)))

    def _run_jobs(
        self, task: SiteTask, folder: Path, number: int, about: dict[str, Any], backend: str, part: Path
    ) -> list[Job]:
        score = self.scores[about["contender"]] + 1e-3 * (number % 3) + 1e-4 * (number % 2) * (about["contender"] == "close")
        score += self.off_by * (backend == "citylearn")
        row = {**about, "year": 0, "hours": 10, "backend": backend, "score": score, "steps": 1, "uncontrolled_co2_kg": 7.0}
        vehicles = {"ev_required_kwh": 10.0, "ev_missing_kwh": self.missing.get(about["contender"], 2.0)}
        # Who scores best has the highest peak.
        peaks = {"peak_kw": 1000.0 * score, "ev_served": 1.0 - vehicles["ev_missing_kwh"] / 10.0}
        return [Job(part, lambda: [{**row, **vehicles, **peaks, **WITHOUT}])]

    def _yearly_jobs(self, rows: Callable[..., Any], task: SiteTask, part: Path, what: Any) -> list[Job]:
        found = LIMIT if rows is bound_rows else {**YARDSTICK, **control(what)}
        return [Job(part, lambda: [found])]

    def _run_all(self, jobs: list[Job], on_done: Callable[[list[dict[str, Any]]], None], on_wait: Any, currency: str) -> None:
        for job in jobs:
            self.judged.append(job.part.stem)
            rows = job.evaluate()
            write_file(job.part, rows, measures=evaluation_columns())
            if rows:
                on_done(rows)

    def judgement(self, names: tuple[str, ...] = tuple(SCORES), seeds: int = 5) -> Judgement:
        made = [Contender(name, str(self._folder / "of"), {"gamma": 0.9}) for name in names]
        asked = RaceSettings(self.settings.task.site.key, seeds, 0)
        return create_or_open(self._folder / "j", asked, made)[0]

    def run(self, judgement: Judgement, by: Backend = "citylearn", mpc: tuple[Mpc, ...] = ("none",)) -> Race:
        found = Race(judgement, self.settings.task, JudgeSettings((), backend=by, mpc=mpc), self._console)
        found.run()
        return found


@pytest.fixture
def made(small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, console: Console) -> Made:
    return Made(monkeypatch, small_schema, tmp_path, console)


def test_who_is_behind_is_trained_no_more_and_citylearn_judges_who_is_left(made: Made, console: Console) -> None:
    made.run(made.judgement())
    assert made.trained == [(name, 3) for name in SCORES] + [("good", 5), ("close", 5)]
    by_citylearn = [name for name in made.judged if name.endswith("-citylearn")]
    assert sorted(by_citylearn) == sorted(f"{name}-{number:03d}-citylearn" for name in ("good", "close") for number in range(5))
    assert "bad is out of the race: good is better by +0.0600" in console.export_text()


def test_without_citylearn_the_batch_backend_has_the_last_word(made: Made) -> None:
    made.run(made.judgement(), "batch")
    assert not any(name.endswith("citylearn") for name in made.judged)
    # It can have it later.
    before = len(made.judged)
    made.run(made.judgement())
    assert made.judged[before:]
    assert all(name.endswith("citylearn") for name in made.judged[before:])


def test_the_objective_decides_who_is_behind(made: Made, console: Console) -> None:
    made.settings = replace(made.settings, objective="peak_kw")
    found = made.run(made.judgement(), "batch")
    assert found.finalists == ["bad"]
    assert "bad, run 4: score +0.0110, peak_kw 11.0 kW by batch" in console.export_text()


def test_who_misses_a_requirement_leaves_the_race_whatever_its_score(made: Made, console: Console) -> None:
    made.settings = replace(made.settings, require=("ev_served>=0.79",))
    made.missing = {"good": 2.2}  # it serves more than is needed otherwise
    found = made.run(made.judgement(), "batch")
    assert "good" not in found.finalists
    assert found.finalists
    assert (
        "good is out of the race: it cannot win, as it misses ev_served >= 0.79 (it has 0.7800; the uncontrolled site"
        in console.export_text()
    )


def test_a_split_that_counts_no_stay_is_not_judged(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(site: Scenario, split: str) -> None:
        assert split == "test"
        raise ScenarioError("no stay")

    monkeypatch.setattr("envs.environments.fit.check_stays", refuse)
    with pytest.raises(ScenarioError, match="no stay"):
        made.run(made.judgement(), "batch")
    assert not made.trained


def test_chosen_forecasts_are_judged_once_and_others_can_be_added(made: Made, console: Console) -> None:
    judgement = made.judgement()
    made.run(judgement, "batch")
    assert not any(name.startswith("mpc") for name in made.judged)
    made.run(judgement, "batch", ("seven-days",))
    made.run(judgement, "batch", ("seven-days", "exact"))
    assert [name for name in made.judged if name.startswith("mpc")] == ["mpc-seven-days-batch", "mpc-exact-batch"]
    assert "MPC: seven days: score +0.0500 by batch" in console.export_text()


def test_a_failed_run_is_told_by_its_exception_and_not_by_the_last_line_of_it(made: Made) -> None:
    (contender,), found = made.judgement(("good",)).contenders, made.run(made.judgement(("good",)), "batch")
    error = 'Traceback:\n  File "pump.py", line 3, in step\n    valve()\nValueError: no luck\n  with this valve'
    row = {"trial": 0, "state": "failed", "error": error}
    write_rows(found._experiments["good"].paths.folder, "trials", 0, [row], {})
    assert found._failure(contender) == "run 0 failed: ValueError: no luck"


def test_a_contender_without_its_runs_leaves_the_race(made: Made, console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    made.failing = ("good",)
    monkeypatch.setattr(Race, "_failure", lambda self, contender: "run 2 failed: it diverged")
    found = made.run(made.judgement())
    assert found.failed == {"good": "run 2 failed: it diverged"}
    assert found.finalists == ["close"]
    assert ("good", 5) not in made.trained
    assert ("close", 5) in made.trained
    assert "good is out of the race: run 2 failed: it diverged" in console.export_text()
    made.failing = tuple(SCORES)
    made.judged.clear()
    none_left = made.run(made.judgement())
    assert set(none_left.failed) == set(SCORES)
    assert not none_left.finalists
    assert not made.judged


def test_who_does_not_serve_its_vehicles_drops_nobody_and_is_dropped(made: Made, console: Console) -> None:
    made.scores["bad"] = 0.09
    made.missing["bad"] = 2.5  # 7.5 of 8 kWh are less than 95 %
    found = made.run(made.judgement())
    assert found.finalists == ["good", "close"]
    assert ("bad", 5) not in made.trained
    assert (
        "bad is out of the race: it cannot win, as it misses ev_served >= 0.76 (it has 0.7500; the uncontrolled site"
        in console.export_text()
    )


def test_at_the_last_look_who_does_not_serve_is_not_judged_by_citylearn(made: Made) -> None:
    made.missing = dict.fromkeys(SCORES, 9.0)
    assert not made.run(made.judgement(seeds=3)).finalists
    assert not any(name.endswith("citylearn") for name in made.judged)


def test_a_judgement_that_is_continued_decides_as_it_did_and_judges_nothing_again(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    judgement = made.judgement()
    first = made.run(judgement).finalists
    before = len(made.judged)
    assert len(set(made.judged)) == before
    # All of the five runs are there at its first look, too.
    monkeypatch.setattr(race, "train", lambda experiment, runs, console: list(range(5)))
    assert made.run(judgement).finalists == first
    assert len(made.judged) == before


def test_where_only_citylearn_steps_it_judges_baselines_too_and_there_is_no_bound(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envs.task.beyond_batch", lambda *_: ["outages"])
    for name in ("why_no_bound", "why_no_mpc"):
        monkeypatch.setattr(race.fit, name, lambda site: "outages are beyond a linear programme")
    made.run(made.judgement())
    assert all(name.endswith("-citylearn") for name in made.judged)
    assert made.judged.count("baselines-citylearn") == 1


def test_a_choice_of_forecasts_that_plan_nothing_is_told(made: Made, console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(race.fit, "why_no_mpc", lambda site: "outages are beyond a linear programme")
    made.run(made.judgement(), "batch")
    assert "no model predictive control" not in console.export_text()
    made.run(made.judgement(), "batch", ("learned",))
    assert "no model predictive control: outages are beyond a linear programme" in console.export_text()
    made.settings = replace(made.settings, reward="schema")
    made.run(made.judgement(), "batch", ("learned",))
    assert "no model predictive control: it plans for the reward improvement" in console.export_text()
    assert not any(name.startswith("mpc") for name in made.judged)


def test_a_site_can_have_model_predictive_control_and_no_bound(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(race.fit, "why_no_bound", lambda site: "this site has thermal storages")
    made.run(made.judgement(), "batch", ("yesterday",))
    assert any(name.startswith("mpc-yesterday") for name in made.judged)
    assert not any(name.startswith("bounds") for name in made.judged)


def test_backends_that_disagree_are_an_error(made: Made) -> None:
    made.off_by = 1e-3
    with pytest.raises(ValidityError, match=r"good, year 0: score is 0\.07"):
        made.run(made.judgement())


def test_a_part_that_is_damaged_or_of_something_else_is_named_and_made_again(made: Made, console: Console) -> None:
    made.run(made.judgement(), "batch")
    first = made.judgement().paths
    parts = {name: first.part(name, "batch") for name in ("good-000", "good-001", "close-000", "baselines")}
    rows = {name: read_file(path) for name, path in parts.items()}
    parts["good-000"].write_bytes(b"PAR1")
    shutil.copyfile(parts["close-000"], parts["good-001"])
    parts["baselines"].write_bytes(parts["baselines"].read_bytes()[:100])
    made.judged.clear()
    made.run(made.judgement(), "batch")
    assert sorted(made.judged) == ["baselines-batch", "good-000-batch", "good-001-batch"]
    assert {name: read_file(path) for name, path in parts.items()} == rows
    said = console.export_text()
    assert f"{parts['good-000']} is made again: " in said
    assert f"{parts['good-001']} is made again: it is of run 0, not 1" in said


@pytest.mark.parametrize("newer", [True, False])
def test_a_part_of_a_later_version_and_a_folder_are_not_written_over(made: Made, newer: bool) -> None:
    made.run(made.judgement(), "batch")
    part = made.judgement().paths.part("good-000", "batch")
    if newer:
        table = pq.read_table(part, partitioning=None)
        pq.write_table(table.replace_schema_metadata({"schema_version": str(SCHEMA_VERSION + 1)}), part)
    else:
        part.unlink()
        part.mkdir()
    with pytest.raises(ResultsError, match="use the version that wrote it" if newer else "it is a folder"):
        made.run(made.judgement(), "batch")
