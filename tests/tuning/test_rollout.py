"""A trial's policy comes back as it was, and its hours add up."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import ray
from one_trial import one_trial

from envs.episodes import Episode, Policy
from envs.factory import evaluation_env, windows_env
from envs.scenario import Window, scenario
from envs.vector_env import WindowsEnv
from envs.years import observation_layout
from results import load
from results.rollout import COLUMNS, draw_week, table
from search_spaces import SPACES, Assignment
from tuning.errors import UsageError
from tuning.experiment import Experiment, create, open_experiment, save
from tuning.policies import trained, trial_number
from tuning.records import TrialRecords
from tuning.rollout import main, series_of
from tuning.settings import Settings
from tuning.study import Proposal

STEPS = 1024


@pytest.fixture(scope="module")
def experiment(small_ray: None, small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    """With one complete trial, on a Ray that its policy comes back on."""
    small: Assignment = {"n_steps": 128, "batch_size": 64, "hidden_sizes": "16"}
    return one_trial(small_schema, tmp_path_factory.mktemp("rollout"), STEPS, small)


def test_a_checkpoints_policy_acts_as_the_trials_did(experiment: Experiment) -> None:
    row = load(experiment.paths.folder).evaluations.iloc[-1]
    env = evaluation_env(str(experiment.settings.scenario), "batch", "validation", 1)
    with trained(experiment, 0) as found:
        (episode,) = env.episodes(found.policy)
    assert episode.reward / episode.window.hours == row["score"]
    assert found.steps == row["steps"]


def test_the_hours_of_a_year_add_up_and_are_citylearns(experiment: Experiment, tmp_path: Path) -> None:
    found = []
    for backend in ("batch", "citylearn"):
        to = tmp_path / backend
        assert main([str(experiment.paths.folder), "--to", str(to), "--backend", backend, "--week", "1"]) == 0
        found.append(check_hours(to, backend))
    np.testing.assert_allclose(found[0], found[1], atol=0.05)


def check_hours(folder: Path, backend: str) -> pd.DataFrame:
    (path,) = folder.glob("*.parquet")
    content = pq.read_table(path)
    assert content.schema.metadata[b"trial"] == b"0"
    assert content.schema.metadata[b"backend"] == backend.encode()
    assert all(content.schema.field(name).metadata[b"unit"] == b"kWh" for name in ("load_kwh", "other_kwh"))
    frame = content.to_pandas()
    assert len(frame) > 900
    # Load and PV are the site's data, the others what a backend made of them; the site has no other devices.
    balance = frame["load_kwh"] - frame["pv_kwh"] + frame["battery_kwh"] + frame["charging_kwh"]
    np.testing.assert_allclose(balance, frame["net_kwh"], atol=0.01)
    np.testing.assert_allclose(balance + frame["other_kwh"], frame["net_kwh"], atol=1e-6)
    np.testing.assert_allclose(frame["import_kwh"] - frame["export_kwh"], frame["net_kwh"], atol=1e-6)
    assert (frame["load_kwh"] > 1.0).all()
    assert frame["battery_kwh"].abs().sum() > 0.0
    (picture,) = folder.glob("*.png")
    assert picture.stat().st_size > 10_000
    return frame


def test_load_is_the_sites_and_what_it_does_not_explain_is_of_other_devices(experiment: Experiment) -> None:
    (episode,) = idle_episodes(experiment)
    net = episode.run.net_kwh + 2.0
    series = series_of(replace(episode, run=replace(episode.run, net_kwh=net)))
    np.testing.assert_array_equal(series["load_kwh"], episode.reference.exogenous.load_kwh[:, :24].sum(axis=0))
    np.testing.assert_allclose(series["other_kwh"], 2.0, atol=0.01)


def idle_episodes(experiment: Experiment) -> list[Episode]:
    env = windows_env(scenario(str(experiment.settings.scenario)), "batch", (Window(0, 0, 24),))
    actions = len(observation_layout(scenario(str(experiment.settings.scenario))).actions)
    return list(env.episodes(lambda observations: np.zeros((len(observations), actions), dtype=np.float32)))


def test_a_run_whose_energy_does_not_add_up_is_not_written(
    experiment: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = WindowsEnv.episodes

    def lossy(env: WindowsEnv, policy: Policy) -> Iterator[Episode]:
        for episode in whole(env, policy):
            yield replace(episode, run=replace(episode.run, net_kwh=episode.run.net_kwh - 5.0))

    monkeypatch.setattr(WindowsEnv, "episodes", lossy)
    assert main([str(experiment.paths.folder), "--to", str(tmp_path / "rolled")]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "which its parts do not make" in line
    assert not list((tmp_path / "rolled").iterdir())


@pytest.fixture
def beyond_batch(experiment: Experiment, tmp_path: Path) -> Path:
    """The experiment, of a site with something that the batch backend does not know."""
    site = shutil.copytree(Path(experiment.settings.scenario).parent, tmp_path / "site")
    schema = json.loads((site / "schema.json").read_text(encoding="utf-8"))
    (site / "schema.json").write_text(json.dumps({**schema, "something_new": True}), encoding="utf-8")
    folder = shutil.copytree(experiment.paths.folder, tmp_path / "copy")
    copy = open_experiment(folder)
    save(replace(copy, settings=replace(copy.settings, scenario=str(site / "schema.json"))))
    return folder


def test_citylearn_steps_what_the_batch_backend_cannot(
    beyond_batch: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    to = tmp_path / "rolled"
    assert main([str(beyond_batch), "--to", str(to), "--backend", "batch"]) == 2
    assert "--backend batch cannot step site: 'something_new' of the schema" in capsys.readouterr().err
    assert not to.exists()
    monkeypatch.setattr("tuning.rollout.hours_of", lambda site, year: 192)
    assert main([str(beyond_batch), "--to", str(to)]) == 0
    (path,) = to.glob("*.parquet")
    assert pq.read_table(path).schema.metadata[b"backend"] == b"citylearn"


def test_the_batch_backend_steps_what_it_can(experiment: Experiment, tmp_path: Path) -> None:
    assert main([str(experiment.paths.folder), "--to", str(tmp_path)]) == 0
    (path,) = tmp_path.glob("*.parquet")
    assert pq.read_table(path).schema.metadata[b"backend"] == b"batch"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--trial", "7"], "--trial 7: it takes best, or a number from 0 to 0"),
        (["--trial", "worst"], "--trial worst"),
        (["--year", "3"], "has the one year 0"),
        (["--year", "-1"], "has the one year 0"),
        (["--week", "-1"], "--week -1: the whole weeks of this year are 0 to 4"),
        (["--week", "5"], "--week 5: the whole weeks of this year are 0 to 4"),
    ],
)
def test_what_is_not_there_is_one_line(
    experiment: Experiment, tmp_path: Path, arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(experiment.paths.folder), "--to", str(tmp_path / "rolled"), *arguments]) == 2
    error = capsys.readouterr().err
    assert line in error
    assert error.count("\n") == 1
    assert not (tmp_path / "rolled").exists()


def test_a_year_before_the_first_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of = create(Settings(scenario="iquitos", backend="batch", name="generated", dir=str(tmp_path)))
    TrialRecords(of).begin(Proposal(0, SPACES["ppo"].complete({}, {"steps": 1e6})))
    assert main([str(of.paths.folder), "--trial", "0", "--year", "-3", "--to", str(tmp_path / "rolled")]) == 2
    assert capsys.readouterr().err == "error: --year -3: it is at least 0\n"
    assert not (tmp_path / "rolled").exists()


@pytest.mark.parametrize("to", ["file", "file/rolled"])
def test_a_folder_that_cannot_be_created_is_one_line(
    experiment: Experiment, tmp_path: Path, to: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("kept", encoding="utf-8")
    assert main([str(experiment.paths.folder), "--to", str(tmp_path / to)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: --to {tmp_path / to}: cannot create")
    assert error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_folder_that_holds_no_experiment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert "no experiment" in capsys.readouterr().err


def test_a_trial_whose_checkpoints_were_dropped(experiment: Experiment, tmp_path: Path) -> None:
    empty = create(Settings(scenario=str(experiment.settings.scenario), backend="batch", name="none", dir=str(tmp_path)))
    TrialRecords(empty).begin(Proposal(0, SPACES["ppo"].complete({}, {"steps": 1e6})))
    assert trial_number(load(empty.paths.folder), "0") == 0
    with pytest.raises(UsageError, match="has no checkpoint"), trained(empty, 0):
        pass


def test_columns_are_all_there_or_it_is_an_error() -> None:
    series = {name: np.zeros(200) for name in COLUMNS}
    series |= {name: np.arange(200) for name in ("step", "month", "hour")}
    assert table(series, {}).num_rows == 200
    del series["price"]
    with pytest.raises(ValueError, match="columns of a rollout"):
        table(series, {})


def test_a_picture_has_the_hours_of_its_week() -> None:
    import matplotlib.pyplot as plt

    series = {name: np.arange(400.0) for name in COLUMNS}
    figure = draw_week(series, 168, "week")
    upper = figure.axes[0]
    assert [line.get_ydata()[0] for line in upper.lines[:4]] == [168.0] * 4
    assert len(upper.lines[0].get_ydata()) == 168
    plt.close(figure)


def test_a_process_without_ray_starts_one_and_ends_it(experiment: Experiment, tmp_path: Path) -> None:
    ray.shutdown()
    assert main([str(experiment.paths.folder), "--to", str(tmp_path)]) == 0
    assert not ray.is_initialized()
    assert list(tmp_path.glob("*.parquet"))
