"""What does nothing on a site is not searched, and what decides there is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from envs.task import Task
from search_spaces import SearchSpace, SpaceError
from search_spaces.overrides import override
from tests.envs.changed_rows import two_buildings
from tests.envs.tanks import with_tank
from tuning.algorithms.registry import algorithm
from tuning.experiment.settings import Settings
from tuning.search.proposals.fitting import fitted
from tuning.search.proposals.plan import plan

PPO = algorithm("ppo").space


def searched(space: SearchSpace) -> set[str]:
    return {own.name for own in space.parameters if own.search}


@pytest.fixture
def homes(small_schema: Path, tmp_path: Path) -> Task:
    """Two buildings, and no chargers."""
    path = two_buildings(small_schema, tmp_path / "homes")
    schema = json.loads(path.read_text(encoding="utf-8"))
    for building in schema["buildings"].values():
        building.pop("chargers", None)
    schema["actions"].pop("electric_vehicle_storage", None)
    path.write_text(json.dumps(schema), encoding="utf-8")
    return Task(str(path))


def test_a_site_with_chargers_and_one_building_has_the_algorithms_own_space(small_schema: Path) -> None:
    for site in (Task("iquitos"), Task(str(small_schema))):
        assert fitted(PPO, site).space is PPO
        assert fitted(PPO, site).notes == ()


def test_without_chargers_nothing_of_them_is_searched_and_with_several_buildings_sharing_is(homes: Task) -> None:
    found = fitted(PPO, homes)
    assert searched(PPO) - searched(found.space) == {"learn_charging"}
    assert searched(found.space) - searched(PPO) == {"shared_policy"}
    assert [note.rpartition(" ")[2] for note in found.notes] == ["learn_charging", "shared_policy"]
    assert found.space["learn_charging"].default is False


def test_what_the_users_file_says_holds_and_what_it_searches_for_nothing_is_refused(homes: Task, tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_text("shared_policy = {value = true}\nlearn_charging = {value = true}", encoding="utf-8")
    space = fitted(override(PPO, path), homes).space
    assert not {"shared_policy", "learn_charging"} & searched(space)
    assert space.own_values() == {"shared_policy": True, "learn_charging": True}
    path.write_text("learn_charging = {choices = [true, false]}", encoding="utf-8")
    with pytest.raises(
        SpaceError, match=r"^learn_charging: .* has no chargers, so it does nothing there; remove it from .*toml$"
    ):
        fitted(override(PPO, path), homes)


def test_a_fixed_value_is_respected(homes: Task) -> None:
    planned = plan(Settings(set=(("shared_policy=true", "learn_charging=true"),)), None, homes)
    assert planned.fixed == {"shared_policy": True, "learn_charging": True}
    assert not {"shared_policy", "learn_charging"} & planned.space.distributions(planned.fixed).keys()


def test_splits_of_other_buildings_search_neither_sharing_nor_a_plan(
    homes: Task, small_schema: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envs.scenarios.scenario.Scenario.same_buildings", lambda site, split: split != "test")
    for site in (homes, Task(str(small_schema))):
        assert not {"shared_policy", "plan"} & searched(fitted(PPO, site, plans=True).space)


def test_a_search_on_one_building_starts_with_its_plan_too(small_schema: Path) -> None:
    for site in (Task("iquitos"), Task(str(small_schema))):
        default, planned = plan(Settings(), None, site).starts
        assert default == algorithm("ppo").preset("default", {}, {"steps": 250_000.0})
        assert planned == {**default, "plan": "learned"}
        assert len(plan(Settings(set=(("plan=none",),)), None, site).starts) == 1
        assert len(plan(Settings(algo="sac"), None, site).starts) == 1


def test_no_end_of_a_front_starts_from_a_plan_unless_all_trials_do(small_schema: Path, homes: Task) -> None:
    """A plan has the user's weights, whatever the share."""
    for site in (Task("iquitos"), Task(str(small_schema)), homes):
        *_, planned, second, first = plan(Settings(objective="co2 bill"), None, site).starts
        assert (planned["plan"], second["plan"], first["plan"]) == ("learned", "none", "none")
        assert (second["reward_share"], first["reward_share"]) == (0.0, 1.0)
    starts = plan(Settings(objective="co2 bill", set=(("plan=learned",),)), None, Task("iquitos")).starts
    assert {start["plan"] for start in starts} == {"learned"}


def test_several_buildings_whose_batteries_do_not_act_have_no_plan_either(homes: Task) -> None:
    assert homes.site.schema
    schema = json.loads(homes.site.schema.read_text(encoding="utf-8"))

    def searches_a_plan() -> bool:
        homes.site.schema.write_text(json.dumps(schema), encoding="utf-8")  # type: ignore[union-attr]
        return "plan" in searched(fitted(PPO, homes, plans=True).space)

    one, other = schema["buildings"].values()
    one["inactive_actions"] = ["electrical_storage"]
    assert searches_a_plan()
    other["inactive_actions"] = ["electrical_storage"]
    assert not searches_a_plan()


@pytest.mark.parametrize("by", ["site", "building"])
def test_one_building_whose_battery_does_not_act_has_no_plan_to_start_from(small_schema: Path, tmp_path: Path, by: str) -> None:
    path = shutil.copytree(small_schema.parent, tmp_path / "site") / small_schema.name
    schema = json.loads(path.read_text(encoding="utf-8"))
    (building,) = schema["buildings"].values()
    if by == "site":
        schema["actions"]["electrical_storage"]["active"] = False
    else:
        building["inactive_actions"] = ["electrical_storage"]
    path.write_text(json.dumps(schema), encoding="utf-8")
    assert "plan" not in searched(plan(Settings(), None, Task(str(path))).space)


def test_a_plan_is_searched_where_the_algorithm_starts_from_one_and_what_is_set_allows_it(homes: Task) -> None:
    def searches_a_plan(**settings: object) -> bool:
        return "plan" in searched(plan(Settings(**settings), None, homes).space)  # type: ignore[arg-type]

    assert searches_a_plan()
    assert searches_a_plan(algo="a2c")
    assert not searches_a_plan(algo="sac")
    assert not searches_a_plan(reward="schema")
    assert not searches_a_plan(teacher="mpc")


def test_where_thermal_storages_alone_act_a_plan_is_searched_too(small_schema: Path, tmp_path: Path) -> None:
    path = with_tank(small_schema, tmp_path / "tank")
    schema = json.loads(path.read_text(encoding="utf-8"))
    schema["actions"]["electrical_storage"]["active"] = False
    path.write_text(json.dumps(schema), encoding="utf-8")
    planned = plan(Settings(), None, Task(str(path)))
    assert "plan" in searched(planned.space)
    assert [start["plan"] for start in planned.starts] == ["none", "learned"]
    # The action alone, without the tank, plans nothing.
    del schema["buildings"]["mall"]["dhw_storage"]
    path.write_text(json.dumps(schema), encoding="utf-8")
    assert "plan" not in searched(plan(Settings(), None, Task(str(path))).space)


def test_no_plan_is_searched_where_there_is_none(homes: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envs.environments.fit.why_no_plan", lambda site: "no bound")
    assert "plan" not in searched(fitted(PPO, homes, plans=True).space)


def test_a_search_on_several_buildings_starts_with_what_won_there_too(homes: Task) -> None:
    default, several, planned = plan(Settings(), None, homes).starts
    assert (default["shared_policy"], several["shared_policy"]) == (False, True)
    assert several == algorithm("ppo").preset("several-buildings", {}, {"steps": 250_000.0})
    assert planned == algorithm("ppo").preset("planned", {}, {"steps": 250_000.0})
    assert [start["shared_policy"] for start in plan(Settings(algo="sac"), None, homes).starts] == [False, True]
    # Either can be left out by itself.
    assert [start["plan"] for start in plan(Settings(set=(("plan=none",),)), None, homes).starts] == ["none", "none"]
    both = plan(Settings(set=(("shared_policy=true",),)), None, homes).starts
    assert [start["plan"] for start in both] == ["none", "learned"]
    # What the user says holds.
    assert len(plan(Settings(start_from=("stable-baselines3",)), None, homes).starts) == 1
