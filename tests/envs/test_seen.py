"""What a policy sees follows from weights and hyperparameters."""

from typing import get_args

from envs.objective.weights import DEFAULT, Weights
from envs.seen import PlanMethod, Seen
from search_spaces.common import PLAN


def test_by_default_nothing_is_seen_further() -> None:
    assert Seen.of(DEFAULT) == Seen.of(DEFAULT, {"gamma": 0.9}) == Seen()
    assert Seen().is_plain
    assert Seen().names(3) == ()
    assert Seen.of(Weights(peak=0.2)) == Seen(day_peak=True)


def test_hyperparameters_are_those_of_the_search_spaces() -> None:
    assert Seen.of(DEFAULT, {PLAN.name: "learned"}).plan == "learned"
    assert Seen().plan == PLAN.default
    assert PLAN.choices == get_args(PlanMethod)


def test_only_a_plan_depends_on_the_weights() -> None:
    weights = Weights(co2=1.0)
    assert Seen.of(weights, {"plan": "none"}) == Seen.of(DEFAULT, {"plan": "none"})
    assert Seen.of(weights, {"plan": "learned"}) != Seen.of(DEFAULT, {"plan": "learned"})


def test_names_are_those_of_each_building_and_then_of_the_site() -> None:
    seen = Seen(plan="learned")
    names = seen.names(2)
    assert names[:2] == ("planned_battery", "planned_soc")
    assert names == (*seen.own(), *seen.own(), "planned_net")
    actions = ("cooling_storage", "dhw_storage", "cooling_device")
    of_tanks = ("planned_cooling_storage", "planned_cooling_soc", "planned_dhw_storage", "planned_dhw_soc")
    assert seen.own(actions) == (*seen.own(), *of_tanks, "planned_cooling_device")
    assert seen.names(2, actions) == (*seen.own(actions), *seen.own(actions), "planned_net")
    assert Seen().names(2, actions) == ()
