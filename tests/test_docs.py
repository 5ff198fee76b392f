"""The documents say what is there: links, commands, options and paths."""

import ast
import contextlib
import functools
import importlib
import importlib.util
import pkgutil
import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from common.errors import UserError
from common.texts import option
from docs import generate
from tuning.cli.command import parse

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [
        *(ROOT / name for name in ("README.md", "README.es.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md")),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "benchmarks").rglob("*.md"),
    ]
)
ROOMS = ("tuning", "envs", "common", "results", "search_spaces")
FOLDERS = (*ROOMS, "tests", "docs", "benchmarks", "examples", "deploy", ".ci", ".github")

FENCE = re.compile(r"^( *)(`{3,})([^\n]*)\n(.*?)^\1\2 *$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"!?\[([^\]]*)\]\(([^)\s]+)\)")
COMMAND = re.compile(r"python3? -m ([A-Za-z_][\w.]*)([^\n`]*)")


def prose(text: str) -> str:
    """A page without its fenced code."""
    return FENCE.sub("\n", text)


def is_spanish(page: Path) -> bool:
    return page.name == "README.es.md" or page.parent.name == "guia"


def anchors(text: str) -> set[str]:
    """Anchors of a page's headings, as GitHub makes them."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ +(.+?) *$", prose(text), re.MULTILINE):
        plain = LINK.sub(r"\1", heading).replace("`", "").lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        number = 0
        while (name := slug if not number else f"{slug}-{number}") in found:
            number += 1
        found.add(name)
    return found


def broken_links(page: Path, text: str) -> list[str]:
    """Relative links that lead to no file, or to no heading of one."""
    broken = []
    for _, target in LINK.findall(CODE.sub("", prose(text))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists() or (anchor and anchor not in anchors(text if file == page else file.read_text(encoding="utf-8"))):
            broken.append(target)
    return broken


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Modules that a page runs by `python -m`, with their arguments: from code, fenced or in a line."""
    code = [match[4].replace("\\\n", " ") for match in FENCE.finditer(text)] + CODE.findall(prose(text))
    for snippet in code:
        for module, rest in COMMAND.findall(snippet):
            yield module.rstrip("."), shlex.split(rest, comments=True)


@functools.cache
def options() -> set[str]:
    """All options of all commands."""
    found = {"--help", "--help-all"}
    for place in generate.COMMANDS.values():
        names = [entry.name for entry in fields(generate.named(place))]
        found |= {option(prefix + name) for name in names for prefix in ("", "no-")}
    for place in generate.PARSERS.values():
        found |= {word for action in generate.named(place)()._actions for word in action.option_strings}
    return found


def fault(module: str, arguments: list[str]) -> str:
    """Why a command of this project does not take its arguments; empty if it does. Nothing runs."""
    if not arguments or arguments[0].startswith("--help"):
        return ""
    try:
        if module in generate.PARSERS:
            generate.named(generate.PARSERS[module])().parse_args(arguments)
        else:
            settings = parse(generate.named(generate.COMMANDS[module]), arguments, None, module)
            if hasattr(settings, "check"):
                settings.check()
    except (UserError, SystemExit) as error:
        return repr(error)
    return ""


def is_ours(module: str) -> bool:
    return module.partition(".")[0] in ROOMS


def missing_paths(text: str) -> list[str]:
    """Files, folders and modules of this repository that a page names in code and that are not there."""
    named = [word for code in CODE.findall(prose(text)) for word in code.split()]
    # In trees and commands only files with an ending are told apart from what a run writes.
    named += [word for match in FENCE.finditer(text) for word in match[4].split() if re.search(r"\.(py|md|toml|csv)$", word)]
    return [name for name in named if not (_is_there(name.rstrip(".,:;")))]


def _is_there(name: str) -> bool:
    folder, slash, _ = name.partition("/")
    if slash and folder in FOLDERS and re.fullmatch(r"[\w./*-]+", name):
        return any(ROOT.glob(name.rstrip("/"))) if "*" in name else (ROOT / name).exists()
    if folder in FOLDERS or not re.fullmatch(r"\w+(\.\w+)+", name) or not is_ours(name):
        return True
    with contextlib.suppress(ImportError, AttributeError):
        pkgutil.resolve_name(name)
        return True
    return False


def missing_imports(text: str) -> list[str]:
    """Names that a page's Python examples import from this project and that are not there."""
    missing = []
    for code in (match[4] for match in FENCE.finditer(text) if match[3].strip() == "python"):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and node.module and is_ours(node.module):
                module = importlib.import_module(node.module)
                missing += [f"{node.module}.{alias.name}" for alias in node.names if not hasattr(module, alias.name)]
    return missing


def page_names() -> list[str]:
    return [page.relative_to(ROOT).as_posix() for page in PAGES]


@pytest.fixture(params=PAGES, ids=page_names())
def page(request: pytest.FixtureRequest) -> Path:
    path = request.param
    assert isinstance(path, Path)
    return path


@pytest.fixture
def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def test_every_link_leads_somewhere(page: Path, text: str) -> None:
    assert broken_links(page, text) == []


def test_every_command_exists_and_takes_its_arguments(text: str) -> None:
    for module, arguments in commands(text):
        assert importlib.util.find_spec(module), module
        assert not is_ours(module) or fault(module, arguments) == "", (module, arguments)


def test_every_option_that_is_named_is_one_of_a_command(text: str) -> None:
    named = {match[1] for code in CODE.findall(prose(text)) if (match := re.match(r"(--[a-z][\w-]*)", code))}
    assert named - options() == set()


def our_commands() -> list[str]:
    """Modules with a command line: files of `tuning/`, those of `envs/` and of `results/`."""
    ours = [f"tuning.{path.stem}" for path in sorted((ROOT / "tuning").glob("[a-z]*.py"))]
    return [*ours, "envs.preview", "envs.convert", "results.report", "results.watch"]


def test_every_path_that_is_named_is_there(text: str) -> None:
    assert missing_paths(text) == []


def test_examples_import_what_is_there(text: str) -> None:
    assert missing_imports(text) == []


def test_no_page_holds_paths_of_a_machine(text: str) -> None:
    assert re.findall(r"(?<![\w.])/(?:tmp|root|home|work|Users)/\S*", text) == []


def test_links_lead_from_the_readme_to_every_page() -> None:
    reached = [ROOT / "README.md", ROOT / "README.es.md"]
    for page in reached:  # which grows meanwhile
        targets = (
            target.partition("#")[0] for _, target in LINK.findall(page.read_text(encoding="utf-8")) if ":" not in target
        )
        linked = {(page.parent / target).resolve() for target in targets if target.endswith(".md")}
        reached += linked - {*reached}
    assert set(PAGES) - {*reached} == set()


def test_the_workflow_runs_every_python_that_the_project_takes() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^ *python: (\[.*\])$", workflow, re.MULTILINE)
    versions = [tuple(map(int, text.split("."))) for text in ast.literal_eval(listed)]
    assert project["requires-python"] == f">={versions[0][0]}.{versions[0][1]},<{versions[-1][0]}.{versions[-1][1] + 1}"
    assert versions == [(3, minor) for minor in range(versions[0][1], versions[-1][1] + 1)]


# Each check on a text that is wrong: one that finds nothing there would find nothing anywhere.


@pytest.mark.parametrize("target", ["docs/nowhere.md", "README.md#no-such-heading", "#neither-this"])
def test_a_broken_link_is_found(target: str) -> None:
    assert broken_links(ROOT / "README.md", f"# A heading\n\nSee [it]({target}).") == [target]


@pytest.mark.parametrize("arguments", [["--no-such-option", "1"], ["--algo", "dqn"], ["--steps", "few"]])
def test_a_wrong_option_or_value_is_found(arguments: list[str]) -> None:
    assert fault("tuning.run", arguments)


@pytest.mark.parametrize("name", ["tuning/nothing.py", "tests/tuning/nowhere/", "tuning.search.nothing", "docs/no*.png"])
def test_a_path_that_is_not_there_is_found(name: str) -> None:
    assert missing_paths(f"See `{name}`.") == [name]


def test_an_example_with_a_wrong_import_is_found() -> None:
    assert missing_imports("```python\nfrom results import load, nothing\n```\n") == ["results.nothing"]
