"""A site is refused if two runs of it with the same actions differ."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from envs.citylearn_backend import repeatability
from envs.citylearn_backend.pool import SIMULATORS
from envs.citylearn_backend.repeatability import check_repeats
from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.errors import ScenarioError
from envs.scenarios.schema_file import read_schema

ROWS = 1001
COUNTER = itertools.count()


@dataclass(frozen=True)
class Series:
    load: np.ndarray


class Fake:
    """In place of a CityLearn simulator; one of its figures can be made to differ."""

    schema_path, with_reward, trusted, rows = Path("schema.json"), False, False, ROWS
    action_low, action_high = -np.ones(2), np.ones(2)
    begun = start = hour = 0
    state = 0.0
    differs: Callable[[Fake], dict[str, float]] = staticmethod(lambda self: {})

    def __init__(self, *_: object) -> None:
        self.exogenous = self.sessions = Series(np.array([1.0, np.nan, self._added("series")]))

    def _added(self, name: str) -> float:
        return type(self).differs(self).get(name, 0.0)

    def begin(self, start: int, hours: int, seed: int) -> np.ndarray:
        self.begun += 1
        self.start, self.hour, self.state = start, 0, float(start)
        return np.array([self.state])

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, float]:
        self.hour += 1
        self.state += float(actions.sum())
        return np.array([self.state, np.nan, self._added("observations")]), 0.0

    def net_kwh(self, step: int) -> np.ndarray:
        return np.array([self.state + self._added("consumption")])

    def indoor_temperatures(self, step: int) -> np.ndarray:
        return np.array([20.0 + self._added("temperatures")])


@pytest.fixture(autouse=True)
def quick(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "small_schema" not in request.fixturenames:
        monkeypatch.setattr(repeatability, "CityLearnSimulator", Fake)


def test_runs_that_are_alike_pass() -> None:
    check_repeats(Fake())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("differs", "message"),
    [
        (lambda own: {"series": float(next(COUNTER))}, "other series of its files each time"),
        (lambda own: {"observations": float(next(COUNTER))}, "differ in observations after hour 1,"),
        (lambda own: {"consumption": float(next(COUNTER))}, "differ in consumption after hour 1,"),
        # Dropout sets in once the network has seen enough hours.
        (lambda own: {"temperatures": next(COUNTER) * (own.hour > 12)}, "differ in indoor temperatures after hour 13,"),
        # The used simulator has run through the same hours before.
        (lambda own: {"consumption": float(own.begun)}, "differ in consumption after hour 1,"),
        # In the middle of the year alone.
        (lambda own: {"consumption": next(COUNTER) * (own.start == 416)}, "differ in consumption after hour 417,"),
    ],
    ids=["series", "observations", "consumption", "dropout", "outlives", "middle"],
)
def test_whatever_differs_is_named(
    monkeypatch: pytest.MonkeyPatch, differs: Callable[[Fake], dict[str, float]], message: str
) -> None:
    monkeypatch.setattr(Fake, "differs", staticmethod(differs))
    with pytest.raises(ScenarioError, match=message) as error:
        check_repeats(Fake())  # type: ignore[arg-type]
    assert "\n" not in str(error.value)
    assert "random_seed" in str(error.value)


def test_the_small_site_repeats_and_with_noise_it_does_not(small_schema: Path, tmp_path: Path) -> None:
    with SIMULATORS.lend(small_schema) as simulator:
        check_repeats(simulator)
    path = Path(shutil.copytree(small_schema.parent, tmp_path / "site")) / "schema.json"
    schema = read_schema(path)
    (building,) = schema["buildings"].values()
    building["noise_std"] = 0.1
    path.write_text(json.dumps(schema), encoding="utf-8")
    with pytest.raises(ScenarioError, match="other series"):
        check_repeats(CityLearnSimulator(path, with_reward=False))
