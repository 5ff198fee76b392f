"""SAC as the registry lists it, and what it takes: copies, time, memory."""

import numpy as np
import pytest

from tests.tuning.algorithms.memory_checks import assignment, predicted, term
from tests.tuning.algorithms.sac.sac_small import built
from tuning.algorithms.memory import Problem, Workload
from tuning.algorithms.registry import algorithm
from tuning.algorithms.sac.replay_buffer import ReplayBuffer, replay_places
from tuning.algorithms.sac.spec import copies, lesson_places, row_bytes


def test_copies_divide_the_transitions_between_rounds() -> None:
    given = ((64, 64), (64, 100), (64, 48), (6, 4), (1, 64), (7, 4))
    found = [copies({"train_freq": train_freq}, most) for train_freq, most in given]
    assert found == [64, 64, 32, 3, 1, 1]


@pytest.mark.usefixtures("small_ray")
def test_a_trainer_and_its_runner_have_as_many() -> None:
    for train_freq in (1, 6, 8):
        with built(train_freq=train_freq) as trainer:
            assert trainer.num_envs == trainer.runner.num_envs == copies({"train_freq": train_freq}, 4)


def seconds(**values: int) -> float:
    spec = algorithm("sac")
    return spec.seconds(spec.space.complete(dict(values)), Problem(60, 5, 60))


def test_gradient_steps_for_each_transition_and_rows_of_batches_decide_the_time() -> None:
    few, same, many = (
        seconds(train_freq=64, gradient_steps=8),
        seconds(train_freq=128, gradient_steps=16),
        seconds(train_freq=64, gradient_steps=64),
    )
    assert few == pytest.approx(same)
    assert many > 4 * few
    assert seconds(batch_size=1024) > seconds(batch_size=256)


def test_a_buffer_takes_no_more_than_the_budget_fills() -> None:
    small, large = (predicted("sac", assignment("sac", buffer_size=size)) for size in (5000, 1_000_000))
    assert term(small, "replay buffer") <= term(large, "replay buffer") < 1.1 * term(small, "replay buffer")


def test_a_buffer_takes_the_rows_of_a_teacher_too() -> None:
    hours, copies, agents = (30, 30, 24, 24, 7, 7, 12), 3, 2
    buffer = ReplayBuffer(10_000, copies * agents, 17, 5, 0.99)
    for first in range(0, len(hours), copies):
        own = np.repeat(hours[first : first + copies], agents)
        steps, runs = own.max(), len(own)
        buffer.add_run(np.zeros((steps + 1, runs, 17)), np.zeros((steps, runs, 5)), np.zeros((steps, runs)), own)
    buffer.begin(np.zeros((copies * agents, 17)))
    assert lesson_places(hours, copies, agents) == buffer.rows * copies * agents
    assert lesson_places((), copies, agents) == 0


def test_a_teacher_fills_a_buffer_beyond_the_budget() -> None:
    h, problem = assignment("sac", buffer_size=1_000_000), Problem(17, 5, 17, agents=2)

    def of(*lessons: int) -> dict[str, int]:
        run = Workload(4, 1000, 2, 1, False, lessons=lessons)
        return {term.name: term.nbytes for term in algorithm("sac").memory(h, run, problem)}

    plain, taught = of(), of(*(168,) * 40)
    more = lesson_places((168,) * 40, 4, 2) * (4 * (17 + 5 + 1) + 1)
    assert taught["replay buffer"] - plain["replay buffer"] == more
    assert taught["checkpoint"] > plain["checkpoint"]
    # A buffer that is full anyway takes no more.
    h = assignment("sac", buffer_size=1000)
    assert of()["replay buffer"] == of(*(168,) * 40)["replay buffer"]


@pytest.mark.parametrize(("size", "copies"), [(1000, 1), (1001, 8), (1000, 64), (4096, 64), (1, 1)])
def test_the_memory_is_known_without_building_it(size: int, copies: int) -> None:
    buffer = ReplayBuffer(size, copies, 50, 5, 0.9)
    assert buffer.nbytes == replay_places(size, copies) * row_bytes(50, 5)
    assert size <= buffer.size < size + copies
    # Observations once, not twice: less than a third above 56 numbers of four bytes each.
    if size >= 1000:
        assert buffer.nbytes < 1.07 * 57 * 4 * buffer.size
