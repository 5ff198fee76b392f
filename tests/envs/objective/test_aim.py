"""What is wanted of a policy: read, checked, and turned into what a search maximises."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from common.measure import VEHICLES_SERVED
from common.units import YEAR
from envs.objective.aim import SCORE_ALONE, TERM_OF, Aim, AimError, Outcome, RewardShare, absent, gain, why_none
from envs.objective.columns import evaluation_columns, measures
from envs.objective.kpis import OUTAGES, TEMPERATURE
from envs.objective.reward import TERMS
from envs.objective.weights import DEFAULT, Weights, WeightsError
from envs.scenarios.scenario import Scenario, Splits, scenario
from envs.scenarios.tariff import FILE_NAME
from tests.envs.models import with_rooms
from tests.envs.schema_changes import edited, put

ROWS = [
    {
        "hours": 100, "score": 0.1, "peak_kw": 50.0, "ev_served": 0.9, "ev_required_kwh": 10.0,
        "uncontrolled_ev_served": 0.94, "uncontrolled_ev_required_kwh": 10.0,
    }
]  # fmt: skip


def test_the_default_aims_at_the_score_and_is_not_shown() -> None:
    assert Aim.parse() == SCORE_ALONE
    outcome = SCORE_ALONE.outcome(ROWS)
    assert outcome == Outcome(0.1)
    assert SCORE_ALONE.goal(outcome) == SCORE_ALONE.rating(outcome) == 0.1
    assert (SCORE_ALONE.shown, SCORE_ALONE.facts) == ("", {})


def test_less_of_a_kpi_is_more_of_the_goal() -> None:
    aim = Aim.parse(objective="peak_kw")
    outcome = aim.outcome(ROWS)
    assert outcome == Outcome(0.1, 50.0)
    assert aim.goal(outcome) == -50.0
    assert Aim.parse(objective="ev_served").goal(Outcome(0.1, 0.9)) == 0.9


def test_what_misses_a_requirement_is_rated_below_all_that_meet_them_and_by_how_much() -> None:
    aim = Aim.parse(objective="peak_kw", require=("ev_served>=0.95", "peak_kw<=100"))
    outcome = aim.outcome(ROWS)
    assert outcome.shortfall == pytest.approx(0.05 / 0.95)
    worse = Outcome(0.1, 1.0, 0.2)
    ratings = [aim.rating(own) for own in (worse, outcome, Outcome(-5.0, 1e12, 0.0))]
    assert ratings == sorted(ratings)
    assert len(set(ratings)) == 3
    # The goal is what a model of the objective learns from, whether requirements are met or not.
    assert aim.goal(outcome) == -50.0
    assert math.isnan(aim.rating(Outcome(math.nan, math.nan, 0.2)))


@pytest.mark.parametrize("text", ["ev_served>=90", "self_consumption<=50"])
def test_a_bound_of_a_share_is_a_share(text: str) -> None:
    with pytest.raises(AimError, match=r"is at most 1, as 0\.9 for 90 %"):
        Aim.parse(require=(text,))


def test_a_bound_below_zero_is_one_where_a_battery_imports_what_it_loses() -> None:
    assert Aim.parse(require=("self_sufficiency>=-0.2",)).requirements[0].bound == -0.2


def test_bounds_on_both_sides_of_a_measure_may_leave_room() -> None:
    assert len(Aim.parse(require=("ev_served>=0.5", "ev_served<=0.95")).requirements) == 2


def test_what_is_missed_is_said_with_its_value_and_the_uncontrolled_sites() -> None:
    aim = Aim.parse(require=("ev_served>=0.95",))
    assert aim.missed(ROWS) == ["ev_served >= 0.95 (it has 0.9000; the uncontrolled site 0.9400)"]
    assert not Aim.parse(require=("ev_served>=0.9",)).missed(ROWS)


def test_what_was_not_measured_is_not_met() -> None:
    unknown = dict.fromkeys(("ev_served", "uncontrolled_ev_served", "citylearn_cost_total"), math.nan)
    nothing = [{**ROWS[0], **unknown}]
    assert Aim.parse(require=("ev_served>=0.95",)).outcome(nothing).shortfall == 1.0
    assert Aim.parse(require=("citylearn_cost_total<=1",)).outcome(nothing).shortfall == 1.0


def test_an_objective_is_shown_in_the_money_that_the_results_are_in() -> None:
    columns = evaluation_columns("PEN")
    assert Aim.parse(objective="bill").measured(columns).objective.shown(1342.0) == "1,342 PEN"
    assert Aim.parse(objective="co2 bill").measured(columns).second == columns["bill"]
    assert Aim.parse().measured(columns).is_score


def test_an_aim_is_read_again_from_what_it_writes() -> None:
    aim = Aim.parse(("ramping=0.2", "co2=.8"), "bill", ("ev_served >= .95", "peak_kw<=2.7e3"))
    assert aim.require == ("ev_served>=0.95", "peak_kw<=2700.0")
    assert Aim.parse(aim.weights.texts, aim.objective.name, aim.require) == aim
    assert aim.shown == (
        "weights: co2 0.8, ramping 0.2; objective: bill (less is better); requirements: ev_served >= 0.95, peak_kw <= 2700"
    )
    assert Aim.parse(require=("import_kwh<=1234567",)).shown == "requirements: import_kwh <= 1234567", "no digit is lost"


@pytest.mark.parametrize(
    ("weights", "objective", "require", "words"),
    [
        ((), "peak", (), "did you mean peak_kw"),
        ((), "xyzzy", (), "there are score, consumption_kwh"),
        ((), "pv_kwh", (), "says nothing about a policy"),
        ((), "score", ("ev_served",), "in quotes"),
        ((), "score", ("ev_served>=much",), "in quotes"),
        ((), "score", ("ev_servd>=0.9",), "did you mean ev_served"),
        ((), "score", ("peak_kw<=1", "peak_kw<=2"), "twice"),
        ((), "score", ("ev_served<=0.5", "ev_served>=0.95"), "no value meets both ev_served>=0.95 and ev_served<=0.5"),
    ],
)
def test_other_aims_are_refused_in_one_line(
    weights: tuple[str, ...], objective: str, require: tuple[str, ...], words: str
) -> None:
    with pytest.raises((AimError, WeightsError), match=words) as error:
        Aim.parse(weights, objective, require)
    assert "\n" not in str(error.value)


def test_a_policy_that_leaves_vehicles_empty_does_not_win_unless_the_user_says_what_they_get() -> None:
    thief, fair = [{**ROWS[0], "score": 0.4, "ev_served": 0.5}], ROWS  # 95 % of 0.94 are 0.893
    for aim in (SCORE_ALONE, Aim.parse(("co2=1",)), Aim.parse(objective="peak_kw", require=("peak_kw<=100",))):
        assert aim.outcome(thief).shortfall == pytest.approx(1.0 - 0.5 / 0.893)
        assert aim.rating(aim.outcome(thief)) < aim.rating(aim.outcome(fair))
        assert not aim.outcome(fair).shortfall
        assert aim.missed(thief) == ["ev_served >= 0.893 (it has 0.5000; the uncontrolled site 0.9400)"]
        assert aim.required(ROWS).endswith(VEHICLES_SERVED.text)
        says = "misses a requirement" if aim.requirements else "serves too little"
        assert aim.told(aim.outcome(thief)).endswith(f", {says}")
        assert aim.told_rating(aim.rating(aim.outcome(thief))) == says
    stated = Aim.parse(require=("departures_met>=0",))
    assert stated.outcome([{**thief[0], "departures_met": 0}]).shortfall == 0.0
    assert stated.required(ROWS) == "departures_met >= 0"
    # Nothing is asked where there is no vehicle.
    assert SCORE_ALONE.outcome([{**thief[0], "uncontrolled_ev_served": math.nan}]) == Outcome(0.4)


def test_what_a_site_or_its_reward_cannot_tell_is_refused(site: Scenario, small_schema: Path, tmp_path: Path) -> None:
    Aim.parse(("co2=1",), "citylearn_2022_score", ("ev_served>=1",)).check(site, "improvement")
    with pytest.raises(AimError, match="--reward schema has none"):
        Aim.parse(("co2=1",)).check(site, "schema")
    actions = {name: {"active": True} for name in ("electrical_storage", "dhw_storage")}
    tanks = scenario(str(edited(small_schema, tmp_path, put("actions", value=actions))))
    Aim.parse(objective="citylearn_cost_total").check(tanks, "improvement")
    for lacking in (tanks, scenario("iquitos-38")):
        with pytest.raises(AimError, match=r"citylearn_2023_score: .* has (no )?dynamics"):
            Aim.parse(objective="citylearn_2023_score").check(lacking, "improvement")
    with pytest.raises(AimError, match="citylearn_2023_score: what it gains on the uncontrolled site is not known"):
        Aim.parse(objective="citylearn_2023_score co2_kg").check(site, "improvement")
    for aim in (Aim.parse(objective="ev_served"), Aim.parse(require=("ev_served>=0.95",))):
        with pytest.raises(AimError, match=r"no action of .* is a charger's"):
            aim.check(tanks, "improvement")


TWO = [{"hours": 100, "score": 0.1, "co2_kg": 60.0, "uncontrolled_co2_kg": 100.0, "bill": 90.0, "uncontrolled_bill": 100.0}]


def test_two_objectives_are_compared_by_their_mean_gain_and_each_is_told() -> None:
    aim = Aim.parse(objective="co2 bill", require=("bill<=100000",))
    assert aim.names == "co2_kg bill"
    assert Aim.parse(objective=aim.names, require=aim.require) == aim
    outcome = aim.outcome(TWO)
    assert outcome.gains == pytest.approx((0.4, 0.1))
    assert aim.goal(outcome) == aim.rating(outcome) == pytest.approx(0.25)
    assert not aim.is_score
    assert aim.told_rating(0.25) == "mean gain +25.00%"
    assert aim.told(outcome).startswith("score +0.1000, co2_kg 5,256 kg, bill 7,884")
    assert aim.shown.startswith("objective: co2_kg (less is better) and bill (less is better)")
    missed = Aim.parse(objective="co2 bill", require=("bill<=1",))
    assert Aim.is_missed(missed.rating(missed.outcome(TWO)))


def test_one_objective_has_no_gains_and_an_alias_is_its_column() -> None:
    assert Aim.parse(objective="bill").outcome(TWO) == Outcome(0.1, 7884.0)
    assert Aim.parse(objective="co2") == Aim.parse(objective="co2_kg")
    assert Aim.parse(objective="co2 bill").alone("bill") == Aim.parse(objective="bill")


def test_a_second_objective_without_a_value_fails_a_trial_and_does_not_rank_it() -> None:
    aim = Aim.parse(objective="co2 ev_served")
    assert math.isnan(aim.rating(aim.outcome([{**TWO[0], "ev_served": math.nan, "ev_required_kwh": 0.0}])))


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        ("co2 bill peak_kw", "--objective 'co2 bill peak_kw': it takes one KPI, or two"),
        ("", "--objective '': it takes one KPI"),
        ("co2 co2_kg", "--objective co2 co2_kg: both are co2_kg"),
        ("bill departures", "--objective departures: it says nothing about a policy"),
        ("bill bil", "--objective 'bil': there is no KPI of this name; did you mean bill?"),
        ("info:kwh", "--objective info:kwh: it is of an environment, which --env names"),
    ],
)
def test_objectives_that_make_no_front_are_refused(objective: str, message: str) -> None:
    with pytest.raises(AimError) as found:
        Aim.parse(objective=objective)
    assert str(found.value).startswith(message)


def test_a_gain_is_a_part_of_what_the_uncontrolled_site_has_and_better_is_above_0() -> None:
    row = {
        "hours": 100, "score": 0.2, "bill": 80.0, "uncontrolled_bill": 100.0, "pv_kwh": 5.0, "uncontrolled_pv_kwh": 5.0,
        "self_consumption": 0.6, "uncontrolled_self_consumption": 0.5,
        "battery_cycles": 2.0, "uncontrolled_battery_cycles": 0.0,
        "citylearn_cost_total": 0.9, "energy_cost": -5.0, "uncontrolled_energy_cost": -10.0,
    }  # fmt: skip
    expected = {
        "score": 0.2, "bill": 0.2, "self_consumption": 0.2, "citylearn_cost_total": 0.1,
        "energy_cost": -0.5,  # where the site earns, earning less is worse
        "battery_cycles": -2.0 * YEAR / 100,  # nothing to be a part of
    }  # fmt: skip
    assert {name: gain(measures()[name], [row]) for name in expected} == pytest.approx(expected)


DAYS = (("0-19",), ("20-24",), ("25-34",))


def changed(schema: Path, folder: Path, change: Callable[[dict[str, Any]], object]) -> str:
    """The small site with a change of its building, and without a tariff."""
    path = edited(schema, folder, lambda content: change(content["buildings"]["mall"]))
    (folder / FILE_NAME).unlink()
    return str(path)


def without_battery(building: dict[str, Any]) -> None:
    del building["electrical_storage"]
    building["inactive_actions"] = ["electrical_storage"]  # as the schema's check asks for


def test_a_site_with_everything_lacks_nothing(small_schema: Path) -> None:
    for measure in (own for own in measures().values() if own.needs not in (TEMPERATURE, OUTAGES)):
        assert absent(scenario(str(small_schema)), measure) == ""
        assert absent(scenario("iquitos-38"), measure) == ""


@pytest.mark.parametrize(
    ("change", "measure", "reason"),
    [
        (lambda building: building.pop("pv"), "self_consumption", "has PV"),
        (lambda building: building["pv"]["attributes"].update(nominal_power=0.0), "self_consumption", "has PV"),
        (without_battery, "battery_cycles", "has battery"),
        (lambda building: building.update(chargers={}), "ev_served", "has chargers with an action"),
        (lambda building: building.update(carbon_intensity=None), "co2_kg", "has carbon_intensity"),
        (lambda building: building.update(pricing=None), "energy_cost", "has pricing"),
        (lambda building: None, "demand_charge", "no tariff.json beside its schema names one"),
    ],
)
def test_what_it_lacks_has_no_value(
    small_schema: Path, tmp_path: Path, change: Callable[[dict[str, Any]], object], measure: str, reason: str
) -> None:
    site = scenario(changed(small_schema, tmp_path, change))
    assert reason in absent(site, measures()[measure])
    assert not absent(site, measures()["peak_kw"])
    for aim in (Aim.parse(objective=measure), Aim.parse(require=(f"{measure}>=0.5",))):
        with pytest.raises(AimError, match=f"^--(objective|require) {measure}: .*; leave it out, or choose another KPI$"):
            aim.check(site, "improvement")


def test_weights_that_can_do_nothing_are_named_and_refused_where_they_are_all(small_schema: Path, tmp_path: Path) -> None:
    site = scenario(changed(small_schema, tmp_path, lambda building: building.update(carbon_intensity=None)))
    (line,) = Aim.parse().idle_lines(site)
    assert line.startswith("aim: weights that are 50% of all can do nothing here (co2: no building of ")
    assert Aim.parse().idle_lines(scenario(str(small_schema))) == []
    # Where people feel temperatures, comfort weighs as much as all others without being stated.
    (line,) = Aim.parse().idle_lines(scenario(str(with_rooms(small_schema, tmp_path / "rooms"))))
    assert line.startswith("aim: weights that are 5% of all can do nothing here (ev: no action of ")
    Aim.parse(("co2=0.5", "cost=0.5")).check(site, "improvement")
    with pytest.raises(AimError, match=r"^--weights: none of them can do anything: no building of .* has carbon_intensity$"):
        Aim.parse(("co2=1",)).check(site, "improvement")


def test_each_split_in_which_policies_are_rated_has_to_have_it(four_buildings: Path) -> None:
    def of(validation: str, test: str) -> str:
        splits = Splits(*DAYS, ("one",), (validation,), (test,))
        return absent(scenario(str(four_buildings), splits=splits), measures()["self_consumption"])

    assert of("one", "three") == ""
    title = four_buildings.parent.name
    assert of("two", "one") == f"no building of {title}, validation (days 20-24 of two) has PV"
    assert of("one", "two") == f"no building of {title}, test (days 25-34 of two) has PV"


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
        (Weights(grid=0.0), "ramping_kwh", "co2_kg", "--weights give ramping no weight"),
        (Weights(peak=0.2), "bill", "peak_kw", ""),
    ],
)
def test_without_two_terms_there_is_nothing_to_share(weights: Weights, first: str, second: str, why: str) -> None:
    assert why_none(weights, MEASURES[first], MEASURES[second]) == why
    assert (RewardShare.of(weights, MEASURES[first], MEASURES[second]) is None) == bool(why)
