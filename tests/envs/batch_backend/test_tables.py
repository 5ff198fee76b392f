"""A year's tables survive a file."""

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from common.errors import ScenarioError
from envs.batch_backend import records
from envs.batch_backend.simulator import BatchSimulator
from envs.batch_backend.tables import Tables, Year, allocate, row_arrays, site_arrays
from tests.envs.objective import by_hand


@pytest.fixture
def year(small_tables: Tables) -> Year:
    return Year(small_tables, small_tables.rows["template"])


def test_a_file_gives_back_what_was_written_as_the_kernel_expects_it(small_tables: Tables, tmp_path: Path) -> None:
    small_tables.save(tmp_path / "year.npz")
    read = Tables.load(tmp_path / "year.npz")
    assert (read.names, read.reward) == (small_tables.names, small_tables.reward)
    for group in ("site", "rows"):
        for name, value in getattr(small_tables, group).items():
            # Also whether records are aligned: numba would compile everything twice.
            assert getattr(read, group)[name].dtype.isalignedstruct == value.dtype.isalignedstruct, name
            for field in value.dtype.names or (...,):
                np.testing.assert_array_equal(getattr(read, group)[name][field], value[field], err_msg=name)
    np.testing.assert_array_equal(read.exogenous.pv_kwh, small_tables.exogenous.pv_kwh)
    np.testing.assert_array_equal(read.sessions.required_kwh, small_tables.sessions.required_kwh)
    for field in fields(read.exogenous):
        assert type(getattr(read.exogenous, field.name)) is type(getattr(small_tables.exogenous, field.name)), field.name
    assert "template" not in Tables.load(tmp_path / "year.npz", template=False).rows


def test_years_of_different_sites_cannot_share_a_batch(small_tables: Tables, year: Year) -> None:
    battery = small_tables.site["battery"].copy()
    battery["capacity"] *= 2.0
    other = replace(small_tables, site=small_tables.site | {"battery": battery})
    with pytest.raises(ScenarioError, match="differ in their devices"):
        BatchSimulator({0: year, 1: replace(year, tables=other)}, 2)


def test_years_of_different_tariffs_cannot_share_a_batch(year: Year) -> None:
    other = replace(year, reference=by_hand.reference(tariff=by_hand.TARIFF))
    with pytest.raises(ScenarioError, match="differ in their devices or tariff"):
        site_arrays([year, other], None)


def test_a_second_years_rows_follow_the_first_ones(small_tables: Tables, year: Year) -> None:
    one, two = row_arrays((year,)), row_arrays((year, year))
    rows, plugged = len(small_tables.exogenous.hour), len(small_tables.rows["plugged"])
    assert len(two.hour) == 2 * rows + 1
    second = two.hour[rows : 2 * rows]
    assert set(second["year"].tolist()) == {1}
    assert np.array_equal(second["first_plugged"], one.hour["first_plugged"][:rows] + plugged)
    assert two.hour["first_plugged"][-1] == 2 * plugged
    assert np.array_equal(two.session["start"][len(one.session) :], one.session["start"] + rows)


def test_a_batch_changes_no_tables(small_tables: Tables, year: Year) -> None:
    """Tables are shared by all simulators of a process."""
    site = site_arrays([year], None)
    site.battery["capacity"] = 0.0
    assert small_tables.site["battery"]["capacity"].all()


def test_simulators_of_the_same_years_share_their_rows(year: Year) -> None:
    first, second = (BatchSimulator({0: year}, copies=copies) for copies in (1, 3))
    assert first._rows is second._rows
    assert BatchSimulator({0: replace(year)}, copies=1)._rows is not first._rows


def test_sessions_are_recorded_on_demand(small_tables: Tables, year: Year) -> None:
    site, rows = site_arrays([year], None), row_arrays((year,))
    sessions, hours = small_tables.sessions, len(rows.hour) - 1
    at_once = max(((sessions.end >= row) & (sessions.start < row + 24)).sum() for row in range(hours))
    for record, copies, least, most in (
        (0, 0, len(sessions.end), len(sessions.end)), (hours, 3, len(sessions.end), len(sessions.end)),
        (24, 3, at_once, len(sessions.end) // 10),
    ):  # fmt: skip
        _, out = allocate(site, rows, 3, record)
        assert out.session_owed.shape == out.session_missing.shape
        assert out.session_missing.shape[0] == copies
        assert least <= out.session_missing.shape[1] <= most
        assert out.energy.shape == (3, 1, records.APPLIANCE_KWH + 1)
