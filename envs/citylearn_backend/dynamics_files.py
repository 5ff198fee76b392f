"""Weights of buildings' temperature dynamics, read once before CityLearn reads them in each episode."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from envs.errors import ScenarioError
from envs.scenarios.shapes import is_left_out

KIND = "citylearn.dynamics.LSTMDynamics"
MOST_BYTES = 2**28  # of a file of weights; the largest network that a schema may describe has 40 MB
# By which torch says that it cannot read a file, or that the weights in it are those of another network.
_ERRORS = (
    pickle.UnpicklingError, RuntimeError, OSError, EOFError, LookupError, ValueError, TypeError, AttributeError,
    AssertionError, struct.error,
)  # fmt: skip


def check_dynamics(path: Path, schema: Mapping[str, Any]) -> None:
    """Build the dynamics of each included building and read their weights, as CityLearn does.

    Args:
        path: of the `schema.json`.
        schema: its content, with an absolute `root_directory`.

    Raises:
        ScenarioError: if the weights cannot be read, or fit no network with these attributes.
    """
    for name, building in schema["buildings"].items():
        entry = building.get("dynamics")
        if entry is None or entry.get("type") != KIND or is_left_out(building):
            continue
        from citylearn.dynamics import LSTMDynamics

        attributes = {**entry.get("attributes", {})}
        file = Path(schema["root_directory"]) / attributes.pop("filename", "")
        try:
            if file.stat().st_size > MOST_BYTES:
                raise ValueError(f"the file has more than {MOST_BYTES // 2**20} MiB")
            LSTMDynamics(filepath=file, **attributes).reset()
        except _ERRORS as error:
            # The first sentence: torch goes on with how to unpickle the file all the same.
            why = str(error).strip().partition("\n")[0].partition(". ")[0].rstrip(".")
            raise ScenarioError(
                f"{path}: the dynamics of building {name} cannot be built from {file} ({type(error).__name__}: {why}): give "
                "its weights as torch.save writes a state_dict, which holds tensors alone, and the attributes of its training"
            ) from error
