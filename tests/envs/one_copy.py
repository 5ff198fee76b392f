"""One copy of the batch simulator in one year, as the simulator of CityLearn: what tests hold both to."""

from __future__ import annotations

import numpy as np

from envs.batch_backend import records
from envs.batch_backend.rewards import SchemaReward
from envs.batch_backend.simulator import BatchSimulator, Recorder
from envs.batch_backend.tables import Tables, Year
from envs.current_hour import scaled
from envs.objective.series import Exogenous, Run, Sessions

_YEAR, _COPY = 0, 0  # numbers of the one year and the one copy


class OneCopy:
    """One year, with the methods of `CityLearnSimulator`; without `with_reward` the reward of `step` is zero."""

    def __init__(self, tables: Tables, template: np.ndarray, with_reward: bool = False) -> None:
        self._tables = tables
        self._batch = BatchSimulator({_YEAR: Year(tables, template)}, copies=1, record=True)
        self._reward = SchemaReward(self._batch) if with_reward else None
        self._recorder = Recorder(self._batch)
        self._taken = 0
        self.rows = len(tables.exogenous.hour)
        self.action_low, self.action_high = self._batch.action_range
        self.battery_actions, self.battery_power_kw = self._batch.battery_actions, self._batch.battery_power_kw

    @property
    def exogenous(self) -> Exogenous:
        return self._tables.exogenous

    @property
    def sessions(self) -> Sessions:
        return self._tables.sessions

    @property
    def row(self) -> int:
        return int(self._batch.row[_COPY])

    def begin(self, start: int, hours: int, seed: int, charge: float = 0.0) -> np.ndarray:
        self._batch.begin(_COPY, _YEAR, start, hours, seed, charge)
        self._recorder, self._taken = Recorder(self._batch), 0
        return self._observation()

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, float]:
        given = scaled(actions, self.action_low, self.action_high)[np.newaxis]
        if self._reward:
            self._reward.before(given)
        self._batch.step(given)
        self._recorder.add()
        self._taken += 1
        return self._observation(), float(self._reward.after()[_COPY]) if self._reward else 0.0

    def net_kwh(self, step: int) -> np.ndarray:
        return self._recorder.hours[step][_COPY, :, records.NET_KWH]

    def missing_kwh(self, row: int) -> float:
        leaves = self.sessions.end == row
        return float(self._batch.missing_kwh(_COPY, _YEAR)[leaves].sum())

    def run(self) -> Run:
        return self._recorder.run(_COPY, _YEAR, self._taken)

    def uncontrolled_actions(self) -> np.ndarray:
        return self._batch.native_uncontrolled_actions()[_COPY]

    def _observation(self) -> np.ndarray:
        return self._batch.observation[_COPY].astype(np.float64)
