"""The replay buffer against lists of single steps."""

import pickle
from typing import Any

import numpy as np
import pytest

from tuning.algorithms.sac.replay_buffer import GOING, NO_TRANSITION, TERMINATED, TRUNCATED, ReplayBuffer, Transitions

COPIES, FEATURES, ACTIONS = 3, 2, 2


class Recorded:
    """A buffer, and beside it a list of what each copy went through. Each observation and action is a number of its own."""

    def __init__(self, size: int, n_step: int = 1, gamma: float = 0.9) -> None:
        self.buffer = ReplayBuffer(size, COPIES, FEATURES, ACTIONS, gamma, n_step, seed=1)
        self.rng = np.random.default_rng(0)
        self.steps: list[list[dict[str, Any]]] = [[] for _ in range(COPIES)]
        self.numbers = 0
        self.ended = np.zeros(COPIES, bool)
        self.now = self.observations()
        self.buffer.begin(self.now)

    def observations(self) -> np.ndarray:
        self.numbers += COPIES
        return np.stack([np.full(FEATURES, self.numbers + i, np.float32) for i in range(COPIES)])

    def step(self, chance: float = 0.2) -> None:
        drawn = self.rng.random(COPIES)
        kinds = np.where(drawn < chance, TERMINATED, np.where(drawn < 2 * chance, TRUNCATED, GOING)).astype(np.uint8)
        kinds[self.ended] = NO_TRANSITION
        rewards, following = self.rng.standard_normal(COPIES), self.observations()
        actions = (self.now[:, :1] / 1e4).repeat(ACTIONS, axis=1)
        self.buffer.add(actions, rewards, kinds, following)
        for i in range(COPIES):
            step = {"reward": rewards[i], "kind": kinds[i], "observation": self.now[i, 0], "next": following[i, 0]}
            self.steps[i].append(step)
        self.ended, self.now = (kinds == TERMINATED) | (kinds == TRUNCATED), following

    def restart(self) -> None:
        """Reset all copies at once, as after a restore."""
        for steps, ended in zip(self.steps, self.ended, strict=True):
            if steps and not ended and steps[-1]["kind"] == GOING:
                steps[-1]["kind"] = TRUNCATED
            steps.append({"kind": NO_TRANSITION})
        self.ended[:], self.now = False, self.observations()
        self.buffer.begin(self.now)

    def held(self) -> set[int]:
        """Observations of the transitions that the buffer has to hold: those of the newest rows."""
        rows = self.buffer.size // COPIES
        return {int(step["observation"]) for steps in self.steps for step in steps[-rows:] if step["kind"] != NO_TRANSITION}

    def expected(self, observation: float) -> tuple[float, float, float]:
        """Sum of rewards, next observation and its discount, step by step."""
        for steps in self.steps:
            found = [i for i, step in enumerate(steps) if step.get("observation") == observation]
            if found:
                total, discount = 0.0, 1.0
                for step in steps[found[0] : found[0] + self.buffer.n_step]:
                    total += discount * step["reward"]
                    discount *= self.buffer.gamma
                    if step["kind"] != GOING:
                        break
                return total, step["next"], 0.0 if step["kind"] == TERMINATED else discount
        raise AssertionError(f"{observation} was never observed")

    def check(self, count: int = 600) -> Transitions:
        sample = self.buffer.sample(count)
        assert {int(number) for number in sample.observations[:, 0]} == self.held()
        assert self.buffer.transitions == len(self.held())
        for i in range(count):
            total, following, discount = self.expected(sample.observations[i, 0])
            assert sample.rewards[i] == pytest.approx(total, abs=1e-5)
            assert (sample.next_observations[i] == following).all()
            assert sample.discounts[i] == pytest.approx(discount, rel=1e-6)
            assert sample.actions[i] == pytest.approx(sample.observations[i, 0] / 1e4)
        return sample


@pytest.mark.parametrize("n_step", [1, 3])
@pytest.mark.parametrize("steps", [2, 19, 20, 21, 70])
def test_what_is_drawn_is_what_happened(steps: int, n_step: int) -> None:
    # 20 rows: not yet full, full for the first time, and over itself several times.
    recorded = Recorded(60, n_step)
    for _ in range(steps):
        recorded.step()
    sample = recorded.check()
    assert sample.rewards.dtype == sample.observations.dtype == sample.discounts.dtype == np.float32


@pytest.mark.parametrize("n_step", [1, 4])
def test_a_reset_of_all_copies_ends_their_episodes_without_terminating_them(n_step: int) -> None:
    recorded = Recorded(60, n_step)
    for _ in range(3):
        for _ in range(7):
            recorded.step(chance=0.1)
        recorded.restart()
        recorded.step(chance=0.1)
    recorded.check()


def test_all_transitions_are_drawn_equally_often() -> None:
    recorded = Recorded(30)
    for _ in range(40):
        recorded.step()
    numbers, counts = np.unique(recorded.buffer.sample(30_000).observations[:, 0], return_counts=True)
    mean = 30_000 / len(numbers)
    assert np.abs(counts - mean).max() < 5.0 * np.sqrt(mean)


def test_nothing_can_be_drawn_from_an_empty_buffer() -> None:
    buffer = ReplayBuffer(10, 1, 1, 1, 0.9)
    buffer.begin(np.zeros((1, 1)))
    with pytest.raises(ValueError, match="no transitions"):
        buffer.sample(1)


@pytest.mark.parametrize("steps", [3, 30])
def test_a_restored_buffer_goes_on_bit_by_bit(steps: int) -> None:
    recorded = Recorded(60, 3)
    for _ in range(steps):
        recorded.step()
    state = pickle.loads(pickle.dumps(recorded.buffer.get_state()))
    restored = ReplayBuffer(60, COPIES, FEATURES, ACTIONS, 0.9, 3, seed=99)
    original = recorded.buffer
    # In pieces, the first of which begins before what is held, and the later of which overlap.
    borders = [max(0, original.oldest_row), original.rows - 2, original.rows]
    pieces = [(first, original.get_rows(first, last)) for first, last in ((borders[0], borders[1] + 1), borders[1:])]
    stale = {name: np.full_like(array[:COPIES], 1) for name, array in pieces[0][1].items()}
    if borders[0]:
        pieces[0] = borders[0] - 1, {name: np.concatenate([stale[name], array]) for name, array in pieces[0][1].items()}
    restored.set_state(state, pieces)
    assert restored.transitions == original.transitions
    for _ in range(25):
        samples = original.sample(16), restored.sample(16)
        for name in ("observations", "actions", "rewards", "next_observations", "discounts"):
            np.testing.assert_array_equal(getattr(samples[0], name), getattr(samples[1], name))
        recorded.step()
        row = original._here(-1)
        restored.add(original._actions[row], original._rewards[row], original._kinds[row], recorded.now)


def test_a_state_of_another_size_is_refused() -> None:
    state = ReplayBuffer(60, COPIES, FEATURES, ACTIONS, 0.9).get_state()
    for other in (
        ReplayBuffer(63, COPIES, FEATURES, ACTIONS, 0.9),
        ReplayBuffer(60, 1, FEATURES, ACTIONS, 0.9),
        ReplayBuffer(60, COPIES, FEATURES + 1, ACTIONS, 0.9),
    ):
        with pytest.raises(ValueError, match="does not fit"):
            other.set_state(state, [])


def test_missing_rows_are_an_error() -> None:
    recorded = Recorded(60)
    for _ in range(5):
        recorded.step()
    original = recorded.buffer
    for pieces in ([], [(0, 3)], [(1, 5)], [(0, 2), (3, 5)]):
        restored = ReplayBuffer(60, COPIES, FEATURES, ACTIONS, 0.9)
        rows = [(first, original.get_rows(first, last)) for first, last in pieces]
        with pytest.raises(ValueError, match="rows"):
            restored.set_state(original.get_state(), rows)
