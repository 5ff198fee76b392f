"""The schema of a segment has its rows and buildings, and leads to no other files than the scenario's own may."""

import json
import shutil
from pathlib import Path

import pytest

from common.cache_folder import cache_folder
from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.errors import ScenarioError
from envs.scenarios.scenario import Splits, scenario
from envs.scenarios.segment_schema import origin
from tests.envs.changed_rows import two_buildings

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


def test_a_tariff_holds_in_all_segments(site: Path) -> None:
    (site.parent / "tariff.json").write_text(
        json.dumps({"demand_charge": {"peak_hours": [18], "peak_price": 2.0, "off_peak_excess_price": 1.0, "currency": "X"}}),
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
    schema = json.loads(site.read_text(encoding="utf-8"))
    schema["buildings"]["office"]["type"] = "my_models.Office"
    site.write_text(json.dumps(schema), encoding="utf-8")
    with pytest.raises(ScenarioError, match="trust"):
        scenario(str(site), splits=STATED)
