"""A year's tables survive a file."""

from dataclasses import fields
from pathlib import Path

import numpy as np

from envs.batch_backend import records
from envs.batch_backend.tables import Tables


def test_a_file_gives_back_what_was_written(small_tables: Tables, tmp_path: Path) -> None:
    small_tables.save(tmp_path / "year.npz")
    read = Tables.load(tmp_path / "year.npz")
    assert (read.names, read.reward) == (small_tables.names, small_tables.reward)
    for group in ("site", "rows"):
        for name, value in getattr(small_tables, group).items():
            for field in value.dtype.names or (...,):
                np.testing.assert_array_equal(getattr(read, group)[name][field], value[field], err_msg=name)
    np.testing.assert_array_equal(read.exogenous.pv_kwh, small_tables.exogenous.pv_kwh)
    np.testing.assert_array_equal(read.sessions.required_kwh, small_tables.sessions.required_kwh)
    assert "template" not in Tables.load(tmp_path / "year.npz", template=False).rows


def test_records_of_a_file_are_aligned_as_the_kernel_expects_them(small_tables: Tables, tmp_path: Path) -> None:
    small_tables.save(tmp_path / "year.npz")
    read = Tables.load(tmp_path / "year.npz")
    assert read.site["battery"].dtype == records.BATTERY
    assert read.site["battery"].dtype.isalignedstruct
    assert read.rows["plugged"].dtype.isalignedstruct


def test_plain_numbers_of_the_year_come_back_as_numbers(small_tables: Tables, tmp_path: Path) -> None:
    small_tables.save(tmp_path / "year.npz")
    read = Tables.load(tmp_path / "year.npz").exogenous
    for field in fields(read):
        value = getattr(small_tables.exogenous, field.name)
        assert type(getattr(read, field.name)) is type(value), field.name
