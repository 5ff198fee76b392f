"""CityLearn's inside is known to one folder: everything else sees its simulator, arrays and files."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
KNOWS = ROOT / "envs" / "citylearn_backend"
# Attributes of CityLearn's environments, buildings and chargers that no object of this project has.
INSIDE = {
    "charger_simulation", "electric_vehicle_chargers",
    "electric_vehicles", "electrical_storage", "energy_simulation", "episode_tracker", "power_outage_signal",
    "shared_observations",
}  # fmt: skip
OUTSIDE = [
    path
    for part in ("envs", "tuning", "results", "search_spaces", "common")
    for path in sorted((ROOT / part).rglob("*.py"))
    if KNOWS not in path.parents
]
# This file is handed to users, who run it beside CityLearn and without this project.
EXPORTED = ROOT / "tuning" / "exporting" / "controller.py"


def imports_citylearn(tree: ast.AST) -> bool:
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return any(name.partition(".")[0] == "citylearn" for name in names)


def inside(tree: ast.AST) -> set[str]:
    """Attributes of CityLearn that code reads; `simulator.env` is CityLearn's environment itself."""
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    environments = {
        "simulator.env"
        for node in attributes
        if node.attr == "env" and getattr(node.value, "attr", getattr(node.value, "id", None)) == "simulator"
    }
    return environments | ({node.attr for node in attributes} & INSIDE)


def test_only_its_backend_touches_citylearn() -> None:
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in OUTSIDE if path != EXPORTED}
    assert [path for path, tree in trees.items() if imports_citylearn(tree) or inside(tree)] == []


def test_the_check_sees_what_the_backend_does() -> None:
    found = set()
    for path in KNOWS.glob("*.py"):
        found |= inside(ast.parse(path.read_text(encoding="utf-8")))
    assert {"simulator.env", "electrical_storage", "electric_vehicle_chargers", "charger_simulation"} <= found
