"""A search as it shows itself."""

from dataclasses import replace
from typing import Any

from results.live import LiveSearch, LiveTrial

SEARCH = LiveSearch(
    experiment="ppo-iquitos-1",
    written=1000.0,
    phase="running",
    reason="",
    done=0.42,
    amounts=("42% of 1,000,000 steps", "5 trials (3 frozen)"),
    trials=(LiveTrial(3, "training", 125_000, "+0.0656"), LiveTrial(11, "starting", 0)),
    most_steps=250_000,
    rating="score",
    best="+0.0656 (trial 3)",
    curve=((1.0, 0.0), (10.0, 0.05), (20.0, 0.0656)),
    steps_per_second=14_476.0,
    elapsed=30.0,
    left=17.0,
    left_is_bound=False,
    machine=("CPU 98 %", "RAM 12 %", "GPU 1.2/8.0 GiB 97 % 65 C 120 W"),
    events=("trial 3: score +0.0500 at 50,000 steps", "trial 3: score +0.0656 at 125,000 steps"),
    events_before=4,
)


def search(**changes: Any) -> LiveSearch:
    """The search above, with changes."""
    return replace(SEARCH, **changes)
