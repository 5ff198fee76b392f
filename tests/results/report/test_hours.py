"""The hours of a policy as tables."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from results.report import hours as analysis
from results.rollout import table, write
from results.table_files import ResultsError
from tests.results.report.made import hours


def file_of(path: Path, frame: pd.DataFrame) -> Path:
    write(path, table({name: frame[name].to_numpy() for name in frame}, {"trial": "3", "scenario": "made"}))
    return path


def test_a_rollout_is_read_with_its_facts(tmp_path: Path) -> None:
    found = analysis.read(file_of(tmp_path / "a.parquet", hours(2)))
    assert (found.about["trial"], len(found.table)) == ("3", 48)


def test_other_files_are_refused_by_one_line_with_the_remedy(tmp_path: Path) -> None:
    path = file_of(tmp_path / "a.parquet", hours(1))
    pq.write_table(pq.read_table(path).drop_columns(["price"]), tmp_path / "b.parquet")
    (tmp_path / "c.parquet").write_bytes(b"PAR1 no table")
    with pytest.raises(
        ResultsError, match=r"b\.parquet: it lacks the column price: give a file that python -m tuning\.rollout"
    ):
        analysis.read(tmp_path / "b.parquet")
    with pytest.raises(ResultsError, match=r"c\.parquet: .*write it again"):
        analysis.read(tmp_path / "c.parquet")


def test_sums_are_those_of_a_year() -> None:
    total = analysis.sums(hours(10))
    assert total.loc["uncontrolled", "import_kwh"] == pytest.approx(365 * (22 * 2 + 20))
    assert total.loc["policy", "import_kwh"] == pytest.approx(365 * (22 * 2 + 10))
    assert total.loc["policy", "co2_kg"] == pytest.approx(0.5 * total.loc["policy", "import_kwh"])
    assert total["peak_kw"].tolist() == [5.0, 10.0]


def test_the_hardest_week_has_the_highest_uncontrolled_import_and_is_whole() -> None:
    frame = hours(30)
    frame.loc[24 * 15, "uncontrolled_net_kwh"] = 99.0
    week = analysis.hardest_week(frame)
    assert (len(week), week["step"].iloc[0]) == (168, 24 * 14)
    assert len(analysis.hardest_week(hours(3))) == 72


def test_days_that_are_not_whole_are_left_out() -> None:
    daily = analysis.by_day(hours(5).iloc[3:-3])
    assert daily["day"].tolist() == [2, 3, 4]
    assert daily["policy"].tolist() == pytest.approx([54.0] * 3)


def test_the_duration_curve_falls_from_the_highest_hour_to_the_lowest() -> None:
    curve = analysis.duration_curve(hours(20))
    assert (curve["policy"].iloc[0], curve["policy"].iloc[-1], curve["share"].iloc[-1]) == (5.0, 2.0, 1.0)
    assert (np.diff(curve["policy"]) <= 0).all()
    assert len(curve) <= 200


def test_months_have_their_cost_and_the_mean_day_its_hours() -> None:
    monthly = analysis.by_month(hours())
    assert monthly["saved"].tolist() == pytest.approx([31 * 10 * 0.1, 31 * 10 * 0.2])
    assert analysis.by_hour(hours())["battery_kwh"].tolist() == pytest.approx(
        [-5.0 if 18 <= hour < 20 else 0.0 for hour in range(24)]
    )
    change = analysis.by_month_and_hour(hours())
    assert len(change) == 48
    assert change["change_kw"].min() == -5.0
