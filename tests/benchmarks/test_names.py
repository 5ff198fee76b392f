"""What benchmarks and examples take from the project is there, also what a function imports when it runs."""

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = ("tuning", "envs", "results", "search_spaces", "common")
FILES = sorted(path for folder in ("benchmarks", "examples") for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_names_that_are_imported_exist(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom) or (node.module or "").partition(".")[0] not in OURS:
            continue
        module = importlib.import_module(node.module or "")
        for name in node.names:
            # A module of a package is its attribute once it is imported.
            if not hasattr(module, name.name):
                importlib.import_module(f"{node.module}.{name.name}")
