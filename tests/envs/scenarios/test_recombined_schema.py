"""The schema of a synthetic year has series of its own, which are valid, and reads no row that does not train."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from common.cache_folder import cache_folder
from envs.scenarios import schema_file, trust
from envs.scenarios.augmentation import Augmentation, synthetic_years
from envs.scenarios.scenario import Scenario, Splits, scenario
from tests.envs.changed_rows import OF_MALL, OF_OFFICE, SHARED, two_buildings, with_other_rows

STATED = Splits(("0-9", "20-29"), ("10-12",), ("30-39",), train_buildings=("office",), test_buildings=("mall",))


@pytest.fixture(scope="module")
def site(small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return two_buildings(small_schema, tmp_path_factory.mktemp("recombined") / "site")


def series(of: Scenario, years: int = 1) -> dict[str, bytes]:
    """Files of the synthetic years by name, without chargers."""
    paths = [of.schema_path(year) for year in synthetic_years(of, Augmentation(years, 0))]
    return {
        f"{index} {file.name}": file.read_bytes()
        for index, path in enumerate(paths)
        for file in sorted(path.parent.glob("*.csv"))
        if not file.name.startswith("charger")
    }


@pytest.mark.parametrize("splits", [Splits(), STATED])
def test_a_synthetic_year_is_a_valid_scenario_that_needs_no_trust(site: Path, splits: Splits) -> None:
    of = scenario(str(site), splits=splits)
    for year in synthetic_years(of, Augmentation(1, 0)):
        path = of.schema_path(year)
        assert path.is_relative_to(cache_folder())
        schema_file.check(path)
        trust.check(path, schema_file.read_schema(path))


def test_rows_that_do_not_train_change_nothing(site: Path, tmp_path: Path) -> None:
    blocks = {day for day in range(41) if day % 5 in (2, 4) or day == 40}
    changed = with_other_rows(site, tmp_path / "weeks", blocks, (*SHARED, "mall.csv", *OF_OFFICE))
    for name in ("mall.csv", *OF_OFFICE):
        # A copy of the whole year has its calendar, which is no measurement.
        table = pd.read_csv(changed.parent / name, dtype=str, keep_default_na=False)
        table["day_type"] = pd.read_csv(site.parent / name, dtype=str)["day_type"]
        table.to_csv(changed.parent / name, index=False)
    assert series(scenario(str(site)), 2) == series(scenario(str(changed)), 2)
    outside = {day for day in range(41) if not (day < 10 or 20 <= day < 30)}
    stated = with_other_rows(site, tmp_path / "stated", outside, (*SHARED, *OF_OFFICE))
    stated = with_other_rows(stated, tmp_path / "both", set(range(41)), OF_MALL)
    assert series(scenario(str(site), splits=STATED), 2) == series(scenario(str(stated), splits=STATED), 2)
    trains = with_other_rows(site, tmp_path / "trains", {3}, SHARED)
    assert series(scenario(str(site))) != series(scenario(str(trains)))


def test_it_has_the_rows_and_buildings_of_the_year_that_is_copied(site: Path) -> None:
    of = scenario(str(site), splits=STATED)
    before = sorted(path.name for path in site.parent.iterdir())
    real = pd.read_csv(site.parent / "office.csv")
    for year, first in zip(synthetic_years(of, Augmentation(2, 0)), (0, 20, 0, 20), strict=True):
        path = of.schema_path(year)
        schema = json.loads(path.read_text(encoding="utf-8"))
        assert list(schema["buildings"]) == ["office"]
        assert (schema["simulation_start_time_step"], schema["simulation_end_time_step"]) == (0, 239)
        made = pd.read_csv(path.parent / schema["buildings"]["office"]["energy_simulation"])
        calendar = ["month", "hour", "day_type"]
        assert np.array_equal(made[calendar], real[calendar].iloc[first * 24 : first * 24 + 240])
    # Nothing is written into the user's folder.
    assert sorted(path.name for path in site.parent.iterdir()) == before


def test_sessions_of_vehicles_stay_in_their_rows(site: Path) -> None:
    of = scenario(str(site))
    (year,) = synthetic_years(of, Augmentation(1, 0))
    path = of.schema_path(year)
    schema = json.loads(path.read_text(encoding="utf-8"))
    for name, own in schema["buildings"]["mall"]["chargers"].items():
        made = pd.read_csv(path.parent / own["charger_simulation"])
        real = pd.read_csv(site.parent / f"{name}.csv").iloc[: len(made)]
        pd.testing.assert_frame_equal(made, real)
