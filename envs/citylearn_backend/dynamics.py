"""Reads CityLearn's LSTM models of indoor temperatures into the batch simulator's arrays."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from common.errors import ScenarioError
from envs.batch_backend.records import INDOOR, Model
from envs.scenarios.schema_shape import USES

_TEMPERATURE = "indoor_dry_bulb_temperature"
# What an input is where it depends on actions.
_ENDOGENOUS = {_TEMPERATURE: INDOOR, **{f"{use}_demand": number for number, use in enumerate(USES)}}


def read_model(building: Any) -> Model:
    """Model of a building that `has_dynamics`, with the weights that CityLearn has read."""
    model = building.dynamics
    weights = {name: values.detach().numpy() for name, values in model.state_dict().items()}

    def by_layer(kind: str, first: int = 0) -> np.ndarray:
        layers = [_gates(weights[f"l_lstm.{kind}_l{layer}"]) for layer in range(first, model.num_layers)]
        return np.array(layers, np.float32) if layers else np.zeros((0, model.hidden_size, 4 * model.hidden_size), np.float32)

    low, high = model.input_normalization_minimum, model.input_normalization_maximum
    return Model(
        bounds=np.array([(least, most - least) for least, most in zip(low, high, strict=True)], np.float32),
        endogenous=np.array(
            [(i, _ENDOGENOUS[name]) for i, name in enumerate(model.input_observation_names) if name in _ENDOGENOUS], np.int64
        ),
        inputs=_gates(weights["l_lstm.weight_ih_l0"]),
        between=by_layer("weight_ih", 1),
        recurrent=by_layer("weight_hh"),
        bias=by_layer("bias_ih") + by_layer("bias_hh"),
        output=np.append(weights["l_linear.weight"][0], weights["l_linear.bias"]).astype(np.float32),
        lookback=np.array(model.lookback),
    )


def _gates(weights: np.ndarray) -> np.ndarray:
    """Torch's weights of the gates i, f, g, o, shape (4 H, ...), in the order i, f, o, g, shape (..., 4 H)."""
    i, f, g, o = np.split(weights, 4)
    return np.ascontiguousarray(np.concatenate([i, f, o, g]).T)


def read_inputs(building: Any, sources: Mapping[str, np.ndarray]) -> np.ndarray:
    """`series` of `envs.batch_backend.dynamics.step` for a building, from its observations by name, each of shape (R,).

    A `ScenarioError` for an input that depends on actions in a way that the backend lacks.
    """
    model, columns = building.dynamics, []
    known = {**_periodic(building, sources), **sources}
    bounds = zip(model.input_normalization_minimum, model.input_normalization_maximum, strict=True)
    for name, (low, high) in zip(model.input_observation_names, bounds, strict=True):
        if name not in known:
            raise ScenarioError(f"building {building.name}: the batch backend does not know {name} as an input of its dynamics")
        columns.append(((known[name] - low) / (high - low)).astype(np.float32))
    return np.stack(columns, axis=-1)


def _periodic(building: Any, sources: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Sine and cosine of each cyclic observation, as CityLearn computes them for one row."""
    periodic = {}
    for name, values in building.get_periodic_observation_metadata().items():
        if name in sources:
            angles = [2 * np.pi * value / max(values) for value in sources[name]]
            periodic[f"{name}_sin"] = np.array([np.sin(angle) for angle in angles])
            periodic[f"{name}_cos"] = np.array([np.cos(angle) for angle in angles])
    return periodic
