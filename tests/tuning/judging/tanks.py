"""The small site with hot water from a tank that acts."""

import json
import shutil
from pathlib import Path

DEVICES = {
    "dhw_device": {"type": "citylearn.energy_model.ElectricHeater", "attributes": {"nominal_power": 50.0, "efficiency": 0.9}},
    "dhw_storage": {
        "type": "citylearn.energy_model.StorageTank",
        "attributes": {"capacity": 10.0, "loss_coefficient": 0.01, "initial_soc": 0.5},
    },
}


def with_tank(small: Path, folder: Path) -> Path:
    """Write the site; its schema.

    Args:
        small: schema of the small site.
        folder: for the files.
    """
    shutil.copytree(small.parent, folder, dirs_exist_ok=True)
    header, *rows = (line.split(",") for line in (small.parent / "mall.csv").read_text(encoding="utf-8").splitlines())
    for hour, cells in enumerate(rows):
        cells[header.index("dhw_demand")] = f"{hour % 3:.1f}"
    (folder / "mall.csv").write_text("".join(",".join(cells) + "\n" for cells in (header, *rows)), encoding="utf-8")
    schema = json.loads(small.read_text(encoding="utf-8"))
    schema["actions"]["dhw_storage"] = {"active": True}
    schema["buildings"]["mall"] |= DEVICES
    path = folder / "schema.json"
    path.write_text(json.dumps(schema), encoding="utf-8")
    return path
