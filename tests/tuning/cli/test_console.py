"""A line is printed as it is."""

import errno
import io
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from common.texts import python_command
from results import report
from results.table_files import write_rows
from tests.results.trials import KINDS, trial
from tests.tuning.cli.printing import text_of
from tuning.cli.console import Fitted, SteadyOutput, busy, draw_report, plain_table, say, steady_output, terminal


def said(line: object, width: int = 40, **console: Any) -> str:
    return text_of(lambda own: say(own, line), width, **console)


def printed(table: object, width: int) -> list[str]:
    return [line.rstrip() for line in text_of(lambda own: own.print(table), width).splitlines() if line.strip()]


def test_a_line_is_neither_broken_nor_read_as_markup() -> None:
    line = "trial 0: [bold]" + "x" * 200
    assert said(line) == f"{line}\n"
    assert said(Path("/a") / ("b" * 60)) == f"/a/{'b' * 60}\n"


@pytest.mark.parametrize(
    ("line", "is_broken"),
    [
        ("the best of many trials is lucky too", True),
        ("then continue with: python -m tuning.run --resume one", False),
        ("Parquet: ~/building-tuner/experiments/one/results", False),
        ("with about --budget 11m in all it would do", True),
    ],
)
def test_a_terminal_breaks_sentences_between_words_and_nothing_that_is_copied(line: str, is_broken: bool) -> None:
    lines = said(line, 20, force_terminal=True, color_system=None).splitlines()
    assert (len(lines) > 1) is is_broken
    assert " ".join(part.strip() for part in lines) == line


def test_characters_that_act_on_a_terminal_are_escapes() -> None:
    assert said("killed (\x1b]0;title\x07 on host\nerror: forged)") == "killed (\\x1b]0;title\\x07 on host\\nerror: forged)\n"


def test_what_takes_long_is_a_line_where_there_is_no_terminal_with_news_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    output, shown = io.StringIO(), io.StringIO()
    monkeypatch.setattr("tuning.cli.console.NEWS_SECONDS", 0.02)
    with busy(Console(file=output, width=60), "bound of score") as tell:
        tell("60%")
        begun = time.monotonic()
        while output.getvalue().count("\n") < 3 and time.monotonic() - begun < 20.0:
            time.sleep(0.01)
    first, *more = output.getvalue().splitlines()
    assert (first, set(more)) == ("bound of score", {"bound of score: 60%, 0 s so far"})
    with busy(Console(file=shown, width=40, force_terminal=True), "bound of [b]score") as tell:
        tell("\x1b]0;60%")
    assert "bound of [b]score" in shown.getvalue()
    assert "\x1b]0;" not in shown.getvalue()


def test_what_is_short_may_stay_unsaid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuning.cli.console.NEWS_SECONDS", 0.05)
    for seconds, said in ((0.0, False), (0.3, True)):
        output = io.StringIO()
        with busy(Console(file=output, width=60), "loading", at_once=False):
            time.sleep(seconds)
        assert ("loading: 0 s so far" in output.getvalue()) is said
        assert not output.getvalue().startswith("loading\n")


class Broken(io.StringIO):
    """A file that lost its reader, or is full."""

    number = errno.EPIPE

    def write(self, text: str) -> int:
        raise OSError(self.number, "broken")

    def fileno(self) -> int:
        return self.descriptor

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self.descriptor = descriptor


@pytest.mark.parametrize(("number", "is_lost"), [(errno.EPIPE, False), (errno.ENOSPC, True)])
def test_output_without_a_reader_goes_to_nowhere(tmp_path: Path, number: int, is_lost: bool) -> None:
    with (tmp_path / "file").open("wb") as file:
        broken = Broken(file.fileno())
        broken.number = number
        output = SteadyOutput(broken)
        assert output.write("text") == 4
        assert output.write("more") == 4
        output.flush()
        assert output.is_lost == is_lost


@pytest.mark.parametrize(("encoding", "written"), [("ascii", b"\\xf1 \\u2192"), ("cp1252", b"\xf1 \\u2192")])
def test_characters_that_an_encoding_lacks_are_escapes(encoding: str, written: bytes) -> None:
    raw = io.BytesIO()
    output = SteadyOutput(io.TextIOWrapper(raw, encoding=encoding))
    output.write("\u00f1 \u2192")
    output.flush()
    assert raw.getvalue() == written
    assert not output.is_lost


def test_standard_output_is_replaced_for_a_while(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout
    with steady_output():
        print("text")
    assert sys.stdout is before
    assert capsys.readouterr().out == "text\n"


@pytest.mark.parametrize(("value", "is_plain"), [("1", True), ("", False)])
def test_who_wants_no_colour_gets_no_style_either(monkeypatch: pytest.MonkeyPatch, value: str, is_plain: bool) -> None:
    monkeypatch.setenv("NO_COLOR", value)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    console = terminal()
    with console.capture() as captured:
        console.print("text", style="bold")
    assert ("\x1b" not in captured.get()) == is_plain


def drawn(folder: Path) -> str:
    return text_of(lambda own: draw_report([folder], own))


def test_its_path_is_printed(tmp_path: Path) -> None:
    write_rows(tmp_path, "trials", 0, [trial(0, None, "failed")], KINDS)
    assert drawn(tmp_path).endswith(f"Report:  {tmp_path / report.NAME}\n")
    assert (tmp_path / report.NAME).is_file()


def test_a_report_that_takes_long_is_told_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuning.cli.console.NEWS_SECONDS", 0.05)
    monkeypatch.setattr(report, "write", lambda *_, **__: time.sleep(0.3) or tmp_path)
    first, *_, last = drawn(tmp_path).splitlines()
    assert (first, last) == ("drawing the report: 0 s so far", f"Report:  {tmp_path}")


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (OSError(28, "No space left on device"), "OSError: [Errno 28] No space left on device"),
        (KeyError("part"), "KeyError: 'part'"),
    ],
)
def test_what_cannot_be_drawn_is_one_line_and_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception, told: str
) -> None:
    def fail(*_: object, **__: object) -> Path:
        raise failure

    monkeypatch.setattr(report, "write", fail)
    (line,) = drawn(tmp_path / "my own").splitlines()
    command = python_command("results.report", tmp_path / "my own")
    assert line == f"no report: {told}; results are whole, and {command} tries again"


def test_a_folder_without_results_is_told_in_the_same_way(tmp_path: Path) -> None:
    assert drawn(tmp_path).startswith(f"no report: no results in {tmp_path}")


def test_a_table_has_a_title_at_the_left_and_no_frame() -> None:
    table = plain_table("energy", ("", "kWh"))
    table.add_row("load", "12")
    lines = printed(table, 40)
    assert lines[0].strip() == "energy"
    assert lines[-1].split() == ["load", "12"]
    assert "\N{BOX DRAWINGS LIGHT VERTICAL}" not in "".join(lines)


def wide(width: int, name: str = "a-contender-with-a-long-name") -> list[str]:
    """Lines of a table that needs 60 columns, on a terminal of this width."""
    table = plain_table("energy of a year", ("", "controlled, MWh", "uncontrolled, MWh", "change"))
    table.add_row(name, "1,234.5\n(1,200 to 1,300)", "1,345.6", "-8.3%")
    table.add_row("bound", "", "1,345.6", "")
    return printed(Fitted(table), width)


@pytest.mark.parametrize("width", [80, 120])
def test_a_table_is_one_where_it_fits(width: int) -> None:
    assert any(line.split() == ["controlled,", "MWh", "uncontrolled,", "MWh", "change"] for line in wide(width))


def test_a_title_is_one_line_where_it_fits_also_above_a_narrower_table() -> None:
    table = plain_table("The same episodes under other controllers", ("score",))
    table.add_row("+1.0")
    assert [line.strip() for line in printed(Fitted(table), 80)[:2]] == [table.title.plain, "score"]  # type: ignore[union-attr]


@pytest.mark.parametrize("width", range(30, 130, 5))
def test_no_name_is_broken(width: int) -> None:
    name = "a-name-of-some-forty-letters-in-one-word"
    if width >= len(name):
        (line,) = (line for line in wide(width, name) if line.startswith(name))
        assert len(line) <= width
    assert max(map(len, wide(width, name))) <= width


def test_on_a_narrower_terminal_names_have_lines_of_their_own_and_values_line_up() -> None:
    assert wide(65) == [
        "energy of a year",
        "   controlled, MWh  uncontrolled, MWh  change",
        "a-contender-with-a-long-name",
        "           1,234.5            1,345.6   -8.3%",
        "  (1,200 to 1,300)",
        "bound",
        "                              1,345.6",
    ]


def test_elsewhere_each_value_has_a_line_and_nothing_is_cut() -> None:
    assert wide(40) == [
        "energy of a year",
        "a-contender-with-a-long-name",
        "  controlled, MWh: 1,234.5 (1,200 to",
        "1,300)",
        "  uncontrolled, MWh: 1,345.6",
        "  change: -8.3%",
        "bound",
        "  uncontrolled, MWh: 1,345.6",
    ]


@pytest.mark.parametrize("width", [20, 120])
def test_names_of_other_people_are_neither_markup_nor_act_on_the_terminal(width: int) -> None:
    table = plain_table("site [red]\x1b[2J", ("", "of", "year"))
    table.add_row("[b]one\x1b[2J", "12 of 13 [/]", "a long value")
    shown = "".join("".join(printed(Fitted(table), width)).split())
    for text in (r"site[red]\x1b[2J", r"[b]one\x1b[2J", "12of13[/]"):
        assert text in shown
    assert "\x1b" not in shown
