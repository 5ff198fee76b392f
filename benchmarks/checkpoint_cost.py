"""What SAC's checkpoints cost as its replay buffer fills.

Run: `uv run python benchmarks/checkpoint_cost.py [--every 62500]`. It fills a buffer of a million transitions of the default
site's size, and writes a checkpoint after each `--every` of them. Then it overwrites the buffer once.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from tuning.algorithms.sac.replay_buffer import ReplayBuffer
from tuning.trial.checkpoint import Checkpoints
from tuning.trial.checkpoint_files import TrialState

SIZE, COPIES, OBSERVATIONS, ACTIONS = 1_000_000, 32, 28, 1


class Trainer:
    """Networks of no size, and a replay buffer."""

    def __init__(self) -> None:
        """Begin with an empty buffer."""
        self.replay = ReplayBuffer(SIZE, COPIES, OBSERVATIONS, ACTIONS, 0.99, seed=0)
        self._random = np.random.default_rng(0)
        self.replay.begin(self._observations())

    def _observations(self) -> np.ndarray:
        return self._random.standard_normal((COPIES, OBSERVATIONS), np.float32)

    def collect(self, transitions: int) -> None:
        """Add transitions."""
        for _ in range(transitions // COPIES):
            actions, rewards = self._random.random((COPIES, ACTIONS)), self._random.random(COPIES)
            self.replay.add(actions, rewards, np.zeros(COPIES, np.uint8), self._observations())

    def get_state(self) -> dict[str, Any]:
        """State of the buffer, without its rows."""
        return {"replay": self.replay.get_state()}

    def set_state(self, state: dict[str, Any], rows: Any) -> None:
        """Go on from a state."""
        self.replay.set_state(state["replay"], rows)


def size(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=62_500)
    every = parser.parse_args().every
    trainer: Any = Trainer()
    print("transitions held | seconds | new bytes | bytes of all checkpoints")
    with tempfile.TemporaryDirectory() as name:
        folder, seconds = Path(name), []
        for number in range(1, 2 * SIZE // every + 1):
            trainer.collect(every)
            before = set(folder.rglob("*.npz"))
            start = time.perf_counter()
            Checkpoints(folder).save(trainer, TrialState(steps=number * every))
            seconds.append(time.perf_counter() - start)
            new = sum(path.stat().st_size for path in folder.rglob("*.npz") if path not in before)
            if number % 4 == 0 or number == 1:
                print(f"{trainer.replay.transitions:16,} | {seconds[-1]:7.3f} | {new:9,} | {size(folder):,}")
        start = time.perf_counter()
        newest, _ = Checkpoints(folder).newest()
        assert newest
        newest.restore(Trainer())  # type: ignore[arg-type]
        print(f"checked and restored in {time.perf_counter() - start:.2f} s")
        half = len(seconds) // 2
        print(f"full to filling: {np.median(seconds[half:]) / np.median(seconds[:half]):.2f} times the time")


if __name__ == "__main__":
    main()
