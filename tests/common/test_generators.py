"""States of generators are taken if they are such; those that would never end or crash are refused."""

from typing import Any

import numpy as np
import pytest

from common.generators import check_twister, set_generator


def test_a_generator_goes_on() -> None:
    first, second = np.random.default_rng(1), np.random.default_rng(2)
    first.random(5)
    set_generator(second, first.bit_generator.state)
    assert second.random() == first.random()


@pytest.mark.parametrize(
    "change",
    [
        {"bit_generator": "MT19937"}, {"state": {"state": 0, "inc": 0}}, {"state": {"state": 1, "inc": 2}},
        {"state": {"state": -1, "inc": 1}}, {"state": {"state": 2**128, "inc": 1}}, {"state": {"state": "1", "inc": 1}},
        {"state": {}}, {"state": None},
    ],
)  # fmt: skip
def test_what_pcg64_never_has_is_refused(change: dict[str, Any]) -> None:
    generator = np.random.default_rng(1)
    before = generator.bit_generator.state
    for state in ({**before, **change}, None, [], "PCG64"):
        with pytest.raises(ValueError, match="random generator's state"):
            set_generator(generator, state)
    assert generator.bit_generator.state == before


def test_twisters() -> None:
    _, words, position, *_ = np.random.get_state()
    check_twister(words, position)
    check_twister(np.stack([words, words]), np.array([0, 624]))
    for bad in (-1, 625, 10**8, 0.5, np.array([1, 999])):
        with pytest.raises(ValueError, match="Mersenne Twister"):
            check_twister(words, bad)
    with pytest.raises(ValueError, match="Mersenne Twister"):
        check_twister(np.zeros(624, np.uint32), 0)
    for wrong in (words[:-1], words.astype(np.int64), words.tolist(), None):
        with pytest.raises(ValueError, match="624 numbers"):
            check_twister(wrong, 0)
