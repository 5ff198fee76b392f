"""Set points that people change, by CityLearn's models of occupants, for all copies of a building, compiled.

The formulas are those of `citylearn.occupant.LogisticRegressionOccupant` 3.0.2. In a step whose temperature x is computed,
people would raise the set point with the probability 1 / (1 + exp(-(a + b x))), and lower it with another one of this form. A
number drawn by the episode's seed and the step is compared with both. Where it lies below one of them alone, a decision tree
says by how many degrees. What they set holds to the end of the episode or until they change it again: CityLearn's loader
passes on no time after which a schedule returns.

CityLearn computes the probabilities in float32, by an exponential function that depends on the processor, and temperatures
differ in their last places. So where a number or a threshold lies within these, people may do here what they leave there.

Letters in shapes: B copies, R rows, N buildings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from envs.batch_backend import records
from envs.batch_backend.kernel import seed_generator, uniform
from envs.observation import ObservationLayout

if TYPE_CHECKING:
    from envs.batch_backend.tables import Tables

_compiled = njit(error_model="numpy")
_entry = njit(error_model="numpy", cache=True)
_ONE = np.float32(1.0)
_COOLING, _HEATING = range(2)  # set points
# A node of a decision tree; the two trees of a building are one array.
NODE = records.record(
    ("feature", np.int64),  # set point, set point of the step before, temperature less set point of that step; -1 of a leaf
    ("threshold", np.float64),  # up to which `low` is next, and beyond it `high`: indices of nodes
    ("low", np.int64),
    ("high", np.int64),
    ("change", np.float32),  # of the set point, of a leaf [C]
)


class People(NamedTuple):
    """A building's model of its occupants."""

    node: Any  # `NODE`, shape (nodes,)
    root: Any  # indices of the tree for higher set points and of that for lower ones, shape (2,)
    # `records.OBSERVED` of what is seen of set points: `kind` 1 where it is the temperature less the set point, `use` 0 for
    # cooling and 1 for heating; shape (any,)
    shown: Any


class Memory(NamedTuple):
    """What the copies of a building remember."""

    point: Any  # set points of the last step, shape (B, 2), float32
    held: Any  # what people set, NaN where the schedule holds, likewise
    indoor: Any  # temperature of the last step, shape (B,), float32


@_compiled
def _probability(a: Any, b: Any, indoor: Any) -> Any:
    return _ONE / (_ONE + np.exp(-(a + b * indoor)))


@_compiled
def _leaf(node: np.ndarray, root: int, features: np.ndarray) -> int:
    at = root
    while node[at].feature >= 0:
        at = node[at].low if features[node[at].feature] <= node[at].threshold else node[at].high
    return at


@_entry
def draw(number: np.ndarray, seed: np.ndarray, copy: np.ndarray, copies: np.ndarray) -> None:
    """Draw what the step that the kernel has covered gives all people of a copy, `number` of shape (B,), float32.

    Of the copies of the indices `copies`, by the seeds of their episodes, shape (B,); `copy` is `records.COPY`.
    """
    key, drawn = np.zeros(624, np.uint32), np.zeros(1, records.COPY)
    for b in copies:
        seed_generator(key, max(seed[b], 1) + copy[b].step - 1)
        drawn[0].position = key.size
        number[b] = uniform(key, drawn[0])


@_entry
def step(
    people: People, memory: Memory, habit: np.ndarray, room: np.ndarray, lookback: int, number: np.ndarray, indoor: np.ndarray,
    copy: np.ndarray, observation: np.ndarray, copies: np.ndarray,
) -> None:  # fmt: skip
    """Let people act in the step that the kernel has covered, in the copies of the indices `copies`, and show what they set.

    `number` and `copy` are those of `draw`. `habit` has a and b of higher set points, then of lower ones, shape (R, 4).
    `room` is the building's `COMFORT`, shape (R,), and `indoor` its temperature of the step, shape (B,), which is computed from
    step `lookback` on.
    """
    features = np.zeros(3, np.float32)
    for b in copies:
        hour = copy[b].step - 1
        row = copy[b].start + hour
        side = _HEATING if room[row].mode == records.HEATS else _COOLING
        features[1], features[2] = memory.point[b, side], memory.indoor[b] - memory.point[b, side]
        memory.indoor[b] = indoor[b]
        for use in range(2):
            held, scheduled = memory.held[b, use], room[row].heating if use == _HEATING else room[row].cooling
            memory.point[b, use] = scheduled if np.isnan(held) else held
        if hour >= lookback:
            higher = _probability(habit[row, 0], habit[row, 1], indoor[b])
            lower = _probability(habit[row, 2], habit[row, 3], indoor[b])
            features[0] = memory.point[b, side]
            if (higher >= number[b]) != (lower >= number[b]):
                change = people.node[_leaf(people.node, people.root[0 if higher >= number[b] else 1], features)].change
                if change != 0.0:
                    memory.point[b, side] += change
                    memory.held[b, side] = memory.point[b, side]
        for seen in people.shown:
            held = memory.held[b, seen.use]
            if not np.isnan(held):
                raw = np.float64(room[row + 1].indoor - held if seen.kind else held)
                observation[b, seen.at] = min(max((raw - seen.centre) * seen.inverse, -seen.bound), seen.bound)


class Occupants:
    """People in some buildings of a site, and what all copies remember of them."""

    def __init__(self, years: Sequence[Tables], copies: int, layout: ObservationLayout | None) -> None:
        """Take years that follow one another; their observations are scaled by a layout, if there is one."""
        arrays = years[0].dynamics
        self._seed, self._number = np.zeros(copies, np.int64), np.zeros(copies, np.float32)
        # By building: model, memory, habit, room and lookback, as `step` takes them.
        self._of: dict[int, tuple[People, Memory, np.ndarray, np.ndarray, int]] = {}
        for n in (int(name.partition("_")[0]) for name in arrays if name.endswith("_people_node")):
            people = People(**{name: arrays[f"{n}_people_{name}"].copy() for name in People._fields})
            if layout:
                at = people.shown["at"]
                people.shown["centre"], people.shown["inverse"] = (values[at] for values in layout.linear)
                people.shown["bound"] = 1.0
            points = np.zeros((2, copies, 2), np.float32)
            memory = Memory(points[0], points[1], np.zeros(copies, np.float32))
            habit = np.concatenate([year.dynamics[f"{n}_people_series"] for year in years])
            room = np.concatenate([year.rows["comfort"][:, n] for year in years])
            self._of[n] = people, memory, habit, room, int(arrays[f"{n}_lookback"])

    def begin(self, copies: np.ndarray, seed: int) -> None:
        """Begin an episode of the copies of the indices `copies`, shape (M,)."""
        self._seed[copies] = seed
        for _, memory, *_ in self._of.values():
            memory.held[copies] = np.nan

    def step(self, copy: np.ndarray, indoor: Mapping[int, np.ndarray], observation: np.ndarray, copies: np.ndarray) -> None:
        """Follow a step of the kernel and of the temperatures `indoor` by building; see `step` above."""
        if self._of:
            draw(self._number, self._seed, copy, copies)
        for n, arguments in self._of.items():
            step(*arguments, self._number, np.ascontiguousarray(indoor[n]), copy, observation, copies)

    @property
    def set_points(self) -> dict[int, np.ndarray]:
        """Set points for cooling and heating in the last step by building [C], each of shape (B, 2)."""
        return {n: memory.point for n, (_, memory, *_) in self._of.items()}

    def remembered(self) -> Iterator[tuple[str, np.ndarray]]:
        """All that later steps depend on, by name."""
        if self._of:
            yield "people_seed", self._seed
        for n, (_, memory, *_) in self._of.items():
            yield from ((f"people_{n}_{name}", array) for name, array in zip(Memory._fields, memory, strict=True))
