"""Each command of the pages runs: in the order of its page, on small sites, with small budgets.

Every day all command lines are read and checked. The marker `slow` also runs them, page by page, in a folder that holds what
the pages suppose: sites, and experiments that other pages made. `small` says what is replaced to make them short.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import itertools
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from common.errors import UserError
from docs import generate
from envs.scenarios.metered.neighbourhood import write_meters
from tests.districts import write_district
from tests.test_docs import FENCE, PAGES, ROOT, is_spanish
from tuning.cli.command import parse

# What a command line begins with that does not run here, and why.
EXEMPT = {
    "git clone": "fetches the project, which the tests have",
    "cd ": "likewise",
    "uv sync": "installs the project, as the workflow does",
    "uv pip": "installs torch for a card",
    "uv run pytest": "runs the tests themselves",
    "uv run ruff": "the workflow runs it",
    "uv run mypy": "the workflow runs it",
    "uv run python -m docs.generate": "tests/docs/test_generate.py compares what it writes",
    "uv run python -m benchmarks.": "takes hours; tests/benchmarks has its tests",
    "uv run --group benchmarks ": "likewise",
    "uv run --with ": "installs a service's client, so it runs in a process of its own: see the last test",
    "uv run python benchmarks/": "likewise",
    "uv run python examples/headroom.py": "tests/examples runs it",
    "uv run python examples/search.py": "likewise",
    "uv run python examples/put_to_work.py": "likewise",
    "uv run python -m tuning.doctor": "trains with the default settings for minutes; tests/tuning/diagnosis has its tests",
    "python mall-controller/controller.py": "the page on putting a policy to work runs the same on a site of homes",
}
STARTS = re.compile(r"(\$ )?((uv|git|cd)\b|python(3)? )")
DAYS = 120  # of the small sites, in place of 365
HOMES = tuple(f"Building_{number}" for number in range(1, 18) if number not in (12, 15))
# Sites with how many of them; the first also has days enough for the splits that pages state.
SITES = {"path/to": len(HOMES), "homes": 2, "district": 3, "elsewhere": 2, "citylearn_challenge_2023_phase_1": 2}
SMALL_SET = {
    "ppo": {"hidden_sizes": "8", "n_steps": "64", "batch_size": "32", "n_epochs": "1"},
    "a2c": {"hidden_sizes": "8", "n_steps": "64"},
    "sac": {"hidden_sizes": "8", "batch_size": "16", "learning_starts": "64", "train_freq": "32", "gradient_steps": "1"},
    "all": {"hidden_sizes": "8"},
}
STEPS, LONG = 640, 20_000  # of a trial; where a file gives bounds for sizes, it needs more


@dataclass(frozen=True)
class Line:
    """A command line of a page.

    Attributes:
        page: relative to the project.
        text: as it stands there.
        refused: whether the page shows that it is refused.
    """

    page: str
    text: str
    refused: bool

    @property
    def words(self) -> list[str]:
        """Program and arguments, without a comment behind them."""
        return shlex.split(self.text.removeprefix("$ ").removeprefix("uv run "), comments=True)

    @property
    def why_exempt(self) -> str:
        """Why it does not run here; empty if it does."""
        if "s3://" in self.text:
            return "needs a bucket; tests/results/test_places.py has a server"
        return next((why for start, why in EXEMPT.items() if self.text.removeprefix("$ ").startswith(start)), "")

    @property
    def module(self) -> str:
        """Module of this project that it runs; empty for a file or another program."""
        return self.words[2] if self.words[:2] == ["python", "-m"] else ""


@cache
def lines() -> tuple[Line, ...]:
    """Command lines of all pages in English; those in Spanish have the same ones."""
    found = []
    for page in PAGES:
        if is_spanish(page):
            continue
        for block in FENCE.finditer(page.read_text(encoding="utf-8")):
            own = [line.strip() for line in block[4].splitlines()] if not block[3].strip() else []
            for line, after in itertools.pairwise([*own, ""]):
                if STARTS.match(line):
                    found.append(Line(page.relative_to(ROOT).as_posix(), line, after.startswith("error: ")))
    return tuple(found)


def running() -> dict[str, list[Line]]:
    """Lines that run here, by page and in their order."""
    pages: dict[str, list[Line]] = {}
    for line in lines():
        if not line.why_exempt and "--help" not in line.words:
            pages.setdefault(line.page, []).append(line)
    return pages


# -- every day -------------------------------------------------------------------------------


def test_every_command_line_is_one_that_parses() -> None:
    """Names, types and ranges of all options, without a run."""
    faults = []
    for line in lines():
        if line.module in generate.PARSERS and "--help" not in line.words:
            with contextlib.suppress(SystemExit):
                generate._named(generate.PARSERS[line.module])().parse_args(line.words[3:])
                continue
            faults.append(f"{line.page}: {line.text}")
        if line.module not in generate.COMMANDS or "--help" in line.words:
            continue
        try:
            settings = parse(generate._named(generate.COMMANDS[line.module]), line.words[3:], None, line.module)
            if hasattr(settings, "check"):
                settings.check()
        except (UserError, SystemExit) as error:
            faults.append(f"{line.page}: {line.text}: {error!r}")
    assert faults == []


def test_every_program_of_the_pages_runs_or_is_exempt() -> None:
    files = {line.words[1] for line in lines() if not line.why_exempt and not line.module}
    assert files == {"examples/analyse.py", "homes-controller/controller.py"}
    assert {line.module for line in lines() if not line.why_exempt and line.module} <= {*generate.COMMANDS, *generate.PARSERS}


def test_every_exemption_is_one_of_a_line() -> None:
    assert {start for start in EXEMPT if not any(line.text.removeprefix("$ ").startswith(start) for line in lines())} == set()


# -- small commands --------------------------------------------------------------------------


def small(module: str, arguments: list[str]) -> list[str]:
    """Arguments of the same command on a small site with a small budget."""
    if module == "envs.preview":
        return arguments  # it draws generated sites alone, in seconds
    if module == "tuning.site":
        return [f"{arguments[0]}-made", *arguments[1:]]  # the pages' sites have this name here
    options: list[tuple[str, list[str]]] = [("", [])]  # the first has what stands before all options
    for argument in arguments:
        if argument.startswith("--"):
            options.append((argument, []))
        else:
            options[-1][1].append(argument)
    given = dict(options)
    continues = "--resume" in given
    if module == "tuning.run" and not continues:
        steps = LONG if "--space" in given else STEPS
        algorithm = given.get("--algo", ["ppo"])[0]
        chosen = dict(pair.split("=", 1) for pair in given.get("--set", []))
        sizes = {} if "--space" in given else SMALL_SET[algorithm]
        wanted = {
            "--steps": [str(steps)], "--evaluations": ["2"], "--validation-weeks": ["1"], "--concurrency": ["1"],
            "--num-envs": ["4"], "--scenario": given.get("--scenario", ["iquitos"]),
            "--set": [f"{name}={value}" for name, value in (chosen | sizes).items()],
        }  # fmt: skip
        options = [(name, wanted.pop(name, values)) for name, values in options] + list(wanted.items())
        options = [(name, values) for name, values in options if name != "--set" or values]
    return [word for name, values in options for word in ([name] if name else []) + _small(name, values, continues)]


def _small(name: str, values: list[str], continues: bool) -> list[str]:
    if name == "--scenario":
        return ["mall/schema.json" if value.startswith("iquitos") else value for value in values]
    if name == "--budget":
        return [str(4 * STEPS)]
    if name == "--steps" and continues:
        return [str(2 * STEPS)]
    if name in ("--trials", "--seeds"):
        return [str(min(int(values[0]), 5 if continues else 2))]
    if name in ("--train", "--validation", "--test"):
        return [re.sub(r"^(\d+)-(\d+)$", _days, value) for value in values]
    return values


def _days(match: re.Match[str]) -> str:
    """Days of a year as days of a small site; ranges that do not overlap stay so."""
    first, last = int(match[1]) * DAYS / 365, (int(match[2]) + 1) * DAYS / 365
    return f"{-int(-first // 1)}-{int(last) - 1}"


# -- the run ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stage(small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folder with the sites and files that the pages suppose, in a running Ray."""
    from tuning.runtime.ray_session import ray_session

    folder = tmp_path_factory.mktemp("pages")
    shutil.copytree(small_schema.parent, folder / "mall")
    longer = folder / "longer" / "schema.json"
    shutil.copytree(small_schema.parent, longer.parent)
    schema = json.loads(longer.read_text(encoding="utf-8"))
    schema["simulation_end_time_step"] = DAYS * 24
    longer.write_text(json.dumps(schema), encoding="utf-8")
    homes = {name: {"load": 1.0, "battery": (1700.0, 400.0), "pv": 7000.0, "chargers": []} for name in HOMES}
    for site, number in SITES.items():
        (folder / site).parent.mkdir(parents=True, exist_ok=True)
        schema_of = longer if number == len(HOMES) else small_schema
        write_district(schema_of, folder / site, {name: homes[name] for name in HOMES[:number]})
    (bounds,) = re.findall(r"^```toml\n(.*?)^```", (ROOT / "docs" / "formats.md").read_text(encoding="utf-8"), re.M | re.S)
    (folder / "my-bounds.toml").write_text(bounds, encoding="utf-8")
    write_meters(folder, seed=0, days=60)
    with ray_session(num_cpus=1):
        yield folder


def _suppose(line: Line, stage: Path) -> None:
    """Make the experiments and judgements that a line names and that its page did not make."""
    for word in line.words:
        named = re.fullmatch(r"(experiments|judgements)/([\w-]+)", word)
        if not named or (stage / word).exists():
            continue
        name = named[2]
        if named[1] == "judgements":
            module, arguments = "tuning.judge", [f"experiments/{name}", "--name", name, "--top", "1", "--seeds", "2"]
            arguments += ["--backend", "batch", "--mpc", "none"]
        else:
            site = "homes" if name in ("homes", "stopped") else "district" if name == "district" else "mall"
            shared = [] if site == "mall" else ["--preset", "several-buildings"]
            trials = "2" if "--learn-from" in line.words else "1"  # one trial alone has no rank
            arguments = ["--scenario", f"{site}/schema.json", "--name", name, "--trials", trials, *shared]
            module, arguments = "tuning.run", small("tuning.run", arguments)
        assert _run(module, arguments) == 0, arguments


def _run(module: str, arguments: list[str]) -> int:
    found = importlib.util.find_spec(module)
    is_package = found is not None and found.submodule_search_locations is not None
    main = importlib.import_module(f"{module}.__main__" if is_package else module).main
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "argv", [module, *arguments])
        try:
            return int(main())
        except SystemExit as ended:
            return int(ended.code or 0)


def _run_file(words: list[str]) -> int:
    file = ROOT / words[1] if words[1].startswith("examples/") else Path(words[1])
    return subprocess.run([sys.executable, str(file), *words[2:]], check=False).returncode


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(running()))
def test_the_commands_of_a_page_run(page: str, stage: Path, capfd: pytest.CaptureFixture[str]) -> None:
    failed = []
    with contextlib.chdir(stage):
        for made in (
            "experiments",
            "judgements",
            "homes-controller",
            "homes-judged",
            "mall-controller",
            "preview",
            "homes-made",
            "hood-made",
        ):
            shutil.rmtree(made, ignore_errors=True)
        shutil.rmtree("elsewhere-files", ignore_errors=True)
        for line in running()[page]:
            _suppose(line, stage)
            arguments = small(line.module, line.words[3:]) if line.module else line.words[2:]
            if line.module == "tuning.export" and "elsewhere" in arguments:  # the site has this name here
                arguments[arguments.index("elsewhere")] = "elsewhere-files"
            capfd.readouterr()
            status = _run(line.module, arguments) if line.module else _run_file(line.words)
            said = capfd.readouterr()
            # Of all three algorithms one may learn nothing in so few steps.
            expected = (2,) if line.refused else (0, 1) if "all" in arguments else (0,)
            if status not in expected:
                failed.append(
                    f"{line.text}\n  as {shlex.join(arguments)}\n  status {status}: {said.err[-600:] or said.out[-600:]}"
                )
    assert not failed, "\n".join(failed)


@pytest.mark.slow
def test_the_programs_of_the_pages_run(stage: Path) -> None:
    """Python in the pages, each block by itself, with the experiments and judgements that it loads."""
    with contextlib.chdir(stage):
        for name in ("ppo-iquitos-1", "homes"):
            _suppose(Line("", f"x experiments/{name}", False), stage)
        for page in ("README.md", "docs/guide/results.md"):
            for block in FENCE.finditer((ROOT / page).read_text(encoding="utf-8")):
                if block[3].strip() == "python":
                    program = stage / "program.py"
                    program.write_text(block[4], encoding="utf-8")
                    runpy.run_path(str(program))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("uv") is None, reason="no uv on this machine, which installs the clients")
@pytest.mark.parametrize(
    "line", [line for line in lines() if line.text.startswith("uv run --with ")], ids=lambda line: line.text
)
def test_the_commands_with_a_service_run(line: Line, stage: Path) -> None:
    """Clients write to files here: Weights & Biases offline, MLflow into its local database."""
    words = shlex.split(line.text)
    module = words.index("-m")
    with contextlib.chdir(stage):
        shutil.rmtree("experiments", ignore_errors=True)
        command = [
            "uv", "run", "--no-sync", "--project", str(ROOT), *words[2 : module + 2],
            *small("tuning.run", [*words[module + 2 :], "--trials", "1"]),
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "WANDB_MODE": "offline"})
        assert done.returncode == 0, done.stderr[-2000:]
        assert len(list((stage / "wandb").glob("offline-run-*/*.wandb"))) == 1
        assert (stage / "mlflow.db").exists()
