"""Whatever is typed, a command either accepts it or refuses it in one line; nothing is created, and there is no traceback."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.tuning.trial.small_trials import completed
from tuning import doctor, export, headroom, judge, resources, rollout, run
from tuning.experiment.folder import create
from tuning.experiment.settings import Settings

# At most places nothing of these is expected.
VALUES = (
    "", " ", "0", "-0", "1", "-1", "+5", "2.5", "-2.5", "1e6", "1e-5", "1e400", "-1e400", "1e999999", "9" * 30, "9" * 400,
    "nan", "-nan", "inf", "-inf", "1_000", "_1", "1__0", "0x10", "010", "1,000", "1 000", "\uff11\uff12", "\u0663", "\u00bd",
    "true", "True", "None", "null", "[]", "{}", "()", "''", "abc", "ABC", "all", "auto", "best", "best:0", "best:-1",
    "best:nan", "best:", "best:" + "9" * 30, "best:" + "9" * 5000, "=", "a=", "=1",
    "batch_size=", "batch_size=nan", "batch_size=-1",
    "batch_size=1e400", "gamma=2", "batch_size=\uff11", "hidden_sizes=1,x", "hidden_sizes=", "hidden_sizes=" + "9" * 5000,
    "learning_rate=1e-400", "n_steps=" + "9" * 30, "--", "-", "-x", "--nope", "--nope=1", "../x", "..", ".", "/", "/dev/null",
    "/dev/null/x", "~", "~nobody/x", "a" * 300, "a/" * 300, "\u00f1", "\U0001f4a5", "a\nb", "a\tb", "\x1b[31m", "[bold]", "[/]",
    "%s", "{0}", "{x}", "$HOME", "*", '"', "\\", "con", "a:b", "10.0.0.1:6379", "ray://x:1", "http://x", "s3://x/y",
    "schema.json", "iquitos-0", "iquitos ", "IQUITOS", "rtx4060-after", "default", "tpe", "ppo", "sac", "citylearn", "test",
)  # fmt: skip


@dataclass(frozen=True)
class Command:
    """A command, and how it is called.

    Attributes:
        main: its front door.
        positional: arguments without a name that it needs.
        needed: options that it needs.
        options: all others.
    """

    main: Callable[[list[str]], int]
    positional: tuple[str, ...]
    needed: tuple[str, ...]
    options: tuple[str, ...]


SEARCH = (
    "algo", "scenario", "backend", "num-envs", "reward", "trials", "steps", "evaluations", "validation-weeks", "seed", "set",
    "preset", "start-from", "space", "sampler", "scheduler", "budget", "confirm", "retries", "keep-checkpoints", "concurrency",
    "gpu-memory", "on-oom", "name", "dir", "address", "resume", "extend", "no-extend", "retry-failed", "callback",
)  # fmt: skip
COMMANDS = {
    "run": Command(run.main, (), (), SEARCH),
    "judge": Command(
        judge.main, ("e",), (), ("top", "seeds", "seed", "backend", "mpc", "gpu-memory", "address", "name", "dir")
    ),
    "headroom": Command(headroom.main, (), (), ("scenario", "split", "mpc")),
    "rollout": Command(rollout.main, ("e",), (), ("trial", "year", "backend", "week", "to")),
    "export": Command(export.main, ("e",), ("to",), ("trial", "judgement")),
    "resources": Command(
        resources.main, (), (), ("algo", "scenario", "backend", "num-envs", "steps", "set", "preset", "device", "gpu-memory")
    ),
    "doctor": Command(doctor.main, (), (), ("algo", "scenario", "gpu-memory", "dir", "switches", "no-switches")),
}  # fmt: skip


class AcceptedError(Exception):
    """The command would begin its work now."""


@pytest.fixture(scope="module")
def folder(small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an experiment `e` of one complete trial."""
    folder = tmp_path_factory.mktemp("lines")
    of = create(Settings(scenario=str(small_schema), backend="batch", name="e", dir=str(folder), steps=100_000))
    completed(of, (0.05, {"gamma": 0.9}))
    return folder


@pytest.fixture
def _only_checked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands run in the folder, and end where their checks do."""

    def accept(*arguments: Any, **options: Any) -> None:
        raise AcceptedError

    monkeypatch.chdir(folder)
    for place in (
        "tuning.search.run.opening.open_checked", "tuning.judging.folder.create_or_open",
        "tuning.judging.headroom.baseline_rows", "tuning.trial.policy.trained",
        "tuning.exporting.files.trained", "tuning.diagnosis.memory_forecast.sizes_of",
        "tuning.diagnosis.examination.gather",
    ):  # fmt: skip
        monkeypatch.setattr(place, accept)
    monkeypatch.setattr("tuning.runtime.cluster._try", lambda address: "")


def mutant(command: Command, dice: random.Random) -> list[str]:
    """A command line with up to three options, of which values and places are wrong."""
    line = list(command.positional)
    for option in command.needed:
        line += [f"--{option}", "new"]
    for option in dice.choices(command.options, k=dice.choice((1, 1, 1, 2, 3))):
        form = dice.random()
        value = dice.choice(VALUES)
        if form < 0.75:
            line += [f"--{option}", value]
        elif form < 0.85:
            line += [f"--{option}={value}"]
        elif form < 0.9:
            line += [f"--{option}"]  # without a value
        elif form < 0.95:
            line += [f"--{option}", value, dice.choice(VALUES)]
        else:
            line.insert(dice.randrange(len(line) + 1), value)
    if line and dice.random() < 0.05:
        line.pop(dice.randrange(len(line)))
    return line


def fault(name: str, line: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[bool, str]:
    """Whether a command refuses a line, and what is wrong with how it does; empty if nothing is."""
    try:
        status = COMMANDS[name].main(line)
    except AcceptedError:
        return False, ""
    except SystemExit as end:
        return False, "it ends by itself" if end.code else ""
    except Exception as error:  # noqa: BLE001 - any is a fault
        return True, f"{type(error).__name__}: {error}"
    finally:
        printed = capsys.readouterr()
    is_line = printed.err.startswith("error: ") and printed.err.count("\n") == 1
    return True, "" if status == 2 and is_line else f"status {status}, {printed.err!r}"


@pytest.mark.usefixtures("_only_checked")
@pytest.mark.parametrize("count", [40, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_typed_is_accepted_or_refused_in_a_line(
    name: str, count: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, faults, refused = sorted(folder.rglob("*")), [], 0
    command = COMMANDS[name]
    right = [*command.positional, *(word for option in command.needed for word in (f"--{option}", "new"))]
    assert fault(name, right, capsys) == (False, "")
    for seed in range(count):
        line = mutant(command, random.Random(f"{name} {seed}"))
        is_refused, wrong = fault(name, line, capsys)
        refused += is_refused
        if wrong:
            faults.append(f"{[word if len(word) < 50 else word[:20] + '...' for word in line]}: {wrong[:300]}")
    assert not faults, f"{len(faults)} of {count}:\n" + "\n".join(faults[:30])
    assert refused > 0.2 * count
    assert sorted(folder.rglob("*")) == before
