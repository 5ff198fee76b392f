"""What an algorithm has to consist of."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from search_spaces import Assignment, SpaceError
from search_spaces.overrides import override
from tests.tuning.algorithms.toy_algorithm import TOY
from tuning.algorithms.registry import algorithm, names


def test_a_spec_without_a_default_preset_is_refused() -> None:
    with pytest.raises(ValueError, match="toy has no preset default"):
        replace(TOY, presets={"far": {}})


def test_a_preset_is_completed_by_the_space_and_given_values_override_it() -> None:
    assert TOY.preset("default") == {"radius": 0.1}
    assert TOY.preset("far") == {"radius": 1.0}
    assert TOY.preset("far", {"radius": 0.5}) == {"radius": 0.5}
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


@pytest.mark.parametrize("name", names())
def test_a_spec_loads_neither_ray_nor_torch(name: str) -> None:
    code = (
        "import sys; from tuning.algorithms.registry import algorithm; "
        f"algorithm({name!r}); print(*({{'ray', 'torch'}} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
