"""One trial: train one assignment to its budget, evaluate, report, checkpoint."""

from __future__ import annotations

import errno
import time
import traceback
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from envs.environments.factory import evaluation_env
from envs.objective.evaluate import Evaluation, Judged, evaluate, score
from results.writer import drop_parts_after, write_part
from tuning.algorithms.registry import algorithm
from tuning.algorithms.trainer import Update
from tuning.experiment.folder import Experiment, open_experiment
from tuning.experiment.lock import trial_lock
from tuning.memory.fallbacks import FALLBACKS, Fallback
from tuning.runtime.parent_watch import end_with_parent
from tuning.runtime.stopwatch import Stopwatch, rss_bytes
from tuning.trial.checkpoint import Checkpoints, TrialState
from tuning.trial.device import CPU, Device
from tuning.trial.monitor import Monitor, Usage
from tuning.trial.policy import trial_setup
from tuning.trial.protocol import (
    DISK_FULL,
    EVALUATION,
    EXPERIMENT,
    HYPERPARAMETERS,
    MESSAGE,
    NUMBER,
    OUT_OF_MEMORY,
    OUTCOME,
    RAM_LIMIT,
    RUN,
    RUNG,
    SCORE,
    STEPS,
    STOPPED,
    VRAM_LIMIT,
)
from tuning.trial.records import TrialRecords

REPORT_SECONDS = 5.0  # least between two reports to Tune without an evaluation: it hears each before the trial goes on
CHECKPOINT_SECONDS = 300.0  # most between two checkpoints, but for the update that is going on


def run_trial(config: dict[str, Any]) -> None:
    """Function trainable of Ray Tune.

    Args:
        config: see `tuning.trial.protocol`: number, hyperparameters, the experiment's folder, the run and what it is granted;
            everything else is in the folder.
    """
    from ray import tune

    end_with_parent()
    experiment = open_experiment(config[EXPERIMENT])
    records = TrialRecords(experiment)
    number, running = config[NUMBER], experiment.paths.running(config[RUN])
    try:
        with trial_lock(experiment.paths.trial_lock(number)):
            if not running.exists():
                tune.report({OUTCOME: STOPPED})
                return
            device = Device.granted(config[VRAM_LIMIT])
            with (
                Monitor(config[RAM_LIMIT], experiment.paths.memory_marker(number), device.card) as monitor,
                Training(
                    experiment, records, number, config[HYPERPARAMETERS], running, device, monitor, FALLBACKS[config[RUNG]]
                ) as trial,
            ):
                for report in trial.updates():
                    tune.report(report)
        return
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            # No fault of the trial: it goes on from its last checkpoint when there is room.
            tune.report({OUTCOME: DISK_FULL, MESSAGE: f"the disk of {experiment.paths.folder} is full: free some of it"})
            return
        if not is_out_of_memory(error):
            records.crash(number, traceback.format_exc())
            raise
        records.run_out(number, traceback.format_exc())
    # After the error is gone, and with it what its frames held on to. Reported, not raised: for Tune the trial ends well, and
    # the others go on.
    free_memory()
    tune.report({OUTCOME: OUT_OF_MEMORY})


class Training:
    """A trial in its process, from its newest checkpoint to the end of its budget.

    Attributes:
        state: how far it is.
        trainer: what trains.
    """

    def __init__(
        self,
        experiment: Experiment,
        records: TrialRecords,
        number: int,
        hyperparameters: dict[str, Any],
        running: Path,
        device: Device = CPU,
        monitor: Monitor | None = None,
        rung: Fallback = FALLBACKS[0],
    ) -> None:
        """Build it, and restore its newest checkpoint, if there is one.

        Args:
            experiment: that it belongs to.
            records: where its row is.
            number: of the trial.
            hyperparameters: of it.
            running: file that is there as long as it is to go on.
            device: where it learns.
            monitor: watches this process; None where nobody does.
            rung: how it saves memory.
        """
        self._device, self._monitor = device, monitor
        self._settings, self._paths = experiment.settings, experiment.paths
        self._records, self._number, self._running = records, number, running
        self._last_report = self._last_save = time.perf_counter()
        self._reports: list[dict[str, Any]] = []
        self._evaluation_env: Judged | None = None
        self._checkpoints = Checkpoints(self._paths.checkpoints(number))
        checkpoint, self._damage = self._checkpoints.newest()
        self.state = checkpoint.trial if checkpoint else TrialState()
        self._checkpoints.drop_after(self.state.steps)
        for table in ("reports", "evaluations"):
            drop_parts_after(self._paths.folder, table, number, self.state.steps)
        device.reset_peak()
        self.trainer = algorithm(self._settings.algo).build(
            trial_setup(self._settings, number, rung.apply(hyperparameters), device.is_gpu, rung.parts)
        )
        self._environment, self._learner, self._evaluation = Stopwatch(), Stopwatch(), Stopwatch()
        self.trainer.watch(self._environment, self._learner)
        # As it is built: what a checkpoint brings may have moved since, such as a learning rate that decays.
        records.used(number, self.trainer.used(), device=device.name, num_envs=self.trainer.num_envs)
        if checkpoint:
            checkpoint.restore(self.trainer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(error, Exception) and not isinstance(error, OSError):
            # What led to a failure is what one wants to see; where files are the failure, there is no writing.
            self._write_reports()
        self.trainer.stop()
        if self._evaluation_env:
            self._evaluation_env.close()

    def updates(self) -> Iterator[dict[str, Any]]:
        """Train update by update.

        Yields:
            What Tune is told now and then: the steps, and where the policy was evaluated the number of
            the evaluation and its score.
        """
        state, settings, reported = self.state, self._settings, time.perf_counter()
        if self._damage:
            damage = "; ".join(self._damage)
            yield {STEPS: state.steps, MESSAGE: f"trial {self._number}: {damage}; it goes on from {state.steps:,} steps"}
        if self.evaluations:
            # A kill may have come between the checkpoint and whoever should have heard of it.
            yield self._evaluated()
        while self.evaluations < settings.reports:
            if not self._running.exists():
                if state.steps > self._checkpoints.steps:
                    self._save([])
                yield {STEPS: state.steps, OUTCOME: STOPPED}
                return
            if self._monitor:
                self._monitor.check()
            start = time.perf_counter()
            update = self.trainer.update()
            steps = update.steps
            collected, state.steps = steps - state.steps, steps
            state.updates += 1
            rate = collected / (time.perf_counter() - start)
            # An update may pass several points of evaluation at once; they are one evaluation.
            evaluations = self._evaluate() if self._due(steps) > self.evaluations else []
            if evaluations:
                state.evaluated_steps, state.score = steps, score(evaluations)
            self._add_report(update, rate, state.score if evaluations else None)
            if evaluations or time.perf_counter() - self._last_save > CHECKPOINT_SECONDS:
                self._save(evaluations)
            if evaluations:
                yield self._evaluated()
            elif time.perf_counter() - reported > REPORT_SECONDS:
                reported = time.perf_counter()
                yield {STEPS: steps}

    def _due(self, steps: int) -> int:
        """Evaluations that are due after a number of steps; with another budget, they are others."""
        return min(self._settings.reports, steps * self._settings.reports // self._settings.steps)

    @property
    def evaluations(self) -> int:
        """Evaluations that it has behind it."""
        return self._due(self.state.evaluated_steps)

    def _evaluated(self) -> dict[str, Any]:
        return {STEPS: self.state.steps, EVALUATION: self.evaluations, SCORE: self.state.score}

    def _evaluate(self) -> list[Evaluation]:
        settings = self._settings
        with self._evaluation.running():
            if self._evaluation_env is None:
                self._evaluation_env = evaluation_env(
                    settings.scenario, settings.stepped_by, "validation", settings.validation_weeks, settings.reward
                )
            return evaluate(self._evaluation_env, self.trainer.policy())

    def _add_report(self, update: Update, rate: float, new_score: float | None) -> None:
        state, now = self.state, time.perf_counter()
        # From report to report, so that building, saving and waiting are in it; they are the rest.
        seconds, self._last_report = now - self._last_report, now
        parts = {
            "environment_seconds": self._environment.take(),
            "learner_seconds": self._learner.take(),
            "evaluation_seconds": self._evaluation.take(),
        }
        rss = rss_bytes()
        state.seconds += seconds
        for name, value in parts.items():
            setattr(state, name, getattr(state, name) + value)
        state.peak_rss_bytes = max(state.peak_rss_bytes, rss)
        state.peak_vram_bytes = max(state.peak_vram_bytes, self._device.peak_bytes())
        seen_vram = self._device.process_peak_bytes()
        usage = Usage()
        if self._monitor:
            usage = self._monitor.take()
            state.peak_rss_bytes = max(state.peak_rss_bytes, self._monitor.peak_rss_bytes)
            seen_vram = max(seen_vram, self._monitor.peak_vram_bytes)
        state.peak_process_vram_bytes = max(state.peak_process_vram_bytes, seen_vram)
        self._reports.append(
            {
                "trial": self._number,
                "update": state.updates,
                "steps": state.steps,
                "time": datetime.now(UTC),
                "seconds": state.seconds,
                "score": new_score,
                **update.losses,
                "steps_per_second": rate,
                **parts,
                "rest_seconds": seconds - sum(parts.values()),
                "rss_bytes": rss,
                "vram_bytes": self._device.allocated_bytes(),
                **asdict(usage),
            }
        )

    def _save(self, evaluations: list[Evaluation]) -> None:
        """Make everything up to now last: the checkpoint comes last, so what it knows is written before it."""
        state, settings = self.state, self._settings
        rows = [
            {
                "trial": self._number,
                "steps": state.steps,
                "scenario": settings.scenario,
                "split": "validation",
                "backend": settings.stepped_by,
                **evaluation_columns(evaluation),
            }
            for evaluation in evaluations
        ]
        if rows:
            write_part(self._paths.part("evaluations", self._number, state.steps), "evaluations", rows)
        self._write_reports()
        self._checkpoints.save(self.trainer, state)
        self._last_save = time.perf_counter()

    def _write_reports(self) -> None:
        """Write the reports since the last time, and what was measured so far into the trial's row."""
        state = self.state
        if self._reports:
            write_part(self._paths.part("reports", self._number, state.steps), "reports", self._reports)
            self._reports = []
        measured = asdict(state)
        del measured["evaluated_steps"]
        named = state.environment_seconds + state.learner_seconds + state.evaluation_seconds
        self._records.update(self._number, **measured, rest_seconds=state.seconds - named)


def evaluation_columns(evaluation: Evaluation) -> dict[str, Any]:
    """Columns of the `evaluations` table that an evaluation fills."""
    uncontrolled = asdict(evaluation.uncontrolled)
    del uncontrolled["hours"]
    return {
        "year": evaluation.year,
        "score": evaluation.score,
        **{f"term_{name}": value for name, value in evaluation.terms.items()},
        **asdict(evaluation.kpis),
        **{f"uncontrolled_{name}": value for name, value in uncontrolled.items()},
        **evaluation.citylearn,
    }


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error says that memory of the card or of the host ran out."""
    import torch

    # Torch has no kind of error of its own for the host's memory.
    of_the_host = isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or of_the_host


def free_memory() -> None:
    """Give back what a trial that ended by an error held, so that its process can train another."""
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
