"""An examination returns the findings that it prints, checks before updates."""

from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from envs.scenarios.scenario import scenario
from envs.scenarios.splits import Splits
from tuning.diagnosis import examination
from tuning.diagnosis.examination import examine
from tuning.diagnosis.settings import DoctorSettings
from tuning.diagnosis.trials import Outcome
from tuning.memory.scenario_sizes import sizes_of

ROW = {
    "steps": 4096, "seconds": 10.0, "environment_seconds": 2.0, "learner_seconds": 5.0, "evaluation_seconds": 1.0,
    "peak_rss_bytes": 10**9, "peak_process_vram_bytes": 0, "device": "cpu",
}  # fmt: skip


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """What was tried, with the hyperparameters that differ from the default; nothing is trained."""
    own: list[tuple[str, dict[str, Any]]] = []

    def attempt(algo: str, planner: Any, backend: str, **given: Any) -> Outcome:
        own.append((algo, given))
        return Outcome(algo, ROW, {"vram": 0, "ram": 10**9})

    monkeypatch.setattr(examination, "try_algorithm", attempt)
    return own


def test_findings_are_returned_as_they_are_printed(
    small_schema: Path, tmp_path: Path, tried: list[tuple[str, dict[str, Any]]]
) -> None:
    out = StringIO()
    settings = DoctorSettings(algo="all", scenario=str(small_schema), dir=str(tmp_path))
    findings = examine(settings, Console(file=out, width=200))
    assert tried == [("sac", {}), ("ppo", {}), ("a2c", {})]
    assert [finding.name for finding in findings][-3:] == ["sac", "ppo", "a2c"]
    places = [out.getvalue().index(f"{finding.name}: {finding.text}") for finding in findings]
    assert places == sorted(places)


def test_stated_splits_are_those_that_are_trained_on(
    four_buildings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planners = []

    def attempt(algo: str, planner: Any, backend: str, **given: Any) -> Outcome:
        planners.append(planner)
        return Outcome(algo, ROW, {"vram": 0, "ram": 10**9})

    monkeypatch.setattr(examination, "try_algorithm", attempt)
    splits = Splits(("0-9", "20-29"), ("10-14",), ("30-34",), ("one", "two"))
    settings = DoctorSettings(algo="ppo", scenario=str(four_buildings), dir=str(tmp_path), **asdict(splits))
    examine(settings, Console(quiet=True))
    (planner,) = planners
    assert planner.settings.splits == splits
    assert planner.sizes == sizes_of(scenario(str(four_buildings), splits=splits), "batch")


def test_switches_are_measured_only_where_asked_for_without_a_card(
    small_schema: Path, tmp_path: Path, tried: list[tuple[str, dict[str, Any]]]
) -> None:
    quiet = Console(quiet=True)
    examine(DoctorSettings(algo="ppo", scenario=str(small_schema), dir=str(tmp_path)), quiet)
    assert len(tried) == 1
    tried.clear()
    examine(DoctorSettings(algo="ppo", scenario=str(small_schema), dir=str(tmp_path), switches=True), quiet)
    assert ("ppo", {"bf16": True}) in tried
