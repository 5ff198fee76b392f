"""Who may import whom, part by part; what must not be imported early; and that tests mirror the modules."""

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# What each room may import beside itself.
ROOMS = {
    "common": set(),
    "search_spaces": {"common"},
    "envs": {"common"},
    "results": {"common"},
    "tuning": {"common", "search_spaces", "envs", "results"},
}
# What each part of `tuning` may import beside itself; a part stands above all that it imports.
GROUND = {"tuning.experiment", "tuning.runtime"}
PARTS = {
    "tuning.experiment": set(),
    "tuning.runtime": set(),
    "tuning.storage": {"tuning.experiment"},
    "tuning.cli": GROUND,
    "tuning.algorithms": GROUND,
    "tuning.memory": {"tuning.algorithms", "tuning.experiment"},
    "tuning.trial": {"tuning.memory", "tuning.algorithms", "tuning.storage", *GROUND},
    "tuning.search": {"tuning.trial", "tuning.memory", "tuning.algorithms", "tuning.storage", "tuning.cli", *GROUND},
    "tuning.judging": {"tuning.search", "tuning.trial", "tuning.algorithms", "tuning.cli", *GROUND},
    "tuning.exporting": {"tuning.judging", "tuning.trial", "tuning.algorithms", "tuning.cli", *GROUND},
    "tuning.diagnosis": {
        "tuning.search", "tuning.trial", "tuning.memory", "tuning.algorithms", "tuning.cli", *GROUND,
    },
}  # fmt: skip

SEARCH = ("run", "promotion", "proposals", "record", "models")  # folders of `tuning/search/`, the highest first


@cache
def modules() -> dict[str, Path]:
    """All modules by their dotted names; a package has that of its folder."""
    paths = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    names = (".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths)
    return {name.removesuffix(".__init__"): path for name, path in zip(names, paths, strict=True)}


@cache
def imports(module: str) -> set[str]:
    """Modules of this project that a module imports, at its top or within its functions."""
    found = set()
    for node in ast.walk(ast.parse(modules()[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            submodules = {f"{node.module}.{alias.name}" for alias in node.names} & modules().keys()
            # A name that is a module comes from its own file, not from the package's.
            found |= submodules if len(submodules) == len(node.names) else submodules | {node.module}
    return found & modules().keys() - {module}


def part_of(module: str) -> str:
    """The folder of `tuning` that a module lies in; `tuning` for a command."""
    parts = module.split(".")
    is_folder = len(parts) > 2 or modules()[module].name == "__init__.py"
    return ".".join(parts[:2]) if is_folder and len(parts) > 1 else parts[0]


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_a_room_imports_only_the_rooms_that_it_may_know(room: str) -> None:
    own = [name for name in modules() if name.partition(".")[0] == room]
    assert own
    for name in own:
        assert {other.partition(".")[0] for other in imports(name)} <= ROOMS[room] | {room}, name


def test_every_folder_of_tuning_is_a_part_with_its_arrows() -> None:
    assert {part_of(name) for name in modules() if name.startswith("tuning.")} - {"tuning"} == set(PARTS)
    list(TopologicalSorter(PARTS).static_order())  # an arrow back would be a circle


@pytest.mark.parametrize("part", sorted(PARTS))
def test_a_part_of_tuning_imports_only_the_parts_below_it(part: str) -> None:
    for name in modules():
        if part_of(name) == part:
            known = {part_of(other) for other in imports(name) if other.startswith("tuning")}
            assert known <= PARTS[part] | {part}, name


def test_a_folder_of_the_search_imports_only_those_below_it() -> None:
    for name in modules():
        folder = name.split(".")[2] if name.startswith("tuning.search.") and name.count(".") == 3 else ""
        if folder in SEARCH:
            known = {other.split(".")[2] for other in imports(name) if other.startswith("tuning.search.")}
            assert known <= {folder, *SEARCH[SEARCH.index(folder) + 1 :]}, name


def test_the_search_can_be_held_in_one_head() -> None:
    """At most 30 modules on 8 floors, of which each imports lower ones alone; no class of over 20 methods or 8 parameters."""
    inside = {name: path for name, path in modules().items() if name.startswith("tuning.search.") and path.stem != "__init__"}

    @cache
    def floor(name: str) -> int:
        return 1 + max((floor(other) for other in imports(name) if other in inside), default=0)

    assert len(inside) <= 30
    assert max(map(floor, inside)) <= 8
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in inside.values()]
    for one in (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        methods = {node.name: node for node in one.body if isinstance(node, ast.FunctionDef)}
        assert len(methods) <= 20, one.name
        assert "__init__" not in methods or len(methods["__init__"].args.args) <= 1 + 8, one.name


def test_no_module_imports_itself_by_way_of_others() -> None:
    try:
        list(TopologicalSorter({name: imports(name) for name in modules()}).static_order())
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' -> '.join(error.args[1])}")


@pytest.mark.parametrize(
    ("statement", "heavy"),
    [
        ("import results", ["ray", "torch", "pandas", "pyarrow"]),
        ("import results; results.load('.')", ["ray", "torch", "citylearn"]),  # a folder `results/` without tables
        ("import tuning; [getattr(tuning, name) for name in tuning.__all__]", ["ray"]),
        (
            "import tuning; [getattr(tuning, name) for name in tuning.__all__ if name.endswith('Settings')]",
            ["ray", "torch", "citylearn", "pandas", "optuna", "numpy"],
        ),
        (
            "from tuning.experiment.option_values import names; names()",
            ["tuning.algorithms", "search_spaces", "ray", "torch", "optuna"],
        ),
        (
            "from tuning.algorithms import registry as r; assert all(r.algorithm(name).name == name for name in r.names())",
            ["ray", "torch"],
        ),
        ("import tuning.search.run.opening", ["ray.tune"]),
        ("import tuning.run", ["ray", "torch", "citylearn", "pandas", "optuna", "pvlib"]),
    ],
)
def test_what_must_answer_at_once_imports_nothing_heavy(statement: str, heavy: list[str]) -> None:
    code = f"import sys; {statement}; print(*sorted({set(heavy)!r} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_what_benchmarks_take_from_the_project_and_its_tests_is_there() -> None:
    for path in (ROOT / "benchmarks").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] in {*ROOMS, "tests", "benchmarks"}:
                place = ROOT.joinpath(*str(node.module).split("."))
                module = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
                text = module.read_text(encoding="utf-8") if module.is_file() or not place.is_dir() else ""
                for name in node.names:
                    assert (place / f"{name.name}.py").is_file() or re.search(rf"\b{name.name}\b", text), (path, name.name)


def test_every_module_has_tests_of_its_name() -> None:
    missing = [
        name
        for name, path in modules().items()
        if path.name != "__init__.py" and not (ROOT / "tests" / path.relative_to(ROOT).with_name(f"test_{path.name}")).is_file()
    ]
    assert missing == []


def test_every_test_of_a_folder_has_its_module() -> None:
    """Tests of several modules together stand higher up, beside the folders."""
    for part in sorted({part_of(name) for name in modules()} - set(ROOMS)):
        folder = Path(*part.split("."))
        tests = (ROOT / "tests" / folder).rglob("test_*.py")
        own = {ROOT / path.relative_to(ROOT / "tests").with_name(path.name.removeprefix("test_")) for path in tests}
        assert [path.relative_to(ROOT) for path in own if not path.is_file()] == []
