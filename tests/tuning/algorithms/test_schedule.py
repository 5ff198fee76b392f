"""Schedules over the budget."""

import math

import pytest

from tuning.algorithms.schedule import SHAPES, Schedule


@pytest.mark.parametrize("shape", SHAPES)
def test_a_schedule_begins_at_its_initial_value_and_stays_at_its_final_one(shape: str) -> None:
    schedule = Schedule(2.0, shape, 0.1, 100)  # type: ignore[arg-type]
    final = 2.0 if shape == "constant" else 0.2
    assert [schedule.value(step) for step in (0, 100, 500)] == pytest.approx([2.0, final, final])
    values = [schedule.value(step) for step in range(0, 101, 10)]
    assert values == sorted(values, reverse=True)


def test_shapes_at_a_quarter() -> None:
    found = {shape: Schedule(1.0, shape, 0.2, 400).value(100) for shape in SHAPES}  # type: ignore[arg-type]
    assert found == pytest.approx(
        {"constant": 1.0, "linear": 0.8, "exponential": 0.2**0.25, "cosine": 0.2 + 0.8 * (1 + math.cos(math.pi / 4)) / 2}
    )


def test_an_exponential_decay_to_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="never reaches 0"):
        Schedule(1.0, "exponential", 0.0, 10)
