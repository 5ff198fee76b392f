"""Two aims share what their terms weigh in the reward; the other weights stay."""

import pytest

from envs.objective.columns import measures
from envs.objective.reward import TERMS
from envs.objective.reward_share import TERM_OF, RewardShare, why_none
from envs.objective.weights import DEFAULT, Weights

MEASURES = measures()
CO2, BILL = MEASURES["co2_kg"], MEASURES["bill"]


def test_what_both_weigh_together_and_all_others_stay() -> None:
    share = RewardShare.of(DEFAULT, CO2, BILL)
    assert share
    assert share.together == DEFAULT.co2 + DEFAULT.cost
    for part in (0.0, 0.3, 1.0):
        weights = share.weights_at(part)
        assert weights.co2 + weights.cost == pytest.approx(share.together)
        assert weights.co2 == pytest.approx(part * share.together)
        others = {name: value for name, value in weights.by_term().items() if name not in ("co2", "cost")}
        assert others == {name: value for name, value in DEFAULT.by_term().items() if name not in ("co2", "cost")}
        assert share.share_in(weights) == pytest.approx(part)


def test_the_default_is_exactly_what_the_user_weighted() -> None:
    share = RewardShare.of(DEFAULT, BILL, CO2)
    assert share
    assert share.weights_at(share.default) == DEFAULT
    assert share.share_in(DEFAULT) == share.default == pytest.approx(0.15 / 0.65)


def test_every_named_measure_and_term_exists() -> None:
    assert set(TERM_OF) <= set(MEASURES)
    assert set(TERM_OF.values()) == set(TERMS)


@pytest.mark.parametrize(
    ("weights", "first", "second", "why"),
    [
        (DEFAULT, "co2_kg", "battery_cycles", "battery_cycles has no term of its own in the reward"),
        (DEFAULT, "score", "bill", "score has no term of its own in the reward"),
        (DEFAULT, "bill", "energy_cost", "both have the term cost of the reward"),
        # A policy could not see what some trials only would reward.
        (DEFAULT, "bill", "peak_kw", "--weights give peak no weight"),
        (Weights(cost=0.0), "co2_kg", "bill", "--weights give cost no weight"),
        (Weights(peak=0.2), "bill", "peak_kw", ""),
    ],
)
def test_without_two_terms_there_is_nothing_to_share(weights: Weights, first: str, second: str, why: str) -> None:
    assert why_none(weights, MEASURES[first], MEASURES[second]) == why
    assert (RewardShare.of(weights, MEASURES[first], MEASURES[second]) is None) == bool(why)
