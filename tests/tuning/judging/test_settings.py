"""Settings of a judgement are checked before anything is read or created."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from common.errors import UsageError
from envs.forecasts import METHODS
from tuning.cli.command import parse
from tuning.judging.settings import ALL_MPC, HeadroomSettings, JudgeSettings, methods

GIVEN = JudgeSettings((Path("experiments/one"),))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"experiments": ()}, "at least one experiment"),
        ({"top": 0}, "--top 0: it is at least 1"),
        ({"seeds": 1}, "--seeds 1: it is at least 2"),
        ({"gpu_memory": math.nan}, "--gpu-memory nan: it is a number of GiB from 0 on"),
        ({"seed": -1}, "--seed -1: it is at least 0"),
        ({"seed": 10**19}, "seed is 10000000000000000000, and has more than 64 bits"),
        ({"mpc": ("none", "exact")}, "--mpc none exact: give each of yesterday, seven-days, learned, exact once at most"),
        ({"mpc": ("exact", "exact")}, "--mpc exact exact"),
        ({"mpc": ()}, "or none alone"),
    ],
)
def test_each_limit_is_named_with_the_value(change: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        replace(GIVEN, **change).check()  # type: ignore[arg-type]


def test_command_lines_become_settings() -> None:
    places = ("a", "s3://bucket/a", "file:///mnt/b")  # a URI stays as it was typed
    given = parse(JudgeSettings, [*places, "--seeds", "3", "--backend", "batch"], None, "test")
    assert given == JudgeSettings(places, seeds=3, backend="batch")
    assert parse(HeadroomSettings, ["--split", "test"], None, "test") == HeadroomSettings(split="test")
    chosen = parse(HeadroomSettings, ["--mpc", "learned", "exact"], None, "test")
    assert chosen.mpc == ("learned", "exact")


def test_headroom_refuses_forecasts_that_contradict() -> None:
    with pytest.raises(UsageError, match="--mpc none learned"):
        HeadroomSettings(mpc=("none", "learned")).check()


def test_forecasts_of_the_command_line_are_those_of_the_controller() -> None:
    assert methods(ALL_MPC) == METHODS
    assert methods(("none",)) == ()
