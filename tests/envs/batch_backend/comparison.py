"""Steps CityLearn and the batch backend side by side and measures how far they are apart."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from envs.batch_backend.rewards import SchemaReward
from envs.batch_backend.simulator import BatchSimulator
from envs.batch_backend.tables import Tables, Year
from envs.citylearn_backend.simulator import CityLearnSimulator

HOURS = 200  # of `opened`
# An observation for which CityLearn divides series, in float32, and not numbers.
OF_TANKS = (
    "cooling_storage_electricity_consumption",
    "heating_storage_electricity_consumption",
    "dhw_storage_electricity_consumption",
)
DEGREES, SUM = "indoor temperature [C]", "sum of the rewards"


def ulps(expected: Any, found: Any) -> float:
    """Greatest distance in units of the last place of a float32."""
    expected, found = np.asarray(expected, dtype=np.float32), np.asarray(found, dtype=np.float32)
    assert expected.shape == found.shape
    distance = np.abs(expected.astype(np.float64) - found.astype(np.float64))
    return float(np.max(distance / np.spacing(np.maximum(np.abs(expected), np.float32(1e-30))), initial=0.0))


def native(simulator: CityLearnSimulator, actions: np.ndarray) -> np.ndarray:
    """Actions within [-1, 1] in CityLearn's ranges."""
    low, high = simulator.action_low, simulator.action_high
    return low + (np.clip(actions.astype(np.float64), -1.0, 1.0) + 1.0) / 2.0 * (high - low)


def compare(
    simulator: CityLearnSimulator,
    batch: BatchSimulator,
    policy: Callable[[np.ndarray, int], np.ndarray],
    year: int,
    start: int,
    hours: int,
    seed: int = 0,
    charge: float = 0.0,
) -> dict[str, float]:
    """Run both over a window; the last copy of the batch is the one compared.

    Returns:
        The greatest distance of each quantity in float32 ulps; of `DEGREES` in degrees, of `SUM` as a part of the rewards.
    """
    copy = batch.copies - 1
    worst: dict[str, float] = {}
    raw = simulator.begin(start, hours, seed, charge)
    for b in range(batch.copies):
        # The other copies go their own ways and must not matter.
        batch.begin(b, year, start, hours - (b < copy), seed + copy - b, charge)
    reward = SchemaReward(batch)
    rewards: list[tuple[float, float]] = []
    of_tanks = np.array([name.endswith(OF_TANKS) for name in batch.first.names])
    worst["observation"] = ulps(raw, batch.observation[copy])
    for step in range(hours):
        action = policy(raw, step)
        actions = np.stack([*(-action for _ in range(copy)), action]) if copy else action[np.newaxis]
        going = np.flatnonzero(batch.state.copy["step"] < batch.state.copy["hours"])
        rows = batch.row
        raw, expected_reward = simulator.step(native(simulator, action))
        reward_given, indoor = reward.step(actions, going)[copy], batch.comfort(rows)["indoor"][copy]
        indoor_expected = simulator.indoor_temperatures(step)
        found: dict[str, tuple[Any, Any]] = {
            "observation": (raw[~of_tanks], batch.observation[copy, ~of_tanks]),
            "tanks' consumption": (raw[of_tanks], batch.observation[copy, of_tanks]),
            "reward": (expected_reward, reward_given),
            "indoor temperature": (indoor_expected, indoor),
            **dict(_of_buildings(simulator, batch, copy, step)),
        }
        if batch.follows_parked:
            vehicles = simulator.env.electric_vehicles
            found["vehicles' SOC"] = (
                [v.battery.soc[step] for v in vehicles],
                batch.state.previous_soc[copy, batch.net_buildings :],
            )
        for name, (expected, got) in found.items():
            worst[name] = max(worst.get(name, 0.0), ulps(expected, got))
        apart = float(np.abs(indoor_expected - indoor).max())
        worst[DEGREES] = max(worst.get(DEGREES, 0.0), apart)
        rewards.append((expected_reward, reward_given))
    expected_sum, sum_given = np.sum(rewards, axis=0)
    return worst | {SUM: abs(float(expected_sum - sum_given)) / max(1.0, abs(float(expected_sum)))}


def _of_buildings(
    simulator: CityLearnSimulator, batch: BatchSimulator, b: int, step: int
) -> Iterator[tuple[str, tuple[Any, Any]]]:
    buildings, out, state = simulator.env.buildings, batch.out, batch.state
    points = [
        [getattr(n.energy_simulation, f"indoor_dry_bulb_temperature_{side}_set_point")[step] for n in buildings]
        for side in ("cooling", "heating")
    ]
    given = batch.comfort(batch.row - 1)
    yield "set points", (points, [given[side][b] for side in ("cooling", "heating")])
    yield "net consumption", ([n.net_electricity_consumption[step] for n in buildings], out.energy[b, :, 0])
    # The money and the carbon dioxide of what it says that a building takes, by the prices that it holds.
    meter, net = batch._rows.meter[(batch.row - 1)[b]], out.energy[b, :, 0]
    cost, emission = np.maximum(net, np.float32(0.0)) * meter["price"], np.maximum(net * meter["carbon"], np.float32(0.0))
    yield "cost", ([n.net_electricity_consumption_cost[step] for n in buildings], cost)
    yield "emission", ([n.net_electricity_consumption_emission[step] for n in buildings], emission)
    yield "chargers", ([n.chargers_electricity_consumption[step] for n in buildings], out.energy[b, :, 2])
    yield "appliances", ([n.deferrable_appliances_electricity_consumption[step] for n in buildings], out.energy[b, :, 4])
    yield "batteries' SOC", ([n.electrical_storage.soc[step] for n in buildings], state.previous_soc[b, : len(buildings)])
    thermal = np.flatnonzero(batch.site.building["thermal"])
    tanks = [[getattr(buildings[n], f"{use}_storage").soc[step] for use in ("cooling", "heating", "dhw")] for n in thermal]
    yield "tanks' SOC", (np.reshape(tanks, (-1, 3)), state.tank["previous_soc"][b, thermal])


def opened(tables: Tables, copies: int) -> BatchSimulator:
    """Copies that begin five rows after one another, each with a seed of its own."""
    simulator = BatchSimulator({0: Year(tables, tables.rows["template"])}, copies)
    for b in range(copies):
        simulator.begin(b, 0, 5 * b, HOURS, seed=b, charge=0.5)
    return simulator
