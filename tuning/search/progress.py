"""Progress of a search on a terminal, in a notebook or in a log."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ray.tune import Callback
from ray.tune.experiment import Trial
from ray.tune.result import TIME_TOTAL_S
from rich.console import Console
from rich.live import Live
from rich.text import Text

from envs.objective.aim import SCORE_ALONE, Aim
from results.loader import ratings
from tuning.cli.console import say
from tuning.experiment.budget import duration
from tuning.runtime.ray_session import check_nodes
from tuning.search.machine_watch import MachineWatch
from tuning.search.time_left import BudgetLeft, TimeLeft
from tuning.trial.protocol import EVALUATED, EVALUATION, MESSAGE, NUMBER, OUTCOME, STEPS, DriverOnly, outcome_of
from tuning.trial.records import FROZEN

if TYPE_CHECKING:
    import pandas as pd

    from tuning.experiment.settings import Settings
    from tuning.search.ledger import Ledger

LINE_SECONDS = 30.0  # between two lines without a terminal
REFRESH_SECONDS = 0.5
BETWEEN = " | "
NOT_YET = "time left: known after the first report of a trial"
LOOK_SECONDS = 5.0  # between two checks of Ray's nodes


class Progress(DriverOnly, Callback):
    """On a terminal one line that is updated in place; in a notebook or a log a line every `LINE_SECONDS`.

    Args:
        console: to write to.
        trials: number of trials of the search.
        steps: budget of each.
        already: states and steps of the trials that an earlier run ended.
        best: rating and number of the best of these.
        resumed: steps that unfinished trials of an earlier run have taken, by number.
        aim: what ranks trials.
        ledger: what was used of the budget; None without one.
        frozen: numbers of the trials that may go on.
    """

    def __init__(
        self,
        console: Console,
        trials: int,
        steps: int,
        already: Sequence[tuple[str, int]],
        best: tuple[float, int] | None,
        resumed: dict[int, int],
        aim: Aim = SCORE_ALONE,
        ledger: Ledger | None = None,
        frozen: Collection[int] = (),
    ) -> None:
        self._aim, self._ledger, self._frozen = aim, ledger, set(frozen)
        self._console, self._trials = console, trials
        self._ended = {"complete": 0, "pruned": 0, "oom": 0, "failed": 0}
        for state, _ in already:
            self._ended[state] += 1
        self._best = best
        self._start = time.monotonic()
        self._trial_steps = dict(resumed)  # of all trials that have not ended before
        self._begun_steps = sum(resumed.values())
        self._running: set[int] = set()
        taken = [taken for _, taken in already]
        self._time_left: TimeLeft | BudgetLeft = TimeLeft(trials, steps, taken, resumed, time.monotonic)
        if ledger and ledger.budget:
            self._time_left = BudgetLeft(ledger.budget, ledger, time.monotonic)
        # Without a terminal, or on one that only appends, there is no line that could be replaced.
        replaces = console.is_terminal and not console.is_dumb_terminal
        self._live = Live(console=console, refresh_per_second=4, transient=True) if replaces else None
        self._watch = MachineWatch()
        self._shown = 0.0
        self._told: set[tuple[int, int]] = set()  # trial and steps of evaluations
        self._looked = time.monotonic()

    @classmethod
    def of(cls, console: Console, settings: Settings, before: pd.DataFrame, ledger: Ledger | None = None) -> Progress:
        """Progress of an experiment, new or continued.

        Args:
            console: to write to.
            settings: of the experiment.
            before: its rows of `trials` so far.
            ledger: what was used of its budget.
        """
        frozen = before[before["state"] == FROZEN]
        ended = before[~before["state"].isin(["running", FROZEN])]
        scored = before[before["state"] != "running"].dropna(subset=["score"])
        rated = zip(ratings(scored).tolist(), scored["trial"].tolist(), strict=True)
        best = max(((rating, number) for rating, number in rated if math.isfinite(rating)), default=None)
        unfinished = before[before["state"].isin(["running", FROZEN])]
        resumed = dict(zip(unfinished["trial"].tolist(), unfinished["steps"].tolist(), strict=True))
        already = list(zip(ended["state"].tolist(), ended["steps"].fillna(0).astype(int).tolist(), strict=True))
        limited = ledger if settings.limit else None
        return cls(
            console, settings.trials, settings.steps, already, best, resumed, settings.aim, limited, frozen["trial"].tolist()
        )

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._live:
            self._live.stop()

    def on_trial_start(self, iteration: int, trials: list[Trial], trial: Trial, **info: Any) -> None:
        """A trial was started."""
        self._running.add(trial.config[NUMBER])
        self._frozen.discard(trial.config[NUMBER])
        self._time_left.on_start(trial.config[NUMBER])

    def on_trial_result(self, iteration: int, trials: list[Trial], trial: Trial, result: dict[str, Any], **info: Any) -> None:
        """A trial reported."""
        if result.get(MESSAGE) and not result.get(OUTCOME):
            self.say(str(result[MESSAGE]))
        if result.get(OUTCOME):
            return
        number, steps = trial.config[NUMBER], int(result[STEPS])
        self._trial_steps[number] = steps
        self._time_left.on_report(number, steps, float(result[TIME_TOTAL_S]))
        if result.get(EVALUATION) is None:
            return
        outcome = outcome_of(result)
        rating = self._aim.rating(outcome)
        if math.isfinite(rating) and (self._best is None or rating > self._best[0]):
            self._best = rating, number
        evaluated = int(result.get(EVALUATED, steps))
        if (number, evaluated) not in self._told:
            # A trial that goes on begins with the last evaluation before its checkpoint.
            self._told.add((number, evaluated))
            self.say(f"trial {number}: {self._aim.told(outcome)} at {evaluated:,} steps")

    def on_step_end(self, iteration: int, trials: list[Trial], **info: Any) -> None:
        """One pass of Tune's loop has ended.

        Raises:
            NodeLostError: if Ray has no node left.
        """
        now = time.monotonic()
        if now - self._looked >= LOOK_SECONDS:
            self._looked = now
            check_nodes()
        for line in self._watch.look(bool(self._running)):
            self.say(line)
        if now - self._shown < (REFRESH_SECONDS if self._live else LINE_SECONDS):
            return
        self._shown = now
        if self._live:
            self._live.update(Text("\n".join(wrapped(self.parts(), self._console.width))))
        else:
            self.say(BETWEEN.join(self.parts()))

    def parts(self) -> list[str]:
        """The state of the search, in short texts."""
        ended = [f"{count} {state}" for state, count in self._ended.items() if count]
        parts = [f"{sum(self._ended.values())}/{self._trials} trials done"]
        if self._ledger and self._ledger.budget:
            ended += [f"{len(self._frozen)} {FROZEN}"] if self._frozen else []
            begun = sum(self._ended.values()) + len(self._frozen) + len(self._running)
            used = min(1.0, self._ledger.used() / self._ledger.budget.amount)
            parts = [f"{used:.0%} of {self._ledger.budget.shown}", f"{begun} trial{'s' if begun != 1 else ''}"]
            parts[1] += f" ({', '.join(ended)})" if ended else ""
        elif len(ended) > 1 or self._ended["complete"] != sum(self._ended.values()):
            parts[0] += f" ({', '.join(ended)})"
        parts.append(f"{len(self._running)} running")
        if self._best:
            parts.append(f"best {self._aim.told_rating(self._best[0])} (trial {self._best[1]})")
        elapsed = time.monotonic() - self._start
        trained = sum(self._trial_steps.values()) - self._begun_steps
        if trained > 0 and elapsed > 0.0:
            parts.append(f"{trained / elapsed:,.0f} steps/s")
        left = self._time_left.seconds()
        most = "at most " if self._time_left.is_bound else ""
        parts.append(NOT_YET if left is None else f"{most}{duration(left)} left")
        parts.append(f"{duration(elapsed)} elapsed")
        if self._watch.text:
            parts.append(self._watch.text)
        return parts

    def on_left(self, number: int) -> None:
        """A trial has stopped running and will be continued."""
        self._running.discard(number)
        self._time_left.on_left(number)

    def on_frozen(self, number: int) -> None:
        """A trial has stopped running and may be continued."""
        self._frozen.add(number)
        self.on_left(number)

    def on_ended(self, number: int, state: str) -> None:
        """A trial ended."""
        self._running.discard(number)
        self._time_left.on_ended(number)
        self._ended[state] += 1
        if state != "complete":
            self.say(f"trial {number}: {state}")

    def say(self, line: str) -> None:
        """Print a line, on a terminal above the one that is updated in place."""
        say(self._console, line)


def wrapped(parts: Sequence[str], width: int) -> list[str]:
    """Texts side by side in lines that are at most so wide; a wider text has a line of its own."""
    lines = [parts[0]]
    for part in parts[1:]:
        joined = BETWEEN.join((lines[-1], part))
        if len(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(part)
    return lines
