"""A view fits its terminal and cuts nothing; what is printed or logged meanwhile stands above it."""

import io
import logging
import sys
from dataclasses import replace

import pytest
from rich.console import Console
from rich.segment import ControlType

from results.live import LiveSearch, LiveTrial
from results.live_view import BETWEEN, LiveRegion, LiveView, say, sparkline, texts
from tests.results.searches import SEARCH, search

LONG = search(
    experiment="a-name-of-many-letters-" * 5,
    best="peak_kw 1,234,567.8 kW (trial 1234)",
    trials=tuple(LiveTrial(1230 + n, "continuing", 99_000_000 + n, "misses a requirement") for n in range(12)),
    most_steps=100_000_000,
)


def lines(view: LiveView, width: int, encoding: str = "utf-8") -> list[str]:
    console = Console(file=io.TextIOWrapper(io.BytesIO(), encoding), width=width, height=30)
    return ["".join(segment.text for segment in line).rstrip() for line in console.render_lines(view)]


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("shown", [SEARCH, LONG, search(trials=(), best="", curve=(), machine=(), left=None)])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_a_view_is_no_wider_than_its_terminal_and_cuts_nothing(width: int, shown: LiveSearch, encoding: str) -> None:
    told = lines(LiveView(shown, "no sign of life for 0:01:00"), width, encoding)
    assert max(map(len, told)) <= width
    text = "".join("".join(told).split())
    assert shown.experiment in "".join(line.partition("  ")[0] for line in told)
    for part in (*shown.amounts, *shown.machine, "no sign of life for 0:01:00", f"{shown.done:.0%}"):
        assert "".join(part.split()) in text
    for own in shown.trials[:8]:
        (line,) = (line for line in told if line.split()[:1] == [str(own.number)])
        assert line.split()[1:3] == [own.state, f"{own.steps:,}"]
        assert line.endswith(own.rating or "%")
    assert ("and 4 more" in told) == (len(shown.trials) == 12)
    assert encoding != "ascii" or text.isascii()


def test_a_terminal_breaks_a_sentence_between_words_and_no_command_or_path() -> None:
    output = io.StringIO()
    console = Console(file=output, width=30, force_terminal=True)
    say(console, "75% of 32,768 steps | 1,240 steps/s | 0:10 left")
    say(console, "Report: /data/experiments/one of mine/report.html")
    assert [line.rstrip() for line in output.getvalue().splitlines()] == [
        "75% of 32,768 steps | 1,240", "steps/s | 0:10 left", "Report: /data/experiments/one of mine/report.html"
    ]  # fmt: skip


def test_columns_of_trials_line_up() -> None:
    told = lines(LiveView(SEARCH), 60)
    head = next(line for line in told if line.startswith("trial  state"))
    rows = [line for line in told if line.split()[0] in ("3", "11")]
    assert {line.index("%") for line in rows} == {rows[0].index("%")}
    assert rows[0].index("training") == rows[1].index("starting") == head.index("state")
    assert len(rows[0]) == len(head)


def test_a_log_has_the_same_in_one_line() -> None:
    assert BETWEEN.join(texts(SEARCH)) == (
        "42% of 1,000,000 steps | 5 trials (3 frozen) | 2 running | best +0.0656 (trial 3) | 0:00:17 left"
    )
    shorter = replace(SEARCH, amounts=SEARCH.amounts[:1])
    assert BETWEEN.join(texts(shorter)) == (
        "42% of 1,000,000 steps | 2 running | best +0.0656 (trial 3) | 14,500 steps/s | 0:00:17 left"
    )
    assert BETWEEN.join(texts(replace(SEARCH, phase="stopped", amounts=()))) == "best +0.0656 (trial 3) | 14,500 steps/s"


def test_a_sparkline_rises_with_the_best_over_time() -> None:
    assert sparkline([(5.0, -1.0), (10.0, 1.0)], 20.0, 4, "01234567") == "0777"
    assert sparkline([(6.0, -1.0), (10.0, 0.0), (20.0, 1.0)], 20.0, 4, "01234567") == " 447"
    assert sparkline([(0.0, 0.3)], 20.0, 4, "01234567") == "0000"
    assert sparkline([], 20.0, 4) == ""


def terminal(width: int) -> tuple[Console, io.StringIO]:
    output = io.StringIO()
    console = Console(
        file=output, force_terminal=True, width=width, height=30, legacy_windows=False, _environ={"TERM": "xterm"}
    )
    return console, output


def test_after_a_terminal_was_made_narrower_all_rows_of_the_last_view_are_removed() -> None:
    console, _ = terminal(120)
    region = LiveRegion(console)
    region.start()
    region.show(LiveView(SEARCH))
    widths = region._live_render._widths  # type: ignore[attr-defined]

    def removed() -> int:
        codes = region._live_render.position_cursor().segment.control or ()
        return 1 + sum(code[0] == ControlType.CURSOR_UP for code in codes)

    assert removed() == len(widths) > 5
    console.width = 40
    assert removed() == sum(-(-width // 40) for width in widths) > len(widths)
    region.stop()


def test_what_is_logged_meanwhile_stands_above_the_view(capsys: pytest.CaptureFixture[str]) -> None:
    handler = logging.StreamHandler(sys.stderr)
    own = logging.getLogger("test.live")
    own.addHandler(handler)
    before = handler.stream
    console, output = terminal(60)
    region = LiveRegion(console)
    region.start()
    try:
        region.show(LiveView(SEARCH))
        own.warning("a warning")
        print("printed")
    finally:
        region.stop()
        own.removeHandler(handler)
    assert handler.stream is before
    assert capsys.readouterr().err == ""
    text = output.getvalue()
    for line in ("a warning", "printed"):
        # Whole, from the first column on, after what removes the view.
        assert f"\x1b[2K{line}" in text
    assert text.endswith("\x1b[?25h") or "\x1b[?25h" in text[-400:]
