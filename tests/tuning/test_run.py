"""The command line of the search: bad input is refused in one line, and nothing is created."""

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from common.errors import ScenarioError
from common.storage.location import StorageError
from envs.scenarios.scenario import scenario
from results import load
from results.table_files import write_rows
from tests.envs.appliances import with_appliance
from tests.envs.schema_changes import edited, put
from tests.results.trials import KINDS, trial
from tuning import run
from tuning.experiment.folder import Experiment, create, open_experiment, save
from tuning.experiment.settings import Settings
from tuning.run import NONE_COMPLETE, STOPPED, main
from tuning.search.proposals.plan import plan
from tuning.search.tune import SearchStoppedError
from tuning.trial.provenance import provenance


def test_a_search_that_is_stopped_leaves_a_current_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> Iterator[None]:
        raise KeyboardInterrupt
        yield

    opened = SimpleNamespace(experiment=SimpleNamespace(place=tmp_path))
    monkeypatch.setattr("tuning.search.tune.open_all", lambda *_: [opened])
    monkeypatch.setattr("tuning.search.tune.searched", stopped)
    for is_begun in (False, True):
        if is_begun:
            write_rows(tmp_path, "trials", 0, [trial(0, None, "running")], KINDS)
        with pytest.raises(KeyboardInterrupt):
            run._run(Settings(), [])
        assert (tmp_path / "report.html").is_file() == is_begun


def test_a_storage_that_is_lost_is_told_once_and_takes_no_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lost(path: Path) -> None:
        raise StorageError("s3://bucket/e: it does not answer")

    write_rows(tmp_path, "trials", 0, [trial(0, None, "running")], KINDS)
    monkeypatch.setattr("tuning.storage.stored_experiment.publish", lost)
    stopped = SearchStoppedError("s3://bucket/e: it does not answer", tmp_path)
    stopped.__cause__ = StorageError("s3://bucket/e: it does not answer")
    output = io.StringIO()
    assert run._status(stopped, Console(file=output, width=200), {}) == STOPPED
    assert (capsys.readouterr().err + output.getvalue()).count("does not answer") == 1
    assert "eport" not in output.getvalue()


def test_what_came_of_a_site_that_is_trusted_is_printed(small_schema: Path, tmp_path: Path) -> None:
    schema = edited(small_schema, tmp_path / "site", put("buildings", "mall", "type", value="unittest.TestCase"))
    of = create(Settings(scenario=str(schema), backend="citylearn", name="e", dir=str(tmp_path), trust_scenario=True))
    write_rows(of.paths.folder, "trials", 0, [trial(0, None, "failed")], KINDS)
    output = io.StringIO()
    console = Console(file=output, width=200)
    assert run._status(load(of.paths.folder), console, {"trust_scenario": True}) == NONE_COMPLETE
    assert "no trial is complete" in output.getvalue()
    with pytest.raises(ScenarioError, match="--trust-scenario"):
        run._status(load(of.paths.folder), console, {})


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "batchsize=64"], "did you mean batch_size"),
        (["--preset", "oom-safe", "--start-from", "rllib"], "nothing for --start-from"),
        (["--space", "nowhere.toml"], "nowhere.toml: No such file"),
        (["--steps", "1", "--evaluations", "1"], "n_steps: it would have to be at least 2"),
        (["--resume", "nowhere"], "no experiment of that name in"),
        (["site/schema.json"], "did you mean --scenario site/schema.json?"),
        (["--callback", "no.such.module:Name"], "it cannot be made (ModuleNotFoundError"),
    ],
)
def test_bad_input_is_refused_in_one_line_and_nothing_is_created(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], message: str
) -> None:
    folder = tmp_path / "experiments"
    assert message in refused(capsys, "--dir", str(folder), *arguments)
    assert not folder.exists() or list(folder.iterdir()) == []


def begun(folder: Path, space: Path | None = None, **settings: Any) -> Experiment:
    """An experiment before its first trial, as the command line creates it."""
    given = Settings(name="mine", dir=str(folder), scenario="iquitos-38", backend="batch", trials=4, **settings)
    given = replace(given, space=str(space)) if space else given
    compatibility = {
        "scenario": scenario(given.scenario).key,
        "space": plan(given, space, given.task).space.describe(),
        "machine": provenance(),
    }
    return create(given, compatibility)


def test_the_command_that_began_an_experiment_continues_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    experiment = begun(tmp_path, seed=7, set=(("gamma=0.9", "n_epochs=3"), ("clip_range=0.2",)))
    searched: list[Experiment] = []

    def search(found: Experiment, *_: Any) -> str:
        searched.append(found)
        return "enough"

    monkeypatch.setattr("tuning.search.run.driver.search", search)
    arguments = ["--dir", str(tmp_path), "--name", "mine", "--scenario", "iquitos-38", "--steps", "300000"]
    assert main([*arguments, "--set", "clip_range=0.2", "--set", "n_epochs=3", "gamma=0.9"]) == 1
    output = capsys.readouterr()
    assert "is continued" in output.out
    assert "error: enough" in output.err
    assert f"--resume {tmp_path / 'mine'}" in output.err
    # Settings that are not given again stay; the one that may change has changed and is stored.
    expected = replace(experiment.settings, steps=300_000)
    assert [found.settings for found in searched] == [expected]
    assert main([*arguments, "--set", "gamma=0.9"]) == 2
    assert open_experiment(tmp_path / "mine").settings == expected


def test_changed_code_is_reported_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    experiment = begun(tmp_path)
    old = {**provenance(), "versions": json.dumps({**json.loads(provenance()["versions"]), "ray": "2.59.0"})}
    save(replace(experiment, compatibility={**experiment.compatibility, "machine": old}))
    monkeypatch.setattr("tuning.search.run.driver.search", lambda *_: "enough")
    main(["--resume", str(tmp_path / "mine")])
    assert "ray 2.59.0 is 2.60" in capsys.readouterr().out
    # The new versions are stored.
    main(["--resume", str(tmp_path / "mine")])
    assert "2.59.0" not in capsys.readouterr().out


def test_the_same_data_may_lie_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], small_schema: Path, tmp_path: Path
) -> None:
    here, there = (shutil.copytree(small_schema.parent, tmp_path / name / "site") / "schema.json" for name in ("a", "b"))
    experiment = begun(tmp_path)
    settings = replace(experiment.settings, scenario=str(here))
    save(
        replace(experiment, settings=settings, compatibility={**experiment.compatibility, "scenario": scenario(str(here)).key})
    )
    shutil.rmtree(tmp_path / "a")
    assert "no file" in refused(capsys, "--resume", str(tmp_path / "mine"))
    monkeypatch.setattr("tuning.search.run.driver.search", lambda *_: "enough")
    assert main(["--resume", str(tmp_path / "mine"), "--scenario", str(there)]) == 1
    assert open_experiment(tmp_path / "mine").settings.scenario == str(there)


@pytest.mark.parametrize("fault", ["pricing.csv", "tariff.json"])
def test_a_faulty_scenario_is_refused_before_anything_is_created(
    capsys: pytest.CaptureFixture[str], small_schema: Path, tmp_path: Path, fault: str
) -> None:
    folder = shutil.copytree(small_schema.parent, tmp_path / "site")
    if fault == "pricing.csv":
        (folder / fault).unlink()
    else:
        (folder / fault).write_text("{}", encoding="utf-8")
    assert fault in refused(capsys, "--scenario", str(folder), "--dir", str(tmp_path / "experiments"))
    assert not (tmp_path / "experiments").exists()


def test_help_needs_nothing_heavy() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "tuning.run", "--help"], capture_output=True, text=True, check=True
    )
    assert "--scenario" in done.stdout
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "tyro" in imported
    assert not imported & {"ray", "torch", "pandas", "optuna", "citylearn", "gymnasium"}


def test_a_reward_that_does_not_fit_the_scenario_is_refused(
    small_schema: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path, folder = with_appliance(small_schema, tmp_path), tmp_path / "experiments"
    assert "--reward schema" in refused(capsys, "--scenario", str(path), "--dir", str(folder))
    assert not folder.exists()
