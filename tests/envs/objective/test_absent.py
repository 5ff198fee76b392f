"""A KPI of what a site does not have is refused where policies are rated by it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envs.objective.absent import absent
from envs.objective.aim import Aim, AimError
from envs.objective.columns import measures
from envs.scenarios.scenario import Splits, scenario

DAYS = (("0-19",), ("20-24",), ("25-34",))


def edited(schema: Path, folder: Path, change: Callable[[dict[str, Any]], None]) -> str:
    """A schema with its series, in a folder without a tariff."""
    content = json.loads(schema.read_text(encoding="utf-8"))
    (building,) = content["buildings"].values()
    change(building)
    for file in schema.parent.glob("*.csv"):
        shutil.copyfile(file, folder / file.name)
    (folder / "schema.json").write_text(json.dumps(content), encoding="utf-8")
    return str(folder / "schema.json")


def without(device: str) -> Callable[[dict[str, Any]], None]:
    def change(building: dict[str, Any]) -> None:
        del building[device]
        # What it would do or be seen by is off, as the schema's check asks for.
        of = {"pv": "solar_generation", "electrical_storage": "electrical_storage_soc"}
        building["inactive_observations"] = [*(building.get("inactive_observations") or ()), of[device]]
        if device == "electrical_storage":
            building["inactive_actions"] = [*(building.get("inactive_actions") or ()), device]

    return change


def test_a_site_with_everything_lacks_nothing(small_schema: Path) -> None:
    for measure in measures().values():
        assert absent(scenario(str(small_schema)), measure) == ""
        assert absent(scenario("iquitos"), measure) == ""


@pytest.mark.parametrize(
    ("change", "measure", "reason"),
    [
        (without("pv"), "self_consumption", "has PV"),
        (lambda building: building["pv"]["attributes"].update(nominal_power=0.0), "self_consumption", "has PV"),
        (without("electrical_storage"), "battery_cycles", "has battery"),
        (lambda building: building.update(chargers={}), "ev_served", "has chargers with an action"),
        (lambda building: None, "demand_charge", "no tariff.json lies beside its schema"),
    ],
)
def test_what_it_lacks_has_no_value(
    small_schema: Path, tmp_path: Path, change: Callable[[dict[str, Any]], None], measure: str, reason: str
) -> None:
    site = scenario(edited(small_schema, tmp_path, change))
    assert reason in absent(site, measures()[measure])
    assert not absent(site, measures()["bill"])
    for aim in (Aim.parse(objective=measure), Aim.parse(require=(f"{measure}>=0.5",))):
        with pytest.raises(AimError, match=f"^--(objective|require) {measure}: .*; leave it out, or choose another KPI$"):
            aim.check(site, "improvement", "batch")


def test_each_split_in_which_policies_are_rated_has_to_have_it(four_buildings: Path) -> None:
    def of(validation: str, test: str) -> str:
        splits = Splits(*DAYS, ("one",), (validation,), (test,))
        return absent(scenario(str(four_buildings), splits=splits), measures()["self_consumption"])

    assert of("one", "three") == ""
    title = four_buildings.parent.name
    assert of("two", "one") == f"no building of {title}, validation (days 20-24 of two) has PV"
    assert of("one", "two") == f"no building of {title}, test (days 25-34 of two) has PV"
