"""Ranges and settings are read from `experiment.json` as the search had them."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from optuna.distributions import CategoricalDistribution

from results import ResultsError
from results.experiment_file import FORMAT, Range, _range, read_facts, text_of
from search_spaces import SearchSpace
from search_spaces.on_policy import A2C, PPO
from search_spaces.parameter import Scale
from search_spaces.sac import SAC
from tests.results.made import settle

STEPS = 1_000_000


def ranges(space: SearchSpace, steps: float = STEPS, **fixed: Any) -> dict[str, Range]:
    """As they come back from the file."""
    unsearched = {own.name: own.default for own in space.parameters if own.search is None}
    drawn = space.ranges({**unsearched, **fixed}, {"steps": float(steps)})
    return {name: _range(name, json.loads(json.dumps(own))) for name, own in drawn.items()}


@pytest.mark.parametrize("space", [PPO, A2C, SAC])
def test_every_searched_hyperparameter_of_each_algorithm_has_the_range_that_it_is_drawn_from(space: SearchSpace) -> None:
    found = ranges(space)
    assert set(found) == {own.name for own in space.parameters if own.search}
    for own in space.parameters:
        if isinstance(own.search, CategoricalDistribution):
            assert found[own.name].choices == tuple(map(text_of, own.search.choices))
        elif own.search and not own.part_of and not own.searched_to and not own.enough and not own.at_most:
            ends = sorted(float(own.scale.outer(end)) for end in (own.search.low, own.search.high))  # type: ignore[attr-defined, arg-type]
            assert [found[own.name].low, found[own.name].high] == pytest.approx(ends)
            assert found[own.name].log == (own.search.log or own.scale is Scale.POWER_OF_TWO)  # type: ignore[attr-defined]
            assert found[own.name].from_one == (own.scale is Scale.ONE_MINUS)
        if own.only_if and own.search:
            assert found[own.name].only_if == (own.only_if.name, tuple(map(text_of, own.only_if.values)))


def test_the_length_of_a_trial_ends_a_range() -> None:
    assert ranges(PPO, 32_768)["n_steps"].high == 4096
    assert ranges(PPO, 10**9)["n_steps"].high == 2**14
    assert ranges(SAC, 100_000)["buffer_size"].high == 2**17
    # Where it leaves less than the least that is searched, the range gives way.
    assert (ranges(PPO, 2000)["n_steps"].low, ranges(PPO, 2000)["n_steps"].high) == (128, 128)


def test_a_part_of_another_value_reaches_from_the_least_to_the_greatest_part() -> None:
    own = ranges(PPO)["batch_size"]
    assert (own.low, own.high) == (64, ranges(PPO)["n_steps"].high / 2)
    of_fixed = ranges(PPO, n_steps=512)
    assert (of_fixed["batch_size"].low, of_fixed["batch_size"].high) == (64, 256)
    assert "n_steps" not in of_fixed
    assert (ranges(SAC)["gradient_steps"].low, ranges(SAC)["gradient_steps"].high) == (2, 16)
    short = ranges(SAC, 100_000, train_freq=64)["gradient_steps"]
    assert (short.low, short.high) == (4, 16)


def test_positions_lie_on_the_scale_that_is_drawn_from() -> None:
    learning_rate, gamma = (ranges(PPO)[name] for name in ("learning_rate", "gamma"))
    assert learning_rate.positions(pd.Series([3e-5, 3e-4, 3e-3, 3e-2])) == pytest.approx([0.0, 0.5, 1.0, 1.5])
    assert gamma.positions(pd.Series([0.9, 0.99, 0.999])) == pytest.approx([0.0, 0.5, 1.0])
    assert Range("a", 0.0, 4.0).positions(pd.Series([1.0, np.nan])) == pytest.approx([0.25, 1.0])
    assert Range("a", choices=("none", "True")).positions(pd.Series([None, True, "other"])) == pytest.approx(
        [0.0, 1.0, math.nan], nan_ok=True
    )


@pytest.mark.parametrize(
    ("own", "values"),
    [
        (Range("a", choices=("x", "y")), 2),
        (Range("a", 64, 512, log=True, whole=True, powers=True), 4),
        (Range("a", 1, 10, log=True, whole=True), 5),
        (Range("a", 1, 10, whole=True), 10),
        (Range("a", 0.0, 1.0), None),
    ],
)
def test_values_that_can_be_told_apart(own: Range, values: int | None) -> None:
    assert own.values == values


def test_a_folder_without_the_file_has_no_facts(tmp_path: Path) -> None:
    assert read_facts(tmp_path).settings == {}
    settle(tmp_path)
    assert read_facts(tmp_path).ranges["batch_size"] == ranges(PPO, 400_000)["batch_size"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", r"experiment.json cannot be read .*: restore it from a copy"),
        (json.dumps({"format": 1}), "has format 1, and this version of the package reads 3: use the version that wrote it"),
        (
            json.dumps({"format": FORMAT, "marks": {"ranges": {"gamma": {"low": 0.9}}}}),
            "the space of gamma cannot",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "experiment.json").write_text(content, encoding="utf-8")
    with pytest.raises(ResultsError, match=said):
        read_facts(tmp_path)


def test_values_become_texts_as_choices_are_written() -> None:
    assert [text_of(value) for value in (None, math.nan, True, np.True_, 4.0, 0.5, "a")] == [
        "none", "none", "True", "True", "4", "0.5", "a",
    ]  # fmt: skip
