"""Progress of a search on a terminal, in a notebook or in a log."""

from __future__ import annotations

import math
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ray.tune import Callback
from ray.tune.experiment import Trial
from rich.console import Console
from rich.live import Live
from rich.text import Text

from tuning.cli.console import say
from tuning.runtime.ray_session import check_nodes
from tuning.search.machine_watch import MachineWatch
from tuning.trial.protocol import EVALUATION, MESSAGE, NUMBER, OUTCOME, SCORE, STEPS, DriverOnly

if TYPE_CHECKING:
    import pandas as pd

    from tuning.experiment.settings import Settings

LINE_SECONDS = 30.0  # between two lines without a terminal
REFRESH_SECONDS = 0.5
LOOK_SECONDS = 5.0  # between two checks of Ray's nodes


class Progress(DriverOnly, Callback):
    """On a terminal one line that is updated in place; in a notebook or a log a line every `LINE_SECONDS`.

    Args:
        console: to write to.
        trials: number of trials of the search.
        steps: budget of each.
        already: number of trials that an earlier run ended, by state.
        best: score and number of the best of these.
        resumed: steps that unfinished trials of an earlier run have taken, by number.
    """

    def __init__(
        self,
        console: Console,
        trials: int,
        steps: int,
        already: dict[str, int],
        best: tuple[float, int] | None,
        resumed: dict[int, int],
    ) -> None:
        self._console, self._trials, self._steps = console, trials, steps
        self._ended = {"complete": 0, "pruned": 0, "oom": 0, "failed": 0, **already}
        self._best = best
        self._start = time.monotonic()
        self._unfinished_steps = dict(resumed)
        self._running: set[int] = set()
        self._settled_steps = sum(self._ended.values()) * steps
        self._begun_steps = self._steps_done()
        self._live = Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None
        self._watch = MachineWatch()
        self._shown = 0.0
        self._looked = time.monotonic()

    @classmethod
    def of(cls, console: Console, settings: Settings, before: pd.DataFrame) -> Progress:
        """Progress of an experiment, new or continued.

        Args:
            console: to write to.
            settings: of the experiment.
            before: its rows of `trials` so far.
        """
        ended = before[before["state"] != "running"]
        scored = ended.dropna(subset=["score"])
        best = max(zip(scored["score"].tolist(), scored["trial"].tolist(), strict=True), default=None)
        unfinished = before[before["state"] == "running"]
        resumed = dict(zip(unfinished["trial"].tolist(), unfinished["steps"].tolist(), strict=True))
        states = {str(state): int(count) for state, count in ended["state"].value_counts().items()}
        return cls(console, settings.trials, settings.steps, states, best, resumed)

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

    def on_trial_result(self, iteration: int, trials: list[Trial], trial: Trial, result: dict[str, Any], **info: Any) -> None:
        """A trial reported."""
        if result.get(MESSAGE) and not result.get(OUTCOME):
            self.say(str(result[MESSAGE]))
        if result.get(OUTCOME):
            return
        number, steps = trial.config[NUMBER], int(result[STEPS])
        self._unfinished_steps[number] = steps
        if result.get(EVALUATION) is None:
            return
        score = float(result[SCORE])
        if math.isfinite(score) and (self._best is None or score > self._best[0]):
            self._best = score, number
        if not self._live:
            self.say(f"trial {number}: score {score:+.4f} at {steps:,} steps")

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
            self._live.update(Text(self.line()))
        else:
            self.say(self.line())

    def line(self) -> str:
        """The state of the search in one line."""
        ended = [f"{count} {state}" for state, count in self._ended.items() if count]
        parts = [f"{sum(self._ended.values())}/{self._trials} trials done"]
        if len(ended) > 1 or self._ended["complete"] != sum(self._ended.values()):
            parts[0] += f" ({', '.join(ended)})"
        parts.append(f"{len(self._running)} running")
        if self._best:
            parts.append(f"best {self._best[0]:+.4f} (trial {self._best[1]})")
        elapsed = time.monotonic() - self._start
        done = self._steps_done()
        trained = done - self._begun_steps
        if trained > 0 and elapsed > 0.0:
            rate = trained / elapsed
            parts += [f"{rate:,.0f} steps/s", f"{_duration((self._trials * self._steps - done) / rate)} left"]
        parts.append(f"{_duration(elapsed)} elapsed")
        if self._watch.text:
            parts.append(self._watch.text)
        return " | ".join(parts)

    def _steps_done(self) -> int:
        return self._settled_steps + sum(min(steps, self._steps) for steps in self._unfinished_steps.values())

    def on_left(self, number: int) -> None:
        """A trial has stopped running and will be continued."""
        self._running.discard(number)

    def on_ended(self, number: int, state: str) -> None:
        """A trial ended."""
        self._running.discard(number)
        self._unfinished_steps.pop(number, None)
        self._ended[state] += 1
        # The rest of a pruned or failed trial's budget needs no time any more.
        self._settled_steps += self._steps
        if state != "complete" and not self._live:
            self.say(f"trial {number}: {state}")

    def say(self, line: str) -> None:
        """Print a line, on a terminal above the one that is updated in place."""
        say(self._console, line)


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}"
