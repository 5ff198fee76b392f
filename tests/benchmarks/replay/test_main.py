"""The command that replays."""

import pytest

from benchmarks.replay.__main__ import Options, main


def test_it_prints_a_row_for_each_searcher(capsys: pytest.CaptureFixture[str]) -> None:
    searchers = ("random", "tpe+median")
    main(Options(("made:0",), seeds=1, searchers=searchers))
    printed = capsys.readouterr().out
    assert all(f"| {name} | " in printed for name in searchers)
