"""Run as a process of its own: one real update of an algorithm, with an evaluation; prints what it took as JSON.

A process of its own, because what a process takes at most can be told of a fresh one alone.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any


def main() -> None:
    """Train what the first argument says, as JSON: settings, hyperparameters, and the GPU memory that it may take."""
    from tuning.experiment.folder import create
    from tuning.experiment.settings import Settings
    from tuning.runtime.ray_session import ray_session
    from tuning.trial.device import CPU, Device
    from tuning.trial.monitor import Monitor
    from tuning.trial.protocol import Proposal
    from tuning.trial.records import TrialRecords
    from tuning.trial.training import Training

    given: dict[str, Any] = json.loads(sys.argv[1])
    hyperparameters = given["hyperparameters"]
    # JSON has no tuples, and what states splits is compared and hashed.
    settings: dict[str, Any] = given["settings"]
    settings |= {name: tuple(value) for name, value in settings.items() if isinstance(value, list)}
    with tempfile.TemporaryDirectory() as folder, ray_session(num_cpus=1):
        experiment = create(Settings(**settings, name="doctor", dir=folder, reports=1, validation_weeks=1))
        records, running = TrialRecords(experiment), experiment.paths.running("doctor")
        running.touch()
        handout = records.hand_out(Proposal(0, hyperparameters))
        device = Device.take_card(0, given["vram_limit"]) if given["vram_limit"] else CPU
        marker = Path(folder) / "marker"
        with (
            Monitor(0, marker, device.card, seconds=0.1) as monitor,
            Training.begin(experiment, handout, running, device, monitor) as trial,
        ):
            for report in trial.updates():
                records.take(0, report)
        print(json.dumps({name: value for name, value in records.row(0).items() if isinstance(value, int | float | str)}))


if __name__ == "__main__":
    main()
