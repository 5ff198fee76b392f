"""At the end of a search its hours are run by rules, by model predictive control and by perfect foresight, once."""

import io
import shlex
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from common.errors import UserError
from common.storage.location import location
from envs.objective.aim import Aim
from envs.scenarios.scenario import weeks_of
from envs.task import SiteTask
from envs.yardsticks.baselines import UNCONTROLLED
from results import load
from results.report.subjects import read_rollout
from results.rollout import BESIDE
from tests.tuning.one_trial import one_trial
from tests.tuning.trial.small_trials import experiment
from tests.uploads import upload
from tuning.cli.command import parse
from tuning.experiment.folder import open_experiment
from tuning.judging.settings import HeadroomSettings
from tuning.search.run import yardsticks
from tuning.search.run.yardsticks import beside, write_week, write_yardsticks


def written(of: Any) -> tuple[list[str], str]:
    """Files that were written, by name, and what was said."""
    files, output = list[Path](), io.StringIO()
    write_yardsticks(of, files.append, Console(file=output, width=200))
    return [path.name for path in files], output.getvalue()


@pytest.mark.usefixtures("small_ray")
def test_the_hours_that_rated_the_trials_are_run_once(small_schema: Path, tmp_path: Path) -> None:
    of = replace(experiment(tmp_path / "one", small_schema, "ppo", objective="bill"), begun_with="/elsewhere/schema.json")
    files, said = written(of)
    assert files == ["bounds-batch.parquet", "baselines-batch.parquet"]
    assert said.startswith("comparing with rules, the bound and model predictive control")
    rows = load(of.paths.folder).yardsticks
    assert {UNCONTROLLED, "MPC: learned forecast", "bound of score", "bound of cost"} <= set(rows["contender"])
    assert "bound of co2" not in set(rows["contender"])
    assert set(rows["hours"]) == {sum(window.hours for window in of.settings.task.validation_windows)}
    assert set(rows["split"]) == {"validation"}
    assert set(rows["scenario"]) == {"/elsewhere/schema.json"}
    own = rows[rows["contender"] == UNCONTROLLED].iloc[0]
    assert own["score"] == 0.0
    assert written(of) == ([], "")


@pytest.mark.parametrize("given", [{"reward": "schema"}, {"backend": "citylearn"}])
def test_where_they_cannot_be_or_would_take_long_there_are_none(
    small_schema: Path, tmp_path: Path, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    if "backend" in given:
        monkeypatch.setattr("envs.task.SiteTask.why_not_batch", lambda self: "it cannot")
    backend = given.pop("backend", "batch")
    files, said = written(experiment(tmp_path / "one", small_schema, "ppo", backend, **given))
    assert not files
    assert said.startswith("not compared with rules, the bound and model predictive control: ")


def jobs_end(monkeypatch: pytest.MonkeyPatch, results: list[Any], done: list[float]) -> None:
    """Let jobs give these results, unless they are ended when these parts of them are done."""

    def run(jobs: list[Any], goes_on: Callable[[list[float]], bool]) -> list[Any]:
        assert len(jobs) == len(results)
        # The rules are waited for in any case.
        assert goes_on([0.9, *done[1:]])
        return results if goes_on(done) else [own if part == 1.0 else None for own, part in zip(results, done, strict=True)]

    monkeypatch.setattr(yardsticks, "run_jobs", run)
    monkeypatch.setattr(yardsticks, "MOST_SECONDS", 0.0)


def test_what_takes_too_long_is_left_out_and_said(small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = experiment(tmp_path / "one", small_schema, "ppo", weights=("co2=0.6", "cost=0.4"))
    rules = yardsticks.baseline_rows(of.settings.site_task.judged, "validation", of.settings.site_task.validation_windows)
    jobs_end(monkeypatch, [rules, [], 1], [1.0, 0.5, 0.4])
    files, said = written(of)
    assert files == ["baselines-batch.parquet"]
    assert "left out, as it takes over a minute: the bound and model predictive control" in said
    assert "tuning.headroom" in said
    assert "--weights co2=0.6 cost=0.4" in said


def test_the_command_that_computes_what_is_left_out_is_taken(
    small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = experiment(tmp_path / "one", small_schema, "ppo", objective="co2_kg bill", trust_scenario=True)
    jobs_end(monkeypatch, [[], [], 1], [1.0, 0.5, 0.4])
    _, said = written(of)
    words = shlex.split(said.partition("tuning.headroom ")[2].partition(" computes all")[0])
    options = parse(HeadroomSettings, words, None, "headroom")
    assert options.trust_scenario
    assert not Aim.parse(options.weights, options.objective, options.require).second


@pytest.mark.parametrize(("done", "kept"), [(0.4, False), (0.6, True)])
def test_what_is_half_done_after_a_minute_is_not_thrown_away(
    small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: float, kept: bool
) -> None:
    jobs_end(monkeypatch, [[], [], 1], [1.0, 1.0, done])
    monkeypatch.setattr(yardsticks, "mpc_rows", lambda *_: [])
    _, said = written(experiment(tmp_path / "one", small_schema, "ppo"))
    assert ("left out" not in said) is kept


def test_an_error_costs_no_search_its_end(small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise UserError("no such file")

    monkeypatch.setattr(yardsticks, "run_jobs", fail)
    files, said = written(experiment(tmp_path / "one", small_schema, "ppo"))
    assert files == []
    assert "nothing to compare with: no such file" in said


@pytest.fixture(scope="module")
def trained(small_ray: None, small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of an experiment with a trial that was trained."""
    given = {"n_steps": 64, "batch_size": 64, "hidden_sizes": "16"}
    return one_trial(small_schema, tmp_path_factory.mktemp("trained"), 256, given).paths.folder


def test_the_winners_hardest_week_is_written_once_beside_other_controllers(trained: Path, tmp_path: Path) -> None:
    of = open_experiment(shutil.copytree(trained, tmp_path / "one"))
    files, output = list[Path](), io.StringIO()
    for _ in range(2):
        write_week(of, files.append, Console(file=output, width=200))
    assert [path.name for path in files] == ["hardest-week.parquet"]
    assert output.getvalue() == "running trial 0 through the hardest hours\n"
    week = read_rollout(files[0])
    assert week.about["trial"] == "0"
    assert {*BESIDE} <= {*week.table}
    # Each is what its controller does: none like the site without control, and perfect foresight like no other.
    nets = week.table[["net_kwh", "uncontrolled_net_kwh", *BESIDE]]
    assert nets.notna().all(axis=None)
    assert len({tuple(nets[name].round(6)) for name in nets}) == 4
    # A file of other steps of the policy is written anew.
    steps = week.about["steps"]
    of_others = pq.read_table(files[0])
    pq.write_table(of_others.replace_schema_metadata({**of_others.schema.metadata, b"steps": b"7"}), files[0])
    write_week(of, files.append, Console(quiet=True))
    assert read_rollout(files[1]).about["steps"] == steps == f"{load(of.paths.folder).best['kept_steps']:.0f}"
    missing = replace(of, settings=replace(of.settings, keep_checkpoints="best:0"))
    for path in (of.paths.checkpoints(0)).rglob("*"):
        if path.is_file():
            path.unlink()
    files[0].unlink()
    write_week(missing, files.append, Console(file=output, width=200))
    assert "the hardest hours are not shown: trial 0 of " in output.getvalue()


def test_at_quarters_of_an_hour_other_controllers_have_a_value_an_hour_too(quarters: Path) -> None:
    task = SiteTask(str(quarters))
    (week,) = weeks_of((replace(task.validation_windows[0], hours=96),))
    found = beside(task, week)
    assert {name: len(values) for name, values in found.items()} == {"mpc_net_kwh": 24, "bound_net_kwh": 24}
    assert found["mpc_net_kwh"].sum() == pytest.approx(found["bound_net_kwh"].sum(), rel=0.2)


def test_the_week_of_a_search_in_a_storage_is_of_the_checkpoint_there(trained: Path, tmp_path: Path) -> None:
    of = open_experiment(shutil.copytree(trained, tmp_path / "one"))
    uri = (tmp_path / "stored" / "one").as_uri()
    upload(of.paths.folder, uri)
    shutil.rmtree(of.paths.checkpoints(0))
    files = list[Path]()
    write_week(replace(of, storage=location(uri)), files.append, Console(quiet=True))
    assert [path.name for path in files] == ["hardest-week.parquet"]
    assert files[0].is_relative_to(of.paths.folder)
