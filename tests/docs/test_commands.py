"""Each command of the pages runs: in the order of its page, on small sites, with small budgets.

They run in a folder that holds what the pages suppose: sites, and experiments that other pages made. `small` says what is
replaced to make them short.
"""

import contextlib
import importlib
import importlib.util
import itertools
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

from docs import generate
from envs.scenarios.metered.neighbourhood import write_meters
from tests.districts import write_district
from tests.envs.schema_changes import edited, put
from tests.test_docs import FENCE, PAGES, ROOT, is_spanish

# The doctor trains with the default settings, and its own tests run it. Other examples run in tests/examples.
COMMANDS = {*generate.COMMANDS, *generate.PARSERS} - {"tuning.doctor"}
FILES = (["examples/analyse.py"], ["homes-controller/controller.py"])
STARTS = re.compile(r"(uv run )?python3? ")
DAYS = 120  # of the small sites, in place of 365
HOMES = tuple(f"Building_{number}" for number in range(1, 18) if number not in (12, 15))
# Sites with how many of them; the first also has days enough for the splits that pages state.
SITES = {"path/to": len(HOMES), "homes": 2, "mine": 2, "district": 3, "elsewhere": 2, "citylearn_challenge_2023_phase_1": 2}
SIZES = {
    "ppo": "hidden_sizes=8 n_steps=64 batch_size=32 n_epochs=1",
    "a2c": "hidden_sizes=8 n_steps=64",
    "sac": "hidden_sizes=8 batch_size=16 learning_starts=64 train_freq=32 gradient_steps=1",
    "all": "hidden_sizes=8",
}
STEPS = 640  # of a trial


@dataclass(frozen=True)
class Line:
    """A command line as it stands on a page, and whether the page shows that it is refused."""

    text: str
    refused: bool = False

    @property
    def words(self) -> list[str]:
        """Program and arguments, without a comment behind them."""
        return shlex.split(self.text.removeprefix("uv run "), comments=True)

    @property
    def module(self) -> str:
        """Module that it runs; empty for a file or another program."""
        return self.words[2] if self.words[:2] == ["python", "-m"] else ""

    @property
    def runs(self) -> bool:
        """Whether it runs here: a command of this project, or a file. Other tests have a bucket."""
        is_ours = self.module in COMMANDS or self.words[1:2] in FILES
        return is_ours and "s3://" not in self.text and "--help" not in self.words


@cache
def running() -> dict[str, list[Line]]:
    """Lines that run here, in their order, by page in English; those in Spanish have the same ones."""
    pages: dict[str, list[Line]] = {}
    for page in PAGES:
        if is_spanish(page):
            continue
        for block in FENCE.finditer(page.read_text(encoding="utf-8")):
            own = [line.strip().removeprefix("$ ") for line in block[4].splitlines()] if not block[3].strip() else []
            found = [Line(text, after.startswith("error: ")) for text, after in itertools.pairwise([*own, ""])]
            if kept := [line for line in found if STARTS.match(line.text) and line.runs]:
                pages.setdefault(page.relative_to(ROOT).as_posix(), []).extend(kept)
    return pages


# -- small commands --------------------------------------------------------------------------


def small(module: str, arguments: list[str]) -> list[str]:
    """Arguments of the same command on a small site with a small budget."""
    if module == "envs.preview":
        return arguments  # it draws generated sites alone, in seconds
    if module == "tuning.site":
        return [f"{arguments[0]}-made", *arguments[1:]]  # the pages' sites have this name here
    continues, name, found = "--resume" in arguments, "", list[str]()
    for word in arguments:
        name = word if word.startswith("--") else name
        found.append(word if word == name else _small(name, word, continues))
    if module == "tuning.run" and not continues:
        # Of options that are given twice the last counts.
        found += ["--evaluations", "2", "--validation-weeks", "1", "--concurrency", "1", "--num-envs", "4"]
        found += [] if "--scenario" in found else ["--scenario", "mall/schema.json"]
        algorithm = found[found.index("--algo") + 1] if "--algo" in found else "ppo"
        has_bounds = "--space" in found  # of sizes, so it needs more steps
        found += ["--steps", "20000"] if has_bounds else ["--steps", str(STEPS), "--set", *SIZES[algorithm].split()]
    return found


def _small(name: str, value: str, continues: bool) -> str:
    """A value of an option."""
    if name == "--scenario":
        return "mall/schema.json" if value.startswith("iquitos") else value
    if name == "--budget":
        return str(4 * STEPS)
    if name == "--steps" and continues:
        return str(2 * STEPS)
    if name in ("--trials", "--seeds"):
        return str(min(int(value), 5 if continues else 2))
    return re.sub(r"^(\d+)-(\d+)$", _days, value) if name in ("--train", "--validation", "--test") else value


def _days(match: re.Match[str]) -> str:
    """Days of a year as days of a small site; ranges that do not overlap stay so."""
    first, last = int(match[1]) * DAYS / 365, (int(match[2]) + 1) * DAYS / 365
    return f"{-int(-first // 1)}-{int(last) - 1}"


# -- the run ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def supposed(small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folder with the sites and files that the pages suppose, in a running Ray."""
    from tuning.runtime.ray_session import ray_session

    folder = tmp_path_factory.mktemp("pages")
    shutil.copytree(small_schema.parent, folder / "mall")
    longer = edited(small_schema, folder / "longer", put("simulation_end_time_step", value=DAYS * 24))
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


@pytest.fixture
def stage(supposed: Path) -> Iterator[Path]:
    """The same as working folder, without what other pages have made."""
    given = set(supposed.iterdir())
    with contextlib.chdir(supposed):
        yield supposed
    for made in set(supposed.iterdir()) - given:
        shutil.rmtree(made) if made.is_dir() else made.unlink()


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
            failed.append(f"{line.text}\n  as {shlex.join(arguments)}\n  status {status}: {said.err[-600:] or said.out[-600:]}")
    assert not failed, "\n".join(failed)


@pytest.mark.slow
def test_the_programs_of_the_pages_run(stage: Path) -> None:
    """Python in the pages, each block by itself, with the experiments and judgements that it loads."""
    for name in ("ppo-iquitos-1", "homes"):
        _suppose(Line(f"x experiments/{name}"), stage)
    for page in ("README.md", "docs/guide/results.md"):
        for block in FENCE.finditer((ROOT / page).read_text(encoding="utf-8")):
            if block[3].strip() == "python":
                program = stage / "program.py"
                program.write_text(block[4], encoding="utf-8")
                runpy.run_path(str(program))
