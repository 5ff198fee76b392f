"""How a scenario's indoor temperatures answer to what devices deliver: linear models, fitted on the train split."""

import zlib
from dataclasses import asdict

import numpy as np

from envs.batch_backend.tables import Tables, Year
from envs.cache import cached_arrays
from envs.current_hour import scaled
from envs.environments.year_cache import year_tables
from envs.environments.year_forecasts import train_rows
from envs.planning.mpc_site import RoomModels
from envs.scenarios.scenario import Scenario

VERSION = 1  # part of the cache's key: raise it when a change of the code changes models
RUNS = 16  # of each year, of which the first is the uncontrolled site
# What devices deliver in the others, as parts of what the building's controller asks for, and how often a step changes it.
PARTS, CHANGES = (0.0, 0.5, 0.8, 1.0, 1.2, 1.5), 0.3


def room_models(scenario: Scenario) -> RoomModels | None:
    """Models of the rooms of all years, cached; None where no device acts on a room. Years have to have the same buildings."""
    years = scenario.years("train")
    if not (year_tables(scenario, years[0]).site["thermal"]["device_action"] >= 0).any():
        return None
    windows = zlib.crc32(repr(scenario.windows("train")).encode())
    key = f"{scenario.key}/rooms-{windows:08x}-v{VERSION}.npz"
    return RoomModels(**cached_arrays(key, lambda: asdict(_fitted(scenario, years))))


def _fitted(scenario: Scenario, years: tuple[int, ...]) -> RoomModels:
    samples = [_disturbed(year_tables(scenario, year)) for year in years]
    masks = [train_rows(scenario, year, len(warm)) for year, (warm, _) in zip(years, samples, strict=True)]
    site = year_tables(scenario, years[0]).site
    lookback, thermal = site["building"]["lookback"], site["thermal"]
    buildings = len(lookback)
    kept, error, now, later = (np.zeros(shape) for shape in ((buildings,), (buildings,), (buildings, 3), (buildings, 3)))
    for n in np.flatnonzero(lookback > 0):
        uses = np.flatnonzero(thermal["device_action"][n] >= 0)
        inputs, outputs = [], []
        for (indoor, delivered), mask in zip(samples, masks, strict=True):
            rows = np.flatnonzero(mask)
            rows = rows[rows > lookback[n] + 1]
            deviation, surplus = (values - values[:, :1] for values in (indoor[:, :, n], delivered[:, :, n][..., uses]))
            columns = [deviation[rows - 1, 1:, np.newaxis], surplus[rows, 1:], surplus[rows - 1, 1:]]
            inputs.append(np.concatenate(columns, axis=-1).reshape(-1, 1 + 2 * len(uses)))
            outputs.append(deviation[rows, 1:].ravel())
        given, wanted = np.concatenate(inputs), np.concatenate(outputs)
        factors = np.linalg.lstsq(given, wanted, rcond=None)[0]
        kept[n], now[n, uses], later[n, uses] = factors[0], factors[1 : 1 + len(uses)], factors[1 + len(uses) :]
        error[n] = np.sqrt(np.mean((given @ factors - wanted) ** 2))
    return RoomModels(kept, error, now, later)


def _disturbed(tables: Tables) -> tuple[np.ndarray, np.ndarray]:
    """Runs whose devices deliver other parts of what they are asked for.

    Temperatures [C], shape (steps, RUNS, N), and deliveries [kWh], shape (steps, RUNS, N, 3).
    """
    # Imported here: compiled code takes a second to load, and most sites need no models.
    from envs.batch_backend.simulator import BatchSimulator

    steps, thermal = len(tables.exogenous.hour) - 1, tables.site["thermal"]
    simulator = BatchSimulator({0: Year(tables)}, copies=RUNS)
    for run in range(RUNS):
        simulator.begin(run, 0, 0, steps, seed=0)
    rng, (low, high) = np.random.default_rng(0), simulator.action_range
    actions = np.unique(thermal["device_action"][thermal["device_action"] >= 0])
    part = np.ones((RUNS, len(actions)))
    indoor, delivered = [], []
    for _ in range(steps):
        changes = rng.random(part.shape) < CHANGES
        changes[0] = False
        part[changes] = rng.choice(PARTS, int(changes.sum()))
        native = low + (simulator.uncontrolled_actions() + 1.0) / 2.0 * (high - low)
        native[:, actions] *= part
        simulator.step(scaled(native, low, high))
        indoor.append(simulator.comfort(simulator.row - 1)["indoor"].astype(np.float64))
        delivered.append(simulator.delivered_kwh)
    return np.stack(indoor), np.stack(delivered)
