"""Indoor temperatures by CityLearn's LSTM models, for all copies of a building, compiled.

The formulas are those of `citylearn.building.LSTMDynamicsBuilding` 3.0.2 and of a long short-term memory (Hochreiter and
Schmidhuber 1997; Gers, Schmidhuber and Cummins 2000):

    i, f, o = sigmoid(W x + U h + b),  g = tanh(W x + U h + b),  c = f c + i g,  h = o tanh(c)

Each hour the model runs once more through the last `lookback` hours, from the state that it had after the hour before. An
hour's inputs do not change, so what the first layer makes of them is computed once.

Torch computes in float32 too, but adds in another order, and has approximations of sigmoid and tanh that depend on the
processor. So temperatures may differ from CityLearn's in their last place. They influence rewards and themselves only: what
devices take follows from actions.

Letters in shapes: B copies, R rows, N buildings, I inputs, L layers, H neurons of a layer, T hours of lookback.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from envs.batch_backend.records import INDOOR, Model

if TYPE_CHECKING:
    from envs.batch_backend.tables import Tables

# Products and sums are not fused, so every processor has the same numbers.
_compiled = njit(error_model="numpy")
_inlined = njit(error_model="numpy", forceinline=True)
_entry = njit(error_model="numpy", cache=True)


class Memory(NamedTuple):
    """What the copies of a building remember; all float32."""

    window: Any  # the first layer's gates before the state is added, of hour t of an episode at t mod T; shape (B, T, 4 H)
    hidden: Any  # h, shape (B, L, H)
    cell: Any  # c, shape (B, L, H)
    indoor: Any  # temperature of the last hour, and the same normalised, shape (B, 2)


_LOG2_E, _LN2 = np.float32(1.0 / math.log(2.0)), math.log(2.0)
_LN2_HIGH = np.float32(round(_LN2 * 512) / 512)  # so short that a product with a small whole number is exact
_LN2_LOW = np.float32(_LN2 - float(_LN2_HIGH))
_ROUND = np.float32(1.5 * 2**23)  # added and taken off, it leaves a whole number
_LARGEST = np.float32(80.0)  # beyond, a sigmoid is 0 or 1
_C2, _C3, _C4, _C5, _C6, _C7 = (np.float32(1.0 / math.factorial(k)) for k in range(2, 8))
_ONE, _TWO = np.float32(1.0), np.float32(2.0)
_MANTISSA, _EXPONENT = np.int32(23), np.int32(127)  # bits of a float32, and offset of its exponent


@_inlined
def _exp(x: Any) -> Any:
    """Exponential function within 1.2 ulps, without a branch, so that LLVM makes vector instructions of loops over it.

    Of x = n ln 2 + r the second part goes into a Taylor series and the first one into the exponent.
    """
    x = min(max(x, -_LARGEST), _LARGEST)
    n = (x * _LOG2_E + _ROUND) - _ROUND
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    series = ((((((_C7 * r + _C6) * r + _C5) * r + _C4) * r + _C3) * r + _C2) * r + _ONE) * r + _ONE
    return series * np.int32((np.int32(n) + _EXPONENT) << _MANTISSA).view(np.float32)


@_inlined
def _tanh(x: Any) -> Any:
    return _TWO / (_ONE + _exp(-_TWO * x)) - _ONE


@_compiled
def _add_product(gates: np.ndarray, weights: np.ndarray, values: np.ndarray) -> None:
    """Add the product of values, shape (any,), and weights, shape (any, 4 H)."""
    whole = values.size // 4 * 4
    for i in range(0, whole, 4):  # four at a time, so that the sums are written back less often
        a, b, c, d = values[i], values[i + 1], values[i + 2], values[i + 3]
        of_a, of_b, of_c, of_d = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        for k in range(gates.size):
            gates[k] = (((gates[k] + a * of_a[k]) + b * of_b[k]) + c * of_c[k]) + d * of_d[k]
    for i in range(whole, values.size):
        value, of_value = values[i], weights[i]
        for k in range(gates.size):
            gates[k] += value * of_value[k]


@_compiled
def _update(gates: np.ndarray, hidden: np.ndarray, cell: np.ndarray) -> None:
    """One layer's hour: the gates open and its state changes."""
    size = hidden.size
    for k in range(3 * size):
        gates[k] = _ONE / (_ONE + _exp(-gates[k]))
    for k in range(size):
        cell[k] = gates[size + k] * cell[k] + gates[k] * _tanh(gates[3 * size + k])
    for k in range(size):
        hidden[k] = gates[2 * size + k] * _tanh(cell[k])


@_compiled
def _run_hour(model: Model, newest: np.ndarray, hidden: np.ndarray, cell: np.ndarray, gates: np.ndarray) -> None:
    """All layers' hour, from the first one's gates without the state."""
    gates[:] = newest
    _add_product(gates, model.recurrent[0], hidden[0])
    _update(gates, hidden[0], cell[0])
    for layer in range(1, hidden.shape[0]):
        gates[:] = model.bias[layer]
        _add_product(gates, model.between[layer - 1], hidden[layer - 1])
        _add_product(gates, model.recurrent[layer], hidden[layer])
        _update(gates, hidden[layer], cell[layer])


@_compiled
def _temperature(model: Model, hidden: np.ndarray) -> float:
    """The normalised temperature that the last layer's state says."""
    size = hidden.shape[1]
    temperature = model.output[size]
    for k in range(size):
        temperature += model.output[k] * hidden[-1, k]
    return temperature


@_entry
def step(
    model: Model, memory: Memory, series: np.ndarray, indoor: np.ndarray, copy: np.ndarray, tank: np.ndarray, copies: np.ndarray
) -> None:
    """Set the indoor temperature of the hour that the kernel's step has covered, in the copies of the indices `copies`.

    Args:
        model: of the building.
        memory: of its copies.
        series: inputs of all rows, normalised; of those that depend on actions the indoor temperature without control alone
            has a meaning, shape (R, I).
        indoor: that temperature [C], shape (R,).
        copy: `records.COPY`, shape (B,).
        tank: `records.TANK` of the building, shape (B, 3).
        copies: shape (M,).
    """
    lookback = memory.window.shape[1]
    inputs, gates = np.empty(series.shape[1], np.float32), np.empty(model.bias.shape[1], np.float32)
    at_indoor = 0
    for i in range(len(model.endogenous)):
        if model.endogenous[i, 1] == INDOOR:
            at_indoor = model.endogenous[i, 0]
    ready, count = np.empty(copies.size, np.int64), 0
    low, span = model.bounds[at_indoor, 0], model.bounds[at_indoor, 1]
    for b in copies:
        hour = copy[b].step - 1
        row = copy[b].start + hour
        inputs[:] = series[row]
        for i in range(len(model.endogenous)):
            at, use = model.endogenous[i, 0], model.endogenous[i, 1]
            if use == INDOOR:
                inputs[at] = memory.indoor[b, 1]
            else:
                demand = np.float32(tank[b, use].given + abs(min(tank[b, use].balance, np.float32(0.0))))
                inputs[at] = np.float32(demand - model.bounds[at, 0]) / model.bounds[at, 1]
        newest = memory.window[b, hour % lookback]
        newest[:] = model.bias[0]
        _add_product(newest, model.inputs, inputs)
        if hour < lookback:
            # CityLearn waits until it has a temperature for each hour of the window.
            memory.indoor[b, 0], memory.indoor[b, 1] = indoor[row], series[row, at_indoor]
            continue
        ready[count] = b
        count += 1
    # All copies' hour before the next one: a processor works ahead on other copies while it waits for a result of one.
    for ago in range(lookback, 0, -1):
        for b in ready[:count]:
            newest = memory.window[b, (copy[b].step - ago) % lookback]
            _run_hour(model, newest, memory.hidden[b], memory.cell[b], gates)
    for b in ready[:count]:
        scaled = _temperature(model, memory.hidden[b])
        memory.indoor[b, 0], memory.indoor[b, 1] = scaled * span + low, scaled


class Dynamics:
    """Models of the indoor temperature of some buildings of a site, and what all copies remember of it."""

    def __init__(self, years: Sequence[Tables], copies: int) -> None:
        """Take years that follow one another."""
        arrays = years[0].dynamics
        # By building: model, memory, inputs and temperatures without control, as `step` takes them.
        self._of: dict[int, tuple[Model, Memory, np.ndarray, np.ndarray]] = {}
        for n in (int(name.partition("_")[0]) for name in arrays if name.endswith("_lookback")):
            model = Model(**{name: arrays[f"{n}_{name}"] for name in Model._fields})
            layers, size, gates = model.recurrent.shape
            shapes = ((int(model.lookback), gates), (layers, size), (layers, size), (2,))
            memory = Memory(*(np.zeros((copies, *shape), np.float32) for shape in shapes))
            series = np.concatenate([year.dynamics[f"{n}_series"] for year in years])
            self._of[n] = model, memory, series, np.concatenate([year.rows["comfort"]["indoor"][:, n] for year in years])

    def __len__(self) -> int:
        """Number of these buildings."""
        return len(self._of)

    def begin(self, copies: np.ndarray) -> None:
        """Begin an episode of the copies of the indices `copies`, shape (M,)."""
        for _, array in self.remembered():
            array[copies] = 0.0

    def step(self, copy: np.ndarray, tank: np.ndarray, copies: np.ndarray) -> None:
        """Follow a step of the kernel in the copies of the indices `copies`, shape (M,); its `copy` and `tank`, (B, N, 3)."""
        for n, arguments in self._of.items():
            step(*arguments, copy, tank[:, n], copies)

    @property
    def indoor(self) -> dict[int, np.ndarray]:
        """Temperature of the last hour by building [C], each of shape (B,)."""
        return {n: memory.indoor[:, 0] for n, (_, memory, *_) in self._of.items()}

    def remembered(self) -> Iterator[tuple[str, np.ndarray]]:
        """All that later steps depend on, by name."""
        for n, (_, memory, *_) in self._of.items():
            yield from ((f"indoor_{n}_{name}", array) for name, array in zip(Memory._fields, memory, strict=True))
