"""Sentences about cost, time and memory."""

import pandas as pd

from results.report.figures import spending


def board(ratings: list[float], seconds: list[float]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "trial": range(len(ratings)), "rating": ratings, "seconds": seconds, "state": "complete", "peak_rss_bytes": 2.0**30,
            "peak_process_vram_bytes": 0, "is_best": [place == 0 for place in range(len(ratings))],
        }
    )  # fmt: skip


def test_a_cheaper_trial_that_is_nearly_as_good_is_named() -> None:
    assert spending.cost(board([0.2, 0.199, 0.1], [100.0, 25.0, 1.0])).answer == (
        "Trial 1 has +0.199 after 25 s, 25.0 % of the time of the best, trial 0 with +0.200."
    )
    assert (
        spending.cost(board([0.2, 0.1], [100.0, 1.0])).answer
        == "None: no other trial comes within 5.0 % of trial 0 with +0.200."
    )
    assert spending.cost(board([0.2, 0.199], [1.0, 9.0])).answer.endswith("of trial 0 took longer.")
    assert spending.cost(board([0.2], [1.0])).answer == "It cannot be said from 1 rated trial."


def test_slots_and_the_greatest_part_of_the_time_are_said() -> None:
    begin = pd.to_datetime(["2026-01-01 00:00", "2026-01-01 00:05"], utc=True)
    line = pd.DataFrame(
        {
            "trial": [0, 1], "host": "a", "device": "cpu", "slot": 0, "begin": begin, "end": begin + pd.Timedelta(minutes=4),
            "seconds": 240.0, "state": "complete", "role": "search",
        }
    )  # fmt: skip
    spent = pd.DataFrame({"trial": [0, 0], "state": "complete", "cause": ["learner", "rest"], "seconds": [3.0, 1.0]})
    assert spending.timeline(line, spent).answer == (
        "1 slot for trials worked 88.9 % of 9 min from first to last report; learning took 75.0 % of it."
    )
    assert spending.timeline(line.head(0), spent).answer == "It cannot be said: no trial has reported."


def test_a_trial_that_pauses_counts_whole_for_how_it_ended() -> None:
    begin = pd.to_datetime(["2026-01-01 00:00", "2026-01-01 00:05", "2026-01-01 00:10"], utc=True)
    line = pd.DataFrame(
        {
            "trial": [0, 1, 0], "host": "a", "device": "cpu", "slot": 0, "begin": begin, "end": begin + pd.Timedelta(minutes=4),
            "seconds": 240.0, "state": ["frozen", "frozen", "complete"], "role": "search",
        }
    )  # fmt: skip
    made = spending.timeline(line, pd.DataFrame({"trial": [0], "state": "complete", "cause": ["learner"], "seconds": [3.0]}))
    blocks = made.panels[0].spec["layer"][0]["data"]["values"]
    assert sum(block["stop"] - block["start"] for block in blocks if block["ended"] == "complete") == 8.0
    assert "1 trial paused, and has several blocks." in made.note


def test_measured_memory_is_said_beside_the_predicted_one() -> None:
    found = pd.DataFrame(
        {
            "trial": [0, 1, 2], "state": "complete", "kind": "host", "predicted_bytes": 1e9, "granted_bytes": 2e9,
            "measured_bytes": [1e9, 1.2e9, 3e9], "ratio": [1.0, 1.2, 3.0], "exceeded": [False, False, True],
            "out_of_memory": [0, 0, 2],
        }
    )  # fmt: skip
    assert spending.memory(found).answer == (
        "Trials took 1.20 times the predicted host memory (median of 3), and 1 exceeded what it was granted; "
        "memory ran out 2 times."
    )
    assert spending.memory(found.head(0)).answer == "It cannot be said: no memory was measured."
