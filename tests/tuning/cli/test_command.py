"""Command lines refuse alike, and Ray finds what it reads when it is imported."""

import errno
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import pytest

from common.errors import ScenarioError, UsageError
from tuning.cli.command import command, parse
from tuning.experiment.option_values import choice, names
from tuning.memory.gpus import DriverError
from tuning.runtime.processes import Interrupted


@dataclass(frozen=True)
class Asked:
    """A question."""

    number: int = 1
    """A number."""


def test_the_answer_is_the_exit_status() -> None:
    assert command(Asked, ["--number", "7"], "test", lambda asked: asked.number) == 7


def test_a_warning_is_one_line_without_code() -> None:
    assert command(Asked, [], "test", lambda asked: 0) == 0
    assert warnings.formatwarning("a file\nwas skipped", UserWarning, "x.py", 1) == "warning: a file\\nwas skipped\n"


@pytest.mark.parametrize(
    ("error", "printed"),
    [
        *((kind("no such thing"), "no such thing") for kind in (UsageError, ScenarioError, DriverError)),
        # Faults that are told at once have a line each.
        (
            ScenarioError("a.csv, line 3: one", "a.csv, line 4: 'two\nthree'"),
            "a.csv, line 3: one\na.csv, line 4: 'two\\nthree'",
        ),
        # Line breaks and control characters of values are escapes.
        (UsageError("no file a\nb\x1b[31m \u00f1"), "no file a\\nb\\x1b[31m \u00f1"),
        # What a disk refuses is told with the file.
        *(
            (
                OSError(number, os.strerror(number), "a/b"),
                f"a/b: {os.strerror(number)}; free or repair this place, or choose another",
            )
            for number in (errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EISDIR, errno.EEXIST, errno.EIO)
        ),
    ],
)
def test_what_cannot_be_carried_out_is_told_in_a_line(
    error: Exception, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(asked: Asked) -> int:
        raise error

    assert command(Asked, [], "test", fail) == 2
    assert capsys.readouterr().err == f"error: {printed}\n"


@pytest.mark.parametrize("error", [KeyError("a bug"), ConnectionResetError("a bug"), OSError(24, "Too many open files")])
def test_a_fault_of_ours_is_not_hidden(error: Exception) -> None:
    def fail(asked: Asked) -> int:
        raise error

    with pytest.raises(type(error)):
        command(Asked, [], "test", fail)


def printed_to(target: str, text: str, encoding: str) -> tuple[int, str]:
    """Exit status and stderr of a command that prints a text to a target of the shell."""
    code = (
        "import dataclasses, sys; from rich.console import Console; from tuning.cli.command import command\n"
        f"def answer(asked):\n    Console().print({text!r})\n    print({text!r} * 20000)\n    return 0\n"
        "sys.exit(command(dataclasses.make_dataclass('Asked', []), [], 'test', answer))"
    )
    done = subprocess.run(
        f'"{sys.executable}" -c "$CODE" {target}', shell=True, executable="/bin/bash", cwd=Path(__file__).parents[3],
        env={**os.environ, "CODE": f"#\n{code}", "PYTHONIOENCODING": encoding}, capture_output=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr.decode()


@pytest.mark.skipif(os.name != "posix", reason="needs bash")
@pytest.mark.parametrize(
    ("target", "encoding", "status", "told"),
    [
        ("| head -c 1; exit ${PIPESTATUS[0]}", "utf-8", 0, ""),
        ("", "ascii", 0, ""),
        (
            "> /dev/full",
            "utf-8",
            1,
            "error: what this command prints could not be written: [Errno 28] No space left on device\n",
        ),
    ],
)
def test_where_output_goes_is_no_traceback(target: str, encoding: str, status: int, told: str) -> None:
    assert printed_to(target, "a \u2192 b\n", encoding) == (status, told)


@pytest.mark.parametrize(
    ("stop", "said"), [(KeyboardInterrupt, "stopped; this command has written no results\n"), (Interrupted, "")]
)
def test_ctrl_c_is_one_line(capsys: pytest.CaptureFixture[str], stop: type[BaseException], said: str) -> None:
    def fail(asked: Asked) -> int:
        raise stop

    assert command(Asked, [], "test", fail) == 130
    assert capsys.readouterr().err == said


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
def test_sigterm_ends_a_command_as_ctrl_c_does() -> None:
    def answer(asked: Asked) -> int:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
        return 0

    assert command(Asked, [], "test", answer) == 130


def test_workers_run_this_code_and_no_copy_of_it() -> None:
    """Under `uv run` Ray would copy the project for its workers, unless it is told so before it is imported."""
    code = (
        "import os, sys, dataclasses; os.environ.pop('RAY_ENABLE_UV_RUN_RUNTIME_ENV', None)\n"
        "from tuning.cli.command import command\n"
        "answer = lambda asked: 'ray' in sys.modules or os.environ['RAY_ENABLE_UV_RUN_RUNTIME_ENV'] != '0'\n"
        "sys.exit(command(dataclasses.make_dataclass('Asked', []), [], 'test', answer))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@dataclass(frozen=True)
class Options:
    """Some options."""

    number: int = 1
    """A number."""
    colour: Literal["red", "blue"] = "red"
    """A colour."""
    share: float = 0.5
    """A share."""
    algo: Annotated[str, choice()] = "ppo"
    """An algorithm."""


def test_what_is_not_given_has_the_fields_default_or_the_one_that_is_handed_over() -> None:
    assert parse(Options, ["--colour", "blue"], None, "test") == Options(colour="blue")
    assert parse(Options, ["--colour", "blue"], Options(number=5), "test") == Options(number=5, colour="blue")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--number", "many"], "--number: 'many' is no number"),
        (["--number", "nan"], "nan"),
        (["--number", "\uff11"], "\uff11"),
        (["--share", "half"], "half"),
        (["--colour", "green"], "green"),
        (["--algo", "dqn"], "--algo 'dqn': it takes one of "),
        (["--number"], "--number: its value is missing"),
    ],
)
def test_what_is_wrong_is_one_line_that_names_it(arguments: list[str], named: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse(Options, arguments, None, "test")
    text = str(refused.value)
    assert named in text
    assert text.endswith("; see --help")
    assert "\n" not in text
    assert "\N{BOX DRAWINGS LIGHT HORIZONTAL}" not in text


def test_an_option_with_several_values_stands_there_once(capsys: pytest.CaptureFixture[str]) -> None:
    @dataclass(frozen=True)
    class Several:
        start_from: tuple[str, ...] = ()
        """Texts."""
        number: int = 1
        """A number."""

    asked = list[Several]()

    def run(*words: str) -> int:
        return command(Several, words, "test", lambda options: asked.append(options) or 0)

    assert run("--start-from", "a", "b", "--number", "1", "--number", "2") == 0
    assert asked == [Several(("a", "b"), 2)]
    with pytest.raises(SystemExit) as helped:
        run("--start-from", "a", "--start-from", "b", "--help")
    assert helped.value.code == 0
    capsys.readouterr()
    assert run("--start-from", "a", "--start_from=b") == 2
    assert capsys.readouterr().err == ("error: --start-from is given twice; give all of its values after one --start-from\n")


def test_an_option_that_is_missing_is_told_with_its_meaning() -> None:
    @dataclass(frozen=True)
    class Needed:
        to: Path
        """Folder for the files."""
        of: Path
        """Where they are."""

    with pytest.raises(UsageError) as refused:
        parse(Needed, [], None, "python -m test")
    assert str(refused.value) == "missing: --to PATH Folder for the files; --of PATH Where they are; see --help"


@pytest.mark.parametrize(
    ("given", "ends"),
    [
        (["--nmber", "3"], "did you mean --number?"), (["--nmber=3"], "did you mean --number?"), (["--zzz", "3"], "see --help"),
        # Known words of other libraries, where the command has no such option.
        (["--lr", "3"], "see --help"), (["--lr=3"], "see --help"),
    ],
)  # fmt: skip
def test_an_unknown_option_is_hinted_at(given: list[str], ends: str) -> None:
    with pytest.raises(UsageError, match=rf"Unrecognized options: {', '.join(given)}; {re.escape(ends)}$"):
        parse(Options, given, None, "test")


@pytest.mark.parametrize(("text", "value"), [("1e6", 1_000_000), ("1_000_000", 1_000_000), ("12", 12), ("-3", -3)])
def test_whole_numbers_are_typed_in_several_ways(text: str, value: int) -> None:
    assert parse(Options, ["--number", text], None, "test") == Options(number=value)


def test_help_names_the_program_its_options_and_all_algorithms(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(Options, ["--help"], None, "python -m test")
    assert not ended.value.code
    text = capsys.readouterr().out
    for word in ("python -m test", "--number", "A colour.", *names()):
        assert word in text
