"""A file changes bounds and choices, and each of its names and values is checked."""

from pathlib import Path

import pytest

from search_spaces import Assignment, SearchSpace, SpaceError
from search_spaces.on_policy import PPO
from search_spaces.overrides import override
from tests.search_spaces.draws import drawn

LIMITS = {"steps": 1e6}
LIMITS_OF_MANY_STEPS = {"steps": 4e6}


def changed(path: Path, text: str) -> SearchSpace:
    path.write_text(text, encoding="utf-8")
    return override(PPO, path)


def test_ranges_are_those_of_the_file_in_outer_values(tmp_path: Path) -> None:
    text = """
        learning_rate = {low = 1e-4, high = 2e-4}
        gamma = {low = 0.9, high = 0.95}
        n_steps = {low = 512, high = 1024}
        n_epochs = {low = 3, high = 4, log = false}
        target_kl = {low = 0.01, high = 0.05}
    """
    values = drawn(changed(tmp_path / "space.toml", text), 40, {}, LIMITS)
    assert all(1e-4 <= v["learning_rate"] <= 2e-4 for v in values)  # type: ignore[operator]
    assert all(0.9 - 1e-12 <= v["gamma"] <= 0.95 + 1e-12 for v in values)  # type: ignore[operator]
    assert {v["n_steps"] for v in values} == {512, 1024}
    assert {v["n_epochs"] for v in values} == {3, 4}
    # It was not searched before.
    assert len({v["target_kl"] for v in values}) > 30


def test_choices_and_values_are_those_of_the_file(tmp_path: Path) -> None:
    text = """
        hidden_sizes = {choices = ["32", "8,8"]}
        activation = {value = "silu"}
        normalize_rewards = {value = true}
    """
    values = drawn(changed(tmp_path / "space.toml", text), 40, {}, LIMITS)
    assert {v["hidden_sizes"] for v in values} == {"32", "8,8"}
    assert {(v["activation"], v["normalize_rewards"]) for v in values} == {("silu", True)}
    assert len({v["learning_rate"] for v in values}) > 30


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("learning_rat = {value = 1e-3}", "did you mean learning_rate"),
        ("learning_rate = {low = 1e-3}", "it takes low and high, choices, or value"),
        ("learning_rate = {low = 1e-3, high = 1e-4}", "low=0.001 is above high=0.0001"),
        ("learning_rate = {low = 1e-3, high = 5.0}", "learning_rate=5.0: it lies between"),
        ("n_steps = {low = 100, high = 1024}", "powers of two"),
        ("n_steps = {choices = [128, 256]}", "not choices, because its range depends on other values"),
        ("gamma = {choices = [0.9, 0.99]}", "not choices, because it is searched as one_minus_gamma"),
        ("n_epochs = {low = 1.5, high = 4}", "whole numbers"),
        ("gamma = {low = 0.9, high = 1.0}", "on a log scale its bounds cannot reach 1.0"),
        ("activation = {choices = ['tanh', 'relo']}", "activation=relo: it is one of"),
        ("activation = {choices = ['tanh', 'relu', 'tanh']}", 'activation="tanh": it stands several times in its choices'),
        ("activation = {low = 1, high = 2}", "it takes choices"),
        ("hidden_sizes = {value = 64}", "hidden_sizes=64: it takes sizes of layers"),
        ("learning_rate = {low = '1e-4', high = 1e-3}", 'learning_rate="1e-4": a bound is a number'),
        ("n_epochs = {value = 2.0}", r"n_epochs=2\.0: it takes a whole number"),
        pytest.param(f"n_epochs = {{value = {'9' * 5000}}}", "is no TOML", id="5000 digits"),
        pytest.param(f"n_epochs = {{value = 0x{'f' * 5000}}}", "Exceeds the limit", id="hexadecimal"),
        pytest.param(f"hidden_sizes = {{value = '{'64,' * 16}64'}}", "it takes at most 16 layers, not 17", id="17 layers"),
        ("normalize_rewards = {value = 'true'}", 'normalize_rewards="true": it takes true or false'),
    ],
)
def test_what_is_not_valid_is_refused_with_file_and_name(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "space.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SpaceError, match=said) as error:
        override(PPO, path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("# größer\nn_epochs = {value = 5}".encode("latin-1"), r"space\.toml is no TOML in UTF-8"),
        (b"gamma = " + b"[" * 50_000, r"space\.toml is no TOML in UTF-8: .*recursion"),
        (None, r"^--space .*space\.toml: No such file.*; give the TOML file"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "space.toml"
    if content:
        path.write_bytes(content)
    with pytest.raises(SpaceError, match=said):
        override(PPO, path)


def test_a_file_may_have_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_text("n_epochs = {value = 5}", encoding="utf-8-sig")
    assert override(PPO, path).own_values() == {"n_epochs": 5}


BOUNDED = {
    "a high lower bound": "batch_size = {low = 8192, high = 16384}",
    "an overlap": "n_steps = {low = 1024, high = 16384}\nbatch_size = {low = 4096, high = 16384}",
    "a high budget": "n_steps = {low = 262144, high = 1048576}",
    "low upper bounds": "n_steps = {low = 16, high = 32}",
    "a value": "batch_size = {value = 5000}",
}


@pytest.mark.parametrize("text", BOUNDED.values(), ids=BOUNDED)
def test_every_drawn_assignment_lies_within_the_bounds_and_fulfils_the_conditions(tmp_path: Path, text: str) -> None:
    space = changed(tmp_path / "space.toml", text)
    space.check(space.own_values(), LIMITS_OF_MANY_STEPS)
    values = drawn(space, 60, space.own_values(), LIMITS_OF_MANY_STEPS)
    values.append(space.complete(space.own_values(), LIMITS_OF_MANY_STEPS))
    for assignment in values:
        space.check(assignment, LIMITS_OF_MANY_STEPS)
        for parameter in space.parameters:
            assert not parameter.own or parameter.own.contain(assignment[parameter.name]), parameter.name


@pytest.mark.parametrize(
    ("text", "fixed", "steps", "said"),
    [
        (
            "n_steps = {low = 128, high = 4096}\nbatch_size = {low = 8192, high = 16384}", {}, 1e6,
            "n_steps: it would have to be at least 8192 (batch_size: low=8192 and high=16384 in space.toml) "
            "and at most 4096 (n_steps: low=128 and high=4096 in space.toml)",
        ),
        (
            "batch_size = {low = 8192, high = 16384}", {}, 20_000,
            "n_steps: it would have to be at least 8192 (batch_size: low=8192 and high=16384 in space.toml) "
            "and at most 0.25 of steps=20000",
        ),
        (
            "batch_size = {low = 8192, high = 16384}", {"n_steps": 2048}, 1e6,
            "batch_size: it would have to be at least 8192 (batch_size: low=8192 and high=16384 in space.toml) "
            "and at most n_steps=2048",
        ),
        (
            "n_steps = {low = 128, high = 256}", {"batch_size": 512}, 1e6,
            "n_steps: it would have to be at least 512 (batch_size=512) "
            "and at most 256 (n_steps: low=128 and high=256 in space.toml)",
        ),
        ("batch_size = {value = 8192}", {"n_steps": 2048}, 1e6, "batch_size=8192 in space.toml: it is at most n_steps=2048"),
        ("", {"n_steps": 1_000_001}, 4_000_003, "n_steps=1000001: it is at most 0.25 of steps=4000003"),
    ],
)  # fmt: skip
def test_bounds_that_cannot_hold_are_refused_with_both_sides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, fixed: Assignment, steps: float, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    space = changed(Path("space.toml"), text)
    with pytest.raises(SpaceError) as refused:
        space.check({**space.own_values(), **fixed}, {"steps": steps})
    assert str(refused.value) == said


@pytest.mark.parametrize(
    ("text", "fixed", "said"),
    [
        ("gamma = {low = 0.9, high = 0.95}", {"gamma": 0.99}, "gamma=0.99: it contradicts low=0.9 and high=0.95 in "),
        ("n_epochs = {value = 5}", {"n_epochs": 6}, "n_epochs=6: it contradicts value=5 in "),
        ("activation = {choices = ['tanh']}", {"activation": "relu"}, "activation=relu: it contradicts value=tanh in "),
    ],
)
def test_a_fixed_value_outside_the_bounds_of_the_file_is_refused(
    tmp_path: Path, text: str, fixed: Assignment, said: str
) -> None:
    space = changed(tmp_path / "space.toml", text)
    with pytest.raises(SpaceError, match=said):
        space.check_fixed(fixed)
    space.check_fixed({"gamma": 0.93, "n_epochs": 5})


@pytest.mark.parametrize(
    ("text", "fixed", "fault"),
    [
        ("ent_coef_final = {low = 0.1, high = 0.5}", {}, "ent_coef_final: it acts only with ent_coef_schedule linear or "),
        ("learning_rate_final = {low = 0.1, high = 0.5}", {"learning_rate_schedule": "constant"}, "remove it from"),
        ("learning_rate_final = {low = 0.1, high = 0.5}", {}, ""),
        ("ent_coef_final = {choices = [0.1, 0.5]}", {"ent_coef_schedule": "linear"}, ""),
    ],
)
def test_a_file_that_searches_what_acts_in_no_trial_is_refused(
    tmp_path: Path, text: str, fixed: Assignment, fault: str
) -> None:
    space = changed(tmp_path / "space.toml", text)
    if not fault:
        space.check(fixed)
        return
    with pytest.raises(SpaceError, match=fault):
        space.check(fixed)


def test_bounds_of_what_is_drawn_as_a_part_are_of_the_value_itself(tmp_path: Path) -> None:
    text = "batch_size = {low = 8192, high = 16384}\nn_steps = {low = 1024, high = 32768}"
    values = drawn(changed(tmp_path / "space.toml", text), 40, {}, LIMITS)
    assert {v["batch_size"] for v in values} == {8192, 16384}
    assert {v["n_steps"] for v in values} == {8192, 16384, 32768}
    assert len({(v["n_steps"], v["batch_size"]) for v in values}) == 5
    rollouts = drawn(changed(tmp_path / "space.toml", "n_steps = {low = 1024, high = 32768}"), 40, {}, LIMITS)
    assert {v["n_steps"] // v["batch_size"] for v in rollouts} == {2, 4, 8, 16, 32}  # type: ignore[operator]


@pytest.mark.parametrize(
    ("text", "least", "greatest"),
    [("low = -2.5, high = -1.5", -2.5, -1.5), ("choices = [-2.5, -2.0]", -2.5, -2.0), ("value = -2.5", -2.5, -2.5)],
)
def test_a_files_deviations_hold_beside_a_plan_too(tmp_path: Path, text: str, least: float, greatest: float) -> None:
    space = changed(tmp_path / "space.toml", f"plan = {{value = 'learned'}}\nlog_std_init = {{{text}}}")
    values = drawn(space, 40, {}, LIMITS)
    assert all(least <= value["log_std_init"] <= greatest for value in values)  # type: ignore[operator]


def test_bounds_change_no_text_by_which_an_experiment_is_compared(tmp_path: Path) -> None:
    assert changed(tmp_path / "space.toml", "clip_range = {low = 0.1, high = 0.4}").describe() == PPO.describe()
