"""What is searched follows from the settings, and a value that is not valid is refused before."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from common.errors import UsageError
from envs.objective.weights import DEFAULT, Weights
from envs.seen import Seen
from envs.task import SiteTask
from search_spaces import SearchSpace, SpaceError
from search_spaces.overrides import override
from tests.envs.changed_rows import two_buildings
from tests.envs.models import with_rooms
from tests.envs.schema_changes import edit
from tests.envs.tanks import with_tank
from tuning.algorithms.registry import algorithm
from tuning.experiment.settings import Settings
from tuning.search.proposals import plan as plans
from tuning.search.proposals.plan import check_teacher, fitted, limits, plan, seen_by

PPO = algorithm("ppo").space


def test_where_actions_are_choices_their_deviations_are_not_searched() -> None:
    for env, idle in (("CartPole-v1", True), ("Pendulum-v1", False)):
        settings = Settings(env=env, episodes=2)
        planned = plan(settings, None, settings.env_task)
        assert (planned.space["log_std_init"].search is None) is idle
        assert planned.notes == (("not searched, as CartPole-v1 has choices for actions: log_std_init",) if idle else ())


def test_without_more_the_whole_space_is_searched_from_its_default() -> None:
    planned = plan(Settings(), None)
    assert planned.space is algorithm("ppo").space
    assert planned.fixed == {}
    assert planned.starts == (algorithm("ppo").space.complete({}, limits(250_000)),)


def test_what_is_fixed_holds_in_the_starts_too() -> None:
    planned = plan(Settings(set=(("gamma=0.9",), ("n_epochs=3",)), start_from=("default", "rllib")), None)
    assert planned.fixed == {"gamma": 0.9, "n_epochs": 3}
    assert len(planned.starts) == 2
    assert all(start["gamma"] == 0.9 for start in planned.starts)


def test_a_preset_fixes_everything_and_has_no_starts() -> None:
    planned = plan(Settings(preset="oom-safe", set=(("gamma=0.9",),)), None)
    assert set(planned.fixed) == {parameter.name for parameter in algorithm("ppo").space.parameters}
    assert planned.fixed["gamma"] == 0.9
    assert planned.starts == ()


def test_the_first_trial_lies_within_the_bounds_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_text("batch_size = {low = 8192, high = 16384}\nhidden_sizes = {choices = ['32']}", encoding="utf-8")
    (start,) = plan(Settings(), path).starts
    assert (start["batch_size"], start["n_steps"], start["hidden_sizes"]) == (8192, 8192, "32")


def test_a_named_start_keeps_the_values_that_it_names(tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_text("batch_size = {low = 8192, high = 16384}\nn_epochs = {value = 3}", encoding="utf-8")
    (start,) = plan(Settings(start_from=("stable-baselines3",)), path).starts
    named = algorithm("ppo").presets["stable-baselines3"]
    assert (start["batch_size"], start["n_epochs"]) == (named["batch_size"], 3)


def test_a_start_of_ones_own_has_its_values_and_those_of_its_preset() -> None:
    ppo = algorithm("ppo")
    given = Settings(start_from=("gamma=0.9", "several-buildings n_steps=512"), set=(("n_epochs=3",),))
    own, of_preset = plan(given, None).starts
    assert own == ppo.preset("default", {"gamma": 0.9, "n_epochs": 3}, limits(given.steps))
    assert of_preset == ppo.preset("several-buildings", {"n_steps": 512, "n_epochs": 3}, limits(given.steps))
    # A value that the search fixes to the same is none too many.
    assert plan(replace(given, start_from=("n_epochs=3",)), None).starts[0]["n_epochs"] == 3


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("gama=0.9", "did you mean gamma"),
        ("gamma=2", "gamma=2"),
        ("no-such gamma=0.9", "no preset no-such"),
        ("batch_size=512 n_steps=256", "batch_size=512: it is at most"),
        ("n_epochs=4", "--start-from n_epochs=4: the search fixes it to 3"),
    ],
)
def test_a_start_with_a_wrong_value_is_refused(start: str, message: str) -> None:
    with pytest.raises(SpaceError, match=message):
        plan(Settings(start_from=(start,), set=(("n_epochs=3",),)), None)


def test_what_the_file_fixes_is_fixed_and_no_option_contradicts_it(tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_text("n_epochs = {value = 3}", encoding="utf-8")
    assert plan(Settings(set=(("gamma=0.9",),)), path).fixed == {"n_epochs": 3, "gamma": 0.9}
    with pytest.raises(SpaceError, match=r"n_epochs=4: it contradicts value=3 in .*change one of them"):
        plan(Settings(set=(("n_epochs=4",),)), path)


def test_what_policies_of_a_search_may_see_is_every_value_that_is_searched_fixed_or_a_start(tmp_path: Path) -> None:
    assert seen_by(plan(Settings(), None), DEFAULT) == (Seen(),)
    aim = Weights(peak=0.2)
    fixed = plan(Settings(set=(("plan=learned",),)), None)
    assert seen_by(fixed, aim) == (Seen(day_peak=True), Seen(day_peak=True, plan="learned", weights=aim))
    preset = plan(Settings(preset="several-buildings", set=(("plan=yesterday",),)), None)
    assert seen_by(preset, DEFAULT) == (Seen(), Seen(plan="yesterday"))
    path = tmp_path / "space.toml"
    path.write_text("plan = {choices = ['yesterday', 'learned']}", encoding="utf-8")
    found = seen_by(plan(Settings(), path), DEFAULT)
    assert set(found) == {Seen(), Seen(plan="yesterday"), Seen(plan="learned")}
    assert found[0] == Seen()


def test_a_search_with_two_objectives_draws_their_share_and_starts_at_both_ends_too() -> None:
    planned = plan(Settings(objective="co2 bill"), None)
    shares = [start["reward_share"] for start in planned.starts]
    assert shares == [pytest.approx(0.5 / 0.65), 0.0, 1.0]
    assert len({tuple(start.items())[:-1] for start in planned.starts}) == 1
    assert "reward_share" in planned.space.distributions(planned.fixed, limits(250_000))


@pytest.mark.parametrize(
    "others", [{"set": (("reward_share=0.3",),)}, {"start_from": ("default", "rllib")}, {"preset": "default"}]
)
def test_what_the_user_says_of_share_and_starts_holds(others: dict[str, Any]) -> None:
    planned = plan(Settings(objective="co2 bill", **others), None)
    expected = 0.3 if "set" in others else pytest.approx(0.5 / 0.65)
    assert all(start["reward_share"] == expected for start in (*planned.starts, planned.fixed) if "reward_share" in start)
    assert len(planned.starts) == (0 if "preset" in others else len(others.get("start_from", ("default",))))


def test_with_one_objective_there_is_no_share_to_set() -> None:
    with pytest.raises(SpaceError, match="no hyperparameter reward_share"):
        plan(Settings(objective="bill", set=(("reward_share=0.3",),)), None)


def searched(space: SearchSpace) -> set[str]:
    return {own.name for own in space.parameters if own.search}


@pytest.fixture
def homes(small_schema: Path, tmp_path: Path) -> SiteTask:
    """Two buildings, and no chargers."""

    def without_chargers(schema: dict[str, Any]) -> None:
        schema["actions"].pop("electric_vehicle_storage", None)
        for building in schema["buildings"].values():
            building.pop("chargers", None)

    return changed(two_buildings(small_schema, tmp_path / "homes"), without_chargers)


def changed(path: Path, change: Callable[[dict[str, Any]], object]) -> SiteTask:
    """A site with another schema."""
    return SiteTask(str(edit(path, change)))


def test_a_site_with_chargers_and_one_building_has_the_algorithms_own_space(small_schema: Path) -> None:
    for site in (SiteTask("iquitos-38"), SiteTask(str(small_schema))):
        assert fitted(PPO, site) == (PPO, ())


def test_without_chargers_nothing_of_them_is_searched_and_with_several_buildings_sharing_is(homes: SiteTask) -> None:
    space, notes = fitted(PPO, homes)
    assert searched(PPO) - searched(space) == {"learn_charging"}
    assert searched(space) - searched(PPO) == {"shared_policy"}
    assert [note.rpartition(" ")[2] for note in notes] == ["learn_charging", "shared_policy"]
    assert space["learn_charging"].default is False


def test_what_the_users_file_says_holds_and_what_it_searches_for_nothing_is_refused(homes: SiteTask, tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_text("shared_policy = {value = true}\nlearn_charging = {value = true}", encoding="utf-8")
    space = fitted(override(PPO, path), homes)[0]
    assert not {"shared_policy", "learn_charging"} & searched(space)
    assert space.own_values() == {"shared_policy": True, "learn_charging": True}
    path.write_text("learn_charging = {choices = [true, false]}", encoding="utf-8")
    with pytest.raises(
        SpaceError, match=r"^learn_charging: .* has no chargers, so it does nothing there; remove it from .*toml$"
    ):
        fitted(override(PPO, path), homes)


def test_a_fixed_value_is_respected(homes: SiteTask) -> None:
    planned = plan(Settings(set=(("shared_policy=true", "learn_charging=true"),)), None, homes)
    assert planned.fixed == {"shared_policy": True, "learn_charging": True}
    assert not {"shared_policy", "learn_charging"} & planned.space.distributions(planned.fixed).keys()


def test_splits_of_other_buildings_search_neither_sharing_nor_a_plan(
    homes: SiteTask, small_schema: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envs.scenarios.scenario.Scenario.same_buildings", lambda site, split: split != "test")
    for site in (homes, SiteTask(str(small_schema))):
        assert not {"shared_policy", "plan"} & searched(fitted(PPO, site, plans=True)[0])


def test_a_search_on_one_building_starts_with_its_plan_too(small_schema: Path) -> None:
    for site in (SiteTask("iquitos-38"), SiteTask(str(small_schema))):
        default, planned = plan(Settings(), None, site).starts
        assert default == algorithm("ppo").preset("default", {}, {"steps": 250_000.0})
        assert planned == {**default, "plan": "learned"}
        assert len(plan(Settings(set=(("plan=none",),)), None, site).starts) == 1
        assert len(plan(Settings(algo="sac"), None, site).starts) == 1


def test_no_end_of_a_front_starts_from_a_plan_unless_all_trials_do(small_schema: Path, homes: SiteTask) -> None:
    """A plan has the user's weights, whatever the share."""
    for site in (SiteTask("iquitos-38"), SiteTask(str(small_schema)), homes):
        *_, planned, second, first = plan(Settings(objective="co2 bill"), None, site).starts
        assert (planned["plan"], second["plan"], first["plan"]) == ("learned", "none", "none")
        assert (second["reward_share"], first["reward_share"]) == (0.0, 1.0)
    starts = plan(Settings(objective="co2 bill", set=(("plan=learned",),)), None, SiteTask("iquitos-38")).starts
    assert {start["plan"] for start in starts} == {"learned"}


def rests(schema: dict[str, Any], *buildings: str) -> None:
    """Batteries of some buildings do not act."""
    for name in buildings:
        schema["buildings"][name]["inactive_actions"] = ["electrical_storage"]


def rest_everywhere(schema: dict[str, Any]) -> None:
    schema["actions"]["electrical_storage"]["active"] = False


def test_several_buildings_whose_batteries_do_not_act_have_no_plan_either(homes: SiteTask) -> None:
    assert homes.site.schema
    for buildings, is_planned in ((("mall",), True), (("mall", "office"), False)):
        site = changed(homes.site.schema, lambda schema, names=buildings: rests(schema, *names))  # type: ignore[misc]
        assert ("plan" in searched(fitted(PPO, site, plans=True)[0])) is is_planned


@pytest.mark.parametrize("change", [rest_everywhere, lambda schema: rests(schema, "mall")])
def test_one_building_whose_battery_does_not_act_has_no_plan_to_start_from(
    small_schema: Path, tmp_path: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    path = shutil.copytree(small_schema.parent, tmp_path / "site") / small_schema.name
    assert "plan" not in searched(plan(Settings(), None, changed(path, change)).space)


def test_a_plan_is_searched_where_the_algorithm_starts_from_one_and_what_is_set_allows_it(homes: SiteTask) -> None:
    def searches_a_plan(**settings: object) -> bool:
        return "plan" in searched(plan(Settings(**settings), None, homes).space)  # type: ignore[arg-type]

    assert searches_a_plan()
    assert searches_a_plan(algo="a2c")
    assert not searches_a_plan(algo="sac")
    assert not searches_a_plan(reward="schema")
    assert not searches_a_plan(teacher="mpc")


def test_where_thermal_storages_alone_act_a_plan_is_searched_too(small_schema: Path, tmp_path: Path) -> None:
    path = with_tank(small_schema, tmp_path / "tank")
    planned = plan(Settings(), None, changed(path, rest_everywhere))
    assert "plan" in searched(planned.space)
    assert [start["plan"] for start in planned.starts] == ["none", "learned"]
    # The action alone, without the tank, plans nothing.
    without = changed(path, lambda schema: schema["buildings"]["mall"].pop("dhw_storage"))
    assert "plan" not in searched(plan(Settings(), None, without).space)


def test_no_plan_is_searched_where_there_is_none(homes: SiteTask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envs.environments.fit.why_no_mpc", lambda site: "no bound")
    assert "plan" not in searched(fitted(PPO, homes, plans=True)[0])


def test_a_search_on_several_buildings_starts_with_what_won_there_too(homes: SiteTask) -> None:
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


@pytest.mark.parametrize(
    ("backend", "reward", "reason"),
    [("citylearn", "improvement", "leave --backend out"), ("batch", "schema", "leave --reward out")],
)
def test_it_needs_the_batch_backend_and_the_reward_that_it_plans_for(
    small_schema: Path, backend: Any, reward: Any, reason: str
) -> None:
    check_teacher(SiteTask(str(small_schema)), "ppo")
    with pytest.raises(UsageError, match=f"^--teacher mpc: .*{reason}$"):
        check_teacher(SiteTask(str(small_schema), backend=backend, reward=reward), "ppo")


def test_a_site_whose_devices_people_feel_is_refused_with_what_to_do(small_schema: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^--teacher mpc: copies of it .*--set plan=learned$"):
        check_teacher(SiteTask(str(with_rooms(small_schema, tmp_path))), "ppo")


def test_a_site_without_model_predictive_control_and_an_algorithm_that_cannot_are_refused(
    small_schema: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = SiteTask(str(small_schema))
    monkeypatch.setattr(plans, "why_no_mpc", lambda site: "prices below zero are beyond a linear programme")
    with pytest.raises(UsageError, match=r"^--teacher mpc: prices below zero"):
        check_teacher(task, "sac")
    own = plans.algorithm("sac")
    monkeypatch.setattr(plans, "algorithm", lambda name: replace(own, can_be_taught=False))
    with pytest.raises(UsageError, match=r"^--teacher mpc: sac cannot begin as a copy$"):
        check_teacher(task, "sac")
