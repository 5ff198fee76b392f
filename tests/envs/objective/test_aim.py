"""What is wanted of a policy: read, checked, and turned into what a search maximises."""

import json
import math
from pathlib import Path

import pytest

from envs.objective.aim import SCORE_ALONE, Aim, AimError, Outcome
from envs.objective.weights import WeightsError
from envs.scenarios.scenario import scenario

ROWS = [
    {
        "hours": 100, "score": 0.1, "peak_kw": 50.0, "ev_served": 0.9, "ev_required_kwh": 10.0,
        "uncontrolled_ev_served": 0.97, "uncontrolled_ev_required_kwh": 10.0,
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


def test_bounds_on_both_sides_of_a_measure_may_leave_room() -> None:
    assert len(Aim.parse(require=("ev_served>=0.5", "ev_served<=0.95")).requirements) == 2


def test_what_is_missed_is_said_with_its_value_and_the_uncontrolled_sites() -> None:
    aim = Aim.parse(require=("ev_served>=0.95",))
    assert aim.missed(ROWS) == ["ev_served >= 0.95 (it has 0.9000; the uncontrolled site 0.9700)"]
    assert not Aim.parse(require=("ev_served>=0.9",)).missed(ROWS)


def test_a_share_of_nothing_misses_nothing_but_a_ratio_that_is_not_known_does() -> None:
    nothing = [{**ROWS[0], "ev_served": math.nan, "ev_required_kwh": 0.0, "citylearn_cost_total": math.nan}]
    assert Aim.parse(require=("ev_served>=0.95",)).outcome(nothing).shortfall == 0.0
    assert Aim.parse(require=("citylearn_cost_total<=1",)).outcome(nothing).shortfall == 1.0


def test_an_aim_is_read_again_from_what_it_writes() -> None:
    aim = Aim.parse(("ramping=0.2", "co2=.8"), "bill", ("ev_served >= .95", "peak_kw<=2.7e3"))
    assert aim.require == ("ev_served>=0.95", "peak_kw<=2700.0")
    assert Aim.parse(aim.weights.texts, aim.objective.name, aim.require) == aim
    assert aim.shown == (
        "weights: co2 0.8, grid 0.2; objective: bill (less is better); requirements: ev_served >= 0.95, peak_kw <= 2700"
    )


@pytest.mark.parametrize(
    ("weights", "objective", "require", "words"),
    [
        ((), "peak", (), "did you mean 'peak_kw'"),
        ((), "xyzzy", (), "there are score, consumption_kwh"),
        ((), "pv_kwh", (), "says nothing about a policy"),
        ((), "score", ("ev_served",), "in quotes"),
        ((), "score", ("ev_served>0.95",), "in quotes"),
        ((), "score", ("ev_served>=much",), "in quotes"),
        ((), "score", ("ev_servd>=0.9",), "did you mean 'ev_served'"),
        ((), "score", ("peak_kw<=1", "peak_kw<=2"), "twice"),
        ((), "score", ("ev_served<=0.5", "ev_served>=0.95"), "no value meets both ev_served>=0.95 and ev_served<=0.5"),
        (("cot=1",), "score", (), "did you mean"),
    ],
)
def test_other_aims_are_refused_in_one_line(
    weights: tuple[str, ...], objective: str, require: tuple[str, ...], words: str
) -> None:
    with pytest.raises((AimError, WeightsError), match=words) as error:
        Aim.parse(weights, objective, require)
    assert "\n" not in str(error.value)


def test_an_aim_may_leave_vehicles_empty_where_there_are_some(small_schema: Path) -> None:
    site = scenario(str(small_schema))
    assert Aim.parse(("co2=1",)).leaves_vehicles(site)
    assert not SCORE_ALONE.leaves_vehicles(site)
    assert not Aim.parse(("co2=1",), require=("ev_served>=0.9",)).leaves_vehicles(site)


def test_what_a_site_or_its_reward_cannot_tell_is_refused(small_schema: Path, tmp_path: Path) -> None:
    site = scenario(str(small_schema))
    Aim.parse(("co2=1",), "citylearn_2022_score", ("ev_served>=1",)).check(site, "improvement", "batch")
    with pytest.raises(AimError, match="--reward schema has none"):
        Aim.parse(("co2=1",)).check(site, "schema", "batch")
    schema = json.loads(small_schema.read_text(encoding="utf-8"))
    schema["root_directory"] = str(small_schema.parent)
    schema["actions"]["dhw_storage"] = {"active": True}
    schema["actions"].pop("electric_vehicle_storage")
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(schema), encoding="utf-8")
    tanks = scenario(str(path), trusted=True)
    for aim in (Aim.parse(objective="citylearn_cost_total"), Aim.parse(require=("citylearn_2022_score<=1",))):
        with pytest.raises(AimError, match="add --backend citylearn"):
            aim.check(tanks, "improvement", "batch")
        aim.check(tanks, "improvement", "citylearn")
        assert len(aim.beyond_batch(tanks)) == 1
        assert not aim.beyond_batch(site)
    assert not Aim.parse(objective="bill").beyond_batch(tanks)
    for aim in (Aim.parse(objective="ev_served"), Aim.parse(require=("ev_served>=0.95",))):
        with pytest.raises(AimError, match=r"no action of .* is a charger's"):
            aim.check(tanks, "improvement", "batch")
