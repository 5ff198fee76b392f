"""A small experiment's results."""

from pathlib import Path

import pytest

from results.table_files import add_rows, write_rows
from tests.results.trials import KINDS, trial


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    """Four trials and three reports."""
    for number, score, state in ((0, 0.1, "complete"), (1, 0.3, "complete"), (2, 0.9, "pruned"), (3, None, "failed")):
        write_rows(tmp_path, "trials", number, [trial(number, score, state)], KINDS)
    for number, steps in ((1, 200), (0, 100), (0, 200)):
        rows = [{"trial": number, "update": steps // 100, "steps": steps, "score": None}]
        add_rows(tmp_path, "reports", number, rows)
    return tmp_path
