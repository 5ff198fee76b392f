"""The uncontrolled run of a scenario year, stepped by any simulator."""

from __future__ import annotations

from collections.abc import Callable

from envs.objective.series import Run
from envs.simulator import Simulator

Progress = Callable[[float], None]
_STEPS_BETWEEN_REPORTS = 50


def uncontrolled_run(simulator: Simulator, on_progress: Progress | None = None) -> Run:
    """Run a whole year under `Simulator.uncontrolled_actions`."""
    steps = simulator.rows - 1
    simulator.begin(0, steps, seed=0)
    for step in range(steps):
        simulator.step(simulator.uncontrolled_actions())
        if on_progress and step % _STEPS_BETWEEN_REPORTS == 0:
            on_progress(step / steps)
    return simulator.run()
