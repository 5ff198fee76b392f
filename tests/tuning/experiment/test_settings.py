"""Settings survive their file, name what may not change, and are checked with the option's name."""

import json
import math
from contextlib import suppress
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import pytest

from common.errors import UsageError
from envs.scenarios.splits import Splits
from tuning.cli.command import parse
from tuning.diagnosis.settings import DoctorSettings, MemorySettings
from tuning.experiment.settings import OF_A_RUN, Settings, SiteSettings, changed
from tuning.judging.settings import HeadroomSettings

SPLITS = [entry.name for entry in fields(Splits)]


def test_splits_are_part_of_what_an_experiment_is() -> None:
    before = Settings(
        scenario="homes/schema.json", train=("0-9",), validation=("10",), test=("20-29",), test_buildings=("a", "b")
    )
    assert Settings.from_json(json.loads(json.dumps(before.to_json()))) == before
    now = replace(before, train=("0-8",), test_buildings=())
    assert changed(before, now) == ["--train was 0-9, now 0-8", "--test-buildings was a b, now not given"]


@pytest.mark.parametrize(
    ("value", "taken_by"),
    [
        ("text", ["scenario", "algo", "env", "preset", "space", "name", "dir", "storage"]),
        (1.5, ["gpu_memory"]),
        ([], [*SPLITS, "set", "weights", "require", "start_from", "learn_from"]),
        (["text"], [*SPLITS, "start_from", "learn_from"]),
        ([["text"]], ["set"]),
        (True, ["further_weeks"]),
        *((value, []) for value in (None, -1, 10**30, math.nan, [[1]], [None], {}, {"a": 1})),
    ],
)
def test_each_setting_takes_values_of_its_type_alone(value: object, taken_by: list[str]) -> None:
    taken = []
    for name in Settings().to_json():
        with suppress(ValueError):
            Settings.from_json({**Settings().to_json(), name: value})
            taken.append(name)
    assert taken == taken_by


@pytest.mark.parametrize("name", OF_A_RUN)
def test_commands_to_a_run_are_neither_written_nor_read(name: str) -> None:
    """A stranger's experiment cannot say that its scenario is trusted."""
    given = Settings(trust_scenario=True, extend=True, retry_failed=True, resume="x", address="auto", callback=("os:abort",))
    values = given.to_json()
    assert name not in values
    for value in (True, False):
        with pytest.raises(ValueError, match=f"another version.*{name}"):
            Settings.from_json({**values, name: value})


def test_set_takes_several_and_may_be_repeated() -> None:
    assert Settings(set=(("a=1", "b=x=y"), ("c=3",))).fixed_texts() == {"a": "1", "b": "x=y", "c": "3"}
    for pairs in (("a",), ("a=",), ("=1",), ("a=1", "a=2"), ()):
        with pytest.raises(UsageError, match="--set"):
            Settings(set=(pairs,)).fixed_texts()


def test_only_budget_and_machine_may_change_on_resume() -> None:
    before = Settings()
    assert changed(before, replace(before, trials=9, steps=9, concurrency=1, retries=0)) == []
    assert changed(before, replace(before, extend=True, resume="x", keep_checkpoints="all")) == []
    assert changed(before, replace(before, algo="ppo", reward="schema", set=(("a=1",),))) == [
        "--set was not given, now a=1",
        "--reward was improvement, now schema",
    ]
    started = replace(before, start_from=("default", "planned gamma=0.9"))
    assert changed(started, before) == ['--start-from was default "planned gamma=0.9", now default']


def test_the_number_of_kept_checkpoints() -> None:
    assert [Settings(keep_checkpoints=text).kept_trials for text in ("all", "best:0", "best:12")] == [math.inf, 0, 12]
    for text in ("best", "best:", "best:-1", "worst:3", "best:many"):
        with pytest.raises(UsageError, match=f"--keep-checkpoints {text}: it takes best:K"):
            Settings(keep_checkpoints=text).check()


def test_a_start_is_a_preset_or_values_of_ones_own_or_both() -> None:
    given = Settings(start_from=("default", "planned gamma=0.9  n_steps=512", "hidden_sizes=64,64"))
    assert given.starts == (
        ("default", {}),
        ("planned", {"gamma": "0.9", "n_steps": "512"}),
        ("default", {"hidden_sizes": "64,64"}),
    )
    read = parse(Settings, ["--start-from", "default", "planned gamma=0.9", "--seed", "3"], None, "x")
    assert (read.start_from, read.seed) == (("default", "planned gamma=0.9"), 3)
    assert Settings.from_json(read.to_json()) == read


@pytest.mark.parametrize("start", ["", " ", "planned gamma", "planned rllib", "gamma=", "gamma=0.9 gamma=0.8"])
def test_a_start_that_is_none_is_refused(start: str) -> None:
    with pytest.raises(UsageError, match="--start-from"):
        Settings(start_from=("default", start)).check()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"trials": 2.5}, r"trials is 2\.5, not a whole number"),
        ({"budget": 30}, r'budget is 30, not a text; as in budget="30m"$'),
        ({"objective": ("co2", "bill")}, r'objective is \["co2", "bill"\], not a text; as in objective="co2 bill"$'),
        ({"set": {"gamma": 0.9}}, "set is .*, not a list.*; as in set="),
        ({"set": ("gamma=0.9",)}, r"set\[0\] is \"gamma=0.9\", not a list"),
        ({"dir": Path("here")}, "dir is .*, not a text"),
        ({"keep": "all"}, "keep is .*, not one of best, last"),
        ({"steps": 0}, "--steps 0: it is at least 1"),
        ({"gpu_memory": math.nan}, "--gpu-memory nan: it is a number of GiB from 0 on"),
        ({"gpu_memory": math.inf}, "--gpu-memory inf: it"),
        ({"gpu_memory": -0.5}, r"--gpu-memory -0\.5: it"),
        ({"trials": -1}, "--trials -1: it is at least 0"),
        ({"evaluations": 9, "steps": 8}, "--evaluations 9: a trial of 8 steps"),
        ({"preset": "oom-safe", "space": "space.toml"}, "--preset runs one assignment"),
    ],
)
def test_each_limit_is_named_with_the_value(change: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        replace(Settings(), **change).check()  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["asha", "hyperband", "median"])
def test_what_stops_trials_by_one_number_is_refused_with_two_objectives(name: Any) -> None:
    with pytest.raises(UsageError, match=f"--scheduler {name}: it stops trials by one number"):
        Settings(objective="co2 bill", scheduler=name).check()
    Settings(objective="bill", scheduler=name).check()


def test_a_sampler_for_one_objective_is_refused_with_two() -> None:
    with pytest.raises(UsageError, match="--sampler cmaes: it searches for one objective"):
        Settings(objective="co2 bill", sampler="cmaes").check()


def test_one_or_two_objectives_are_one_text_on_the_command_line_and_in_the_file() -> None:
    two = parse(Settings, ["--objective", "co2", "bill", "--seed", "3"], None, "x")
    assert (two.objective, two.seed) == ("co2 bill", 3)
    assert Settings.from_json(two.to_json()) == two
    assert parse(Settings, [], two, "x") == two
    assert parse(Settings, ["--objective", "bill"], None, "x").objective == "bill"


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ({"budget": "1m"}, (0.15, 0.2)),  # how much that pays for shows later
        ({"budget": "10M"}, (0.15, 0.2)),
        ({"budget": "2.1M"}, (0.15, 0.2)),  # the larger part pays for four trainings
        ({"budget": "2M"}, (0.15, 0.2)),  # it pays for them, and for nothing beyond
        ({"budget": "1.9M"}, None),
        ({"budget": "10M", "confirm": 0.3}, (0.3, 0.4)),
        ({"budget": "10M", "confirm": 0.0}, None),
        ({"budget": "10M", "preset": "default"}, None),
        ({"scheduler": "asha"}, None),
    ],
)
def test_the_part_that_confirms_may_be_a_third_larger_and_has_to_pay_for_two_rounds(
    given: dict[str, object], parts: tuple[float, float] | None
) -> None:
    found = Settings(steps=100_000, **given).confirming_parts  # type: ignore[arg-type]
    assert found == (parts if parts is None else pytest.approx(parts))


def test_a_budget_ends_a_search_and_without_one_it_has_a_number_of_trials() -> None:
    found = [
        Settings(**given).most_trials  # type: ignore[arg-type]
        for given in (
            {}, {"scheduler": "median"}, {"scheduler": "median", "budget": "1h"}, {"preset": "oom-safe"},
            {"preset": "oom-safe", "trials": 3}, {"preset": "oom-safe", "budget": "1h"},
        )
    ]  # fmt: skip
    assert found == [math.inf, 4, math.inf, 1, 3, math.inf]


@pytest.mark.parametrize(
    ("given", "pace", "trials"),
    [
        ({"budget": "2M"}, math.nan, 80),
        ({"scheduler": "asha"}, math.nan, 4),
        ({"budget": "2M", "trials": 7}, math.nan, 7),
        ({}, math.nan, 16),
        ({"budget": "20m"}, math.nan, 16),  # nothing is known of the pace yet
        ({"budget": "20m"}, 1000.0, 48),
        ({"budget": "8h"}, 1000.0, 1152),
        ({"budget": "1m"}, 1.0, 1),
        ({"budget": "2M"}, 1000.0, 80),  # a budget of steps does not depend on the pace
    ],
)
def test_expected_are_four_trials_for_each_whole_one_that_the_budget_pays_for(
    given: dict[str, object], pace: float, trials: int
) -> None:
    assert Settings(steps=100_000, **given).expected_trials(pace) == trials  # type: ignore[arg-type]


COMMANDS = (MemorySettings, DoctorSettings, HeadroomSettings)
STATED = {entry.name: ("1", "4") for entry in fields(Splits)}


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_command_takes_each_of_them_and_explains_them(kind: type[SiteSettings], capsys: pytest.CaptureFixture[str]) -> None:
    options = [part for name, values in STATED.items() for part in (f"--{name.replace('_', '-')}", *values)]
    found = parse(kind, ["--scenario", "iquitos-38", *options], None, "test")
    assert (found.scenario, asdict(found.splits)) == ("iquitos-38", STATED)
    with pytest.raises(SystemExit):
        parse(kind, ["--help"], None, "test")
    assert "Buildings that validate" in " ".join(capsys.readouterr().out.split())
