"""How many synthetic years there are, which windows train in them, and which scenarios have none."""

import json
from pathlib import Path
from typing import Any

import pytest

from envs.errors import ScenarioError
from envs.scenarios.augmentation import (
    NONE,
    Augmentation,
    check_augmentation,
    has_chargers,
    synthetic_years,
    training_windows,
)
from envs.scenarios.scenario import Splits, Window, scenario
from envs.scenarios.synthetic_numbers import is_synthetic


@pytest.fixture
def homes(two_buildings: Path, tmp_path: Path) -> Path:
    """A site without vehicles."""
    schema = json.loads(two_buildings.read_text(encoding="utf-8"))
    for own in schema["buildings"].values():
        own["chargers"] = {}
    schema["root_directory"] = str(two_buildings.parent)
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(schema), encoding="utf-8")
    return path


def test_without_it_nothing_changes(small_schema: Path) -> None:
    for of in (scenario(str(small_schema)), scenario("iquitos")):
        assert training_windows(of) == training_windows(of, NONE) == of.windows("train")
        assert synthetic_years(of, NONE) == ()


def test_all_hours_of_a_synthetic_year_may_train_where_no_vehicle_comes(homes: Path) -> None:
    of = scenario(str(homes), trusted=True)
    assert not has_chargers(of)
    windows = training_windows(of, Augmentation(2, 5))
    assert windows[: len(of.windows("train"))] == of.windows("train")
    own = [window for window in windows if is_synthetic(window.year)]
    assert own == [Window(year, 0, 40 * 24) for year in synthetic_years(of, Augmentation(2, 5))]


def test_sessions_keep_the_windows_where_they_are(small_schema: Path) -> None:
    of = scenario(str(small_schema))
    assert has_chargers(of)
    (year,) = synthetic_years(of, Augmentation(1, 0))
    own = [window for window in training_windows(of, Augmentation(1, 0)) if window.year == year]
    assert [(window.start, window.hours) for window in own] == [(own.start, own.hours) for own in of.windows("train")]


def test_each_range_that_trains_has_copies(small_schema: Path) -> None:
    of = scenario(str(small_schema), splits=Splits(("0-9", "20-34"), ("10-12",), ("36-39",)))
    years = synthetic_years(of, Augmentation(2, 0))
    assert len(set(years)) == 4
    assert [of.split_of(year) for year in years] == ["train"] * 4
    hours = [window.hours for window in training_windows(of, Augmentation(2, 0))]
    assert hours == [239, 359] * 3
    # A seed of its own has years of its own.
    assert not set(years) & set(synthetic_years(of, Augmentation(2, 1)))


def test_a_generated_site_has_further_years_that_no_split_has() -> None:
    of = scenario("iquitos")
    assert synthetic_years(of, Augmentation(3, 0)) == (8, 9, 10)
    stated = scenario("iquitos", splits=Splits(("1", "3"), ("5",), ("2", "7")))
    assert synthetic_years(stated, Augmentation(3, 0)) == (4, 6, 8)
    assert len(training_windows(of, Augmentation(3, 0))) == 6


def test_what_cannot_be_recombined_is_refused(homes: Path) -> None:
    of, one = scenario(str(homes), trusted=True), Augmentation(1, 0)
    check_augmentation(of, one, "batch")
    check_augmentation(scenario("iquitos"), one, "batch")
    with pytest.raises(ScenarioError, match="--augment: the batch backend alone steps synthetic years"):
        check_augmentation(of, one, "citylearn")
    check_augmentation(of, NONE, "citylearn")

    def sized(schema: dict[str, Any]) -> None:
        schema["buildings"]["five"]["electrical_storage"]["autosize"] = True

    def thermal(schema: dict[str, Any]) -> None:
        schema["actions"]["dhw_storage"] = {"active": True}

    for change, message in ((sized, "sizes the electrical_storage of building five"), (thermal, "derives .* dhw_storage")):
        schema = json.loads(of.schema.read_text(encoding="utf-8"))  # type: ignore[union-attr]
        before = json.dumps(schema)
        change(schema)
        homes.write_text(json.dumps(schema), encoding="utf-8")
        with pytest.raises(ScenarioError, match=f"--augment: CityLearn {message}"):
            check_augmentation(of, one, "batch")
        homes.write_text(before, encoding="utf-8")
