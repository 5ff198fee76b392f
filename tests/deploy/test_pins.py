"""deploy/requirements.txt pins what images and nodes install, for all optional dependencies that nodes may have."""

import re
import tomllib
from importlib.metadata import version

from tests.deploy.files import ROOT, text


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins() -> dict[str, set[str]]:
    """Versions of each package; several, where systems or versions of Python differ."""
    found: dict[str, set[str]] = {}
    for line in text("requirements.txt").splitlines():
        name, _, rest = line.partition("==")
        found.setdefault(canonical(name.partition("[")[0]), set()).add(rest.partition(" ")[0])
    return found


def test_every_line_is_a_pin_and_names_no_registry() -> None:
    for line in text("requirements.txt").splitlines():
        assert re.match(r"[A-Za-z0-9._-]+(\[[a-z,]+\])?==\S+", line), line
        assert "://" not in line


def test_every_dependency_and_extra_of_nodes_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [entry for extra in ("cluster", "s3", "gcs", "aws") for entry in project["optional-dependencies"][extra]]
    needed = {canonical(re.split(r"[<>=!\[; ]", entry)[0]) for entry in [*project["dependencies"], *extras]}
    assert needed <= pins().keys()


def test_ray_is_the_one_that_the_tests_run_with() -> None:
    assert pins()["ray"] == {version("ray")}
