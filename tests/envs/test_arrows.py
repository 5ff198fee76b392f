"""Folders of `envs` import in one direction only; the order stands in `envs.__doc__`."""

import ast
import re
from pathlib import Path

import pytest

import envs

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "envs"


def order() -> list[set[str]]:
    """Parts of each level, the ground first, as the package's docstring lists them."""
    lines = re.findall(r"^\d+\. (.+?):", envs.__doc__ or "", flags=re.MULTILINE)
    return [set(re.findall(r"`(\w+)`", line)) for line in lines]


def part_of(module: str) -> str:
    """Folder or module directly below `envs`."""
    return module.split(".")[1] if "." in module else ""


def imported(path: Path) -> set[str]:
    """Modules of `envs` that a file imports, also within functions and for type checks alone."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            submodules = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name for name in submodules if (ROOT / Path(*name.split("."))).with_suffix(".py").exists()} or {
                node.module
            }
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.split(".")[0] == "envs"}


MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def test_the_order_names_every_part_once() -> None:
    named = [part for level in order() for part in level]
    parts = {path.parts[len(PACKAGE.parts)].removesuffix(".py") for path in MODULES}
    assert sorted(named) == sorted(parts)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_part_imports_only_parts_below_it(path: Path) -> None:
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    level = next(i for i, parts in enumerate(order()) if own in parts)
    below = set().union(*order()[:level])
    assert {part_of(module) for module in imported(path)} <= below | {own}


def test_what_is_above_asks_a_task_and_takes_no_scenario() -> None:
    above = [
        path
        for path in (ROOT / "tuning").rglob("*.py")
        if "Scenario"
        in {
            alias.name
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
    ]
    assert above == []
