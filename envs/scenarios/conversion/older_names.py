"""Names before CityLearn 2.2, in files and schemas, and what CityLearn 3 calls the same."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from envs.scenarios.conversion.cells import Cells, Found
from envs.scenarios.schema_shape import DELTA, SET_POINT, todays_name
from envs.scenarios.series_files import SERIES

_TITLE = re.compile(r"(?:(?P<hours>\d+h) (?:prediction )?)?(?P<name>.+?)(?:\s*[\[(][^\[(]*[\])])?")  # such as `6h Load [kWh]`
_COOLING, _HEATING = (f"indoor_dry_bulb_temperature_{side}_set_point" for side in ("cooling", "heating"))
# Titles without their units, of quantities that have another name today.
_TITLES = {
    "indoor_temperature": "indoor_dry_bulb_temperature", "temperature_set_point": SET_POINT,
    "equipment_electric_power": "non_shiftable_load", "dhw_heating": "dhw_demand", "cooling_load": "cooling_demand",
    "heating_load": "heating_demand", "outdoor_drybulb_temperature": "outdoor_dry_bulb_temperature",
    "relative_humidity": "outdoor_relative_humidity", "diffuse_solar_radiation": "diffuse_solar_irradiance",
    "direct_solar_radiation": "direct_solar_irradiance", "kg_co2/kwh": "carbon_intensity",
}  # fmt: skip


def column(title: str) -> str:
    """The column that an older title stands for; any other title as it is.

    Such as `6h Prediction Relative Humidity [%]`, or `electricity_pricing_predicted_6h`.
    """
    match = _TITLE.fullmatch(title.strip().lower())
    if not match:
        return title
    name = match["name"].replace(" ", "_")
    name = _TITLES.get(name, name)
    if name == SET_POINT:  # which becomes two columns
        return name
    name = todays_name(f"{name}_predicted_{match['hours']}" if match["hours"] else name)
    return name if name in SERIES else title


def rename_columns(name: str, cells: Cells) -> list[Found]:
    """Rename a file's columns; what was found in it. Set points for cooling and for heating were one."""
    titles = list(map(str, cells.frame))
    names = {title: column(title) for title in titles}
    counts = Counter(names.values())
    names = {title: new for title, new in names.items() if title != new and counts[new] == 1}
    findings = []
    if names:
        cells.rename(names)
        findings.append(Found(name, "columns", (), "names of CityLearn 2", "now those of CityLearn 3"))
    if SET_POINT in cells.frame and not {_COOLING, _HEATING} & set(cells.frame):
        cells.rename({SET_POINT: _COOLING})
        cells.frame[_HEATING] = cells.frame[_COOLING]
        findings.append(Found(name, SET_POINT, (), "one for cooling and heating", "now each has it"))
    return findings


def rename_observations(name: str, schema: dict[str, Any], buildings: Mapping[str, Any]) -> list[Found]:
    """Rename observations of a schema, also where its buildings name them; what was found in it."""
    before: set[str] = set()

    def renamed(names: Any) -> Any:
        """Names of a list one by one; where two entries of an object get the same name, an active one stays."""
        if not isinstance(names, list | dict) or not all(isinstance(one, str) for one in names):
            return names
        before.update(one for one in names if one != todays_name(one))
        if isinstance(names, list):
            return [todays_name(one) for one in names]
        entries: dict[str, Any] = {}
        for one, entry in names.items():
            other = entries.get(todays_name(one))
            entries[todays_name(one)] = other if isinstance(other, dict) and other.get("active") else entry
        return entries

    schema["observations"] = renamed(schema.get("observations"))
    for building in buildings.values():
        dynamics = building.get("dynamics")
        attributes = dynamics.get("attributes") if isinstance(dynamics, dict) else None
        for entry, key in ((building, "inactive_observations"), (attributes, "input_observation_names")):
            if isinstance(entry, dict) and key in entry:
                entry[key] = renamed(entry[key])
    findings = []
    if any("_predicted_" in one for one in before):
        findings.append(
            Found(name, "predicted observations", (), "named by hours ahead", "now numbered, 1 for 6 h, 2 for 12, 3 for 24")
        )
    for one in sorted(before & {SET_POINT, DELTA}):
        findings.append(Found(name, one, (), "one for cooling and heating", f"now {todays_name(one)}"))
    return findings
