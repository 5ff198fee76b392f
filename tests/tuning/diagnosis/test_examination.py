"""An examination, with updates that are not real but for one."""

from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from envs.scenarios.splits import Splits
from envs.task import SiteTask
from search_spaces import Assignment
from tests.tuning.roomy import planner
from tuning.diagnosis import examination
from tuning.diagnosis.checks import Finding
from tuning.diagnosis.examination import Outcome, compare_devices, examine, try_algorithm, try_switches
from tuning.diagnosis.settings import DoctorSettings
from tuning.experiment.settings import Settings
from tuning.memory.prediction import sizes_of

SETTINGS = Settings(backend="batch", steps=4096)


def row(seconds: float = 10.0, learner: float = 5.0, **values: Any) -> dict[str, Any]:
    return {
        "steps": 4096, "seconds": seconds, "environment_seconds": 2.0, "learner_seconds": learner, "evaluation_seconds": 1.0,
        "peak_rss_bytes": 10**9, "peak_process_vram_bytes": 0, "device": "cpu", **values,
    }  # fmt: skip


def outcome(**values: Any) -> Outcome:
    return Outcome("ppo", row(**values), {"vram": 0, "ram": 10**9})


def test_a_prediction_that_is_far_off_is_a_note() -> None:
    assert outcome().finding().status == "ok"
    assert outcome(peak_rss_bytes=14 * 10**8).finding().status == "note"


def test_the_hyperparameters_of_a_step_are_the_default_ones_but_for_what_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Assignment] = []
    monkeypatch.setattr(examination, "run_train", lambda h, plan: asked.append(h) or row())
    for given in ({}, {"bf16": True}):
        try_algorithm(planner(SETTINGS, tmp_path), **given)
    assert {name for name in asked[0] if asked[0][name] != asked[1][name]} == {"bf16"}


def test_switches_are_compared_with_the_run_without_them() -> None:
    def attempt(**given: Any) -> Outcome:
        if given.get("cuda_graphs") is False:
            return Outcome("ppo", None, {"vram": 0, "ram": 0}, "needs a GPU")
        return outcome(learner=2.5 if given.get("bf16") else 5.2)

    assert "ppo, no CUDA graphs" not in {finding.name for finding in try_switches(outcome(), attempt)}
    found = {finding.name: finding.text for finding in try_switches(outcome(device="cuda"), attempt)}
    assert "2.00 times as fast" in found["ppo, bfloat16"]
    assert "pays: --set bf16=true" in found["ppo, bfloat16"]
    assert "does not pay" in found["ppo, TF32"]
    assert "does not run here: needs a GPU" in found["ppo, no CUDA graphs"]


def test_where_the_cpu_wins_it_is_said() -> None:
    slower = compare_devices(outcome(seconds=20.0), outcome())
    assert "0.50 times" in slower.text
    assert "the CPU wins" in slower.text
    assert "the CPU wins" not in compare_devices(outcome(seconds=5.0), outcome()).text


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any, dict[str, Any]]]:
    """What was tried, by which planner, with the hyperparameters that differ from the default; nothing is trained."""
    own: list[tuple[str, Any, dict[str, Any]]] = []

    def attempt(planner: Any, **given: Any) -> Outcome:
        own.append((planner.settings.algo, planner, given))
        return Outcome(planner.settings.algo, row(), {"vram": 0, "ram": 10**9})

    monkeypatch.setattr(examination, "try_algorithm", attempt)
    return own


def test_findings_are_returned_as_they_are_printed(
    small_schema: Path, tmp_path: Path, tried: list[tuple[str, Any, dict[str, Any]]]
) -> None:
    out = StringIO()
    settings = DoctorSettings(algo="all", scenario=str(small_schema), dir=str(tmp_path))
    findings = examine(settings, Console(file=out, width=200))
    assert [(algo, given) for algo, _, given in tried] == [("sac", {}), ("ppo", {}), ("a2c", {})]
    assert [finding.name for finding in findings][-3:] == ["sac", "ppo", "a2c"]
    places = [out.getvalue().index(f"{finding.name}: {finding.text}") for finding in findings]
    assert places == sorted(places)


def test_on_a_terminal_a_finding_breaks_between_words_and_its_status_counts() -> None:
    out = StringIO()
    text = "4,308 steps in 130.9 s on cpu (environment 5%, learner 3%); host memory 2.28 GiB"
    examination._print(Console(file=out, width=40, force_terminal=True, color_system=None), Finding("sac", "note", text))
    lines = out.getvalue().splitlines()
    assert lines[0].startswith("note  sac: 4,308 steps")
    assert max(map(len, lines)) <= 40


def test_stated_splits_are_those_that_are_trained_on(
    four_buildings: Path, tmp_path: Path, tried: list[tuple[str, Any, dict[str, Any]]]
) -> None:
    splits = Splits(("0-9", "20-29"), ("10-14",), ("30-34",), ("one", "two"))
    settings = DoctorSettings(algo="ppo", scenario=str(four_buildings), dir=str(tmp_path), **asdict(splits))
    examine(settings, Console(quiet=True))
    ((_, planner, _),) = tried
    assert planner.settings.splits == splits
    assert planner.sizes == sizes_of(SiteTask(str(four_buildings), splits=splits))


def test_switches_are_measured_only_where_asked_for_without_a_card(
    small_schema: Path, tmp_path: Path, tried: list[tuple[str, Any, dict[str, Any]]]
) -> None:
    quiet = Console(quiet=True)
    examine(DoctorSettings(algo="ppo", scenario=str(small_schema), dir=str(tmp_path)), quiet)
    assert len(tried) == 1
    tried.clear()
    examine(DoctorSettings(algo="ppo", scenario=str(small_schema), dir=str(tmp_path), switches=True), quiet)
    assert {"bf16": True} in [given for _, _, given in tried]
