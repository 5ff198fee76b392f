"""Who may import whom, and what must not be imported early."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = {"common", "search_spaces", "envs", "results", "tuning"}
MAY_KNOW = {
    "common": set(),
    "search_spaces": {"common"},
    "envs": {"common"},
    "results": {"common"},
    "tuning": {"common", "search_spaces", "envs", "results"},
}


def imported_rooms(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return {name.partition(".")[0] for name in names} & ROOMS


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_a_room_imports_only_the_rooms_that_it_may_know(room: str) -> None:
    modules = list((ROOT / room).rglob("*.py"))
    assert modules
    for module in modules:
        assert imported_rooms(module) <= MAY_KNOW[room] | {room}, module


@pytest.mark.parametrize(
    ("statement", "heavy"),
    [
        ("import results", ["ray", "torch", "pandas", "pyarrow"]),
        ("from results import load; load", ["ray", "torch", "citylearn"]),
        ("import tuning.run", ["ray", "torch", "citylearn", "pandas", "optuna", "pvlib"]),
    ],
)
def test_what_must_answer_at_once_imports_nothing_heavy(statement: str, heavy: list[str]) -> None:
    code = f"import sys; {statement}; print(*sorted({heavy!r} & sys.modules.keys()))".replace("['", "{'").replace("']", "'}")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_loading_results_imports_neither_ray_nor_torch(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    code = (
        f"import sys, results; results.load({str(tmp_path)!r}); print(*({{'ray', 'torch', 'citylearn'}} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
