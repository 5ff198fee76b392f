"""The bound and model predictive control need a site that linear programmes describe."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from common.errors import ScenarioError
from envs.environments.fit import (
    check_one_layout,
    check_own_reward,
    check_people,
    check_seen,
    check_stays,
    long_splits,
    why_no_bound,
    why_no_mpc,
)
from envs.environments.year_cache import year_tables
from envs.scenarios.scenario import SPLITS, Scenario, Splits, Window, scenario
from envs.scenarios.schema_file import count_steps
from envs.scenarios.tariff import FILE_NAME
from envs.seen import Seen
from envs.task import SiteTask
from envs.yardsticks.bound import Objective, bound
from tests.envs.changed_rows import two_buildings
from tests.envs.models import with_dynamics
from tests.envs.schema_changes import SET_POINTS, edited, put, with_series
from tests.envs.series_changes import put_cells
from tests.envs.tanks import with_tank
from tests.envs.yardsticks.sites import changed


def peaks_rewarded(folder: Path) -> None:
    tariff = json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
    tariff["demand_charge"]["peak_price"] = 0.0
    (folder / FILE_NAME).write_text(json.dumps(tariff), encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "objective", "why"),
    [
        (lambda folder: put_cells(folder / "pricing.csv", 14, electricity_pricing="-0.1"), "cost", "below zero"),
        (lambda folder: put_cells(folder / "carbon_intensity.csv", 14, carbon_intensity="-0.1"), "cost", "below zero"),
        (peaks_rewarded, "score", "demand charge"),
    ],
)
def test_a_site_beyond_a_linear_programme_has_neither(
    small_schema: Path, tmp_path: Path, change: Callable[[Path], None], objective: Objective, why: str
) -> None:
    site = scenario(str(changed(small_schema, tmp_path, lambda schema, folder: change(folder))))
    assert why in why_no_bound(site)
    assert why in why_no_mpc(site)
    with pytest.raises(ScenarioError, match=why):
        bound(SiteTask(site.name), Window(0, 0, 48), objective)


def test_plain_sites_and_those_with_thermal_storages_have_both(small_schema: Path, tmp_path: Path) -> None:
    for path in (small_schema, with_tank(small_schema, tmp_path)):
        assert (why_no_bound(scenario(str(path))), why_no_mpc(scenario(str(path)))) == ("", "")


def test_somebody_has_to_feel_what_devices_do_that_heat_and_cool(small_schema: Path, tmp_path: Path) -> None:
    check_people(scenario(str(small_schema)), "validation")  # none
    path = with_dynamics(small_schema, tmp_path / "empty")
    with pytest.raises(ScenarioError, match=r"in no hour of validation there are people \(occupant_count\)"):
        check_people(scenario(str(path)), "validation")
    path = with_dynamics(small_schema, tmp_path / "peopled")
    check_people(scenario(str(with_series(path, occupant_count=1, **SET_POINTS))), "validation")


def test_what_only_citylearn_steps_has_neither(small_schema: Path, tmp_path: Path) -> None:
    site = scenario(str(edited(small_schema, tmp_path, put("community_market", value={"enabled": True}))))
    lacks = "needs the batch backend, which does not support: 'community_market' of the schema"
    assert why_no_bound(site) == f"the bound {lacks}"
    assert why_no_mpc(site) == f"model predictive control {lacks}"
    check_seen(site, Seen(day_peak=True))


def test_segments_with_tanks_of_different_kinds_have_none(
    small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = scenario(str(with_tank(small_schema, tmp_path / "tank")))
    plain, other = (year_tables(scenario(str(schema)), 0) for schema in (small_schema, site.schema))
    monkeypatch.setattr("envs.environments.fit._years", lambda site: [(plain, None), (other, None)])
    assert not why_no_bound(site)
    assert why_no_mpc(site) == "its segments have thermal storages or devices of different kinds"


def test_steps_below_a_quarter_of_an_hour_have_a_bound_alone(quarters: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = scenario(str(quarters))
    assert (why_no_bound(site), why_no_mpc(site)) == ("", "")
    monkeypatch.setattr("envs.environments.fit.MOST_STEPS_PER_HOUR", 2)
    assert why_no_mpc(site) == "model predictive control plans steps of 30 minutes or more, and the site has shorter ones"


RANGES = ("0-9",), ("20-24",), ("30-39",)


def test_a_split_of_other_devices_is_refused_with_the_remedy(small_schema: Path, tmp_path: Path) -> None:
    path = two_buildings(small_schema, tmp_path / "site")
    site = scenario(str(path), splits=Splits(*RANGES, ("office",), (), ("mall",)))
    with pytest.raises(
        ScenarioError,
        match=r"--test-buildings: test \(days 30-39 of mall\) has .* name as many buildings",
    ):
        check_one_layout(site)
    check_one_layout(scenario(str(path), splits=Splits(*RANGES, ("office",))))
    check_one_layout(scenario(str(path)))


def test_a_plan_needs_a_site_with_model_predictive_control(small_schema: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envs.environments.fit.why_no_mpc", lambda site: "prices below zero")
    with pytest.raises(
        ScenarioError, match=r"^plan=yesterday: .* has no model predictive control \(prices below zero\); leave it out$"
    ):
        check_seen(scenario(str(small_schema)), Seen(plan="yesterday"))
    check_seen(scenario(str(small_schema)), Seen())
    monkeypatch.undo()
    check_seen(scenario(str(small_schema)), Seen(plan="learned"))


REWARDS = """
from citylearn.reward_function import RewardFunction


class Sound(RewardFunction):
    def calculate(self, observations):
        return [1.0]


class Broken(RewardFunction):
    def calculate(self, observations):
        return [float("nan")]


class Old(RewardFunction):
    def calculate(self):
        return [1.0]
"""


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Sound", ""),
        ("Broken", "the reward rewards_of_a_user.Broken is nan in hour 0 of the uncontrolled site; mend its class"),
        ("Old", r"CityLearn fails with the reward rewards_of_a_user.Old \(TypeError: .*calculate"),
    ],
)
def test_a_reward_of_the_users_own_is_tried_before_anything_learns(
    small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, says: str
) -> None:
    (tmp_path / "rewards_of_a_user.py").write_text(REWARDS, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    kind = {"type": f"rewards_of_a_user.{name}", "attributes": None}
    site = scenario(str(edited(small_schema, tmp_path, put("reward_function", value=kind))), trusted=True)
    with pytest.raises(ScenarioError, match=says) if says else nullcontext():
        check_own_reward(site)


def refuse(*given: object) -> None:
    raise ScenarioError("splits cannot be stated")


def test_a_site_all_of_whose_stays_cross_the_borders_of_its_windows_is_refused(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_stays(site, "validation")
    tables = year_tables(site, 0)
    over_night = replace(
        tables.sessions, start=tables.sessions.start // 24 * 24 + 20, end=tables.sessions.start // 24 * 24 + 30
    )
    monkeypatch.setattr("envs.environments.fit.year_tables", lambda scenario, year: SimpleNamespace(sessions=over_night))
    refusal = r"no stay lies within a window of validation \(the longest has 24 hours\).*or give at least 20 weeks"
    with pytest.raises(ScenarioError, match=refusal):
        check_stays(site, "validation")
    monkeypatch.setattr("envs.environments.fit.WEEK", 24)
    words = long_splits(site)
    with pytest.raises(ScenarioError, match=f"as {' '.join(words)}$"):
        check_stays(site, "validation")
    with monkeypatch.context() as patched:
        # What cannot be stated is not proposed.
        patched.setattr("envs.environments.fit.check_statable", refuse)
        with pytest.raises(ScenarioError, match=r"; give at least 20 weeks$"):
            check_stays(site, "validation")
    # They are as many days as there are, and the site takes them.
    stated = Splits(**{option.removeprefix("--"): (days,) for option, days in zip(words[::2], words[1::2], strict=True)})
    assert site.schema
    of_days = scenario(str(site.schema), splits=stated)
    assert sum(window.lasts for split in SPLITS for window in of_days.windows(split)) > 0.9 * count_steps(site.schema)
    check_stays(scenario("iquitos-38"), "validation")
