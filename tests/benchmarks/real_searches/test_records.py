"""Finished cells stand in Parquet, whole and bit by bit, under equal terms."""

import random
from pathlib import Path

from benchmarks.real_searches.records import Cell, Records, Winner, missing


def winner(seed: int = 0) -> Winner:
    numbers = random.Random(seed)
    drawn = {"learning_rate": numbers.random(), "n_steps": 512, "max_grad_norm": None, "shared_policy": True, "name": "tanh"}
    return Winner("ours", drawn, 150_003, 250_000, numbers.random(), 20, 80, 2_000_000, 1.5)


def row(cell: Cell, found: Winner) -> dict[str, object]:
    return {"site": cell.site, "method": cell.method, "seed": cell.seed, **found.to_row(), "seconds": 3.0}


def test_a_winner_is_read_as_it_was_written_bit_by_bit(tmp_path: Path) -> None:
    records = Records(tmp_path)
    for seed in range(20):
        records.add("cells", row(Cell("a", "ours", seed), winner(seed)))
    assert [Winner.from_row(own) for own in records.rows("cells")] == [winner(seed) for seed in range(20)]


def test_a_row_with_the_same_key_is_replaced_and_others_stay(tmp_path: Path) -> None:
    records = Records(tmp_path)
    for cell, seed in ((Cell("a", "ours", 0), 0), (Cell("b", "ours", 0), 1), (Cell("a", "ours", 0), 2)):
        records.add("cells", row(cell, winner(seed)))
    assert [(own["site"], Winner.from_row(own)) for own in records.rows("cells")] == [("b", winner(1)), ("a", winner(2))]


def test_only_cells_without_a_row_are_missing(tmp_path: Path) -> None:
    records, cells = Records(tmp_path), [Cell("a", "ours", 0), Cell("a", "sb3", 0), Cell("a", "ours", 1)]
    records.add("cells", row(cells[1], winner()))
    assert missing(cells, records.rows("cells")) == [cells[0], cells[2]]
