"""The main job, whole: real processes, CityLearn, RLlib, Ray, Parquet."""

import contextlib
import io
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from results import Results, load
from tests.tuning.killed_search import numbers
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import ExperimentPaths, open_experiment
from tuning.run import main
from tuning.search.record.study import read_trials
from tuning.trial.checkpoint import Checkpoints

STEPS = 512
COPIES = 4  # 64 transitions leave 16 hours to each
FIXED = ("hidden_sizes=32,32", "batch_size=32", "n_steps=64", "n_epochs=2", "plan=none")


def command(schema: Path, folder: Path, *arguments: str) -> list[str]:
    """Arguments of a search; later ones count."""
    return [
        "--algo", "ppo", "--scenario", str(schema), "--dir", str(folder), "--name", "job", "--steps", str(STEPS),
        "--trials", "2", "--evaluations", "2", "--validation-weeks", "1", "--set", *FIXED, "--concurrency", "2", *arguments,
    ]  # fmt: skip


def ran(arguments: list[str]) -> str:
    """Run a search in this process, with the Ray that runs; what it printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        status = main(arguments)
    assert status == 0, printed.getvalue()
    return printed.getvalue()


def resume(folder: Path, *arguments: str) -> None:
    ran(["--resume", str(folder / "job"), *arguments])


@pytest.fixture(scope="module")
def job(small_ray: None, small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("job")
    said = ran(command(small_schema, folder))
    for text in ("Best of 2 trials", "batch_size=32", "the uncontrolled site scores 0", str(folder / "job" / "results")):
        assert text in said
    return folder


@pytest.fixture(scope="module")
def results(job: Path) -> Results:
    return load(job / "job")


def test_two_trials_are_complete_and_read_back(results: Results) -> None:
    trials = results.trials
    assert trials["state"].tolist() == ["complete"] * 2
    # An update takes in what all copies collect in the hour in which the last transition is due.
    assert trials["steps"].between(STEPS, STEPS + COPIES * STEPS // 64).all()
    assert trials["num_envs"].tolist() == [COPIES] * 2
    assert trials["backend"].tolist() == ["batch"] * 2
    assert trials["seed"].nunique() == 2
    assert trials["score"].notna().all()
    assert results.best["score"] == trials["score"].max()


def test_what_the_trainer_used_is_what_the_search_gave(results: Results) -> None:
    given = [name for name in results.trials.columns if name.startswith("hp_")]
    assert len(given) == len(algorithm("ppo").space.parameters)
    for name in given:
        used = results.trials[name.replace("hp_", "used_")]
        if name == "hp_cuda_graphs":
            assert not used.any(), "these trials learn on the CPU"
        elif results.trials[name].isna().all():
            assert used.isna().all(), name
        elif used.dtype == np.float64:
            np.testing.assert_allclose(used, results.trials[name], rtol=1e-6, err_msg=name)
        else:
            assert used.tolist() == results.trials[name].tolist(), name


def test_there_is_a_report_an_update_and_a_score_an_evaluation(results: Results) -> None:
    for _, reports in results.reports.groupby("trial"):
        assert reports["update"].tolist() == list(range(1, STEPS // 64 + 1))
        assert reports["steps"].diff().dropna().between(64, 64 + COPIES).all()
        assert reports["score"].notna().tolist() == [update in (4, 8) for update in reports["update"]]
        for column in ("policy_loss", "value_loss", "entropy", "gradient_norm", "steps_per_second", "rss_bytes"):
            assert reports[column].notna().all(), column
        assert (reports["gradient_steps"] >= 2 * 2).all()


def test_evaluations_hold_kpis_of_the_controlled_and_the_uncontrolled_site(results: Results) -> None:
    evaluations = results.evaluations
    assert {"uncontrolled", "bound of score"} <= set(evaluations["contender"])
    evaluations = evaluations[evaluations["contender"].isna()]
    assert len(evaluations) == 4
    assert (evaluations["hours"] == 24).all()
    terms = evaluations[[f"term_{term}" for term in ("co2", "cost", "solar", "grid", "ev", "peak")]].sum(axis=1)
    np.testing.assert_allclose(evaluations["score"], terms)
    assert evaluations["uncontrolled_import_kwh"].nunique() == 1
    assert (evaluations["uncontrolled_battery_cycles"] == 0.0).all()
    # What only a judgement says, and what only sites have that compute temperatures.
    elsewhere, comfort = ("contender", "algorithm", "seed", "further"), ("discomfort", "outage_", "citylearn_2023")
    known = [name for name in evaluations if not name.removeprefix("uncontrolled_").startswith((*elsewhere, *comfort))]
    assert evaluations[known].notna().all().all()
    balance = evaluations["consumption_kwh"] - evaluations["pv_kwh"] - evaluations["import_kwh"] + evaluations["export_kwh"]
    # What is left is what the battery lost and stored; it holds 1,700 kWh.
    assert (balance.abs() < 1700.0).all()
    last = evaluations.groupby("trial")["score"].last()
    assert last.tolist() == results.trials["score"].tolist()


def test_work_that_the_study_does_not_know_is_done_again_and_more_trials_are_run(job: Path, results: Results) -> None:
    experiment = open_experiment(job / "job")
    # As after a kill between the rows of a last evaluation and its entry in the study.
    entries = experiment.paths.study.read_text(encoding="utf-8").splitlines(keepends=True)
    last = next(place for place, entry in enumerate(entries) if json.loads(entry).get("step") == STEPS)
    experiment.paths.study.write_text("".join(entries[:last]), encoding="utf-8")
    resume(job, "--trials", "3")
    after = load(job / "job")
    assert after.trials["state"].tolist() == ["complete"] * 3
    pd.testing.assert_frame_equal(
        numbers(after.reports[after.reports["trial"] < 2]), numbers(results.reports), check_exact=True
    )
    told = read_trials(experiment)
    assert [trial.value for trial in told] == after.trials["score"].tolist()
    assert [len(trial.intermediate_values) for trial in told] == [2, 2, 2]


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C cannot be sent to one process of a Windows console")
def test_ctrl_c_stops_and_says_how_to_go_on_from_the_checkpoint(small_schema: Path, tmp_path: Path) -> None:
    """As a user starts it, with a Ray of its own."""
    # CityLearn is slow enough to be stopped in time.
    arguments = command(
        small_schema, tmp_path, "--trials", "1", "--evaluations", "8", "--steps", "1024", "--backend", "citylearn"
    )
    program = [sys.executable, "-m", "tuning.run", *arguments]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout
        for line in process.stdout:
            if line.startswith("trial 0: score"):
                break
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        output = process.stdout.read()
        assert process.wait() == 130, output
    assert f"--resume {tmp_path / 'job'}" in output
    assert "Traceback" not in output
    stopped = load(tmp_path / "job")
    assert stopped.trials["state"].tolist() == ["running"]
    reached = int(stopped.trials["steps"][0])
    assert 128 <= reached < 1024
    assert stopped.reports["steps"].max() == reached == Checkpoints(ExperimentPaths(tmp_path / "job").checkpoints(0)).steps
