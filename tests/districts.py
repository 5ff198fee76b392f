"""Small sites of several buildings, made of the small site with one."""

import json
import shutil
from copy import deepcopy
from pathlib import Path
from typing import Any

OWN = ("non_shiftable_load", "solar_generation", "electrical_storage_soc", "net_electricity_consumption")


def write_district(small: Path, folder: Path, buildings: dict[str, dict[str, Any]]) -> Path:
    """Write a schema of several buildings; each with its load, battery, PV and chargers.

    Args:
        small: schema of the small site.
        folder: for the files.
        buildings: by name: `load` is a factor of the small site's; `battery` capacity and nominal power, None for no battery;
            `pv` nominal power, 0 for none, then it is not observed; `chargers` are names of the small site's.
    """
    folder.mkdir(exist_ok=True)
    for file in small.parent.iterdir():
        if file.suffix == ".csv" or file.name == "tariff.json":
            shutil.copyfile(file, folder / file.name)
    schema = json.loads(small.read_text(encoding="utf-8"))
    (mall,) = schema["buildings"].values()
    for name in OWN:
        schema["observations"][name]["shared_in_central_agent"] = False
    header, *rows = (small.parent / "mall.csv").read_text(encoding="utf-8").splitlines()
    place = header.split(",").index("non_shiftable_load")
    schema["buildings"] = {}
    for name, given in buildings.items():
        own = deepcopy(mall)
        lines = [header]
        for row in rows:
            cells = row.split(",")
            cells[place] = f"{float(cells[place]) * given['load']:.3f}"
            lines.append(",".join(cells))
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        own["energy_simulation"] = f"{name}.csv"
        if given["battery"]:
            capacity, power = given["battery"]
            own["electrical_storage"]["attributes"].update(capacity=capacity, nominal_power=power)
        else:
            del own["electrical_storage"]
            own["inactive_actions"].append("electrical_storage")
            own["inactive_observations"].append("electrical_storage_soc")
        if given["pv"]:
            own["pv"]["attributes"]["nominal_power"] = given["pv"]
        else:
            del own["pv"]
            own["inactive_observations"].append("solar_generation")
        own["chargers"] = {charger: own["chargers"][charger] for charger in given["chargers"]}
        schema["buildings"][name] = own
    path = folder / "schema.json"
    path.write_text(json.dumps(schema), encoding="utf-8")
    return path


FOUR = {
    "one": {"load": 1.0, "battery": (1700.0, 400.0), "pv": 7000.0, "chargers": ["motorcycle_001", "motorcycle_002"]},
    "two": {"load": 0.3, "battery": (800.0, 100.0), "pv": 0.0, "chargers": ["mototaxi_001"]},
    "three": {"load": 0.5, "battery": (900.0, 300.0), "pv": 2000.0, "chargers": []},
    "four": {"load": 0.2, "battery": None, "pv": 1000.0, "chargers": ["motorcycle_003"]},
}  # fmt: skip
# Other buildings, and fewer of them.
TWO = {
    "five": {"load": 0.7, "battery": (500.0, 250.0), "pv": 3000.0, "chargers": ["motorcycle_001", "mototaxi_001"]},
    "six": {"load": 1.5, "battery": (3000.0, 600.0), "pv": 0.0, "chargers": []},
}  # fmt: skip
