"""The image's steps are pinned, without privileges or secrets; they run here on a clean Python."""

import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.files import FILES, ROOT, text

ROOMS = ("common", "envs", "results", "search_spaces", "tuning")
SECRET = re.compile(
    r"AKIA[0-9A-Z]{16}|-----BEGIN|(secret|password|token)(?!_path)[\w-]*\s*[=:]\s*['\"]?[A-Za-z0-9/+]{16,}", re.IGNORECASE
)


def steps() -> list[tuple[str, str]]:
    """Instructions of the Dockerfile, such as RUN, each with what follows it in one line."""
    lines = [line for line in text("Dockerfile").splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in joined.splitlines())]


def of(word: str) -> list[str]:
    return [rest for other, rest in steps() if other == word]


def arguments() -> dict[str, str]:
    return {name: value.strip('"') for name, _, value in (rest.partition("=") for rest in of("ARG"))}


def environment() -> dict[str, str]:
    (rest,) = of("ENV")
    return dict(pair.split("=", 1) for pair in rest.split())


def test_python_and_uv_are_of_one_version() -> None:
    assert re.fullmatch(r"python:3\.1[1-3]\.\d+-slim-\w+", arguments()["BASE"])  # as requires-python
    assert re.fullmatch(r"\d+\.\d+\.\d+", arguments()["UV_VERSION"])


def test_the_wheel_has_what_is_copied() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert set(project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]) == set(ROOMS)
    assert set(arguments()["EXTRAS"].split()) <= project["project"]["optional-dependencies"].keys()


def test_a_user_without_privileges_runs_it_and_owns_the_volumes_alone() -> None:
    assert of("USER") == ["1000:1000"]
    (made,) = [rest for rest in of("RUN") if rest.startswith("useradd")]
    assert "--uid 1000" in made
    assert "--owner tuner --group tuner /cache /experiments" in made
    assert of("VOLUME") == ['["/cache", "/experiments"]']
    caches = [value for name, value in environment().items() if "CACHE" in name or "CONFIG" in name]
    assert {"BUILDING_TUNER_CACHE", "NUMBA_CACHE_DIR"} <= environment().keys()
    assert all(value.startswith("/cache/") for value in caches)


def test_the_context_has_what_is_copied_and_nothing_else() -> None:
    lines = [line for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert lines[0] == "*"
    kept = {line.removeprefix("!") for line in lines if line.startswith("!")}
    copied = {word for rest in of("COPY") for word in rest.split()[:-1]}
    assert kept == copied
    assert all((ROOT / name).exists() for name in copied)
    assert fnmatch.fnmatch("tuning/__pycache__", lines[-1])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_file_has_a_secret(path: Path) -> None:
    assert not SECRET.search(path.read_text(encoding="utf-8"))


# -- the steps themselves --------------------------------------------------------------------

# What stands for the image's Python in an environment of the test; the rest of a step runs as it is.
REPLACED = {"uv pip install --system --no-cache": "uv pip install --python {python}", "pip install --no-cache-dir": ": pip"}


def variant() -> str:
    """`cpu` where PyTorch's own index of CPU wheels can be reached, else `cuda`, with the same steps."""
    import urllib.error
    import urllib.request

    try:
        urllib.request.urlopen("https://download.pytorch.org/whl/cpu/torch/", timeout=5).close()
    except (OSError, urllib.error.URLError):
        return "cuda"
    return "cpu"


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that other users can enter, which those of pytest are not."""
    folder = Path(tempfile.mkdtemp(prefix="image-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix" or not shutil.which("uv"), reason="the steps are bash, and call uv")
def test_the_steps_install_a_project_that_another_user_can_run(public: Path) -> None:
    """Each RUN step but those of Debian and of users, in order; then commands by a user who may write in caches alone."""
    python, work = public / "python", public / "work"
    work.mkdir()
    subprocess.run(["uv", "venv", "--quiet", "--python", sys.executable, str(python)], check=True)
    of_build = {**os.environ, **arguments(), "VARIANT": variant()}
    of_build.pop("VIRTUAL_ENV", None)
    for word, rest in steps():
        if word == "COPY":
            *sources, target = rest.split()
            for source in sources:
                to = work / target / (Path(source).name if target.endswith("/") or len(sources) > 1 else "")
                if (ROOT / source).is_dir():
                    shutil.copytree(ROOT / source, to, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy(ROOT / source, to)
        if word == "RUN" and "pip install" in rest:
            for before, after in REPLACED.items():
                rest = rest.replace(before, after.format(python=python / "bin" / "python"))
            subprocess.run(["bash", "-euo", "pipefail", "-c", rest], cwd=work, env=of_build, check=True)
    shutil.rmtree(work)  # the installed copy runs, not the source
    stays = public / "experiments"
    stays.mkdir()
    caches = {name: str(public / "cache" / name) for name in environment() if "CACHE" in name or "CONFIG" in name}
    env = {"PATH": f"{python / 'bin'}:{os.environ['PATH']}", "HOME": str(stays), "OMP_NUM_THREADS": "1", **caches}
    as_user: list[str] = []
    if os.getuid() == 0:
        (public / "cache").mkdir()
        for folder in (stays, public / "cache"):
            os.chown(folder, 1000, 1000)
        as_user = ["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups"]
    for command in ("tuning.run --help", "tuning.doctor --help", "tuning.headroom --help", "results.watch --help"):
        done = subprocess.run(
            [*as_user, str(python / "bin" / "python"), "-m", *command.split()],
            cwd=stays, env=env, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    jobs = [*as_user, str(python / "bin" / "ray"), "job", "--help"]
    nodes = subprocess.run(jobs, cwd=stays, env=env, capture_output=True, text=True, check=False)
    assert "submit" in nodes.stdout, nodes.stderr
