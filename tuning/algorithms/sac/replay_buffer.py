"""Replay buffer: transitions of many copies of an environment as preallocated arrays."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from common.units import FLOAT, MIB

REPLAY_FILE_BYTES = 64 * MIB  # of rows that a checkpoint writes into one file
SAMPLE_BYTES = 16 * MIB  # of observations that are drawn at once: to draw and move each batch by itself takes longer

# Outcome of an action.
GOING, TERMINATED, TRUNCATED = 0, 1, 2
NO_TRANSITION = 3  # the step in which a copy was reset, or one that is still to be taken


@dataclass(frozen=True)
class Transitions:
    """A sample, not normalised."""

    observations: np.ndarray  # shape (T, features), float32
    actions: np.ndarray  # within [-1, 1], shape (T, actions), float32
    rewards: np.ndarray  # discounted sums over up to `n_step` steps, shape (T,), float32
    next_observations: np.ndarray  # after these steps, shape (T, features), float32
    discounts: np.ndarray  # of the value there: gamma to the power of the steps, 0 after a termination, shape (T,), float32


class ReplayBuffer:
    """The newest transitions, as a ring of rows: time by copies, as the environment gives them.

    A row holds, for each copy, an observation, the action that it led to, and the outcome. The next observation is that of the
    row after, also at the end of an episode: with NEXT_STEP autoreset its last observation comes before the first of the next
    one. The row in which a copy is reset is no transition and is never drawn. One row more holds observations that no action
    followed yet.
    """

    size: int  # transitions that have a place, resets included: as many as were asked for, rounded up to whole rows

    def __init__(
        self,
        size: int,
        copies: int,
        observation_size: int,
        action_size: int,
        gamma: float,
        n_step: int = 1,
        seed: int | None = None,
    ) -> None:
        places = replay_places(size, copies)
        self._rows, self.copies, self.size = places // copies, copies, places - copies
        self.gamma, self.n_step = gamma, n_step
        # Memory is taken as it is written: `nbytes` is the most that it will be.
        self._observations = np.empty((places, observation_size), np.float32)
        self._actions = np.empty((places, action_size), np.float32)
        self._rewards = np.empty(places, np.float32)
        self._kinds = np.full(places, NO_TRANSITION, np.uint8)
        self._random = np.random.default_rng(seed)
        self.rows = 0  # ever filled: the row after the last of them holds the observations that no action has followed yet
        self._begun = False
        self.transitions = 0

    @property
    def nbytes(self) -> int:
        """Memory of the arrays, bytes; see `tuning.algorithms.sac.spec`."""
        return sum(array.nbytes for _, array in self._arrays())

    @property
    def rows_per_file(self) -> int:
        """Rows that a checkpoint writes into one file."""
        return max(1, REPLAY_FILE_BYTES * self._rows // self.nbytes)

    @property
    def observations(self) -> np.ndarray:
        """Observations that no action has followed yet, shape (copies, features): a view."""
        return self._observations[self._here()]

    def begin(self, observations: np.ndarray) -> None:
        """Take the first observations after a reset of all copies. Episodes that were going on count as truncated."""
        if self._begun:
            before = self._kinds[self._here(-1)]
            before[before == GOING] = TRUNCATED
            self._advance()
        self._begun = True
        self._observations[self._here()] = observations

    def add(self, actions: np.ndarray, rewards: np.ndarray, kinds: np.ndarray, next_observations: np.ndarray) -> None:
        """Take a step of all copies: actions within [-1, 1], and kinds of outcome, `NO_TRANSITION` where it means nothing."""
        here = self._here()
        self._actions[here], self._rewards[here], self._kinds[here] = actions, rewards, kinds
        self.transitions += int(np.count_nonzero(kinds != NO_TRANSITION))
        self._advance()
        self._observations[self._here()] = next_observations

    def add_run(self, observations: np.ndarray, actions: np.ndarray, rewards: np.ndarray, hours: np.ndarray) -> None:
        """Take whole runs, side by side: T steps of N copies or fewer; the other copies make no transition.

        Arrays are as in `Demonstration`, actions within [-1, 1]; what follows the `hours` of a run is no transition.
        """
        runs = np.minimum(np.arange(self.copies), len(hours) - 1)
        lasts = np.where(np.arange(self.copies) < len(hours), hours[runs] - 1, -1)
        self.begin(observations[0, runs])
        for step in range(len(actions)):
            kinds = np.where(step < lasts, GOING, np.where(step == lasts, TRUNCATED, NO_TRANSITION)).astype(np.uint8)
            self.add(actions[step, runs], rewards[step, runs], kinds, observations[step + 1, runs])

    def sample(self, count: int) -> Transitions:
        """Draw transitions, with replacement. Raises `ValueError` if there are none yet."""
        if not self.transitions:
            raise ValueError("there are no transitions to draw from yet")
        places = self._draw(count)
        rewards, discounts = np.empty(count, np.float32), np.empty(count, np.float32)
        following = np.empty(count, np.int64)
        here = self._here()
        _walk(
            places, self._rewards, self._kinds, here.start, self.copies, self.gamma, self.n_step, rewards, following, discounts
        )
        return Transitions(
            observations=self._observations[places],
            actions=self._actions[places],
            rewards=rewards,
            next_observations=self._observations[following],
            discounts=discounts,
        )

    def get_state(self) -> dict[str, Any]:
        """State for a checkpoint, without the rows: these are many and never change, see `get_rows`."""
        return {
            "layout": self._layout(),
            "observations": self.observations.copy(),
            "rows": self.rows,
            "begun": self._begun,
            "random": self._random.bit_generator.state,
        }

    @property
    def oldest_row(self) -> int:
        """First row that is still held, counted from the first that ever was."""
        return max(0, self.rows - (self._rows - 1))

    def get_rows(self, first: int, last: int) -> dict[str, np.ndarray]:
        """Copies of rows by name, each of shape (rows * copies, ...)."""
        places = self._places(first, last)
        return {name: array[places] for name, array in self._arrays()}

    def set_state(self, state: dict[str, Any], rows: Iterable[tuple[int, dict[str, np.ndarray]]]) -> None:
        """Go on from a state, bit by bit. Raises `ValueError` if it is of a buffer of another size, or rows are missing."""
        if state["layout"] != self._layout():
            raise ValueError(f"a buffer of {state['layout']} does not fit one of {self._layout()}")
        self._kinds[:] = NO_TRANSITION
        self.rows, self._begun = state["rows"], state["begun"]
        known = self.oldest_row
        for first, arrays in rows:
            last = first + len(arrays["kinds"]) // self.copies
            if first > known or last > self.rows:
                raise ValueError(f"rows {first} to {last} do not follow row {known}")
            first_held = max(first, self.oldest_row)
            if first_held < last:
                places = self._places(first_held, last)
                for name, array in self._arrays():
                    array[places] = arrays[name][(first_held - first) * self.copies :]
            known = max(known, last)
        if known != self.rows:
            raise ValueError(f"rows {known} to {self.rows} are missing")
        self._observations[self._here()] = state["observations"]
        self.transitions = int(np.count_nonzero(self._kinds != NO_TRANSITION))
        self._random.bit_generator.state = state["random"]

    def _arrays(self) -> Iterator[tuple[str, np.ndarray]]:
        for name in ("observations", "actions", "rewards", "kinds"):
            yield name, getattr(self, f"_{name}")

    def _places(self, first: int, last: int) -> np.ndarray:
        """Places of rows, counted from the first that ever was."""
        return np.arange(first * self.copies, last * self.copies) % (self._rows * self.copies)

    @property
    def _filled(self) -> int:
        return self.rows - self.oldest_row

    def _layout(self) -> dict[str, int]:
        return {
            "rows": self._rows,
            "copies": self.copies,
            "observation_size": self._observations.shape[1],
            "action_size": self._actions.shape[1],
        }

    def _here(self, offset: int = 0) -> slice:
        """Places of a row, counted from the present one."""
        start = (self.rows + offset) % self._rows * self.copies
        return slice(start, start + self.copies)

    def _advance(self) -> None:
        """Make the next row the present one, and forget the oldest transitions where the ring is full."""
        was_full = self._filled == self._rows - 1
        self.rows += 1
        here = self._here()
        if was_full:
            self.transitions -= int(np.count_nonzero(self._kinds[here] != NO_TRANSITION))
        self._kinds[here] = NO_TRANSITION

    def _draw(self, count: int) -> np.ndarray:
        """Places of transitions, each with the same chance, shape (count,), int64."""
        oldest, places = self.oldest_row * self.copies, self._rows * self.copies
        kept = np.empty(0, np.int64)
        while len(kept) < count:
            drawn = (oldest + self._random.integers(self._filled * self.copies, size=count - len(kept))) % places
            kept = np.concatenate((kept, drawn[self._kinds[drawn] != NO_TRANSITION]))
        return kept


def replay_places(size: int, copies: int) -> int:
    """Places of a buffer: a row more than the transitions need, in whole rows of all copies."""
    return (-(-size // copies) + 1) * copies


def batches_at_once(size: int, features: int) -> int:
    """How many batches are drawn and moved together, see `SAMPLE_BYTES`; of each transition two observations."""
    return max(1, SAMPLE_BYTES // (2 * FLOAT * size * features))


@njit(cache=True)
def _walk(
    places: np.ndarray,
    rewards: np.ndarray,
    kinds: np.ndarray,
    present: int,
    copies: int,
    gamma: float,
    n_step: int,
    sums: np.ndarray,
    following: np.ndarray,
    discounts: np.ndarray,
) -> None:
    """Go up to `n_step` steps on from each place, to the end of its episode or to the present row at most."""
    for i in range(len(places)):
        place = places[i]
        total, discount = 0.0, 1.0
        for _ in range(n_step):
            total += discount * rewards[place]
            discount *= gamma
            kind = kinds[place]
            place += copies
            if place >= len(rewards):
                place -= len(rewards)
            if kind == TERMINATED:
                discount = 0.0
            if kind != GOING or present <= place < present + copies:
                break
        sums[i], following[i], discounts[i] = total, place, discount
