"""Command lines refuse alike, and Ray finds what it reads when it is imported."""

import errno
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from common.errors import ScenarioError, UsageError
from tuning.cli.command import command
from tuning.memory.gpus import DriverError
from tuning.runtime.signals import Interrupted


@dataclass(frozen=True)
class Asked:
    """A question."""

    number: int = 1
    """A number."""


def test_the_answer_is_the_exit_status() -> None:
    assert command(Asked, ["--number", "7"], "test", lambda asked: asked.number) == 7


@pytest.mark.parametrize("error", [UsageError, ScenarioError, DriverError])
def test_what_cannot_be_carried_out_is_one_line(error: type[Exception], capsys: pytest.CaptureFixture[str]) -> None:
    def fail(asked: Asked) -> int:
        raise error("no such thing")

    assert command(Asked, [], "test", fail) == 2
    assert capsys.readouterr().err == "error: no such thing\n"


def test_faults_that_are_told_at_once_have_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    def fail(asked: Asked) -> int:
        raise ScenarioError("a.csv, line 3: one", "a.csv, line 4: 'two\nthree'", "and 5 more")

    assert command(Asked, [], "test", fail) == 2
    assert capsys.readouterr().err == "error: a.csv, line 3: one\na.csv, line 4: 'two\\nthree'\nand 5 more\n"


def test_an_error_of_the_system_without_a_file_is_not_hidden() -> None:
    def fail(asked: Asked) -> int:
        raise OSError(24, "Too many open files")

    with pytest.raises(OSError, match="Too many"):
        command(Asked, [], "test", fail)


def test_line_breaks_and_control_characters_of_values_are_shown_as_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    def fail(asked: Asked) -> int:
        raise UsageError("no file a\nb\x1b[31m \u00f1")

    assert command(Asked, [], "test", fail) == 2
    assert capsys.readouterr().err == "error: no file a\\nb\\x1b[31m \u00f1\n"


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


def test_an_unknown_option_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(Asked, ["--other", "1"], "test", lambda asked: 0) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--other" in line


def test_a_fault_of_ours_is_not_hidden() -> None:
    def fail(asked: Asked) -> int:
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        command(Asked, [], "test", fail)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EISDIR])
def test_what_the_disk_refuses_is_one_line_with_the_file(capsys: pytest.CaptureFixture[str], number: int) -> None:
    def fail(asked: Asked) -> int:
        raise OSError(number, os.strerror(number), "a/b")

    assert command(Asked, [], "test", fail) == 2
    assert capsys.readouterr().err == f"error: a/b: {os.strerror(number)}; free or repair this place, or choose another\n"


def test_another_error_of_the_system_is_not_hidden() -> None:
    def fail(asked: Asked) -> int:
        raise ConnectionResetError("a bug")

    with pytest.raises(ConnectionResetError):
        command(Asked, [], "test", fail)


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
