"""Weights of the reward: what is read, refused, shown and kept in keys."""

import pytest

from envs.objective.reward import TERMS
from envs.objective.weights import DEFAULT, Weights, WeightsError


def test_the_default_adds_up_to_one_beside_comfort_and_does_not_weigh_peaks() -> None:
    assert sum(DEFAULT.by_term().values()) - DEFAULT.comfort == pytest.approx(1.0)
    assert not DEFAULT.observes_day_peak
    assert tuple(DEFAULT.by_term()) == tuple(TERMS)


def test_nothing_given_is_the_default_which_is_neither_shown_nor_part_of_a_key() -> None:
    assert Weights.parse(()) == DEFAULT
    assert (DEFAULT.texts, DEFAULT.key) == ((), "")
    # However it is said.
    again = Weights.parse(("ev=0.10", "co2=.5", "cost=0.15", "solar=0.2", "grid=5e-2", "comfort=1"))
    assert again == DEFAULT
    assert again.is_default


def test_what_is_given_is_the_whole_reward_in_one_form() -> None:
    weights = Weights.parse(("peak=0.3", "ramping=0.2", "co2=.5"))
    assert weights == Weights(co2=0.5, cost=0.0, solar=0.0, grid=0.2, ev=0.0, peak=0.3)
    assert weights.texts == ("co2=0.5", "grid=0.2", "peak=0.3")
    assert Weights.parse(weights.texts) == weights
    assert weights.shown == "co2 0.5, ramping 0.2, peak 0.3"
    assert weights.observes_day_peak


@pytest.mark.parametrize(
    ("texts", "comfort", "shown"),
    [(("co2=1",), 1.0, "co2 1"), (("co2=1", "comfort=0"), 0.0, "co2 1, comfort 0"), (("comfort=1",), 1.0, "comfort 1")],
)
def test_comfort_has_its_price_unless_another_one_is_given(texts: tuple[str, ...], comfort: float, shown: str) -> None:
    weights = Weights.parse(texts)
    assert (weights.comfort, weights.shown) == (comfort, shown)
    assert Weights.parse(weights.texts) == weights


def test_keys_differ_where_weights_do() -> None:
    keys = {Weights(peak=value).key for value in (0.0, 0.1, 0.2)}
    assert len(keys) == 3
    assert all(key == "" or key.startswith("-w") for key in keys)


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (("cots=0.3",), "did you mean cost"),
        (("rampign=0.3",), "did you mean ramping"),
        (("co2",), "it takes NAME=NUMBER"),
        (("co2=nan",), "it takes NAME=NUMBER"),
        (("co2=-0.1",), "from 0 to 1000"),
        (("co2=1e9",), "from 0 to 1000"),
        (("ramping=-1",), "--weights ramping=-1: a weight lies from 0 to 1000"),
        (("co2=0.1", "co2=0.2"), "twice"),
        (("grid=0.1", "ramping=0.2"), "ramping is given twice"),
        (("co2=0", "ev=0"), "nothing to learn"),
    ],
)
def test_other_weights_are_refused_in_one_line(texts: tuple[str, ...], words: str) -> None:
    with pytest.raises(WeightsError, match=words) as error:
        Weights.parse(texts)
    assert "--weights" in str(error.value)
    assert "\n" not in str(error.value)
