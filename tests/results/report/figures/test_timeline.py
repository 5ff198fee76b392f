"""Where the time went."""

import pandas as pd

from results.report.figures.timeline import timeline


def test_slots_and_the_greatest_part_of_the_time_are_said() -> None:
    begin = pd.to_datetime(["2026-01-01 00:00", "2026-01-01 00:05"], utc=True)
    line = pd.DataFrame(
        {
            "trial": [0, 1], "host": "a", "device": "cpu", "slot": 0, "begin": begin, "end": begin + pd.Timedelta(minutes=4),
            "seconds": 240.0, "state": "complete", "role": "search",
        }
    )  # fmt: skip
    spent = pd.DataFrame({"trial": [0, 0], "state": "complete", "cause": ["learner", "rest"], "seconds": [3.0, 1.0]})
    assert timeline(line, spent).answer == (
        "1 slot for trials worked 88.9 % of 9 min from first to last report; learning took 75.0 % of it."
    )
    assert timeline(line.head(0), spent).answer == "It cannot be said: no trial has reported."


def test_a_trial_that_pauses_counts_whole_for_how_it_ended() -> None:
    begin = pd.to_datetime(["2026-01-01 00:00", "2026-01-01 00:05", "2026-01-01 00:10"], utc=True)
    line = pd.DataFrame(
        {
            "trial": [0, 1, 0], "host": "a", "device": "cpu", "slot": 0, "begin": begin, "end": begin + pd.Timedelta(minutes=4),
            "seconds": 240.0, "state": ["frozen", "frozen", "complete"], "role": "search",
        }
    )  # fmt: skip
    made = timeline(line, pd.DataFrame({"trial": [0], "state": "complete", "cause": ["learner"], "seconds": [3.0]}))
    blocks = made.panels[0].spec["layer"][0]["data"]["values"]
    assert sum(block["stop"] - block["start"] for block in blocks if block["ended"] == "complete") == 8.0
    assert "1 trial paused, and has several blocks." in made.note
