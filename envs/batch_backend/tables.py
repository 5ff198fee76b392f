"""A scenario year as arrays: the format that the batch simulator steps, and its file in the cache."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from envs.batch_backend import records
from envs.objective.series import Exogenous, Sessions

USES = ("cooling", "heating", "dhw")  # end uses in the kernel's order


@dataclass(frozen=True)
class Tables:
    """One scenario year; shapes as in `records.Site` and `records.Rows`, `names` as CityLearn has them."""

    names: tuple[str, ...]  # raw observations in CityLearn's order
    site: dict[str, np.ndarray]  # arrays of `records.Site` that depend on the schema alone
    # of `records.Rows` the arrays `meter`, `plugged`, `event` and, in CityLearn's units, `template`; `first_plugged`, shape
    # (R + 1,); `shared`, whether several chargers hold one vehicle, shape (R,); `required_soc` and `countdown` to the
    # departure [h] of each vehicle that is plugged in, shape (P,); `comfort`, of `COMFORT`, shape (R, N); `arrivals_known`,
    # whether there is a state of charge for every arrival
    rows: dict[str, np.ndarray]
    initial_soc: np.ndarray  # of the batteries, shape (N + V,)
    initial_tank: np.ndarray  # state of charge of the tanks, shape (N, 3)
    depth_of_discharge: np.ndarray  # of the stationary batteries, shape (N,)
    exogenous: Exogenous  # the year's series
    sessions: Sessions  # its charging sessions
    reward: tuple[str, str]  # name of the schema's reward function and its attributes as JSON, shape (2,)

    def save(self, path: Path) -> None:
        """Write a file that `load` reads; not compressed, since it is opened far more often than it is written."""
        flat: dict[str, Any] = {
            **{f"site_{name}": value for name, value in self.site.items()},
            **{f"rows_{name}": value for name, value in self.rows.items()},
            **{f"exogenous_{field.name}": getattr(self.exogenous, field.name) for field in fields(Exogenous)},
            **{f"sessions_{field.name}": getattr(self.sessions, field.name) for field in fields(Sessions)},
            **{name: getattr(self, name) for name in _PLAIN},
            "names": np.array(self.names),
            "reward": np.array(self.reward),
        }
        with path.open("wb") as file:
            np.savez(file, **flat)

    @classmethod
    def load(cls, path: Path, template: bool = True) -> Tables:
        """Tables of a file that `save` wrote; without `template`, by far the most of it, no raw observations are read."""
        with np.load(path) as saved:
            flat = {name: saved[name] for name in saved.files if template or name != "rows_template"}
        for name, kind in _RECORDS.items():
            # A file does not say that records are aligned, and numba would compile everything twice.
            flat[name] = flat[name].view(kind)

        def group(prefix: str) -> dict[str, Any]:
            return {name.removeprefix(prefix): value for name, value in flat.items() if name.startswith(prefix)}

        return cls(
            names=tuple(flat["names"].tolist()),
            site=group("site_"),
            rows=group("rows_"),
            exogenous=_exogenous(group("exogenous_")),
            sessions=Sessions(**group("sessions_")),
            reward=tuple(flat["reward"].tolist()),
            **{name: flat[name] for name in _PLAIN},
        )


def _exogenous(saved: dict[str, Any]) -> Exogenous:
    # A file has arrays of what are numbers.
    plain = {name: values.item() for name, values in saved.items() if not values.ndim}
    return Exogenous(**{**saved, **plain})


# What CityLearn's rewards for thermal comfort look at.
COMFORT = np.dtype(
    [("indoor", np.float32), ("cooling", np.float32), ("heating", np.float32), ("band", np.float32), ("mode", np.int64)],
    align=True,
)
_RECORDS = {
    "site_action": records.ACTION,
    "site_building": records.BUILDING,
    "site_thermal": records.THERMAL,
    "site_battery": records.BATTERY,
    "site_charger": records.CHARGER,
    "site_observed": records.OBSERVED,
    "rows_meter": records.METER,
    "rows_plugged": records.PLUGGED,
    "rows_event": records.EVENT,
    "rows_comfort": COMFORT,
}
_PLAIN = ("initial_soc", "initial_tank", "depth_of_discharge")
