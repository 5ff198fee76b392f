"""Simulators of this process that are open and not in use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from envs.citylearn_backend.simulator import CityLearnSimulator


class SimulatorPool:
    """Passes simulators on between the environments of a process.

    To build one takes seconds, so trials that follow one another use the same. Two environments never share one: the
    episode of one would end in that of the other.
    """

    def __init__(self) -> None:
        self._idle: dict[tuple[Path, bool, bool], list[CityLearnSimulator]] = {}

    def take(self, schema_path: Path, with_reward: bool = False, trusted: bool = False) -> CityLearnSimulator:
        """A simulator that is not in use, built if there is none; see `CityLearnSimulator`."""
        idle = self._idle.get((schema_path, with_reward, trusted))
        return idle.pop() if idle else CityLearnSimulator(schema_path, with_reward, trusted)

    def give_back(self, simulator: CityLearnSimulator) -> None:
        """Let the next `take` have a simulator."""
        key = simulator.schema_path, simulator.with_reward, simulator.trusted
        self._idle.setdefault(key, []).append(simulator)

    @contextmanager
    def lend(self, schema_path: Path, with_reward: bool = False, trusted: bool = False) -> Iterator[CityLearnSimulator]:
        """A simulator for the length of a `with` block. After an error it is dropped, as its state is not known."""
        simulator = self.take(schema_path, with_reward, trusted)
        yield simulator
        self.give_back(simulator)


SIMULATORS = SimulatorPool()
