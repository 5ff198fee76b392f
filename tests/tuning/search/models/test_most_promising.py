"""Which trials the model knows of many: all of few; of many those that may be best, whatever their number."""

import numpy as np

from tuning.search.models.most_promising import MOST_TRIALS, considered, rough_ends


def curve(*ratings: float) -> tuple[tuple[int, float], ...]:
    return tuple((100 * rung, rating) for rung, rating in enumerate(ratings, 1))


def test_all_of_few_trials_are_known() -> None:
    assert considered([curve(0.1)] * MOST_TRIALS, [True] * MOST_TRIALS) == list(range(MOST_TRIALS))


def test_a_rough_end_adds_what_trials_usually_gain() -> None:
    curves = [curve(0.0, 0.1, 0.3), curve(0.2, 0.3), curve(0.0, 0.1, 0.3), curve(), curve(0.5)]
    np.testing.assert_allclose(rough_ends(curves), [0.3, 0.5, 0.3, np.nan, 0.8])
    assert np.isnan(rough_ends([curve()])).all()


def test_of_many_the_best_and_others_from_all_parts_are_known() -> None:
    rng = np.random.default_rng(0)
    ratings = rng.random(5000)
    curves = [curve(0.0, rating) for rating in ratings.tolist()]
    frozen = (rng.random(5000) < 0.5).tolist()
    known = considered(curves, frozen)
    assert len(known) == len(set(known)) == MOST_TRIALS
    assert known == sorted(known)
    order = np.argsort(-ratings)
    assert set(order[:150].tolist()) <= set(known)
    # What is usual is known too.
    assert abs(np.median(np.sort(ratings[known])[: MOST_TRIALS // 2]) - 0.5) < 0.1
    assert min(known) < 100
    assert max(known) > 4900


def test_the_best_of_those_that_may_go_on_are_known_though_others_are_better() -> None:
    curves = [curve(0.0, 1.0 - 1e-4 * place) for place in range(3000)]
    frozen = [place >= 2990 for place in range(3000)]
    assert set(range(2990, 3000)) <= set(considered(curves, frozen))


def test_trials_without_an_evaluation_take_no_place() -> None:
    curves = [curve()] * 1000 + [curve(0.1, 0.2)] * 300
    assert considered(curves, [False] * 1300) == list(range(1000, 1300))
