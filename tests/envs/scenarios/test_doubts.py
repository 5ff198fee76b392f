"""A unit that is another one is named by the mean that it gives."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

from envs.scenarios.doubts import doubts
from envs.scenarios.schema_file import read_schema
from tests.envs.schema_changes import edit, put


@pytest.fixture
def site(two_buildings: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(two_buildings.parent, tmp_path / "site")) / "schema.json"


def scale(site: Path, kind: str, column: str, factor: float) -> None:
    for name in {building[kind] for building in read_schema(site)["buildings"].values()}:
        file = site.parent / name
        table = pd.read_csv(file)
        table[column] *= factor
        table.to_csv(file, index=False)


def test_nothing_is_doubtful_about_a_site_in_its_units(site: Path) -> None:
    assert doubts(site) == []


@pytest.mark.parametrize(
    ("kind", "column", "factor", "question"),
    [
        ("energy_simulation", "solar_generation", 1e-3, "W for each kW of nominal power"),
        ("energy_simulation", "non_shiftable_load", 1e3, "W or MWh"),
        ("energy_simulation", "non_shiftable_load", 1e-6, "W or MWh"),
        ("carbon_intensity", "carbon_intensity", 1e-3, "tonnes"),
        ("pricing", "electricity_pricing", 1e3, "MWh"),
    ],
)
def test_another_unit_is_asked_about_once_for_all_buildings(
    site: Path, kind: str, column: str, factor: float, question: str
) -> None:
    scale(site, kind, column, factor)
    (line,) = doubts(site)
    assert line.startswith("doubtful: ")
    assert column in line
    assert question in line


def test_a_series_of_zeros_and_pv_that_is_absolute_say_nothing(site: Path) -> None:
    scale(site, "carbon_intensity", "carbon_intensity", 0.0)
    scale(site, "energy_simulation", "solar_generation", 1e-3)
    for name, building in read_schema(site)["buildings"].items():
        if building.get("pv"):
            edit(site, put("buildings", name, "pv", "attributes", "generation_mode", value="absolute"))
    assert doubts(site) == []
