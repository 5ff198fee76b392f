"""The report at the end of a search."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from results import report
from results.table_files import write_rows
from tests.results.trials import KINDS, trial
from tuning.cli.report import draw_report


def drawn(folder: Path) -> str:
    output = io.StringIO()
    draw_report([folder], Console(file=output, width=200))
    return output.getvalue()


def test_its_path_is_printed(tmp_path: Path) -> None:
    write_rows(tmp_path, "trials", 0, [trial(0, None, "failed")], KINDS)
    assert drawn(tmp_path) == f"Report:  {tmp_path / report.NAME}\n"
    assert (tmp_path / report.NAME).is_file()


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
    (line,) = drawn(tmp_path).splitlines()
    assert line == f"no report: {told}; results are whole, and python -m results.report {tmp_path} tries again"


def test_a_folder_without_results_is_told_in_the_same_way(tmp_path: Path) -> None:
    assert drawn(tmp_path).startswith(f"no report: no results in {tmp_path}")
