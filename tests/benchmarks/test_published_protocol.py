"""The published protocol: what it trains and judges, what it refuses, and what its tables say. Nothing is trained here."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.published_protocol import (
    DEFAULT_WEIGHTS,
    PHASES,
    POLICY,
    arguments,
    best_of,
    main,
    phase_table,
    report,
    settings_of,
    verdict,
    weighted_table,
)
from common.errors import UsageError
from tuning.experiment.settings import Settings

LEARNED, EXACT = "MPC: learned forecast", "MPC: exact future"


def given(folder: Path, *options: str) -> list[str]:
    return [str(folder / "data"), "--to", str(folder / "to"), *options]


def row(*scores: float) -> list[dict[str, float]]:
    return [{"cost": score, "emissions": score, "grid": score, "score": score} for score in scores]


def days(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last) + 1)


def test_no_day_that_is_judged_trains_or_validates() -> None:
    ranges = {"1": (120, 365, 0, 120), "2": (0, 120, 120, 240), "3": (0, 240, 240, 365), "3-unseen": (0, 240, 240, 365)}
    for phase in PHASES:
        splits = phase.splits
        seen = {*days(splits.train[0]), *days(splits.validation[0])}
        first, end, judged, judged_end = ranges[phase.name]
        assert seen == set(range(first, end))
        assert [*days(splits.test[0])] == [*range(judged, judged_end)]
        assert len(days(splits.validation[0])) == 7
    assert sum(phase.weight for phase in PHASES) == 1.0
    unseen = next(phase for phase in PHASES if phase.name == "3-unseen").splits
    assert not set(unseen.train_buildings) & set(unseen.test_buildings)
    assert len(unseen.test_buildings) == 10


@pytest.mark.parametrize(
    "option", ["--train 0-364", "--test-buildings Building_1", "--trials 9", "--scheduler median", "--steps 7"]
)
def test_what_the_protocol_states_is_no_option_of_a_run(
    tmp_path: Path, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError, match=f"^--run-options {option.split()[0]}: .* states it itself; leave it out$"):
        settings_of(PHASES[0], arguments(given(tmp_path, "--run-options", option)))
    assert main(given(tmp_path, "--run-options", option)) == 2
    assert not (tmp_path / "to").exists()
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_folder_is_continued_by_the_same_command_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trained: list[str] = []

    def policies(settings: Settings) -> tuple[list[dict[str, float]], float]:
        trained.append(settings.name)
        return row(0.6, 0.7), 60.0

    def controllers(settings: Settings, methods: Any) -> dict[str, Any]:
        if len(trained) == 2:
            raise UsageError("stopped")
        return {LEARNED: row(0.66)}

    monkeypatch.setattr("benchmarks.published_protocol.policies", policies)
    monkeypatch.setattr("benchmarks.published_protocol.controllers", controllers)
    command = given(tmp_path, "--phases", "1", "2", "--seeds", "2")
    assert main(command) == 2
    # What was trained is kept.
    assert json.loads((tmp_path / "to" / "phase-2.json").read_text(encoding="utf-8"))["rows"][POLICY] == row(0.6, 0.7)
    trained.clear()
    assert main(command) == 0
    assert trained == []
    assert "trained on days 120-364" in (tmp_path / "to" / "report.md").read_text(encoding="utf-8")
    assert main([*command, "--steps", "50"]) == 2
    assert "it has --steps 600000, not 50; name another folder" in capsys.readouterr().err


def test_the_best_mpc_with_forecasts_is_the_rival_with_whichever_weights() -> None:
    rows = {"1": {POLICY: row(0.5, 0.5), EXACT: row(0.4), LEARNED: row(0.7), LEARNED + DEFAULT_WEIGHTS: row(0.6)}}
    assert best_of(rows, [1.0], exact=False) == (LEARNED + DEFAULT_WEIGHTS, 0.6)
    assert best_of(rows, [1.0], exact=True) == (EXACT, 0.4)
    rival, exact, part = verdict(rows, [1.0])
    assert rival.startswith(f"policy less {LEARNED}{DEFAULT_WEIGHTS}: -0.1000")
    assert "the policy is better, the interval is without zero" in rival
    assert "the policy is worse" in exact
    assert part.endswith(": 50%")
    uncertain = {"1": {POLICY: row(0.5, 0.7), LEARNED: row(0.6)}}
    assert "no difference is shown" in verdict(uncertain, [1.0])[0]


def test_tables_weigh_the_phases_and_leave_out_the_homes_never_seen() -> None:
    scores = {"1": 0.8, "2": 0.7, "3": 0.6, "3-unseen": 0.1}
    rows = {name: {POLICY: row(score - 0.01, score + 0.01), LEARNED: row(score)} for name, score in scores.items()}
    # .2 x .8 + .3 x .7 + .5 x .6
    assert f"| {LEARNED} | 0.8000 | 0.7000 | 0.6000 | 0.6700 |" in weighted_table({k: rows[k] for k in ("1", "2", "3")})
    table = phase_table(PHASES[0], rows["1"])
    assert f"| {POLICY}, 2 seeds: 0.7900, 0.8100 | 0.8000 | 0.8000 | 0.8000 | 0.8000 (0.7900 to 0.8100) |" in table
    assert "| no control | 1 | 1 | 1 | 1 |" in table
    found: dict[str, dict[str, Any]] = {name: {"rows": own, "seconds": 61.0} for name, own in rows.items()}
    text = report(found)
    assert text.count("training of a policy took 61 s") == 4
    assert "0.6700" in text
    assert "weights of phases" not in report({"1": found["1"]})
