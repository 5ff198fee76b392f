"""What comes back from evaluations in other processes, and figures of a run over its years."""

import math
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from envs.objective.columns import evaluation_columns
from envs.objective.evaluate import ValidityError
from envs.task import SiteTask
from results.table_files import judged_path, read_file, write_file
from tuning.judging import evaluations
from tuning.judging.evaluations import Job, check_agreement, objective_of, run_all


def rows_of(number: int) -> list[dict[str, Any]]:
    return [{**year(10, 0.1, 2.0), "year": number}]


def test_the_years_of_a_run_are_one_file_once_all_are_there(small_ray: None, tmp_path: Path) -> None:
    part, told = judged_path(tmp_path, "a-002", "citylearn"), list[list[dict[str, Any]]]()
    jobs = [Job(part, partial(rows_of, number)) for number in (6, 3)]
    run_all(jobs, told.append, lambda left: None, evaluation_columns())
    assert [row["year"] for row in read_file(part)] == [3, 6]
    assert [sorted(row["year"] for row in rows) for rows in told] == [[3, 6]]


def year(hours: int, score: float, missing: float) -> dict[str, Any]:
    return {
        "contender": "a", "trial": 2, "scenario": "s", "split": "test", "year": hours, "backend": "citylearn", "hours": hours,
        "score": score, "ev_required_kwh": 10.0, "ev_missing_kwh": missing, "uncontrolled_ev_missing_kwh": 2.0,
        "uncontrolled_bill": 3.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "values", "agree"),
    [
        ("citylearn_cost_total", (0.9, 0.9), True),
        ("citylearn_cost_total", (0.9, 0.91), False),
        ("citylearn_cost_total", (math.nan, 0.9), True),
        ("ev_served", (math.nan, 0.9), False),
        ("ev_served", (math.nan, math.nan), True),
        # An hour's net of 1,500 kWh differs by one float32 ulp, and by a thousandth of itself.
        ("changed_kwh", (116.928466796875, 116.9285888671875), True),
        ("changed_kwh", (116.9, 118.4), False),
        # A year of the 2023 challenge, whose temperatures differ in single hours by up to 0.001 C.
        ("unmet_degree_hours", (4.404529571533203, 4.404491424560547), True),
        ("unmet_degree_hours", (4.40, 4.45), False),
        ("outage_discomfort", (0.10, 0.15), True),
        ("outage_discomfort", (0.10, 0.16), False),
        ("citylearn_2023_score", (0.30, 0.3004), True),
        ("citylearn_2023_score", (0.30, 0.302), False),
        ("discomfort", (0.12, 0.1205), True),
        ("discomfort", (0.12, 0.13), False),
        ("peak_kw", (12.0, 12.001), False),
    ],
)
def test_backends_agree_in_ratios_too(tmp_path: Path, name: str, values: tuple[float, float], agree: bool) -> None:
    backends = ("batch", "citylearn")
    parts = [judged_path(tmp_path, "a-002", backend) for backend in backends]
    for part, backend, value in zip(parts, backends, values, strict=True):
        flows = {"import_kwh": 2000.0, "export_kwh": 0.0, "occupied_hours": 700.0, "outage_hours": 20.0}
        row = {**year(10, 0.1, 2.0), **flows, "year": 3, "backend": backend, name: value}
        write_file(part, [row], measures=evaluation_columns())
    with nullcontext() if agree else pytest.raises(ValidityError, match=f"a, year 3: {name} is .* --backend citylearn judges"):
        check_agreement(*parts)


def test_years_of_a_run_count_by_what_they_hold() -> None:
    years = [year(100, 0.1, 2.0), year(300, 0.2, 6.0)]
    assert objective_of(years) == pytest.approx(0.175)
    with pytest.raises(ValidityError, match="a, run 2: a score of nan is no number"):
        objective_of([*years, year(100, math.nan, 2.0)])


@pytest.mark.parametrize("shares", [False, True])
def test_policies_for_single_buildings_are_judged_under_the_bounds_of_the_homes(
    monkeypatch: pytest.MonkeyPatch, shares: bool
) -> None:
    found: list[bool] = []

    @contextmanager
    def policy_of(*_: object, **__: object) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(policy=None, steps=7, shares=shares, on_site=SimpleNamespace(by=lambda backend: judging))

    judging = SimpleNamespace(rate=lambda policy, windows, own_layout: found.append(own_layout) or [])
    experiment = SimpleNamespace(trusting=lambda trusted: None)
    monkeypatch.setattr("tuning.experiment.folder.open_experiment", lambda folder: experiment)
    monkeypatch.setattr("tuning.trial.policy.trained", policy_of)
    assert evaluations._run_rows(SiteTask("iquitos"), Path("folder"), 0, (), "batch", {}) == []
    assert found == [shares]
