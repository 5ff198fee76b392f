"""An exported policy acts as the trained one, without this package, and says where it comes from."""

import json
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import pytest
import torch
from citylearn.citylearn import CityLearnEnv

from envs.environments.seen_year import seen_layout, seen_rows
from envs.environments.site_env import SiteEnv
from envs.objective.columns import evaluation_columns
from envs.objective.series import import_kwh
from envs.observation import ObservationLayout
from envs.scenarios.scenario import Window, scenario
from envs.scenarios.tariff import DemandCharge
from envs.seen import Seen
from envs.task import SiteTask
from results.table_files import add_rows
from search_spaces import Assignment
from tests.envs.schema_changes import edit, edited, put
from tests.tuning.exporting.judged_table import judgement_of
from tests.tuning.one_trial import one_trial
from tests.tuning.trial.small_trials import completed
from tuning.algorithms.registry import algorithm
from tuning.cli.command import parse
from tuning.experiment.folder import Experiment, create
from tuning.experiment.settings import Settings
from tuning.export import main
from tuning.exporting import controller
from tuning.exporting.model_card import hyperparameters_toml
from tuning.search.proposals.plan import plan
from tuning.trial.policy import Trained, trained
from tuning.trial.records import TrialRecords

STEPS = 256
VARIANTS: dict[str, tuple[str, Assignment]] = {
    "ppo": ("ppo", {}),
    "a2c, chargers learned, plain observations": ("a2c", {"learn_charging": True, "normalize_observations": False}),
    "sac": ("sac", {"learning_starts": 64, "buffer_size": 1000, "batch_size": 32}),
    "sac, chargers learned": ("sac", {"learning_starts": 64, "buffer_size": 1000, "batch_size": 32, "learn_charging": True}),
    "ppo, single buildings": ("ppo", {"shared_policy": True, "learn_charging": True}),
    "sac, single buildings": ("sac", {"shared_policy": True, "learning_starts": 64, "buffer_size": 1000, "batch_size": 32}),
}


def experiment(schema: Path, folder: Path, algo: str, change: Assignment) -> Experiment:
    """With one complete trial."""
    small: Assignment = {"hidden_sizes": "16"} | ({} if algo == "sac" else {"n_steps": 64, "batch_size": 32})
    return one_trial(schema, folder, STEPS, {**small, **change}, algo)


@pytest.fixture(scope="module")
def ppo(small_ray: None, small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    """Of the default algorithm."""
    return experiment(small_schema, tmp_path_factory.mktemp("ppo"), *VARIANTS["ppo"])


# Those that have most in them; the others take long.
EVERYDAY = ("sac, chargers learned", "ppo, single buildings")


@pytest.mark.parametrize(
    "variant", [name if name in EVERYDAY else pytest.param(name, marks=pytest.mark.slow) for name in VARIANTS]
)
def test_it_acts_as_the_trained_one(
    small_ray: None, small_schema: Path, four_buildings: Path, tmp_path: Path, variant: str
) -> None:
    algo, given = VARIANTS[variant]
    schema = four_buildings if "shared_policy" in given else small_schema
    of = experiment(schema, tmp_path, algo, given)
    to = tmp_path / "exported"
    assert main([str(of.paths.folder), "--to", str(to)]) == 0
    session = onnxruntime.InferenceSession(to / "policy.onnx")
    env = SiteTask(str(schema), backend="citylearn").evaluation_env((Window(0, 24, 60),))
    assert isinstance(env, SiteEnv)
    seen: list[np.ndarray] = []
    scale = env.layout.scale

    def remember(raw: np.ndarray) -> np.ndarray:
        seen.append(raw)
        return scale(raw)

    env.layout.__dict__["scale"] = remember
    taken = native_actions(env)
    with trained(of, 0) as found:
        list(env.episodes(found.policy))
    del env.layout.__dict__["scale"]
    env.close()
    (own,) = session.run(None, {"observations": np.array(seen[: len(taken)], dtype=np.float64)})
    span = env.simulator.action_high - env.simulator.action_low
    # Products of matrices are summed up in another order.
    np.testing.assert_allclose(own / span, np.array(taken) / span, atol=2e-6)
    assert np.ptp(own[:, 0]) > 1e-4
    assert observed(to) == list(env.layout.names)
    assert json.loads((to / "policy.json").read_text(encoding="utf-8"))["actions"] == list(env.layout.actions)


def native_actions(env: SiteEnv) -> list[np.ndarray]:
    """The actions that the simulator of an environment gets; it grows with its steps."""
    taken, native = list[np.ndarray](), env._native

    def watch(action: np.ndarray) -> np.ndarray:
        taken.append(native(action))
        return taken[-1]

    env._native = watch  # type: ignore[method-assign]
    return taken


def observed(to: Path) -> list[str]:
    """Names of the observations that an exported policy takes."""
    names: list[str] = json.loads((to / "policy.json").read_text(encoding="utf-8"))["observations"]
    return names


def drives_alike(to: Path, layout: ObservationLayout, found: Trained, batteries: Sequence[int]) -> None:
    """Check that an exported policy moves batteries as the trained one. They have the range from -1 to 1 in CityLearn too."""
    assert observed(to) == list(layout.names)
    raw = np.random.default_rng(0).uniform(layout.low, layout.high, (6, len(layout.names)))
    (own,) = onnxruntime.InferenceSession(to / "policy.onnx").run(None, {"observations": raw})
    expected = found.policy(layout.scale(raw))[:, batteries].clip(-1.0, 1.0)
    np.testing.assert_allclose(own[:, batteries], expected, atol=2e-6)


def with_empty_batteries(schema: Path) -> dict[str, Any]:
    """What a schema says, with batteries as empty at the start as they may be, as evaluations begin."""
    content: dict[str, Any] = json.loads(schema.read_text(encoding="utf-8"))
    for building in content["buildings"].values():
        if "electrical_storage" in building:
            attributes = building["electrical_storage"]["attributes"]
            attributes["initial_soc"] = 1.0 - attributes["depth_of_discharge"]
    return content | {"root_directory": str(schema.parent)}


@pytest.mark.parametrize("given", [pytest.param("none", marks=pytest.mark.slow), "yesterday"])
def test_a_policy_for_single_buildings_is_exported_for_others_too(
    small_ray: None, a_plan: None, four_buildings: Path, two_buildings: Path, tmp_path: Path, given: Any
) -> None:
    of = experiment(four_buildings, tmp_path, "ppo", {"shared_policy": True, "plan": given})
    to = tmp_path / "exported"
    assert main([str(of.paths.folder), "--to", str(to), "--scenario", str(two_buildings)]) == 0
    assert f"acts on | {two_buildings.parent.name}" in (to / "README.md").read_text(encoding="utf-8").replace("**", "")
    site, own = scenario(str(two_buildings)), Seen(plan=given)
    if given != "none":
        np.testing.assert_array_equal(np.load(to / "seen.npy"), seen_rows(site, 0, own))
    with trained(of, 0, SiteTask(str(two_buildings))) as found:
        drives_alike(to, seen_layout(site, own, own_layout=True), found, [0, 3])
        env = found.task.evaluation_env((Window(0, 0, 24),), own_layout=True)
        (episode,) = env.episodes(found.policy)
    assert np.ptp(episode.run.battery_kwh, axis=1).all()


def test_a_policy_for_a_whole_site_is_exported_for_no_other(
    ppo: Experiment, two_buildings: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    to = tmp_path / "no"
    assert main([str(ppo.paths.folder), "--to", str(to), "--scenario", str(two_buildings)]) == 2
    said = capsys.readouterr().err
    assert f"the policy of trial 0 cannot act on {two_buildings.parent.name}: it sees a site as a whole" in said
    assert not to.exists()


@pytest.mark.parametrize("shared", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_one_that_sees_a_plan_acts_on_citylearn_as_in_the_environment(
    small_ray: None, a_plan: None, four_buildings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], shared: bool,
) -> None:  # fmt: skip
    of = experiment(four_buildings, tmp_path, "ppo", {"shared_policy": shared, "plan": "yesterday"})
    to = tmp_path / "exported"
    assert main([str(of.paths.folder), "--to", str(to)]) == 0
    assert "plan=yesterday; seen.npy has it for each row" in (to / "README.md").read_text(encoding="utf-8")
    assert "has for the hours of this site's data and for no others" in capsys.readouterr().err
    site, own = scenario(str(four_buildings)), Seen(plan="yesterday")
    np.testing.assert_array_equal(np.load(to / "seen.npy"), seen_rows(site, 0, own))
    env = SiteTask(site.name, backend="citylearn", seen=own).evaluation_env((Window(0, 0, 48),), shared)
    assert isinstance(env, SiteEnv)
    assert observed(to) == list(env.layout.names)
    expected = native_actions(env)
    with trained(of, 0) as found:
        (episode,) = env.episodes(found.policy)
    env.close()

    # The controller on CityLearn itself.
    (tmp_path / "schema.json").write_text(json.dumps(with_empty_batteries(four_buildings)), encoding="utf-8")
    step, taken = CityLearnEnv.step, []

    def remember(self: CityLearnEnv, actions: list[list[float]]) -> Any:
        taken.append(actions[0])
        return step(self, actions)

    monkeypatch.setattr(CityLearnEnv, "step", remember)
    capsys.readouterr()
    runpy.run_path(str(to / "controller.py"))["main"](str(tmp_path / "schema.json"), 48)
    span = env.simulator.action_high - env.simulator.action_low
    np.testing.assert_allclose(np.array(taken) / span, np.array(expected) / span, atol=1e-5)
    assert f"48 hours, {import_kwh(episode.run.net_kwh).sum():,.1f} kWh imported" in capsys.readouterr().out


def test_one_that_sees_a_plan_acts_on_citylearn_in_a_stated_split_as_in_the_environment(
    small_ray: None, a_plan: None, four_buildings: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    h: Assignment = {"shared_policy": True, "plan": "yesterday", "hidden_sizes": "16", "n_steps": 64, "batch_size": 32}
    days = {"train": ("0-19",), "validation": ("20-24",), "test": ("25-28", "31-33")}
    of = one_trial(four_buildings, tmp_path, STEPS, h, **days, test_buildings=("one", "three"))
    given = [str(of.paths.folder), "--split", "test", "--to", str(to := tmp_path / "exported")]
    assert main([*given, "--scenario", "iquitos"]) == 2
    assert "--split test: it is of the site that trained" in capsys.readouterr().err
    assert main(given) == 0
    readme = (to / "README.md").read_text(encoding="utf-8")
    assert "for each row of" in readme
    assert "three" in readme
    site, example = scenario(str(four_buildings), splits=of.settings.splits), runpy.run_path(str(to / "controller.py"))
    schema = with_empty_batteries(four_buildings)
    for name, building in schema["buildings"].items():
        building["include"] = name in ("one", "three")
    path = tmp_path / "schema.json"

    def controlled(first: int, rows: int) -> str:
        path.write_text(
            json.dumps(schema | {"simulation_start_time_step": first, "simulation_end_time_step": first + rows - 1}),
            encoding="utf-8",
        )
        capsys.readouterr()
        example["main"](str(path))
        return capsys.readouterr().out

    with trained(of, 0, split="test") as found:
        # Of the split itself, between the bounds that the policy knows its buildings by.
        layout = seen_layout(site, Seen(plan="yesterday"), site.windows("test")[0].year, own_layout=True)
        drives_alike(to, layout, found, [layout.actions.index("electrical_storage")])
        env = found.task.evaluation_env(site.windows("test"), own_layout=True)
        *_, episode = env.episodes(found.policy)
    segment = site.segments[site.years("test")[-1]]
    expected = f"{segment.rows - 1} hours, {import_kwh(episode.run.net_kwh).sum():,.1f} kWh imported"
    assert expected in controlled(segment.first, segment.rows)
    # The day before does not belong to the split.
    with pytest.raises(SystemExit, match="has nothing for hour 0 of"):
        controlled(segment.first - 24, 48)


def test_the_example_controls_citylearn_without_this_package(small_schema: Path, ppo: Experiment, tmp_path: Path) -> None:
    to = tmp_path / "exported"
    assert main([str(ppo.paths.folder), "--to", str(to)]) == 0
    env = SiteTask(str(small_schema), backend="citylearn").evaluation_env((Window(0, 0, 48),))
    assert isinstance(env, SiteEnv)
    (tmp_path / "schema.json").write_text(json.dumps(with_empty_batteries(small_schema)), encoding="utf-8-sig")
    code = (
        f"import sys, runpy; sys.argv = ['controller.py', {str(tmp_path / 'schema.json')!r}, '48']; "
        f"runpy.run_path({str(to / 'controller.py')!r}, run_name='__main__'); "
        "assert not {'ray', 'tuning', 'envs'} & sys.modules.keys()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with trained(ppo, 0) as found:
        (episode,) = env.episodes(found.policy)
    env.close()
    imported = float(import_kwh(episode.run.net_kwh).sum())
    assert f"48 hours, {imported:,.1f} kWh imported" in done.stdout


SITE = {"backend": "citylearn", "reward": "schema", "validation_weeks": 9, "objective": "peak_kw", "require": ("bill<=9",)}
ENV = {
    "env": "CartPole-v1",
    "env_config": "{}",
    "episodes": 9,
    "objective": "info:cost",
    "minimize": True,
    "require": ("length<=9",),
}


@pytest.mark.parametrize(("algo", "kind"), [("ppo", SITE), ("a2c", SITE), ("sac", SITE), ("ppo", ENV)])
def test_hyperparameters_can_be_read_back_and_their_command_trains_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, algo: str, kind: dict[str, Any]
) -> None:
    own = Settings(algo=algo, num_envs=7, steps=123_456, evaluations=3, keep="last", seed=5, **kind)
    if not own.env:
        own = replace(own, scenario=str(tmp_path / "a site" / "schema.json"))
    space = plan(own, None).space if own.env else algorithm(algo).space
    given = space.complete({"hidden_sizes": "64,64", "clip_obs": None})
    path = tmp_path / "hyperparameters.toml"
    path.write_text(hyperparameters_toml(given, own), encoding="utf-8")
    # The command in the first line, as somebody would copy it.
    command = shlex.split(path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# python -m tuning.run "))
    settings = parse(Settings, command, Settings(), "python -m tuning.run")
    assert replace(settings, trials=0, space="", set=()) == own
    assert settings.trials == 1
    # The file stands in the folder that the command is given in.
    monkeypatch.chdir(tmp_path)
    found = plan(settings, Path(settings.space))
    assert found.space.complete(found.fixed) == given
    assert not any(parameter.search for parameter in found.space.parameters if parameter.name not in found.fixed)


FILES = ["README.md", "controller.py", "hyperparameters.toml", "mpc.npz", "policy.json", "policy.onnx"]


@pytest.mark.parametrize(
    ("arguments", "trial", "shown"),
    [
        ([], 1, "|  | year 2, 31 hours |"),
        (["--trial", "0"], 0, "|  | year 2, 30 hours |"),
        (["--trial", "0", "--judgement", "judgement"], 0, "| given 0 in judgement | 2 |"),
        (["--trial", "1"], 1, "| own | 2 |"),
    ],
)
def test_an_export_is_of_the_trial_and_the_judgement_that_were_asked_for(
    small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    arguments: list[str], trial: int, shown: str,
) -> None:  # fmt: skip
    of = create(Settings(scenario=str(small_schema), backend="batch", name="one", dir=str(tmp_path / "experiments")))
    records = TrialRecords(completed(of, *((gamma, {"gamma": gamma}) for gamma in (0.9, 0.95))))
    for number in range(2):
        for steps in (7, 14):
            row = {"trial": number, "steps": steps, "year": 2, "hours": 23 + steps // 7 * 7 + number}
            add_rows(of.paths.folder, "evaluations", number, [row], measures=evaluation_columns())

    @contextmanager
    def policy_of(experiment: Experiment, number: int, elsewhere: None, split: str, keep: str) -> Iterator[SimpleNamespace]:
        assert (number, split, keep) == (trial, "train", "best")
        yield SimpleNamespace(view=None, network=torch.nn.Identity(), steps=7, shares=False, changes=None)

    def own(experiment: Experiment) -> tuple[pd.DataFrame | None, str]:
        return (judgement_of("own", "another"), "own") if shown.startswith("| own") else (None, "")

    def given(experiment: Experiment, number: int, folder: Path) -> tuple[pd.DataFrame, str]:
        return judgement_of(name := f"given {number} in {folder}"), name

    monkeypatch.setattr("tuning.exporting.files.trained", policy_of)
    monkeypatch.setattr("tuning.exporting.files.own_judgement", own)
    monkeypatch.setattr("tuning.exporting.files.given_judgement", given)
    monkeypatch.setattr("tuning.exporting.files.write_onnx", lambda policy, path: path.touch())
    to = tmp_path / "new" / "mall"
    assert main([str(of.paths.folder), "--to", str(to), *arguments]) == 0
    assert capsys.readouterr().out.splitlines() == [str(to / name) for name in FILES]
    assert list(to.parent.iterdir()) == [to]
    assert sorted(path.name for path in to.iterdir()) == FILES
    # As readable as the files beside it.
    assert to.stat().st_mode == to.parent.stat().st_mode
    texts = {path.name: path.read_text(encoding="utf-8") for path in to.iterdir() if path.suffix != ".npz"}
    assert texts["hyperparameters.toml"] == hyperparameters_toml(records.assignment(trial), of.settings)
    assert texts["controller.py"] == Path(controller.__file__).read_text(encoding="utf-8")
    tariff = DemandCharge.of(small_schema)
    assert tariff
    assert json.loads(texts["policy.json"])["peak_hours"] == list(tariff.peak_hours)
    about = records.row(trial)
    facts = {
        "policy": f"one, trial {trial}", "algorithm": "ppo", "scenario": small_schema.parent.name, "reward": "improvement",
        "trained for": f"7 steps with seed {about['seed']}", "commit": about["git_commit"] or "not known",
    }  # fmt: skip
    assert all(f"| {name} | {value} |\n" in texts["README.md"] for name, value in facts.items())
    assert all(f"{name} {value}" in texts["README.md"] for name, value in json.loads(about["versions"]).items())
    rows = [line for line in texts["README.md"].splitlines() if line.startswith(("|  | year 2", "| own |", "| given "))]
    assert [row.startswith(shown) for row in rows] == [True]


@pytest.mark.parametrize("hidden", [("hour",), ("month",), ("month", "hour")], ids=" and ".join)
def test_peaks_that_the_example_cannot_count_are_refused_only_where_the_policy_sees_them(
    small_schema: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], hidden: tuple[str, ...]
) -> None:
    path = edited(small_schema, tmp_path / "site", lambda _: None)
    for name in hidden:
        edit(path, put("observations", name, "active", value=False))
    # Its trial has no checkpoint.
    of = completed(create(Settings(scenario=str(path), backend="batch", name="one", dir=str(tmp_path / "of"))), (0.1, {}))
    command = [str(of.paths.folder), "--trial", "0", "--to", str(tmp_path / "within" / "mall")]
    assert main(command) == 2
    error = capsys.readouterr().err
    told = f"its policy sees the month's peaks, but the site does not observe {' and '.join(hidden)}"
    assert told in error
    assert error.count("\n") == 1
    assert not (tmp_path / "within").exists()
    (path.parent / "tariff.json").unlink()
    assert main(command) == 2
    assert "has no checkpoint" in capsys.readouterr().err
