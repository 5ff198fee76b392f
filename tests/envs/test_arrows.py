"""Folders of `envs` import in one direction only; the order stands in `envs.__doc__`."""

import ast
import re

import envs
from tests.test_architecture import imports, modules

MODULES = [name for name in modules() if name.startswith("envs.")]


def order() -> list[set[str]]:
    """Parts of each level, the ground first, as the package's docstring lists them."""
    lines = re.findall(r"^\d+\. (.+?):", envs.__doc__ or "", flags=re.MULTILINE)
    return [set(re.findall(r"`(\w+)`", line)) for line in lines]


def part_of(module: str) -> str:
    """Folder or module directly below `envs`; empty for `envs` itself."""
    return "".join(module.split(".")[1:2])


def test_the_order_names_every_part_once() -> None:
    assert sorted(part for level in order() for part in level) == sorted({part_of(name) for name in MODULES})


def test_a_part_imports_only_parts_below_it() -> None:
    levels = order()
    for name in MODULES:
        own = part_of(name)
        below = set().union(*levels[: next(i for i, parts in enumerate(levels) if own in parts)])
        known = {part_of(other) for other in imports(name) if other.partition(".")[0] == "envs"}
        assert known <= below | {own}, name


def test_what_is_above_asks_a_task_and_takes_no_scenario() -> None:
    for name, path in modules().items():
        if name.partition(".")[0] == "tuning":
            nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            taken = {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
            assert "Scenario" not in taken, name
