import pytest

from benchmarks.replay.tables import OURS, findings


def flat(*means: float) -> list[list[float]]:
    """Six replays with these regrets at 2, 4, 10 and 30, a little apart."""
    return [[mean + 0.001 * seed for mean in means] for seed in range(6)]


GOOD = {
    "random": flat(0.9, 0.8, 0.7, 0.6),
    "tpe+median": flat(0.85, 0.7, 0.6, 0.5),
    OURS: flat(0.5, 0.4, 0.3, 0.2),
}


def test_ranks_put_the_least_regret_first() -> None:
    found = findings({"a": GOOD})
    assert [cell[0] for cell in found["ranks"][OURS]] == [1.0] * 4
    assert [cell[0] for cell in found["ranks"]["random"]] == [3.0] * 4
    assert all(found["first or level"].values())
    assert found["below random"] == []
    assert found["at 10 what the reference has at 30"]["a"] == pytest.approx([0.3025, 0.5025])


def test_a_pair_below_random_is_named() -> None:
    bad = {**GOOD, OURS: flat(0.95, 0.4, 0.3, 0.2)}
    found = findings({"a": GOOD, "b": bad})
    assert found["below random"] == ["b, 2"]
    assert found["pairs"] == 8


def test_one_that_is_behind_by_its_interval_is_not_level() -> None:
    bad = {**GOOD, OURS: flat(0.87, 0.75, 0.3, 0.2)}
    assert findings({"a": bad})["first or level"] == {"2": False, "4": False, "10": True, "30": True}
