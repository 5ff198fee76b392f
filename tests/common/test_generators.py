"""States of generators are taken if they are such; those that would never end or crash are refused."""

from typing import Any

import numpy as np
import pytest

from common.generators import Stream, check_twister, set_generator, stream, stream_seed
from tuning.trial.records import trial_seed


@pytest.mark.parametrize(
    "change",
    [
        {"bit_generator": "MT19937"}, {"state": {"state": 0, "inc": 0}}, {"state": {"state": 1, "inc": 2}},
        {"state": {"state": -1, "inc": 1}}, {"state": {"state": 2**128, "inc": 1}}, {"state": {"state": "1", "inc": 1}},
        {"state": {}}, {"state": None},
    ],
)  # fmt: skip
def test_a_generator_goes_on_from_a_state_and_what_pcg64_never_has_is_refused(change: dict[str, Any]) -> None:
    first, generator = np.random.default_rng(1), np.random.default_rng(2)
    set_generator(generator, first.bit_generator.state)
    assert generator.random() == first.random()
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


def test_no_stream_coincides_with_another_or_with_trials_own_seeds() -> None:
    """`SeedSequence([s, n])` equals `SeedSequence([s, n, 0])`, which once made a sampler's seed and a trial's the same."""
    plain = [np.random.SeedSequence(numbers) for numbers in ([3], [3, 1], [3, 1, 0], [3, 1, 1], [3, 1, 2], [3, 1, 3])]
    keyed = [stream(of, *numbers) for of in Stream for numbers in ((3,), (3, 1), (3, 2), (3, 1, 1))]
    words = [tuple(own.generate_state(4)) for own in (*plain, *keyed)]
    # Of the plain ones two are the same.
    assert len(set(words)) == len(words) - 1
    own = {trial_seed(3, number) for number in range(50)}
    assert not own & {stream_seed(of, 3, number) >> 1 for of in Stream for number in range(50)}


def test_a_stream_is_the_same_for_the_same_numbers_for_ever() -> None:
    known = [673228719, 3241444873, 3685993406, 1216546553, 2078861726, 2471122328, 23012616]
    assert [stream_seed(of, 0, 0) for of in Stream] == known
    assert stream_seed(Stream.PRIOR, 1, 2) != stream_seed(Stream.PRIOR, 2, 1)
