"""A trial's policy comes back as it was, and its hours add up."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from one_trial import one_trial

from envs.factory import evaluation_env
from results import load
from results.rollout import COLUMNS, draw_week, table
from search_spaces import SPACES, Assignment
from tuning.errors import UsageError
from tuning.experiment import Experiment, create
from tuning.policies import trained, trial_number
from tuning.ray_session import ray_session
from tuning.records import TrialRecords
from tuning.rollout import main
from tuning.settings import Settings
from tuning.study import Proposal

STEPS = 1024


@pytest.fixture(scope="module")
def experiment(small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    """With one complete trial."""
    small: Assignment = {"n_steps": 128, "batch_size": 64, "hidden_sizes": "16"}
    with ray_session(num_cpus=1):
        return one_trial(small_schema, tmp_path_factory.mktemp("rollout"), STEPS, small)


def test_a_checkpoints_policy_acts_as_the_trials_did(experiment: Experiment) -> None:
    row = load(experiment.paths.folder).evaluations.iloc[-1]
    env = evaluation_env(str(experiment.settings.scenario), "batch", "validation", 1)
    with ray_session(num_cpus=1), trained(experiment, 0) as found:
        (episode,) = env.episodes(found.policy)
    assert episode.reward / episode.window.hours == row["score"]
    assert found.steps == row["steps"]


def test_the_hours_of_a_year_add_up_and_are_citylearns(experiment: Experiment, tmp_path: Path) -> None:
    found = []
    for backend in ("batch", "citylearn"):
        to = tmp_path / backend
        assert main([str(experiment.paths.folder), "--to", str(to), "--backend", backend, "--week", "1"]) == 0
        found.append(check_hours(to))
    np.testing.assert_allclose(found[0], found[1], atol=0.05)


def check_hours(folder: Path) -> pd.DataFrame:
    (path,) = folder.glob("*.parquet")
    content = pq.read_table(path)
    assert content.schema.metadata[b"trial"] == b"0"
    assert content.schema.field("load_kwh").metadata[b"unit"] == b"kWh"
    frame = content.to_pandas()
    assert len(frame) > 900
    balance = frame["load_kwh"] - frame["pv_kwh"] + frame["battery_kwh"] + frame["charging_kwh"]
    np.testing.assert_allclose(balance, frame["net_kwh"], atol=1e-6)
    np.testing.assert_allclose(frame["import_kwh"] - frame["export_kwh"], frame["net_kwh"], atol=1e-6)
    assert (frame["load_kwh"] > 0.0).all()
    assert frame["battery_kwh"].abs().sum() > 0.0
    (picture,) = folder.glob("*.png")
    assert picture.stat().st_size > 10_000
    return frame


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--trial", "7"], "--trial 7: it takes best, or a number from 0 to 0"),
        (["--trial", "worst"], "--trial worst"),
        (["--year", "3"], "has the one year 0"),
    ],
)
def test_what_is_not_there_is_one_line(
    experiment: Experiment, arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(experiment.paths.folder), *arguments]) == 2
    error = capsys.readouterr().err
    assert line in error
    assert error.count("\n") == 1


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
