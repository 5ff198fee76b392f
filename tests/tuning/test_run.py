"""The command line: bad input gets one clear line, and nothing is created."""

import json
import shutil
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest

from tuning.errors import UsageError
from tuning.run import main
from tuning.settings import Settings, changed


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
        (["--set", "gamma=1.5"], "gamma=1.5: it lies between 0 and 1"),
        (["--set", "gamma"], "--set gamma: it takes KEY=VALUE"),
        (["--set", "gamma=0.9", "--set", "gamma=0.8"], "gamma is set twice"),
        (["--set", "batch_size=512", "n_steps=256"], "batch_size=512: it is at most n_steps=256"),
        (["--set", "n_steps=2048", "--steps", "4096"], "n_steps=2048: it is at most 0.25 of steps=4096"),
        (["--scenario", "nowhere/schema.json"], "no file"),
        (["--scenario", "iquito"], "did you mean 'iquitos'"),
        (["--set", "batch_size=2048", "--steps", "4096"], "n_steps: it would have to be at least 2048"),
        (["--set"], "--set: it takes KEY=VALUE"),
        (["--preset", "oom-saf"], "did you mean oom-safe"),
        (["--preset", "oom-safe", "--start-from", "rllib"], "nothing for --start-from"),
        (["--start-from", "rllib", "nobody"], "no preset nobody of ppo"),
        (["--preset", "rtx4060-after", "--steps", "4096"], "n_steps=8192: it is at most 0.25 of steps=4096"),
        (["--space", "nowhere.toml"], "nowhere.toml: No such file"),
        (["--set", "learning_rate_final=0.5", "learning_rate_schedule=constant"], "it acts only with learning_rate_schedule"),
        (["--steps", "1", "--reports", "1"], "n_steps: it would have to be at least 2"),
        (["--trialz", "5"], "Unrecognized options: --trialz"),
        (["--trials", "x"], "Error parsing --trials"),
        (["--sampler", "foo"], "'random', 'gp', 'cmaes'"),
        (["--trials", "-1"], "--trials -1: it is at least 0"),
        (["--steps", "-5"], "--steps -5: it is at least 1"),
        (["--steps", "8", "--reports", "9"], "--reports 9"),
        (["--name", "a/b"], "--name a/b"),
        (["--resume", "nowhere"], "no experiment in"),
    ],
)
def test_bad_input_is_refused_in_one_line_and_nothing_is_created(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], message: str
) -> None:
    folder = tmp_path / "experiments"
    assert message in refused(capsys, "--dir", str(folder), *arguments)
    assert not folder.exists() or list(folder.iterdir()) == []


def test_an_experiment_that_exists_is_left_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    message = refused(capsys, "--dir", str(tmp_path), "--name", "mine")
    assert "--resume" in message
    assert list((tmp_path / "mine").iterdir()) == []


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


def test_a_continued_experiment_keeps_what_it_searches(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    settings = Settings(name="mine", dir=str(tmp_path), scenario="iquitos-38")
    (tmp_path / "experiment.json").write_text(json.dumps({"settings": settings.to_json()}), encoding="utf-8")
    message = refused(capsys, "--resume", str(tmp_path), "--scenario", "iquitos", "--seed", "3")
    assert "--scenario, --seed cannot change" in message


@pytest.mark.parametrize("content", ["{", "{}", '{"settings": {"colour": "red"}}'])
def test_a_damaged_experiment_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str) -> None:
    (tmp_path / "experiment.json").write_text(content, encoding="utf-8")
    assert refused(capsys, "--resume", str(tmp_path)).startswith("error: ")


def test_help_names_every_setting_and_needs_nothing_heavy() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "tuning.run", "--help"], capture_output=True, text=True, check=True
    )
    for setting in fields(Settings):
        assert f"--{setting.name.replace('_', '-')}" in done.stdout
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "tyro" in imported
    assert not imported & {"ray", "torch", "pandas", "optuna", "citylearn", "gymnasium"}


def test_settings_survive_their_file() -> None:
    settings = Settings(set=(("a=1", "b=2"), ("c=3",)), seed=4, name="x")
    assert Settings.from_json(json.loads(json.dumps(settings.to_json()))) == settings
    with pytest.raises(UsageError, match="another version"):
        Settings.from_json({"colour": "red"})


def test_set_takes_several_and_may_be_repeated() -> None:
    assert Settings(set=(("a=1", "b=x=y"), ("c=3",))).fixed_texts() == {"a": "1", "b": "x=y", "c": "3"}


def test_only_budget_and_machine_may_change_on_resume() -> None:
    before = Settings()
    assert changed(before, replace(before, trials=9, steps=9, concurrency=1, address="auto")) == []
    assert changed(before, replace(before, algo="ppo", reward="schema", seed=1)) == ["reward", "seed"]
