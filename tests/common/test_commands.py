"""Commands that are printed work as they are, in the shell of this system."""

import os
import shlex

import pytest

from common.commands import python_command, quoted


def test_a_path_with_a_space_stays_one_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UV_RUN_RECURSION_DEPTH", raising=False)
    line = python_command("tuning.run", "--resume", "/a b/it's")
    if os.name != "nt":
        assert shlex.split(line) == ["python", "-m", "tuning.run", "--resume", "/a b/it's"]
    assert python_command("tuning.run", "--resume", "/a/b") == "python -m tuning.run --resume /a/b"


def test_on_windows_it_is_quoted_for_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("common.commands.os.name", "nt")
    assert quoted(["a", r"C:\a b\c", 1]) == r'a "C:\a b\c" 1'


@pytest.mark.parametrize(
    ("argument", "typed"),
    [
        (r"C:\a&calc", r'"C:\a&calc"'),
        (r"C:\a|b^c<d>(e)", r'"C:\a|b^c<d>(e)"'),
        ("C:\\a&b\\", '"C:\\a&b\\\\"'),
        ("100%PATH%", '"100"^%"PATH"^%'),
        ("a&%b", '"a&"^%"b"'),
        ('a"b&c', '"a"\\^""b&c"'),
        ("a\\%", '"a\\\\"^%'),
        ("", '""'),
        ("key=1.5", "key=1.5"),
    ],
)
def test_on_windows_cmd_reads_nothing_in_an_argument(monkeypatch: pytest.MonkeyPatch, argument: str, typed: str) -> None:
    monkeypatch.setattr("common.commands.os.name", "nt")
    assert quoted([argument]) == typed
    assert split(without_carets(typed)) == argument


def without_carets(line: str) -> str:
    """What a program gets of a line that cmd.exe reads: carets outside of quotes are gone. No other sign may stand there."""
    passed, within, letters = "", False, iter(line)
    for letter in letters:
        if letter == "^" and not within:
            passed += next(letters)
            continue
        assert within or letter not in "&|<>()%"
        within ^= letter == '"'
        passed += letter
    return passed


def split(line: str) -> str:
    """The one argument of a line, by the rules of Microsoft's programs."""
    argument, slashes, within = "", 0, False
    for letter in line:
        if letter == "\\":
            slashes += 1
            continue
        argument += "\\" * (slashes // 2 if letter == '"' else slashes)
        literal, slashes = letter != '"' or slashes % 2 == 1, 0
        if literal:
            assert within or letter != " "
            argument += letter
        else:
            within = not within
    return argument + "\\" * slashes


def test_under_uv_it_runs_under_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_RUN_RECURSION_DEPTH", "1")
    assert python_command("tuning.run") == "uv run python -m tuning.run"
