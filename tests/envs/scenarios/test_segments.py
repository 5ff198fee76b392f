"""Which rows and buildings a stated split has, and what cannot be stated."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from common.errors import ScenarioError
from common.paths import cache_folder
from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.scenarios.scenario import Splits, scenario
from envs.scenarios.segments import HISTORY, days_of, origin, rows_between, segments_of
from tests.envs.changed_rows import two_buildings
from tests.envs.schema_changes import edit, put

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
            "--validation and --test are missing; add what is missing",
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


def months(*runs: tuple[int, int]) -> np.ndarray:
    """Months of rows, each with its number of rows."""
    return np.concatenate([np.full(rows, month) for month, rows in runs])


# As data sets have it that call the first hour of a day the 24th of the day before.
AUTUMN = months((7, 1), (8, 744), (9, 720), (10, 100))


def test_a_date_is_the_rows_of_its_day() -> None:
    days = days_of(AUTUMN, None)
    assert rows_between("", "08-01..08-31", days) == (1, 745)  # type: ignore[arg-type]
    assert rows_between("", "07-31..08-01", days) == (0, 25)  # type: ignore[arg-type]
    assert rows_between("", "09-30..10-05", days) == (745 + 29 * 24, 1565)  # type: ignore[arg-type]


def test_a_date_has_a_row_for_each_step() -> None:
    days = days_of(np.repeat(AUTUMN, 4), None, 4 * 24)
    assert rows_between("", "08-01..08-31", days) == (4, 4 * 745)  # type: ignore[arg-type]


def test_years_come_from_the_start_date() -> None:
    days = days_of(months((12, 744), (1, 744), (2, 29 * 24), (3, 10)), "2023-12-01")
    assert rows_between("", "2024-01-01..2024-02-29", days) == (744, 744 + 744 + 29 * 24)  # type: ignore[arg-type]
    days = days_of(AUTUMN, "2024-08-01")
    assert rows_between("", "2024-08-01..2024-08-01", days) == (1, 25)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("month", "start", "reason"),
    [
        (months((5, 700)), None, "their months do not change"),
        (months((5, 24), (7, 744), (8, 1)), None, "month 7 follows month 5"),
        (months((5, 24), (6, 721), (7, 1)), None, "month 6 has 721 rows"),
        (months((1, 24), (2, 29 * 24), (3, 24)), "2023-01-31", "month 2 has 696 rows"),
        (AUTUMN, "2024-06-01", "start_date is 2024-06-01, and by the months of the series row 1 begins month 8"),
    ],
)
def test_data_that_do_not_follow_the_calendar_have_no_dates(month: np.ndarray, start: str | None, reason: str) -> None:
    assert reason in str(days_of(month, start))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("08-01", "it takes MM-DD..MM-DD"),
        ("8-1..8-2", "it takes MM-DD..MM-DD"),
        ("08-02..08-01", "the second date comes before the first"),
        ("08-01..02-30", "the data have no 02-30; they begin on 07-31 and end on 10-05"),
        (
            "2024-08-01..2024-08-02",
            "the data have no years, as these take a start_date and simulation_start_time_step 0; write months",
        ),
    ],
)
def test_a_range_of_dates_that_cannot_be_is_refused(text: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        rows_between("--train x", text, days_of(AUTUMN, None))  # type: ignore[arg-type]


def test_a_date_that_the_data_have_not_is_told_with_the_years_that_they_have() -> None:
    with pytest.raises(ScenarioError, match="no 2025-08-01; they begin on 2024-07-31 and end on 2024-10-05"):
        rows_between("", "2025-08-01..2025-08-02", days_of(AUTUMN, "2024-08-01"))  # type: ignore[arg-type]


def test_a_date_that_the_data_have_twice_is_ambiguous() -> None:
    two_years = months(
        *[(month % 12 + 1, 24 * (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month % 12]) for month in range(24)]
    )
    with pytest.raises(ScenarioError, match="the data have 03-01 2 times, from rows 1416 and 10176 on"):
        rows_between("--train x", "03-01..03-02", days_of(two_years, None))  # type: ignore[arg-type]


STATED = Splits(("0-9",), ("20-24",), ("30-39",), train_buildings=("office",))


@pytest.fixture
def site(small_schema: Path, tmp_path: Path) -> Path:
    return two_buildings(small_schema, tmp_path / "site")


def test_a_segment_refers_to_the_series_where_they_are(site: Path) -> None:
    before = sorted(path.name for path in site.parent.iterdir())
    made = scenario(str(site), splits=STATED).schema_path(1)
    assert made.is_relative_to(cache_folder())
    schema = json.loads(made.read_text(encoding="utf-8"))
    assert (schema["simulation_start_time_step"], schema["simulation_end_time_step"]) == (13 * 24, 25 * 24 - 1)
    assert [name for name, own in schema["buildings"].items() if own["include"]] == ["office"]
    assert Path(schema["root_directory"]) == site.parent
    # Nothing is written into the user's folder, and no series is copied.
    assert sorted(path.name for path in site.parent.iterdir()) == before
    assert not list(made.parent.glob("*.csv"))


def test_a_segment_of_a_site_that_was_moved_refers_to_where_it_is_now(site: Path, tmp_path: Path) -> None:
    scenario(str(site), splits=STATED).schema_path(1)
    (tmp_path / "elsewhere").mkdir()
    moved = site.parent.rename(tmp_path / "elsewhere" / site.parent.name) / "schema.json"
    made = scenario(str(moved), splits=STATED).schema_path(1)
    assert Path(json.loads(made.read_text(encoding="utf-8"))["root_directory"]) == moved.parent
    assert origin(made) == moved


def test_a_tariff_holds_in_all_segments(site: Path) -> None:
    (site.parent / "tariff.json").write_text(
        json.dumps({"currency": "X", "demand_charge": {"peak_hours": [18], "peak_price": 2.0, "off_peak_excess_price": 1.0}}),
        encoding="utf-8",
    )
    assert (scenario(str(site), splits=STATED).schema_path(0).parent / "tariff.json").is_file()


def test_a_segment_may_read_what_its_scenario_may_and_no_copy_of_it_may(site: Path, tmp_path: Path) -> None:
    made = scenario(str(site), splits=STATED).schema_path(0)
    assert origin(made) == site
    folder = tmp_path / "elsewhere"
    shutil.copytree(made.parent, folder)
    assert origin(folder / "schema.json") == folder / "schema.json"
    with pytest.raises(ScenarioError, match=r"root_directory is .* outside of"):
        CityLearnSimulator(folder / "schema.json", with_reward=False)


def test_a_segment_of_a_scenario_that_needs_trust_needs_it_too(site: Path) -> None:
    edit(site, put("buildings", "office", "type", value="my_models.Office"))
    with pytest.raises(ScenarioError, match="trust"):
        scenario(str(site), splits=STATED)
