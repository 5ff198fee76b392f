from dataclasses import replace

import numpy as np
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution

from tuning.search.models.freeze_thaw import MOST_TRIALS, Curve, Outlook, considered, predicted_ends, rough_ends

SPACE: dict[str, BaseDistribution] = {"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}
MOST, RUNG = 1000, 100
RISING = [0.10, 0.16, 0.20, 0.23, 0.25, 0.27, 0.28, 0.29, 0.295, 0.30]


def curve(number: int, x: float, ratings: list[float], state: str = "frozen", cost: float = 1.0) -> Curve:
    """A trial with an evaluation each rung."""
    known = tuple(((i + 1) * RUNG, rating) for i, rating in enumerate(ratings))
    return Curve(number, {"x": x, "y": 0.5}, known, cost, state)  # type: ignore[arg-type]


def decided(curves: list[Curve], candidate: Curve | None, steps_left: float = 1e6) -> int | None:
    return Outlook(curves, SPACE, MOST, RUNG, candidate).decide(curves, candidate, 0, steps_left)


ENDED = [curve(0, 0.5, RISING, "ended"), curve(1, 0.1, [0.2 * r for r in RISING], "ended")]


def test_without_anything_frozen_the_candidate_begins() -> None:
    candidate = curve(9, 0.7, [])
    assert decided([], candidate) is None
    assert decided([curve(0, 0.5, RISING[:3], "running")], candidate) is None
    assert decided(ENDED, candidate) is None


def test_a_trial_ahead_of_the_best_is_continued() -> None:
    ahead = curve(2, 0.55, [1.3 * r for r in RISING[:4]])
    behind = curve(3, 0.05, [0.1 * r for r in RISING[:4]])
    assert decided([*ENDED, ahead, behind], curve(9, 0.0, [])) == 2


def test_a_hopeless_trial_is_left_for_a_new_one() -> None:
    hopeless = [curve(number, 0.05 * number, [-0.5, -0.5, -0.5]) for number in (2, 3)]
    assert decided([*ENDED, *hopeless], curve(9, 0.55, [])) is None


@pytest.mark.parametrize(("costs", "chosen"), [((4.0, 0.5), 3), ((0.5, 4.0), 2)])
def test_of_two_equal_trials_the_cheaper_one_is_continued(costs: tuple[float, float], chosen: int) -> None:
    twins = [
        replace(curve(number, 0.55, [1.2 * r for r in RISING[:4]]), cost=cost)
        for number, cost in zip((2, 3), costs, strict=True)
    ]
    assert decided([*ENDED, *twins], curve(9, 0.0, [], cost=10.0)) == chosen


def test_a_late_riser_stays_an_option() -> None:
    """It is behind at a quarter and ahead at the end, as others of its kind were before it."""
    late = [0.02, 0.04, 0.07, 0.10, 0.15, 0.20, 0.25, 0.30, 0.35, 0.40]
    before = [curve(0, 0.9, late, "ended"), curve(1, 0.2, RISING, "ended")]
    again = curve(2, 0.92, [1.02 * r for r in late[:3]])
    early = curve(3, 0.22, [0.98 * r for r in RISING[:3]])
    ends = predicted_ends([*before, again, early], SPACE, MOST)
    assert ends[2] > ends[3]
    assert decided([*before, again, early], curve(9, 0.2, [], cost=3.0)) == 2


def test_with_little_left_the_trial_that_can_still_exceed_the_best_is_finished() -> None:
    """A new trial might end higher, but not with what is left."""
    nearly = curve(2, 0.55, [1.1 * r for r in RISING[:8]])
    unknown = curve(9, 0.9, [], cost=0.5)
    curves = [*ENDED, nearly, curve(3, 0.3, RISING[:2])]
    assert decided(curves, unknown, steps_left=2 * RUNG) == 2
    assert decided(curves, unknown, steps_left=0.0) == 2


def test_the_first_fifth_comes_before_any_judgement() -> None:
    hopeless, first = curve(2, 0.55, [-9.0]), curve(3, 0.55, [1.2 * r for r in RISING[:4]])
    assert decided([*ENDED, hopeless, first], curve(9, 0.5, [])) == 2
    assert decided([*ENDED, curve(4, 0.55, []), first], curve(9, 0.5, [])) == 4
    assert decided([curve(4, 0.55, [])], curve(9, 0.5, [])) == 4


@pytest.mark.parametrize(("cost", "rungs"), [(0.1, 2), (1.0, 2), (1.9, 2), (2.0, 1), (9.0, 1)])
def test_a_costly_trial_is_judged_once_it_took_as_much_as_the_first_fifth_of_the_default(cost: float, rungs: int) -> None:
    first = curve(3, 0.55, [1.2 * r for r in RISING[:4]])
    for evaluations in range(1, 4):
        hopeless = curve(2, 0.05, [-9.0] * evaluations, cost=cost)
        assert (decided([*ENDED, hopeless, first], curve(9, 0.05, [], cost=9.0)) == 2) is (evaluations < rungs)


@pytest.mark.parametrize(("cost", "first"), [(0.5, 100.0), (1.0, 200.0), (4.0, 400.0)])
def test_a_trial_begins_where_the_budget_pays_for_its_first_steps_and_the_end_of_the_leader(cost: float, first: float) -> None:
    """The leader has 700 steps left at a cost of 2; else it goes on."""
    leader = curve(2, 0.55, [1.2 * r for r in RISING[:3]], cost=2.0)
    unknown = curve(9, 0.57, [], cost=cost)
    assert [decided([*ENDED, leader], unknown, steps_left=1400.0 + first + more) for more in (-1.0, 1.0)] == [2, None]


def test_where_nothing_may_begin_a_frozen_trial_goes_on() -> None:
    assert decided([*ENDED, curve(2, 0.05, [-0.5, -0.5, -0.5])], None) == 2
    assert decided(ENDED, None) is None


def test_ratings_that_are_all_equal_still_give_a_decision() -> None:
    zeros = [curve(number, 0.1 * number, [0.0, 0.0]) for number in range(4)]
    assert decided(zeros, curve(9, 0.9, [])) in (None, 0, 1, 2, 3)


def test_ends_of_all_trials_are_predicted_also_without_evaluations() -> None:
    ends = predicted_ends([*ENDED, curve(2, 0.52, []), curve(3, 0.5, RISING[:5])], SPACE, MOST)
    assert set(ends) == {0, 1, 2, 3}
    assert ends[0] == pytest.approx(0.30, abs=0.01)
    assert ends[3] == pytest.approx(0.30, abs=0.03)
    assert predicted_ends([curve(0, 0.5, [])], SPACE, MOST) == {}


def many(count: int) -> list[Curve]:
    """Frozen trials whose ends follow from their points."""
    points = [{"x": float(x)} for x in np.random.default_rng(0).random(count)]
    return [
        Curve(number, point, tuple((200 * rung, point["x"] * rung / 5.0) for rung in (1, 2)), 1.0, "frozen")
        for number, point in enumerate(points)
    ]


def test_of_many_trials_one_of_the_best_goes_on_and_all_have_an_end() -> None:
    box = {"x": FloatDistribution(0.0, 1.0)}
    curves = many(MOST_TRIALS + 300)
    chosen = Outlook(curves, box, 1000, 200).decide(curves, None, 0, 1e9)
    assert chosen is not None
    best = sorted(curves, key=lambda curve: -curve.point["x"])  # type: ignore[operator]
    assert chosen in [curve.number for curve in best[:20]]
    ends = predicted_ends(curves, box, 1000)
    assert ends.keys() == {curve.number for curve in curves}
    assert max(ends, key=lambda number: ends[number]) in [curve.number for curve in best[:20]]


def test_an_outlook_decides_as_a_model_of_now_does() -> None:
    box = {"x": FloatDistribution(0.0, 1.0)}
    curves = many(30)
    candidate = Curve(30, {"x": 0.5}, (), 1.0, "frozen")
    outlook = Outlook(curves, box, 1000, 200)
    for seed in range(3):
        anew = Outlook(curves, box, 1000, 200, candidate)
        assert outlook.decide(curves, candidate, seed, 1e9) == anew.decide(curves, candidate, seed, 1e9)


def test_an_outlook_knows_later_evaluations_of_the_trial_that_a_decision_is_about() -> None:
    box = {"x": FloatDistribution(0.0, 1.0)}
    curves = many(30)
    outlook = Outlook(curves, box, 1000, 200)
    best = outlook.decide(curves, None, 0, 1e9)
    assert best is not None
    for rating, goes_on in ((5.0, True), (-5.0, False)):
        own = replace(curves[best], evaluations=(*curves[best].evaluations, (600, rating)))
        now = [own if curve.number == best else curve for curve in curves]
        assert (outlook.decide(now, None, 0, 1e9, best) == best) is goes_on


def evaluated(*ratings: float) -> tuple[tuple[int, float], ...]:
    return tuple((100 * rung, rating) for rung, rating in enumerate(ratings, 1))


def test_a_rough_end_adds_what_trials_usually_gain() -> None:
    curves = [evaluated(0.0, 0.1, 0.3), evaluated(0.2, 0.3), evaluated(0.0, 0.1, 0.3), evaluated(), evaluated(0.5)]
    np.testing.assert_allclose(rough_ends(curves), [0.3, 0.5, 0.3, np.nan, 0.8])
    assert np.isnan(rough_ends([evaluated()])).all()


def test_of_many_the_best_and_others_from_all_parts_are_known() -> None:
    rng = np.random.default_rng(0)
    ratings = rng.random(5000)
    curves = [evaluated(0.0, rating) for rating in ratings.tolist()]
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
    curves = [evaluated(0.0, 1.0 - 1e-4 * place) for place in range(3000)]
    frozen = [place >= 2990 for place in range(3000)]
    assert set(range(2990, 3000)) <= set(considered(curves, frozen))
    assert considered(curves[:MOST_TRIALS], frozen[:MOST_TRIALS]) == list(range(MOST_TRIALS))
    # Those without an evaluation take no place.
    assert considered([evaluated()] * 1000 + curves[:300], [False] * 1300) == list(range(1000, 1300))


@pytest.mark.parametrize("power", [-13, 13])
def test_no_decision_depends_on_the_scale_of_ratings(power: int) -> None:
    """Returns of an environment may be of any size; by powers of two, so that rounding is the same."""
    random = np.random.default_rng(0)
    for _ in range(20):
        curves = [
            curve(number, float(random.random()), np.cumsum(random.normal(0.05, 0.1, int(random.integers(2, 7)))).tolist())
            for number in range(6)
        ]
        scaled = [
            replace(each, evaluations=tuple((steps, rating * 2.0**power) for steps, rating in each.evaluations))
            for each in curves
        ]
        left = float(random.uniform(0.0, 4000.0))
        new = curve(9, float(random.random()), [])
        assert decided(scaled, new, steps_left=left) == decided(curves, new, steps_left=left)
        ends, of_scaled = (predicted_ends(each, SPACE, MOST) for each in (curves, scaled))
        assert {number: end * 2.0**power for number, end in ends.items()} == of_scaled
