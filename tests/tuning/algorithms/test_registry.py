"""Algorithms by name and by settings."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from common.errors import UsageError
from results import load
from search_spaces import Assignment, SpaceError
from search_spaces.common import REWARD_SHARE
from search_spaces.overrides import override
from tests.tuning.algorithms.toy_algorithm import TOY as TOY_SPEC
from tuning.algorithms.memory import Problem, Workload
from tuning.algorithms.registry import algorithm, algorithm_of, names
from tuning.experiment.option_values import GROUP
from tuning.experiment.settings import Settings
from tuning.run import main

TOY = Path(__file__).parent / "toy_algorithm.py"


@pytest.mark.parametrize("name", names())
def test_an_algorithm_is_whole(name: str) -> None:
    spec = algorithm(name)
    default = spec.preset("default", {}, {"steps": 250_000.0})
    assert list(default) == [parameter.name for parameter in spec.space.parameters]
    assert 1 <= spec.copies(default, 32) <= 32
    for gpu in (False, True):
        terms = spec.memory(default, Workload(8, 250_000, 4, 12, gpu), Problem(28, 1, 28))
        assert all(term.nbytes >= 0 and term.formula for term in terms)
        assert {term.place for term in terms} == ({"vram", "ram"} if gpu else {"ram"})
        # What makes it smaller is something that can be set.
        assert {term.lever for term in terms} - {""} <= default.keys()


def test_an_unknown_name_is_refused_with_all_that_there_are() -> None:
    with pytest.raises(UsageError, match="there is no algorithm nope: there are sac, ppo, a2c"):
        algorithm("nope")


@pytest.mark.parametrize("value", ["tuning.algorithms.registry:names", "tuning.algorithms.on_policy.spec:PPO"])
def test_what_is_no_spec_of_that_name_is_refused(installed: list[EntryPoint], value: str) -> None:
    installed.append(EntryPoint("new", value, GROUP))
    with pytest.raises(UsageError, match="has to be an AlgorithmSpec called new"):
        algorithm("new")


def test_one_that_does_not_say_which_actions_it_learns_learns_sites_alone(
    installed: list[EntryPoint], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    installed.append(EntryPoint("toy", "tests.tuning.algorithms.toy_algorithm:TOY", GROUP))
    assert main(["--algo", "toy", "--env", "Pendulum-v1", "--dir", str(tmp_path)]) == 2
    assert (
        "toy does not learn actions that are bounded numbers in environments; take sac or ppo or a2c" in capsys.readouterr().err
    )
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Environment of a process in which a package with an algorithm is installed."""
    folder = tmp_path_factory.mktemp("site-packages")
    shutil.copy(TOY, folder)
    about = folder / "toy_algorithm-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-algorithm\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(f"[{GROUP}]\ntoy = toy_algorithm:TOY\n", encoding="utf-8")
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path}


def test_an_algorithm_of_a_package_is_searched_by_its_name(
    environment: dict[str, str], small_schema: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = subprocess.run(
        [
            sys.executable, "-m", "tuning.run", "--algo", "toy", "--scenario", str(small_schema), "--steps", "512",
            "--trials", "2", "--evaluations", "2", "--validation-weeks", "1", "--concurrency", "1", "--start-from", "far",
            "--dir", str(tmp_path), "--name", "toy",
        ],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3], env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    results = load(tmp_path / "toy")
    trials = results.trials
    assert list(trials["state"]) == ["complete", "complete"]
    assert list(trials["hp_radius"]) == list(trials["used_radius"])
    assert trials["hp_radius"][0] == 1.0
    assert trials["hp_radius"][1] != 1.0
    assert set(trials["num_envs"]) == {4}
    assert set(trials["steps"]) == {512}
    assert trials["score"].notna().all()
    assert results.reports["value_loss"].notna().all()
    # Where the package is not installed, the experiment is named and nothing happens to it.
    assert main(["--resume", str(tmp_path / "toy")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: there is no algorithm toy")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    "settings",
    [
        Settings(),
        Settings(objective="bill"),
        Settings(objective="co2 bill", reward="schema"),
        Settings(objective="score bill"),
        Settings(objective="bill peak_kw"),
    ],
)
def test_without_two_terms_to_weigh_it_is_the_algorithm_itself(settings: Settings) -> None:
    assert algorithm_of(settings) is algorithm("ppo")


def test_with_two_terms_the_share_is_searched_in_every_algorithm() -> None:
    for algo in ("ppo", "a2c", "sac"):
        spec = algorithm_of(Settings(algo=algo, objective="co2 bill"))
        assert spec.preset("default")[REWARD_SHARE] == pytest.approx(0.5 / 0.65)
        assert spec.build is algorithm(algo).build


def test_a_spec_without_a_default_preset_is_refused() -> None:
    with pytest.raises(ValueError, match="toy has no preset default"):
        replace(TOY_SPEC, presets={"far": {}})


def test_a_preset_is_completed_by_the_space_and_given_values_override_it() -> None:
    assert TOY_SPEC.preset("default") == {"radius": 0.1}
    assert TOY_SPEC.preset("far") == {"radius": 1.0}
    assert TOY_SPEC.preset("far", {"radius": 0.5}) == {"radius": 0.5}
    values = ppo("rtx4060-after", {"gamma": 0.5})
    assert (values["gamma"], values["n_epochs"]) == (0.5, 40)


def ppo(name: str, given: Assignment | None = None, steps: float = 1e6) -> Assignment:
    return algorithm("ppo").preset(name, given, {"steps": steps})


def test_an_unknown_preset_is_refused_with_the_nearest() -> None:
    with pytest.raises(SpaceError, match="no preset oom-saf of ppo: did you mean oom-safe"):
        ppo("oom-saf")
    with pytest.raises(SpaceError, match="there are default"):
        ppo("nothing")


def test_what_is_recommended_gives_way_to_the_budget_and_to_given_values() -> None:
    whole, small = ppo("planned"), ppo("planned", {}, 10_000.0)
    assert (whole["n_steps"], whole["batch_size"]) == (4096, 512)
    assert (small["n_steps"], small["batch_size"], small["clip_range"]) == (2048, 512, whole["clip_range"])
    given = ppo("planned", {"n_steps": 256})
    assert (given["n_steps"], given["batch_size"]) == (256, 256)
    given = ppo("planned", {"batch_size": 32768})
    assert (given["n_steps"], given["batch_size"]) == (32768, 32768)


def test_what_is_recommended_moves_into_the_users_bounds(tmp_path: Path) -> None:
    path, spec = tmp_path / "own.toml", algorithm("ppo")
    path.write_text("n_steps = {low = 512, high = 2048}\nlearning_rate = {low = 1e-5, high = 1e-4}", encoding="utf-8")
    values = replace(spec, space=override(spec.space, path)).preset("planned", {}, {"steps": 1e6})
    assert (values["n_steps"], values["batch_size"], values["learning_rate"]) == (2048, 512, 1e-4)


def test_what_another_preset_does_not_set_gives_way_and_what_it_sets_does_not() -> None:
    small = ppo("default", {"hidden_sizes": "8"}, 1000.0)
    assert (small["n_steps"], small["batch_size"], small["hidden_sizes"]) == (128, 128, "8")
    with pytest.raises(SpaceError, match="n_steps=8192: it is at most"):
        ppo("rtx4060-after", {}, 1000.0)
