"""Steps of saving memory, from none to the one that changes the mathematics."""

from tuning.algorithms.registry import algorithm
from tuning.memory.fallbacks import FALLBACKS

H = algorithm("ppo").space.complete({}, {"steps": 250_000.0})


def test_the_first_saves_nothing() -> None:
    assert FALLBACKS[0].name == ""
    assert FALLBACKS[0].apply(H) == H


def test_only_the_last_fallback_changes_the_mathematics() -> None:
    assert [fallback.parts for fallback in FALLBACKS] == [1, 2, 2]
    assert [fallback.apply(H)["bf16"] for fallback in FALLBACKS] == [False, False, True]
    assert all(fallback.apply(H) | {"bf16": False} == H for fallback in FALLBACKS)


def test_applying_one_leaves_the_assignment_as_it_is() -> None:
    before = dict(H)
    FALLBACKS[-1].apply(H)
    assert before == H
