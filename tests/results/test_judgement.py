"""Tables of cases computed by hand."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from common.measure import Measure, Scale
from envs.objective.columns import measures
from results.judgement import (
    BOUND,
    JUDGEMENT_VERSION,
    Ranking,
    cells,
    headings,
    judgement,
    metrics,
    metrics_of,
    per_run,
    scales,
    to_markdown,
    write_table,
    written_table,
)
from results.table_files import ResultsError
from tests.results.judged_rows import judged_frame, judged_row


def row(contender: str, year: int, score: float, seed: int | None = None, **given: Any) -> dict[str, Any]:
    return judged_row(contender, score, seed, year=year, **given)


def frame(*rows: dict[str, Any]) -> pd.DataFrame:
    return judged_frame(rows)


def known(table: pd.DataFrame) -> tuple[dict[str, Measure], dict[str, Scale]]:
    return metrics_of(table), scales(table, metrics_of(table))


MEASURES = measures()
BOUNDS = (row(BOUND, 3, 0.10), row(BOUND, 6, 0.30, hours=300))


def test_years_count_by_what_they_hold() -> None:
    second = row(
        "a", 6, 0.2, 1, hours=300, co2_kg=40.0, uncontrolled_co2_kg=75.0, pv_kwh=120.0, self_consumption=0.9, peak_kw=7.0
    )
    found = per_run(frame(*BOUNDS, row("a", 3, 0.1, 1), second), MEASURES).set_index("contender").loc["a"]
    assert found["score"] == pytest.approx((0.1 * 100 + 0.2 * 300) / 400)
    assert found["bound_share"] == pytest.approx((0.1 * 100 + 0.2 * 300) / (0.1 * 100 + 0.3 * 300))
    assert found["co2_change"] == pytest.approx(60.0 / 100.0 - 1.0)
    assert found["self_consumption"] == pytest.approx((20.0 + 108.0) / 160.0)
    assert found["peak_kw"] == 7.0


def test_amounts_are_those_of_a_year_for_any_number_of_hours() -> None:
    whole = [row("whole", year, 0.1, 1, hours=8760, co2_kg=co2) for year, co2 in ((3, 10.0), (6, 20.1), (7, 0.2))]
    part = row("part", 3, 0.1, 1, hours=1680, import_kwh=168.0, co2_kg=16.8, bill=1.68)
    found = per_run(frame(*whole, part), MEASURES).set_index("contender")
    assert found.loc["whole", "co2_kg"] == pytest.approx((10.0 + 20.1 + 0.2) / 3)
    assert list(found.loc["part", ["import_kwh", "co2_kg", "bill"]]) == pytest.approx([876.0, 87.6, 8.76])
    assert all("as a year of 8,760 h" in metrics(MEASURES)[name].meaning for name in ("import_kwh", "co2_kg", "bill"))


def test_bounds_change_the_uncontrolled_site_of_their_years() -> None:
    none = {"uncontrolled_co2_kg": float("nan"), "uncontrolled_bill": float("nan")}
    limit = [row("bound of co2", year, 0.1, co2_kg=co2, bill=6.0, **none) for year, co2 in ((3, 10.0), (6, 20.0))]
    runs = [row("a", year, 0.05, 1, uncontrolled_co2_kg=co2) for year, co2 in ((3, 20.0), (6, 40.0))]
    found = per_run(frame(*limit, *runs), MEASURES).set_index("contender").loc["bound of co2"]
    assert found["co2_change"] == pytest.approx(-0.5)
    assert found["bill_change"] == pytest.approx(-0.4)


def test_vehicles_count_by_what_can_be_served() -> None:
    table = judgement(frame(*BOUNDS, row("all that can be", 3, 0.05, 1), row("less", 3, 0.09, 1, ev_served=0.72)), MEASURES)
    table = table.set_index("contender")
    assert table.loc["all that can be", "served"] == pytest.approx(1.0)
    assert table.loc["less", "served"] == pytest.approx(0.9)
    assert list(table["comparable"])[:2] == [True, False]
    # However good its score, it comes after those that serve.
    assert list(table.index)[:2] == ["all that can be", "less"]
    assert "not comparable" in cells(table.reset_index().iloc[1], *known(table))[0]


def test_a_site_without_vehicles_can_be_compared() -> None:
    none = {"ev_required_kwh": 0.0, "uncontrolled_ev_required_kwh": 0.0}
    table = judgement(frame(*BOUNDS, row("a", 3, 0.05, 1, **none)), MEASURES)
    assert table.iloc[0]["comparable"]
    assert cells(table.iloc[0], *known(table))[-1] == ""


def test_citylearns_numbers_count_where_both_judged() -> None:
    found = per_run(frame(*BOUNDS, row("a", 3, 0.05, 1), row("a", 3, 0.06, 1, backend="citylearn")), MEASURES).set_index(
        "contender"
    )
    assert found.loc["a", "score"] == 0.06
    assert found.loc["a", "backend"] == "citylearn"


def test_runs_make_an_interval_and_one_makes_none() -> None:
    runs = [row("a", 3, score, seed) for seed, score in enumerate((0.04, 0.05, 0.06, 0.07, 0.2))]
    table = judgement(frame(*BOUNDS, *runs, row("rule", 3, 0.03)), MEASURES).set_index("contender")
    own = table.loc["a"]
    assert own["runs"] == 5
    # Deviation .0657; Student's 97.5 % point with four degrees of freedom is 2.77645.
    assert own["score"] == pytest.approx(0.084)
    half = 2.7764451 * np.std([0.04, 0.05, 0.06, 0.07, 0.2], ddof=1) / np.sqrt(5.0)
    assert (own["score_low"], own["score_high"]) == pytest.approx((0.084 - half, 0.084 + half))
    assert pd.isna(table.loc["rule", "score_low"])


def test_what_has_no_score_has_no_share_of_the_bound() -> None:
    table = judgement(frame(*BOUNDS, row("no PV, no battery", 3, float("nan"))), MEASURES).set_index("contender")
    assert pd.isna(table.loc["no PV, no battery", "bound_share"])
    assert table.loc[BOUND, "bound_share"] == pytest.approx(1.0)


def test_contenders_come_first_then_baselines_then_bounds() -> None:
    table = judgement(frame(*BOUNDS, row("rule", 3, 0.09), row("a", 3, 0.05, 1), row("b", 3, 0.06, 1)), MEASURES)
    assert list(table["contender"]) == ["b", "a", "rule", BOUND]


def test_the_table_is_written_in_both_forms(tmp_path: Path) -> None:
    table = judgement(frame(*BOUNDS, row("a", 3, 0.05, 1), row("a", 3, 0.06, 2)), MEASURES)
    lines = to_markdown(table).splitlines()
    assert len(lines) == 2 + len(table)
    assert {line.count("|") for line in lines} == {len(headings(*known(table))) + 1}
    # Of two runs little is known: half the width is 12.7 times the error of the mean.
    assert {"score", "of bound", "import, kWh", "CO2, kg"} <= {cell.strip() for cell in lines[0].split("|")}
    assert "| a | 2 | +0.0550 (-0.0085 to +0.1185) |" in lines[2]
    write_table(tmp_path / "table.parquet", table, {"scenario": "small"})
    found = pq.read_table(tmp_path / "table.parquet")
    assert found.schema.metadata[b"scenario"] == b"small"
    assert found.schema.field("co2_kg_low").metadata[b"unit"] == b"kg"
    read, about = written_table(tmp_path / "table.parquet")
    assert about["scenario"] == "small"
    pd.testing.assert_frame_equal(read, table)
    # What the site does not have, as comfort where no temperature is computed, is no column for people.
    shown = {name: own for name, own in metrics(MEASURES).items() if not own.needs or table[name].notna().any()}
    assert metrics_of(read) == metrics_of(table) == shown
    assert len(metrics(MEASURES)) > len(shown) > 5
    # Nor is an amount that is 0 for all.
    cool, warm = (judgement(frame(row("a", 3, 0.1, unmet_degree_hours=hours)), MEASURES) for hours in (0.0, 5.0))
    assert ["unmet_degree_hours" in metrics_of(one) for one in (cool, warm)] == [False, True]


OF_TODAY = {b"schema_version": str(JUDGEMENT_VERSION).encode()}


def written(folder: Path) -> tuple[Path, pa.Table]:
    table = judgement(frame(row("a", 3, 0.05, 1), row("uncontrolled", 3, 0.0)), MEASURES)
    return folder / "judgement.parquet", pa.Table.from_pandas(table)


@pytest.mark.parametrize("pandas", [b"{}", b"[]", b"nothing"])
def test_what_pandas_wrote_beside_the_columns_is_not_read(tmp_path: Path, pandas: bytes) -> None:
    path, table = written(tmp_path)
    pq.write_table(table.replace_schema_metadata({**OF_TODAY, b"pandas": pandas}), path)
    assert written_table(path)[0]["contender"].tolist() == ["a", "uncontrolled"]


def test_a_table_with_a_column_twice_is_told_in_a_line(tmp_path: Path) -> None:
    path, table = written(tmp_path)
    pq.write_table(table.append_column("score", table["score"]).replace_schema_metadata(OF_TODAY), path)
    with pytest.raises(ResultsError, match="Multiple matches") as refused:
        written_table(path)
    assert "__fragment_index" not in str(refused.value)


def test_a_table_of_another_version_is_not_read(tmp_path: Path) -> None:
    path, table = written(tmp_path)
    pq.write_table(table.replace_schema_metadata({b"schema_version": b"99"}), path)
    with pytest.raises(ResultsError, match=f"it has the version 99, not {JUDGEMENT_VERSION}: the judge writes it anew"):
        written_table(path)


def by_peak(years: Sequence[Mapping[str, Any]]) -> tuple[float, float, float]:
    peak = max(float(year["peak_kw"]) for year in years)
    return peak, -peak, max(0.0, (peak - 6.0) / 6.0)


def test_with_a_ranking_the_objective_orders_and_requirements_decide_who_is_comparable() -> None:
    ranking = Ranking(MEASURES["peak_kw"], by_peak, "peak_kw <= 6")
    runs = [row(name, 3, score, seed, peak_kw=peak) for seed in (1, 2)
            for name, score, peak in (("high", 0.3, 9.0), ("low", 0.1, 4.0), ("middle", 0.2, 5.0))]  # fmt: skip
    table = judgement(frame(*BOUNDS, *runs), MEASURES, ranking).set_index("contender")
    assert list(table.index) == ["low", "middle", "high", BOUND]
    assert table["comparable"].tolist() == [True, True, False, True]
    assert table.loc["low", ["objective", "goal"]].tolist() == [4.0, -4.0]
    text = to_markdown(table.reset_index(), ranking).splitlines()
    assert text[0].startswith("|  | runs | peak, kW, less is better | score |")
    emission = to_markdown(table.reset_index(), Ranking(MEASURES["co2_kg"], by_peak, ""))
    assert emission.startswith("|  | runs | CO2, kg, less is better | score |")  # as in the other tables
    assert text[2].startswith("| low | 2 | 4.00 (4.00 to 4.00) | +0.1000")
    # What has no score is another site: its objective ranks nothing.
    other = row("no PV, no battery", 3, float("nan"), peak_kw=1.0)
    ranked = judgement(frame(*BOUNDS, *runs, other), MEASURES, ranking).set_index("contender")
    assert ranked["goal"].notna().tolist() == [True, True, True, False, False]
    # Without one, the score orders, and there is no such column.
    plain = judgement(frame(*BOUNDS, *runs), MEASURES)
    assert plain["contender"].tolist()[:3] == ["high", "middle", "low"]
    assert not {"objective", "goal", "meets"} & set(plain)
