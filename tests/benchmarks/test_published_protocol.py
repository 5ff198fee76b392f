"""The published protocol: which days judge, and what its tables say. Nothing is trained here."""

from typing import Any

from benchmarks.published_protocol import (
    DEFAULT_WEIGHTS,
    PHASES,
    POLICY,
    best_of,
    phase_table,
    report,
    verdict,
    weighted_table,
)

LEARNED, EXACT = "MPC: learned forecast", "MPC: exact future"


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
