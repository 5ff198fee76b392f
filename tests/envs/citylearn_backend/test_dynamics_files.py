"""Weights that CityLearn could not read in the middle of a run are refused before it, in one line."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch

from envs.citylearn_backend.dynamics_files import KIND, MOST_BYTES, check_dynamics
from envs.errors import ScenarioError

ATTRIBUTES: dict[str, Any] = {
    "input_observation_names": ["indoor_dry_bulb_temperature", "hour"],
    "input_normalization_minimum": [0.0, 1.0],
    "input_normalization_maximum": [40.0, 24.0],
    "hidden_size": 2, "num_layers": 1, "lookback": 3,
}  # fmt: skip


class Payload:
    """Unpickled, it runs a command."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, ("exit 1",)


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A file with weights of a network with `ATTRIBUTES`."""
    from citylearn.dynamics import LSTMDynamics

    path = tmp_path / "weights.pth"
    torch.save({"model_state_dict": LSTMDynamics(filepath=path, **ATTRIBUTES).state_dict()}, path)
    return path


def check(path: Path, include: bool = True, **changes: Any) -> None:
    attributes = {**ATTRIBUTES, "filename": path.name, **changes}
    building = {"include": include, "dynamics": {"type": KIND, "attributes": attributes}}
    check_dynamics(path.parent / "schema.json", {"root_directory": str(path.parent), "buildings": {"home": building}})


def test_weights_of_the_network_pass(weights: Path) -> None:
    check(weights)
    check_dynamics(weights, {"root_directory": str(weights.parent), "buildings": {"home": {}}})


@pytest.mark.parametrize(
    "content",
    [b"", b"text", b"\x80\x04.", pickle.dumps(Payload(), 2), pickle.dumps({"model_state_dict": {}}, 2), b"PK\x03\x04rest"],
    ids=["empty", "text", "half", "payload", "other", "zip"],
)
def test_a_file_that_holds_no_such_weights_is_one_line(weights: Path, content: bytes) -> None:
    weights.write_bytes(content)
    with pytest.raises(ScenarioError, match=r"dynamics of building home cannot be built from .*weights\.pth") as error:
        check(weights)
    assert "\n" not in str(error.value)
    assert "weights_only" not in str(error.value)
    check(weights, include=False)


def test_a_huge_file_is_not_read(weights: Path) -> None:
    with weights.open("r+b") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(ScenarioError, match="more than 256 MiB"):
        check(weights)


def test_a_file_of_torch_with_a_payload_runs_nothing(weights: Path) -> None:
    torch.save({"model_state_dict": Payload()}, weights)
    with pytest.raises(ScenarioError, match="UnpicklingError"):
        check(weights)
    weights.unlink()
    with pytest.raises(ScenarioError, match="FileNotFoundError"):
        check(weights)


@pytest.mark.parametrize(
    "change", [{"hidden_size": 3}, {"hidden_size": "2"}, {"unknown": 1}, {"input_normalization_minimum": [1]}]
)
def test_attributes_of_another_network_are_one_line(weights: Path, change: dict[str, Any]) -> None:
    with pytest.raises(ScenarioError, match="cannot be built") as error:
        check(weights, **change)
    assert "\n" not in str(error.value)
