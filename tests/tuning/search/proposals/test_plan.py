"""What is searched follows from the settings, and a value that is not valid is refused before."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envs.objective.weights import DEFAULT, Weights
from envs.seen import Seen
from search_spaces import SpaceError
from tuning.algorithms.registry import algorithm
from tuning.experiment.settings import Settings
from tuning.search.proposals.plan import limits, plan, seen_by


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


def test_a_file_changes_the_space(tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_text("[gamma]\nlow = 0.9\nhigh = 0.95\n", encoding="utf-8")
    assert plan(Settings(), path).space["gamma"].search != algorithm("ppo").space["gamma"].search


@pytest.mark.parametrize(
    "others", [{"set": (("gamma=2",),)}, {"preset": "none-such"}, {"set": (("n_steps=8192",),), "steps": 8192}]
)
def test_what_is_not_valid_is_refused(others: dict[str, Any]) -> None:
    with pytest.raises(SpaceError):
        plan(Settings(**others), None)


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
