"""A trial's policy is restored as it was; its hours add up, and its files say what they hold."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import ray

from common.errors import UsageError
from common.storage.location import location
from common.storage.objects import Objects
from envs.environments.vector_env import WindowsEnv
from envs.environments.year_cache import whole_year, year_reference
from envs.objective.evaluate import Episode, Policy
from envs.scenarios.scenario import Splits, Window, scenario
from envs.task import SiteTask
from results import load
from results.rollout import ROLLOUT_VERSION
from search_spaces import Assignment
from tests.envs.objective.test_hours import made_up
from tests.envs.schema_changes import edited, put
from tests.tuning.one_trial import one_trial
from tests.tuning.trial.small_trials import completed
from tests.uploads import upload
from tuning.algorithms.registry import algorithm
from tuning.algorithms.trainer import Setup, Trainer
from tuning.experiment.folder import Experiment, create, open_experiment, save
from tuning.experiment.settings import Settings
from tuning.exporting.rollout import _year
from tuning.rollout import main
from tuning.trial.checkpoint import Checkpoint
from tuning.trial.policy import trained

STEPS = 1024


@pytest.fixture(scope="module")
def experiment(small_ray: None, small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    """With one complete trial, on a Ray that its policy comes back on."""
    small: Assignment = {"n_steps": 128, "batch_size": 64, "hidden_sizes": "16"}
    return one_trial(small_schema, tmp_path_factory.mktemp("rollout"), STEPS, small)


def test_a_checkpoints_policy_acts_as_the_trials_did(experiment: Experiment) -> None:
    row = load(experiment.paths.folder).evaluations.iloc[-1]
    env = experiment.settings.task.evaluation_env()
    with trained(experiment, 0) as found:
        (episode,) = env.episodes(found.policy)
    assert episode.reward / episode.window.hours == row["score"]
    assert found.steps == row["steps"]


@pytest.mark.usefixtures("small_ray")
def test_a_policy_for_single_buildings_runs_through_the_year_of_others(
    four_buildings: Path, two_buildings: Path, tmp_path: Path
) -> None:
    small: Assignment = {"n_steps": 64, "batch_size": 64, "hidden_sizes": "16", "shared_policy": True}
    of = one_trial(four_buildings, tmp_path, 128, small)
    assert main([str(of.paths.folder), "--scenario", str(two_buildings), "--to", str(tmp_path / "there")]) == 0
    (table,) = (tmp_path / "there").glob(f"*-on-{two_buildings.parent.name}.parquet")
    loads = year_reference(scenario(str(two_buildings)), 0).exogenous.load_kwh
    hours = pd.read_parquet(table)
    np.testing.assert_allclose(hours["load_kwh"], loads[:, : len(hours)].sum(axis=0))


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


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What rollouts of an experiment on the generated site ask for: its policy, its steps, its picture; nothing is run."""
    of = create(Settings(scenario="iquitos", backend="batch", name="one", dir=str(tmp_path), reward="schema"))
    completed(of, (0.1, {}), (0.2, {}))
    found: list[object] = []

    @contextmanager
    def policy_of(experiment: Experiment, number: int, elsewhere: None, split: str, keep: str) -> Iterator[SimpleNamespace]:
        assert keep == "best"
        found.append(number)
        yield SimpleNamespace(policy=None, steps=7, shares=True, on_site=of.settings.task)

    def env_of(task: SiteTask, windows: tuple[Window, ...], own_layout: bool) -> SimpleNamespace:
        # A policy for single buildings sees other ones through their own bounds.
        assert own_layout
        found.append((task, windows))
        return SimpleNamespace(episodes=lambda policy: [made_up(windows[0].year)], close=lambda: None)

    def draw(series: Mapping[str, np.ndarray], start: int, title: str) -> SimpleNamespace:
        found.append((start, title))
        return SimpleNamespace(savefig=lambda file, dpi: file.write(b"drawn"))

    monkeypatch.setattr("tuning.trial.policy.trained", policy_of)
    monkeypatch.setattr(SiteTask, "evaluation_env", env_of)
    monkeypatch.setattr("results.rollout.draw_week", draw)
    return found


@pytest.mark.parametrize(
    ("arguments", "hours", "trial", "year", "backend", "week"),
    [
        ([], 8759, 1, 3, "batch", 34),
        ([], 959, 1, 3, "batch", 4),
        (["--year", "0", "--week", "0"], 8759, 1, 0, "batch", 0),
        (["--trial", "0", "--year", "6", "--backend", "citylearn", "--week", "2"], 8759, 0, 6, "citylearn", 2),
    ],
)
def test_a_rollout_is_of_what_was_asked_for_and_its_file_says_so(
    asked: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    arguments: list[str], hours: int, trial: int, year: int, backend: str, week: int,
) -> None:  # fmt: skip
    monkeypatch.setattr("tuning.exporting.rollout.whole_year", lambda site, of: Window(of, 0, hours if of == year else 0))
    assert main([str(tmp_path / "one"), *arguments]) == 0
    title = f"iquitos, year {year}, trial {trial}: a week from day {7 * week + 1}"
    task = SiteTask("iquitos", backend=backend, reward="schema", validation_weeks=52)  # type: ignore[arg-type]
    assert asked == [
        trial,
        (task, (Window(year, 0, hours),)),
        (168 * week, title),
    ]
    name = f"trial-{trial:05d}-000000000007-year-{year}"
    files = [tmp_path / "one" / "rollouts" / f"{name}.{suffix}" for suffix in ("parquet", "png")]
    assert capsys.readouterr().out.splitlines() == [str(path) for path in files]
    assert sorted(files[0].parent.iterdir()) == files
    assert pq.read_schema(files[0]).metadata == {
        b"table": b"rollout", b"schema_version": str(ROLLOUT_VERSION).encode(), b"experiment": b"one",
        b"trial": str(trial).encode(), b"steps": b"7", b"scenario": b"iquitos", b"year": str(year).encode(),
        b"backend": backend.encode(), b"currency": b"PEN",
    }  # fmt: skip


def test_a_run_whose_energy_does_not_add_up_is_not_written(
    experiment: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = WindowsEnv.episodes

    def lossy(env: WindowsEnv, policy: Policy) -> Iterator[Episode]:
        for episode in whole(env, policy):
            yield replace(episode, run=replace(episode.run, net_kwh=episode.run.net_kwh - 5.0))

    monkeypatch.setattr(WindowsEnv, "episodes", lossy)
    assert main([str(experiment.paths.folder), "--to", str(tmp_path / "rolled")]) == 1
    doing, line = capsys.readouterr().err.splitlines()
    assert doing.startswith("running the policy of trial 0")
    assert "but its parts are" in line
    assert not (tmp_path / "rolled").exists()


@pytest.fixture
def beyond_batch(experiment: Experiment, tmp_path: Path) -> Path:
    """The experiment, of a site with something that the batch backend does not know."""
    schema = edited(Path(experiment.settings.scenario), tmp_path / "site", put("community_market", value={"enabled": True}))
    folder = shutil.copytree(experiment.paths.folder, tmp_path / "copy")
    copy = open_experiment(folder)
    save(replace(copy, settings=replace(copy.settings, scenario=str(schema))))
    return folder


def test_citylearn_steps_what_the_batch_backend_cannot(
    beyond_batch: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    to = tmp_path / "rolled"
    assert main([str(beyond_batch), "--to", str(to), "--backend", "batch"]) == 2
    assert "--backend batch cannot step site: 'community_market' of the schema" in capsys.readouterr().err
    assert not to.exists()
    monkeypatch.setattr("tuning.exporting.rollout.whole_year", lambda site, year: Window(year, 0, 192))
    assert main([str(beyond_batch), "--to", str(to)]) == 0
    (path,) = to.glob("*.parquet")
    assert pq.read_table(path).schema.metadata[b"backend"] == b"citylearn"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--trial", "7"], "--trial 7: there is no such trial, they go from 0 to 0; it takes best, or a number"),
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


def test_a_rollout_of_a_stated_split_has_its_hours_alone(small_schema: Path) -> None:
    task = SiteTask(str(small_schema), splits=Splits(("0-9",), ("10-12",), ("20-22",)))
    assert whole_year(task.site, 2) == Window(2, 7 * 24, 3 * 24 - 1)
    assert _year(None, task) == 2
    with pytest.raises(UsageError, match=r"--year 3: the ranges of the splits of .* have numbers from 0 to 2"):
        _year(3, task)
    with pytest.raises(UsageError, match="--year -3: it is at least 0"):
        _year(-3, SiteTask("iquitos"))


@pytest.mark.parametrize("to", ["file", "file/rolled", "read-only"])
def test_a_folder_that_cannot_be_created_or_written_to_is_one_line_before_the_year_is_run_through(
    experiment: Experiment, tmp_path: Path, to: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(WindowsEnv, "episodes", lambda env, policy: pytest.fail("it was run through"))
    (tmp_path / "file").write_text("kept", encoding="utf-8")
    if to == "read-only":
        # Whoever may do all could write there.
        refuse = MagicMock(side_effect=PermissionError(13, "Permission denied", "new"))
        monkeypatch.setattr("tuning.exporting.rollout.TemporaryFile", refuse)
    assert main([str(experiment.paths.folder), "--to", str(tmp_path / to)]) == 2
    *_, error = capsys.readouterr().err.splitlines()
    assert error.startswith(f"error: --to {tmp_path / to}: cannot create ")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("where", ["within", "restore"])
def test_a_policys_trainer_is_stopped_whatever_happens_and_a_ray_that_was_there_goes_on(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    stopped: list[bool] = []

    def watched(setup: Setup) -> Trainer:
        trainer = algorithm("ppo").build(setup)
        stop = trainer.stop

        def remember() -> None:
            stopped.append(ray.is_initialized())
            stop()

        monkeypatch.setattr(trainer, "stop", remember)
        return trainer

    def interrupt(*_: object) -> None:
        assert not stopped
        raise KeyboardInterrupt

    monkeypatch.setattr("tuning.trial.policy.algorithm", lambda name: replace(algorithm(name), build=watched))
    if where == "restore":
        monkeypatch.setattr(Checkpoint, "restore", interrupt)
    with pytest.raises(KeyboardInterrupt), trained(experiment, 0):
        interrupt()
    assert stopped == [True]
    assert ray.is_initialized()


def test_a_policy_at_a_uri_rolls_out_as_it_does_in_its_folder(
    experiment: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    uri = f"{(tmp_path / 'share').as_uri()}/of-others"
    upload(experiment.paths.folder, uri)
    monkeypatch.chdir(tmp_path)
    assert main([uri]) == 0
    (table,) = Path("rollouts/of-others").glob("trial-00000-*.parquet")
    assert str(table) in capsys.readouterr().out
    assert main([str(experiment.paths.folder), "--to", "here"]) == 0
    pd.testing.assert_frame_equal(pd.read_parquet(table), pd.read_parquet(Path("here", table.name)))
    assert main([uri, "--trial", "7"]) == 2
    Objects(location(uri)).remove(Objects(location(uri)).listed("trials/"))
    assert main([uri]) == 2
    assert f"trial 0 of {uri} has no checkpoint" in capsys.readouterr().err


@pytest.mark.slow
def test_a_process_without_ray_starts_one_and_ends_it(experiment: Experiment, tmp_path: Path) -> None:
    ray.shutdown()
    assert main([str(experiment.paths.folder), "--to", str(tmp_path)]) == 0
    assert not ray.is_initialized()
    assert list(tmp_path.glob("*.parquet"))
