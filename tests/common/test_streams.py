"""Streams of random numbers share none."""

import numpy as np

from common.streams import Stream, stream, stream_seed
from tuning.trial.records import trial_seed


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


def test_keys_are_all_different() -> None:
    assert len({of.value for of in Stream}) == len(Stream.__members__)
