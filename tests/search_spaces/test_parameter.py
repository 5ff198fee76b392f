"""One hyperparameter: its values, its scale, its conditions."""

from typing import Any

import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from search_spaces import Kind, SpaceError
from search_spaces.parameter import AtMost, OnlyIf, Parameter, PartOf, Scale, SearchedFrom

BEGIN = SearchedFrom(0.2, "plan", ("learned",))
BATCH = Parameter("batch", Kind.INTEGER, 64, "", low=1, high=1024)


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"kind": Kind.INTEGER, "scale": Scale.ONE_MINUS, "at_most": AtMost("batch")}, "a scale that rises"),
        ({"kind": Kind.NUMBER, "at_most": AtMost("batch")}, "whole numbers"),
        ({"part_of": PartOf("rollout")}, "the scale of powers of two"),
        ({"enough": "steps"}, "the scale of powers of two"),
        ({"searched_to": AtMost("steps")}, "the scale of powers of two"),
        ({"searched_from": BEGIN}, "on no other scale"),
        ({"searched_from": BEGIN, "search": FloatDistribution(0.1, 1.0, log=True)}, "on no other scale"),
    ],
)
def test_conditions_and_ends_of_ranges_need_their_scales(others: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Parameter(**{"name": "x", "kind": Kind.INTEGER, "default": 64, "meaning": "", **others})


def test_a_power_of_two_lies_between_two_bounds_or_does_not() -> None:
    assert Scale.POWER_OF_TWO.has_value(600, 1024)
    assert not Scale.POWER_OF_TWO.has_value(600, 1000)
    assert not Scale.POWER_OF_TWO.has_value(0, 0.5)
    assert Scale.IDENTITY.has_value(2.5, 3)
    assert not Scale.IDENTITY.has_value(2.5, 2.9)


@pytest.mark.parametrize("value", [64, [64], "\uff16\uff14", "64,", ""])
def test_sizes_are_a_text_of_whole_numbers(value: Any) -> None:
    with pytest.raises(SpaceError, match="it takes sizes of layers"):
        Parameter("sizes", Kind.SIZES, "8", "").check(value)


def test_a_flag_takes_true_and_false_alone() -> None:
    flag = Parameter("flag", Kind.FLAG, True, "")
    assert (flag.parse("True"), flag.parse("false")) == (True, False)
    with pytest.raises(SpaceError, match="flag=1: it takes true or false"):
        flag.parse("1")


def test_a_description_says_everything_that_makes_two_spaces_differ() -> None:
    searched = Parameter(
        "end", Kind.NUMBER, 0.5, "", low=0.0, high=1.0, search=FloatDistribution(0.0, 0.4), scale=Scale.ONE_MINUS,
        only_if=OnlyIf("shape", ("linear",)),
    )  # fmt: skip
    assert searched.inner_name == "one_minus_end"
    assert searched.describe() == (
        "a number from 0 to 1, by default 0.5, searched as one_minus_end in FloatDistribution(high=0.4, log=False, low=0.0, "
        "step=None), OnlyIf(name='shape', values=('linear',))"
    )
    assert BATCH.describe() == "a whole number from 1 to 1024, by default 64, not searched"


PART = Parameter(
    "batch", Kind.INTEGER, 64, "", low=1, search=IntDistribution(0, 5), scale=Scale.POWER_OF_TWO, part_of=PartOf("rollout", 2)
)


@pytest.mark.parametrize(
    ("batch", "rollout", "inner"), [(64, 512, 3), (512, 512, 0), (1, 512, 5), (100, 1000, 3), (None, 8, 0)]
)
def test_a_part_is_as_many_halvings_of_the_whole_as_are_nearest(batch: int | None, rollout: int, inner: int) -> None:
    assert PART.search is not None
    assert PART.nearest(batch, {"rollout": rollout}, PART.search) == inner
    assert PART.inner_name == "log2_rollout_per_batch"
    assert PART.outer(3, {"rollout": 100}) == 12
    assert PART.outer(5, {"rollout": 8}) == 2
    assert PART.outer(5, {"rollout": 1}) == 1


@pytest.mark.parametrize(
    ("value", "within", "inner"),
    [
        (0.0, FloatDistribution(1e-7, 1e-2, log=True), 1e-7),
        (None, FloatDistribution(0.3, 5.0, log=True), 5.0),
        (-7.5, FloatDistribution(-3.0, 0.0), -3.0),
        (-2.5, FloatDistribution(-3.0, 0.0), -2.5),
        (7, IntDistribution(1, 5), 5),
        (True, CategoricalDistribution((True, False)), True),
        (30, CategoricalDistribution((1, 10, 100)), 10),
    ],
)
def test_what_lies_outside_of_a_range_is_nearest_to_its_end(value: Any, within: Any, inner: Any) -> None:
    found = Parameter("x", Kind.NUMBER, 1.0, "", optional=True).nearest(value, {}, within)
    assert (found, type(found)) == (inner, type(inner))


def test_the_nearest_sizes_have_the_most_similar_number_of_units_and_a_text_without_order_falls_back() -> None:
    sizes = CategoricalDistribution(("64,64", "256,256", "512,512"))
    assert Parameter("sizes", Kind.SIZES, "64,64", "").nearest("1024,1024", {}, sizes) == "512,512"
    assert Parameter("sizes", Kind.SIZES, "64,64", "").nearest("128", {}, sizes) == "64,64"
    texts = Parameter("kind", Kind.TEXT, "tanh", "", choices=("relu", "tanh", "silu"))
    assert texts.nearest("silu", {}, CategoricalDistribution(("relu", "tanh"))) == "tanh"
    assert texts.nearest("silu", {}, CategoricalDistribution(("relu",))) == "relu"


def test_one_minus_none_is_nearest_to_what_is_greatest_outside() -> None:
    end = Parameter("end", Kind.NUMBER, 0.5, "", optional=True, scale=Scale.ONE_MINUS)
    assert end.nearest(None, {}, FloatDistribution(0.01, 0.1)) == 0.01


SPREAD = Parameter(
    "std", Kind.NUMBER, -1.5, "", low=-10.0, high=2.0,
    search=FloatDistribution(-3.0, 0.0), searched_from=SearchedFrom(-1.0, "plan", ("learned", "yesterday")),
)  # fmt: skip


@pytest.mark.parametrize(
    ("plan", "inner", "value"),
    [("none", -3.0, -3.0), ("none", -1.2, -1.2), ("learned", -3.0, -1.0), ("yesterday", -1.5, -0.5), ("learned", 0.0, 0.0)],
)
def test_what_is_drawn_is_spread_over_the_range_where_it_begins(plan: str, inner: float, value: float) -> None:
    assert SPREAD.search is not None
    assert SPREAD.outer(inner, {"plan": plan}) == pytest.approx(value)
    assert SPREAD.nearest(value, {"plan": plan}, SPREAD.search) == pytest.approx(inner)


@pytest.mark.parametrize(("value", "inner"), [(-1.5, -3.0), (0.5, 0.0)])
def test_what_lies_outside_of_where_a_range_begins_is_nearest_to_its_end(value: float, inner: float) -> None:
    assert SPREAD.search is not None
    assert SPREAD.nearest(value, {"plan": "learned"}, SPREAD.search) == inner


def test_conditions_in_words() -> None:
    assert "from -1 with plan learned or yesterday" in SPREAD.describe()
    assert AtMost("steps", 0.25).describe(4096) == "0.25 of steps=4096"
    assert AtMost("n_steps").describe(256) == "n_steps=256"
    assert OnlyIf("torch_compile", (True,)).describe() == "torch_compile true"
