"""Rules of search spaces, on a small one."""

import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from search_spaces import Kind, SearchSpace, SpaceError
from search_spaces.parameter import AtMost, OnlyIf, Parameter, PartOf, Scale
from tests.search_spaces.draws import drawn

SPACE = SearchSpace(
    (
        Parameter("steps_each", Kind.INTEGER, 256, "", low=2, search=IntDistribution(5, 10), scale=Scale.POWER_OF_TWO,
                  at_most=AtMost("budget", 0.25)),
        Parameter("batch", Kind.INTEGER, 64, "", low=1, search=IntDistribution(4, 12), scale=Scale.POWER_OF_TWO,
                  at_most=AtMost("steps_each")),
        Parameter("gamma", Kind.NUMBER, 0.9, "", low=0.0, high=1.0, search=FloatDistribution(1e-3, 1e-1, log=True),
                  scale=Scale.ONE_MINUS),
        Parameter("shape", Kind.SIZES, "8,8", "", search=CategoricalDistribution(("8,8", "16"))),
        Parameter("kind", Kind.TEXT, "tanh", "", choices=("tanh", "relu")),
        Parameter("cut", Kind.NUMBER, 0.5, "", low=0.1, high=2.0, optional=True),
    )
)  # fmt: skip


def draw(fixed: dict | None = None, budget: float = 1e6, seed: int = 0, trials: int = 60) -> list[dict]:  # type: ignore[type-arg]
    return drawn(SPACE, trials, fixed, {"budget": budget}, seed)


def test_conditions_hold_in_every_drawn_assignment_and_are_reached() -> None:
    found = draw(budget=4 * 512)
    assert all(a["batch"] <= a["steps_each"] <= 512 for a in found)
    assert any(a["batch"] == a["steps_each"] for a in found)
    assert any(a["steps_each"] == 512 for a in found)
    assert len({a["batch"] for a in found}) > 3


def test_a_fixed_value_bounds_what_it_is_tied_to() -> None:
    assert all(a["steps_each"] >= 512 for a in draw({"batch": 512}))
    assert {a["batch"] for a in draw({"steps_each": 32})} == {16, 32}


def test_a_condition_that_leaves_nothing_of_the_range_still_holds() -> None:
    assert {a["batch"] for a in draw({"steps_each": 8})} == {8}
    assert {a["steps_each"] for a in draw(budget=40)} <= {8}


@pytest.mark.parametrize(
    ("fixed", "budget", "message"),
    [
        (
            {"batch": 2048},
            4096,
            r"steps_each: it would have to be at least 2048 \(batch=2048\) and at most 0\.25 of budget=4096",
        ),
        # There is no power of two from 600 to 1000.
        ({"batch": 600}, 4000, r"at least 600 \(batch=600\) and at most 0\.25 of budget=4000"),
        ({}, 7, r"at least 2 and at most 0\.25 of budget=7"),
        ({}, 1, "at least 2"),
    ],
)
def test_what_conditions_leave_no_value_for_is_refused(fixed: dict[str, int], budget: float, message: str) -> None:
    with pytest.raises(SpaceError, match=message):
        SPACE.check(fixed, {"budget": budget})  # type: ignore[arg-type]


@pytest.mark.parametrize("budget", [8, 40, 300, 4096, 1e5])
@pytest.mark.parametrize("fixed", [{}, {"batch": 2}, {"batch": 48}, {"batch": 1024}, {"steps_each": 10}])
def test_what_is_not_refused_fulfils_the_conditions_whenever_it_is_drawn(fixed: dict[str, int], budget: float) -> None:
    try:
        SPACE.check(fixed, {"budget": budget})  # type: ignore[arg-type]
    except SpaceError:
        return
    for assignment in draw(fixed, budget, trials=20):
        SPACE.check(assignment, {"budget": budget})


def test_fixed_values_are_taken_and_unsearched_ones_are_defaults() -> None:
    for assignment in draw({"gamma": 0.5, "cut": None}):
        assert assignment["gamma"] == 0.5
        assert assignment["cut"] is None
        assert assignment["kind"] == "tanh"


def test_scales_map_what_is_drawn() -> None:
    found = draw()
    assert all(a["steps_each"] & (a["steps_each"] - 1) == 0 and isinstance(a["steps_each"], int) for a in found)
    assert all(0.9 <= a["gamma"] <= 0.999 for a in found)
    assert set(SPACE.distributions({})) == {"log2_steps_each", "log2_batch", "one_minus_gamma", "shape"}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("gamma", "1.5", "gamma=1.5: it lies between 0 and 1"),
        ("gamma", "nan", "gamma=nan: it lies between"),
        ("batch", "1.5", "batch=1.5: it takes a whole number"),
        ("batch", "0", "batch=0: it lies between 1"),
        ("shape", "8,,8", "shape=8,,8: it takes sizes of layers"),
        ("kind", "tan", "kind=tan: it is one of tanh, relu"),
        ("gama", "0.9", "no hyperparameter gama: did you mean gamma"),
        ("gamma", "none", "it takes a number$"),
        ("cut", "much", "cut=much: it takes a number, or none$"),
    ],
)
def test_what_is_not_valid_is_refused_by_name(name: str, text: str, message: str) -> None:
    with pytest.raises(SpaceError, match=message):
        SPACE.parse({name: text})


def test_texts_become_values_of_their_kind() -> None:
    parsed = SPACE.parse({"batch": "32", "gamma": "1", "shape": "64,64", "kind": "relu", "cut": "none"})
    assert parsed == {"batch": 32, "gamma": 1.0, "shape": "64,64", "kind": "relu", "cut": None}
    assert isinstance(parsed["gamma"], float)


def test_fixed_values_that_break_a_condition_are_refused() -> None:
    with pytest.raises(SpaceError, match="batch=512: it is at most steps_each=256"):
        SPACE.check({"batch": 512, "steps_each": 256})
    with pytest.raises(SpaceError, match=r"steps_each=512: it is at most 0\.25 of budget=1000"):
        SPACE.check({"steps_each": 512}, {"budget": 1000})


CONDITIONAL = SearchSpace(
    (
        Parameter("shape", Kind.TEXT, "flat", "", choices=("flat", "linear"),
                  search=CategoricalDistribution(("flat", "linear"))),
        Parameter("end", Kind.NUMBER, 0.5, "", low=0.0, high=1.0, search=FloatDistribution(0.0, 0.4),
                  only_if=OnlyIf("shape", ("linear",))),
    )
)  # fmt: skip


def test_a_value_that_does_not_act_is_neither_drawn_nor_accepted() -> None:
    found = drawn(CONDITIONAL, 40)
    assert {a["end"] for a in found if a["shape"] == "flat"} == {0.5}
    assert all(a["end"] <= 0.4 for a in found if a["shape"] == "linear")  # type: ignore[operator]
    with pytest.raises(SpaceError, match=r"end=0\.1: it acts only with shape linear"):
        CONDITIONAL.check({"shape": "flat", "end": 0.1})
    CONDITIONAL.check({"shape": "linear", "end": 0.1})
    CONDITIONAL.check({"end": 0.1})


def test_what_lies_outside_of_the_search_has_the_nearest_point() -> None:
    given = {"steps_each": 3000, "batch": 100, "gamma": 1.0, "shape": "9,8", "kind": "relu", "cut": None}
    point = SPACE.point(given, SPACE.distributions({}, {"budget": 1e6}))  # type: ignore[arg-type]
    assert point == {"log2_steps_each": 10, "log2_batch": 7, "one_minus_gamma": 1e-3, "shape": "8,8"}


def test_the_point_of_what_was_drawn_gives_it_back() -> None:
    for limits in ({"budget": 1e6}, {"budget": 4 * 512}):
        distributions = SPACE.distributions({}, limits)
        for assignment in drawn(SPACE, 40, {}, limits):
            assert SPACE.assignment(SPACE.point(assignment, distributions), {}, limits) == pytest.approx(assignment)


RATIO = SearchSpace(
    (
        Parameter("whole", Kind.INTEGER, 256, "", low=2, search=IntDistribution(5, 10), scale=Scale.POWER_OF_TWO,
                  at_most=AtMost("budget")),
        Parameter("part", Kind.INTEGER, 64, "", low=8, search=IntDistribution(0, 4), scale=Scale.POWER_OF_TWO,
                  part_of=PartOf("whole", 8), at_most=AtMost("whole")),
        Parameter("kept", Kind.INTEGER, 4096, "", low=1, search=IntDistribution(3, 12), scale=Scale.POWER_OF_TWO,
                  enough="budget"),
    )
)  # fmt: skip


def test_a_part_is_drawn_as_halvings_of_another_value_and_is_valid() -> None:
    found = drawn(RATIO, 60, {}, {"budget": 1e6})
    assert {a["whole"] // a["part"] for a in found if a["whole"] >= 256} == {1, 2, 4, 8, 16}  # type: ignore[operator]
    assert min(a["part"] for a in found) == 8  # type: ignore[type-var]
    odd = RATIO.assignment({"log2_whole_per_part": 3}, {"whole": 100}, {"budget": 1e6})
    assert (odd["whole"], odd["part"]) == (100, 12)


def test_a_range_ends_where_all_values_act_alike() -> None:
    for budget, high in ((1e6, 12), (1000, 10), (1024, 10), (1025, 11), (4, 2)):
        found = RATIO.distributions({}, {"budget": budget})["log2_kept"]
        assert (found.low, found.high) == (min(3, high), high)  # type: ignore[attr-defined]


def test_an_assignment_of_an_older_version_has_defaults_for_what_is_new() -> None:
    assert list(SPACE.whole({"gamma": 0.5}).items())[:3] == [("steps_each", 256), ("batch", 64), ("gamma", 0.5)]


def test_defaults_give_way_to_what_is_given_and_to_limits() -> None:
    assert SPACE.complete({}, {"budget": 1e6}) == {parameter.name: parameter.default for parameter in SPACE.parameters}
    assert SPACE.complete({"steps_each": 32})["batch"] == 32
    assert SPACE.complete({"batch": 300})["steps_each"] == 512
    tight = SPACE.complete({}, {"budget": 100.0})
    assert (tight["steps_each"], tight["batch"]) == (16, 16)
    SPACE.check(tight, {"budget": 100.0})


def test_wished_values_stand_for_defaults_and_give_way_alike() -> None:
    wished = {"steps_each": 1024, "batch": 512, "gamma": 0.5}
    assert {**SPACE.complete({}, {"budget": 1e6}, wished), **wished} == SPACE.complete({}, {"budget": 1e6}, wished)
    tight = SPACE.complete({"gamma": 0.7}, {"budget": 100.0}, wished)
    assert (tight["steps_each"], tight["batch"], tight["gamma"]) == (16, 16, 0.7)
    assert SPACE.complete({"batch": 3000}, {"budget": 1e6}, wished)["steps_each"] == 4096
