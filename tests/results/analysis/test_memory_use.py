"""Predicted memory stands beside what was measured."""

from pathlib import Path

import pytest

from results.analysis import memory
from tests.results.made import row, tables


def test_each_kind_of_memory_that_was_predicted_has_a_row(tmp_path: Path) -> None:
    card = {"predicted_vram_bytes": 100, "granted_vram_bytes": 110, "peak_process_vram_bytes": 150}
    refused = row(3, None, "oom", peak_rss_bytes=None)
    trials = [row(0, 0.1), row(1, 0.2, **card, out_of_memory=1), row(2, 0.1, same_as=0), refused]
    found = memory(tables(tmp_path, trials))
    assert found[["trial", "kind"]].to_numpy().tolist() == [[0, "host"], [1, "host"], [1, "card"], [3, "host"]]
    assert found["ratio"].tolist()[:3] == pytest.approx([1.2, 1.2, 1.5])
    assert found["exceeded"].tolist() == [False, False, True, False]
    assert found["out_of_memory"].tolist() == [0, 1, 1, 0]
    assert found["measured_bytes"].isna().tolist() == [False, False, False, True]


def test_without_a_prediction_there_is_no_row(tmp_path: Path) -> None:
    assert memory(tables(tmp_path, [row(0, 0.1, predicted_ram_bytes=None)])).empty
