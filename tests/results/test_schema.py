"""Columns have types, units and meanings, and none twice."""

import pyarrow as pa
import pytest

from common.measure import SCORE, Measure
from results.schema import SCHEMA_VERSION, TABLES, measures_of, schema
from tests.results.trials import KINDS


@pytest.mark.parametrize("table", TABLES)
def test_every_column_has_a_unit_and_a_meaning(table: str) -> None:
    columns = schema(table, KINDS if table == "trials" else None)
    assert columns.metadata[b"schema_version"] == str(SCHEMA_VERSION).encode()
    for field in columns:
        assert b"unit" in field.metadata
        assert field.metadata[b"meaning"]


def test_hyperparameters_are_columns_of_what_was_given_and_what_was_used() -> None:
    found = schema("trials", {"gamma": float, "batch_size": int})
    assert found.names[-4:] == ["hp_gamma", "hp_batch_size", "used_gamma", "used_batch_size"]
    assert found.field("used_batch_size").type == pa.int64()


def test_measures_follow_the_tables_own_columns() -> None:
    measure = Measure("co2", "kg", "emission", label="CO2")
    found = schema("evaluations", measures={"co2": measure})
    assert found.names == [*schema("evaluations").names, "co2"]
    assert measures_of(found) == {"score": SCORE, "co2": measure}


def test_a_measure_that_has_the_name_of_a_column_is_refused() -> None:
    with pytest.raises(ValueError, match="evaluations has columns score of its own"):
        schema("evaluations", measures={"score": SCORE})
