"""Which rows and buildings a stated split has, and what cannot be stated."""

from pathlib import Path
from typing import Any

import pytest

from envs.errors import ScenarioError
from envs.scenarios.segments import HISTORY, segments_of
from envs.scenarios.splits import Splits

PATH = Path("site/schema.json")
DAY = 24


def schema(**changes: Any) -> dict[str, Any]:
    """A site of four homes over a hundred days and two hours, the last of which is left out."""
    homes: dict[str, Any] = {f"home_{i}": {"energy_simulation": "a.csv", "include": i < 3} for i in range(4)}
    homes["home_0"] |= changes.pop("home", {})
    return {"simulation_start_time_step": 5, "simulation_end_time_step": 5 + 100 * DAY + 1, "buildings": homes, **changes}


def splits(train: str, validation: str, test: str, **buildings: tuple[str, ...]) -> Splits:
    return Splits(tuple(train.split()), tuple(validation.split()), tuple(test.split()), **buildings)


def test_a_split_is_its_days_with_both_ends() -> None:
    train, validation, test = segments_of(PATH, schema(), splits("0-49", "50-59", "80-99"))
    assert (train.first, train.end, train.buildings) == (0, 50 * DAY, ("home_0", "home_1", "home_2"))
    assert (validation.first, validation.end) == (50 * DAY, 60 * DAY)
    assert (test.first, test.end) == (80 * DAY, 100 * DAY)


def test_ranges_in_any_order_are_joined_where_they_meet() -> None:
    found = segments_of(PATH, schema(), splits("20-29 0-9 10-12", "50-59", "99-100"))
    assert [(own.split, own.first // DAY, own.rows) for own in found] == [
        ("train", 0, 13 * DAY), ("train", 20, 10 * DAY), ("validation", 50, 10 * DAY), ("test", 99, DAY + 2)
    ]  # fmt: skip


def test_training_has_no_history_and_validation_none_of_the_test() -> None:
    found = segments_of(PATH, schema(), splits("60-99", "13-19", "0-9 30-39"))
    assert [own.history for own in found] == [0, 3 * DAY, 0, HISTORY]
    found = segments_of(PATH, schema(), splits("60-99", "3-19", "0-9", test_buildings=("home_2",), train_buildings=("home_1",)))
    assert found[1].history == 0


def test_the_same_days_are_of_two_splits_where_buildings_differ() -> None:
    found = segments_of(
        PATH, schema(), splits("0-99", "0-99", "0-99", train_buildings=("home_2",), validation_buildings=("home_1",),
        test_buildings=("home_0",)),
    )  # fmt: skip
    assert [own.buildings for own in found] == [("home_2",), ("home_1",), ("home_0",)]


SIZED = {"dhw_storage": {"autosize": True}}


@pytest.mark.parametrize(
    ("site", "stated", "message"),
    [
        (
            schema(),
            Splits(train=("0-9",)),
            "--validation and --test are missing; add what is missing, such as --validation 0-99",
        ),
        (schema(), Splits(train_buildings=("home_0",)), "--train and --validation and --test are missing"),
        (schema(), splits("0-101", "1", "2"), "the data have days 0 to 100; name days within"),
        (schema(), splits("0-9 9-19", "50", "60"), "--train: two of its ranges overlap in day 9"),
        (schema(), splits("0-9", "9-19", "60"), "--train and --validation share day 9 of building home_0; name other days"),
        (schema(), splits("0-19", "30", "10-25"), "--train and --test share days 10 to 19"),
        (schema(), splits("0-5", "50", "60"), "--train: a range has 144 hours, and it needs at least 168"),
        (schema(), splits("0-9", "100", "60"), "--validation: a range has 2 hours, and it needs at least 24"),
        (schema(), splits("0-9", "x", "60"), "--validation x: it takes days, such as 7 or 0-239, or dates"),
        (
            schema(),
            splits("0-9", "50", "60", train_buildings=("home_9",)),
            "'home_9': site.schema.json has the buildings home_0",
        ),
        (schema(), splits("0-9", "50", "60", test_buildings=("home_3",)), "--test-buildings 'home_3': it has include false"),
        (schema(), splits("0-9", "50", "60", test_buildings=("home_1",) * 2), "it stands there twice"),
        (schema(robustness={"enabled": True}), splits("0-9", "50", "60"), "robustness is enabled"),
        (schema(home={"deferrable_appliances": {"a": {}}}), splits("0-9", "50", "60"), "home_0 has deferrable_appliances"),
        (schema(home=SIZED), splits("0-9", "50", "60"), "CityLearn sizes the dhw_storage of building home_0"),
    ],
)
def test_what_cannot_be_stated_is_refused_in_one_line(site: dict[str, Any], stated: Splits, message: str) -> None:
    with pytest.raises(ScenarioError, match=message) as refused:
        segments_of(PATH, site, stated)
    assert "\n" not in str(refused.value)


def test_dates_are_read_from_the_months_of_the_first_building(tmp_path: Path) -> None:
    months = [4] * (5 + DAY) + [5] * 31 * DAY + [6] * 69 * DAY
    (tmp_path / "a.csv").write_text("\n".join(["month", *map(str, months)]), encoding="utf-8")
    site = schema(simulation_end_time_step=5 + DAY + 31 * DAY + 30 * DAY - 1)
    found = segments_of(tmp_path / "schema.json", site, splits("05-01..05-31", "06-01..06-10", "06-11..06-20"))
    assert [own.first // DAY for own in found] == [1, 32, 42]
    with pytest.raises(ScenarioError, match="the data have no dates, as month 6 has 1634 rows"):
        segments_of(tmp_path / "schema.json", schema(), splits("05-01..05-31", "06-01..06-10", "06-11..06-20"))
