"""What is built installs: by pip too, with CityLearn beside it, and without links or commits of somebody else's."""

import importlib
import re
import subprocess
import tomllib
from importlib.metadata import distribution, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from common.errors import ScenarioError
from envs.scenarios.scenario import INSTALL, scenario
from tuning.trial import provenance

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_pip_finds_a_solution_as_every_package_takes_the_versions_that_are_installed() -> None:
    """But for CityLearn's, whose pins are overridden, so it is no dependency and is installed by itself."""
    waiting, known = [Requirement(text) for text in PROJECT["project"]["dependencies"]], set()
    while waiting:
        wanted = waiting.pop()
        if wanted.marker and not any(wanted.marker.evaluate({"extra": extra}) for extra in ("", "tune", "rllib")):
            continue
        assert wanted.specifier.contains(distribution(wanted.name).version, prereleases=True), wanted
        if wanted.name not in known:
            known.add(wanted.name)
            waiting += [Requirement(text) for text in requires(wanted.name) or ()]
    assert "citylearn" not in known


def test_what_citylearn_imports_is_named() -> None:
    named = {re.split(r"[<>=\[]", text)[0] for text in PROJECT["project"]["dependencies"]}
    left_out = {Requirement(text).name for text in PROJECT["tool"]["uv"]["override-dependencies"] if "never" in text}
    needed = {Requirement(text).name for text in requires("citylearn") or () if "extra" not in text}
    assert needed - left_out <= named


def test_the_version_of_citylearn_stands_in_one_command() -> None:
    assert PROJECT["dependency-groups"]["citylearn"] == [INSTALL.rpartition(" ")[2]]
    assert INSTALL in PROJECT["project"]["readme"]["text"]


def test_without_citylearn_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envs.scenarios.scenario.find_spec", lambda name: None)
    with pytest.raises(ScenarioError, match=re.escape(INSTALL)):
        scenario("iquitos")


def test_every_command_has_an_entry_point_that_runs(capsys: pytest.CaptureFixture[str]) -> None:
    scripts = PROJECT["project"]["scripts"]
    commands = {f"tuning.{path.stem}" for path in (ROOT / "tuning").glob("*.py") if path.stem != "__init__"}
    assert {entry.partition(":")[0] for entry in scripts.values()} == commands | {"results.watch", "results.report.__main__"}
    for entry in scripts.values():
        module, _, name = entry.partition(":")
        try:
            status = getattr(importlib.import_module(module), name)(["--help"])
        except SystemExit as ended:
            status = ended.code
        assert not status, entry
        assert "usage" in capsys.readouterr().out.lower(), entry


def test_the_commit_of_the_project_that_it_is_installed_in_is_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for command in (["init", "-q"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "a"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    inside = tmp_path / "env" / "tuning" / "trial" / "provenance.py"
    inside.parent.mkdir(parents=True)
    monkeypatch.setattr(provenance, "__file__", str(inside))
    assert provenance._git_commit() == ""
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "tuning" / "trial" / "provenance.py"))
    assert len(provenance._git_commit()) == 40


@pytest.mark.slow
def test_a_wheel_holds_all_packages_and_what_they_read(tmp_path: Path) -> None:
    import zipfile

    subprocess.run(["uv", "build", "--wheel", "-q", "-o", str(tmp_path)], cwd=ROOT, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    for room in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]:
        files = (path for path in (ROOT / room).rglob("*") if path.suffix not in ("", ".pyc", ".nbc", ".nbi"))
        assert {path.relative_to(ROOT).as_posix() for path in files} <= names
