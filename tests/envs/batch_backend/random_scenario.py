"""Small random scenarios for the comparison of both backends: every feature that the batch backend has, in any mixture."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from hypothesis import strategies as st

from envs.batch_backend.records import FEATURES
from envs.scenarios import entries
from envs.scenarios.schema_shape import USES
from envs.scenarios.series_files import ARRIVAL, ARRIVAL_SOC, DEPARTURE, ID, REQUIRED_SOC, STATE
from tests.envs.models import occupied

OBSERVATIONS = (
    "month", "hour", "minutes", "day_type", "outdoor_dry_bulb_temperature", "outdoor_dry_bulb_temperature_predicted_1",
    "direct_solar_irradiance", "carbon_intensity", "indoor_dry_bulb_temperature", "non_shiftable_load", "solar_generation",
    *(f"{use}_storage_electricity_consumption" for use in USES),
    "cooling_storage_soc", "heating_storage_soc", "dhw_storage_soc", "electrical_storage_soc", "net_electricity_consumption",
    "cooling_demand", "heating_demand", "dhw_demand", "cooling_electricity_consumption", "dhw_electricity_consumption",
    "heating_electricity_consumption", "indoor_dry_bulb_temperature_cooling_delta", "power_outage", "occupant_count",
    "indoor_dry_bulb_temperature_cooling_set_point", "indoor_dry_bulb_temperature_heating_delta",
    "electrical_storage_electricity_consumption", "cooling_device_efficiency", "dhw_device_efficiency", "electricity_pricing",
    "electricity_pricing_predicted_2", "electric_vehicle_charger_connected_state", "electric_vehicle_charger_incoming_state",
    "connected_electric_vehicle_at_charger_departure_time", "connected_electric_vehicle_at_charger_required_soc_departure",
    "connected_electric_vehicle_at_charger_soc", "connected_electric_vehicle_at_charger_battery_capacity",
    "incoming_electric_vehicle_at_charger_estimated_arrival_time",
    "incoming_electric_vehicle_at_charger_estimated_soc_arrival",
    *(f"deferrable_appliance_{feature}" for feature in FEATURES),
)  # fmt: skip
SHARED = {"month", "hour", "minutes", "day_type", "outdoor_dry_bulb_temperature", "direct_solar_irradiance", "carbon_intensity"}
REWARDS: dict[str, dict[str, Any] | None] = {
    "RewardFunction": {"exponent": 1.5},
    "MARL": None,
    "IndependentSACReward": None,
    "SolarPenaltyReward": None,
    "ComfortReward": {"band": 1.0, "lower_exponent": 1.5},
    "SolarPenaltyAndComfortReward": {"coefficients": [0.5, 2.0]},
    "Electric_Vehicles_Reward_Function": None,
}


def between(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers on a grid that includes both ends, which matter most."""
    return st.integers(0, 997).map(lambda i: low + (high - low) * i / 997)


part = between(0.0, 1.0)
# Inputs of models of the indoor temperature, and their bounds.
INPUTS = {
    "indoor_dry_bulb_temperature": (15.0, 30.0), "cooling_demand": (0, 40.5), "heating_demand": (0.0, 90.0),
    "dhw_demand": (0.1, 3.0), "outdoor_dry_bulb_temperature": (5.0, 38.0), "direct_solar_irradiance": (5.0, 38.0),
    "occupant_count": (0, 3), "hour_sin": (-1.0, 1.0), "hour_cos": (-1, 1), "day_type_cos": (-0.9, 1.0),
    "month_sin": (-1.0, 0.0), "power_outage": (0.0, 1.0), "hvac_mode": (0.0, 3.0),
}  # fmt: skip
OUTAGES: dict[str, dict[str, Any]] = {
    "given": {"stochastic_power_outage": False},
    "drawn": {
        "stochastic_power_outage": True,
        "stochastic_power_outage_model": {
            "type": "citylearn.power_outage.ReliabilityMetricsPowerOutage",
            "attributes": {"saifi": 300.0, "caidi": 400.0, "random_seed": 5},
        },
    },
    "tossed": {
        "stochastic_power_outage": True,
        "stochastic_power_outage_model": {"type": "citylearn.power_outage.PowerOutage", "attributes": {"random_seed": 8}},
    },
}


def curves(low: float, high: float) -> st.SearchStrategy[list[list[float]]]:
    """Curves over [0, 1] with two to five points."""
    inner = st.lists(between(0.05, 0.95), max_size=3, unique=True)
    y = between(low, high)
    return inner.flatmap(
        lambda x: st.lists(y, min_size=len(x) + 2, max_size=len(x) + 2).map(
            lambda ys: [[a, b] for a, b in zip([0.0, *sorted(x), 1.0], ys, strict=True)]
        )
    )


def batteries(capacity: float) -> st.SearchStrategy[dict[str, Any]]:
    flat = st.just([[0.0, 1.0], [1.0, 1.0]])
    return st.fixed_dictionaries(
        {
            "capacity": between(0.1 * capacity, capacity),
            "nominal_power": between(0.05 * capacity, capacity),
            "initial_soc": part,
            "depth_of_discharge": st.one_of(st.just(1.0), between(0.3, 1.0)),
            "efficiency": between(0.7, 1.0),
            "capacity_loss_coefficient": st.sampled_from([0.0, 1e-5, 1e-3]),
            "loss_coefficient": st.sampled_from([0.0, 1e-4, 0.01]),
            "power_efficiency_curve": st.one_of(flat, curves(0.6, 1.0)),
            "capacity_power_curve": st.one_of(flat, curves(0.2, 1.0)),
        }
    )


@st.composite
def chargers(draw: st.DrawFn) -> dict[str, Any]:
    v2g = draw(st.booleans())
    deadband = draw(st.booleans())
    attributes: dict[str, Any] = {
        "efficiency": draw(between(0.8, 1.0)),
        "max_charging_power": draw(between(2.0, 22.0)),
        "min_charging_power": 1.4 if deadband else 0.0,
        "max_discharging_power": draw(between(2.0, 11.0)) if v2g else 0.0,
        "min_discharging_power": 0.7 if deadband and v2g else 0.0,
    }
    if draw(st.booleans()):
        attributes["charge_efficiency_curve"] = draw(curves(0.7, 1.0))
        attributes["discharge_efficiency_curve"] = draw(curves(0.7, 1.0))
    return attributes


@st.composite
def models(draw: st.DrawFn) -> dict[str, Any]:
    """Models of the indoor temperature: their attributes, but for the file of weights."""
    others = draw(st.lists(st.sampled_from(sorted(set(INPUTS) - {"indoor_dry_bulb_temperature"})), unique=True))
    names = draw(st.permutations([*others, "indoor_dry_bulb_temperature"]))
    return {
        "input_observation_names": names,
        "input_normalization_minimum": [INPUTS[name][0] for name in names],
        "input_normalization_maximum": [INPUTS[name][1] for name in names],
        "hidden_size": draw(st.integers(1, 9)),
        "num_layers": draw(st.integers(1, 3)),
        "lookback": draw(st.integers(1, 6)),
    }


limits = st.one_of(st.none(), st.just(0.0), between(0.0, 40.0))
both_ways = st.fixed_dictionaries({"import_kw": limits, "export_kw": limits})


@st.composite
def constraints(draw: st.DrawFn, sockets: int) -> dict[str, Any]:
    """Limits of chargers: of all and of phases, each of which has some of them."""
    phases = draw(st.lists(st.tuples(limits, st.lists(st.booleans(), min_size=sockets, max_size=sockets)), max_size=3))
    return {
        "building_limit_kw": draw(limits),
        "phases": [{"name": f"phase_{i}", "limit_kw": limit, "chargers": on} for i, (limit, on) in enumerate(phases)],
        "observations": {"phase_encoding": draw(st.booleans()), "violation": draw(st.booleans())},
    }


@st.composite
def services(draw: st.DrawFn, sockets: int) -> dict[str, Any]:
    """An electrical service, and the phase of each charger and of the battery."""
    single = draw(st.booleans())
    names = ["L1"] if single else ["L1", "L2", "L3"]
    on = st.sampled_from([None, *names, *([] if single else ["all_phases"])])
    return {
        "mode": "single_phase" if single else "three_phase",
        "default_split": draw(st.sampled_from(["balanced", *names])),
        "limits": {"total": draw(both_ways), "per_phase": {name: draw(both_ways) for name in names if draw(st.booleans())}},
        "observations": {"violation": draw(st.booleans()), "headroom_export": draw(st.booleans())},
        "on": draw(st.lists(on, min_size=sockets + 1, max_size=sockets + 1)),
    }


@st.composite
def buildings(draw: st.DrawFn) -> dict[str, Any]:
    tank = st.fixed_dictionaries(
        {
            "capacity": between(1.0, 20.0),
            "efficiency": between(0.7, 1.0),
            "loss_coefficient": st.sampled_from([0.0, 0.006]),
            "initial_soc": part,
            "max_input_power": st.one_of(st.none(), between(0.5, 5.0)),
            "max_output_power": st.one_of(st.none(), between(0.5, 5.0)),
        }
    )
    charging = draw(st.lists(chargers(), max_size=2))
    outages = None if charging else draw(st.sampled_from([None, *OUTAGES]))  # not of a building with chargers
    # A service is not of one with thermal devices or outages, and appliances not of one with outages or a service.
    has_service = outages is None and draw(st.booleans())
    return {
        "service": draw(services(len(charging))) if has_service else None,
        "constraints": draw(st.one_of(st.none(), constraints(len(charging)))),
        "appliances": 0 if outages or has_service else draw(st.integers(0, 2)),
        "dynamics": None if has_service else draw(st.one_of(st.none(), models())),
        "people": draw(st.booleans()),  # of a building with dynamics
        "outages": outages,
        "sized": draw(st.booleans()),
        "pv": draw(st.one_of(st.none(), between(1.0, 50.0))),
        "battery": draw(st.one_of(st.none(), batteries(50.0))),
        "chargers": charging,
        "thermal": not has_service and draw(st.booleans()),
        "tanks": {use: draw(st.one_of(st.none(), tank)) for use in USES},
        "heater": draw(st.booleans()),
        "noise": draw(st.sampled_from([0.0, 0.1])),
    }


@st.composite
def plans(draw: st.DrawFn) -> dict[str, Any]:
    """What a scenario consists of; `write` makes its files."""
    sites = draw(st.lists(buildings(), min_size=1, max_size=3))
    if not any(site["battery"] or site["chargers"] for site in sites):
        sites[0]["battery"] = draw(batteries(50.0))  # a scenario has something to act on
    count = sum(len(site["chargers"]) for site in sites)
    return {
        "per_hour": draw(st.sampled_from([1, 2, 4, 12])),
        "buildings": sites,
        "devices": draw(st.sampled_from([None, "cooling_device", "heating_device", "cooling_or_heating_device"])),
        "vehicles": draw(st.lists(batteries(40.0), min_size=count, max_size=count + 1)) if count else [],
        "reward": draw(st.sampled_from(sorted(REWARDS))),
        "hours": draw(st.integers(30, 60)),
        "start": draw(st.integers(0, 10)),
        "announced": draw(st.booleans()),
        "arrivals_given": draw(st.booleans()),
        "session_ids": draw(st.booleans()),
        "seed": draw(st.integers(0, 10_000)),
    }


def write(plan: dict[str, Any], folder: Path) -> Path:
    """Write a scenario.

    Returns:
        Path of its schema.
    """
    rng = np.random.default_rng(plan["seed"])
    rows = plan["start"] + plan["hours"] + 1
    per_hour = plan["per_hour"]
    hour = np.arange(rows) // per_hour % 24
    minutes = {"minutes": np.arange(rows) % per_hour * 60 // per_hour} if per_hour > 1 else {}
    weather = pd.DataFrame(
        {
            name: rng.uniform(5.0, 38.0, rows)
            for kind in ("outdoor_dry_bulb_temperature", "outdoor_relative_humidity", "diffuse_solar_irradiance",
                         "direct_solar_irradiance")
            for name in (kind, *(f"{kind}_predicted_{i}" for i in (1, 2, 3)))
        }
    )  # fmt: skip
    weather.to_csv(folder / "weather.csv", index=False)
    names = ("electricity_pricing", *(f"electricity_pricing_predicted_{i}" for i in (1, 2, 3)))
    pd.DataFrame({name: rng.uniform(0.05, 0.5, rows) for name in names}).to_csv(folder / "pricing.csv", index=False)
    pd.DataFrame({"carbon_intensity": rng.uniform(0.0, 0.6, rows)}).to_csv(folder / "carbon_intensity.csv", index=False)
    vehicles = [f"vehicle_{v}" for v in range(len(plan["vehicles"]))]
    sockets = iter(_schedules(plan, vehicles, rows, rng))
    actions = ("electrical_storage", "electric_vehicle_storage", "deferrable_appliance", *(f"{use}_storage" for use in USES))
    schema = entries.schema(
        {name: name in SHARED for name in OBSERVATIONS},
        [*actions, *filter(None, [plan["devices"]])],
        {},
        {name: {"battery": entries.battery(own)} for name, own in zip(vehicles, plan["vehicles"], strict=True)},
        rows - 1,
    )
    reward = {"type": f"citylearn.reward_function.{plan['reward']}", "attributes": REWARDS[plan["reward"]]}
    schema |= {"random_seed": plan["seed"], "seconds_per_time_step": 3600 // per_hour, "reward_function": reward}
    for n, site in enumerate(plan["buildings"]):
        demand = {use: rng.uniform(0.0, 3.0, rows) * site["thermal"] for use in ("dhw", "cooling", "heating")}
        demand["heating"][demand["cooling"] < 1.5] = 0.0  # CityLearn refuses both in one hour
        demand["cooling"][demand["heating"] > 0.0] = 0.0
        pd.DataFrame(
            {
                "month": 1 + np.arange(rows) // 29,
                "hour": hour + 1,
                **minutes,
                "day_type": 1 + np.arange(rows) // 24 % 7,
                "indoor_dry_bulb_temperature": rng.uniform(15.0, 30.0, rows),
                "non_shiftable_load": rng.uniform(0.0, 20.0, rows),
                **{f"{use}_demand": values for use, values in demand.items()},
                "solar_generation": np.maximum(0.0, rng.uniform(-300.0, 900.0, rows)),
                "indoor_dry_bulb_temperature_cooling_set_point": np.full(rows, 24.0),
                "indoor_dry_bulb_temperature_heating_set_point": np.full(rows, 20.0),
                "hvac_mode": rng.integers(1, 3, rows) if site["dynamics"] and site["people"] else rng.integers(0, 4, rows),
                "occupant_count": rng.integers(0, 4, rows),
                "power_outage": (rng.random(rows) < 0.3).astype(int),
            }
        ).to_csv(folder / f"building_{n}.csv", index=False)
        schema["buildings"][f"building_{n}"] = building = _building(site, n, sockets, folder)
        for i in range(site["appliances"]):
            building.setdefault("deferrable_appliances", {})[f"machine_{n}_{i}"] = _appliance(folder, f"{n}_{i}", rows, rng)
        if site["dynamics"]:
            _write_weights(site["dynamics"], folder / f"building_{n}.pth", rng)
            building["type"] = "citylearn.building.LSTMDynamicsBuilding"
            attributes = {**site["dynamics"], "filename": f"building_{n}.pth"}
            building["dynamics"] = {"type": "citylearn.dynamics.LSTMDynamics", "attributes": attributes}
            if site["people"]:
                building |= occupied(folder, f"building_{n}", rows, rng)
    path = folder / "schema.json"
    path.write_text(json.dumps(schema), encoding="utf-8")
    return path


def _device(kind: str, attributes: dict[str, Any]) -> dict[str, Any]:
    return {"type": f"citylearn.energy_model.{kind}", "autosize": False, "attributes": attributes}


def _write_weights(attributes: dict[str, Any], path: Path, rng: np.random.Generator) -> None:
    hidden, inputs = attributes["hidden_size"], len(attributes["input_observation_names"])
    shapes = {"l_linear.weight": (1, hidden), "l_linear.bias": (1,)}
    for layer in range(attributes["num_layers"]):
        shapes |= {
            f"l_lstm.weight_ih_l{layer}": (4 * hidden, hidden if layer else inputs),
            f"l_lstm.weight_hh_l{layer}": (4 * hidden, hidden),
            **{f"l_lstm.bias_{which}_l{layer}": (4 * hidden,) for which in ("ih", "hh")},
        }
    weights = {name: torch.tensor(rng.uniform(-0.5, 0.5, shape), dtype=torch.float32) for name, shape in shapes.items()}
    torch.save({"model_state_dict": weights}, path)


def _building(site: dict[str, Any], n: int, sockets: Any, folder: Path) -> dict[str, Any]:
    heater = "ElectricHeater" if site["heater"] else "HeatPump"
    # With much more, CityLearn takes float32's rounding of what a device delivers for a fault, and stops.
    heats = {"nominal_power": 20.0, "efficiency": 0.9 if site["heater"] else 0.25}
    temperatures = {} if site["heater"] else {"target_heating_temperature": 45.0, "target_cooling_temperature": 7.0}
    cools = {"nominal_power": 20.0, "efficiency": 0.22, "target_heating_temperature": 45.0, "target_cooling_temperature": 7.0}
    without = [f"{use}_storage" for use, tank in site["tanks"].items() if not (tank and site["thermal"])]
    without += [] if site["battery"] else ["electrical_storage"]
    series = ("weather", "carbon_intensity", "pricing")
    building = entries.building(f"building_{n}", series, ((), without), chargers={}, noise_std=site["noise"])
    if not site["service"]:
        building |= {f"{use}_device": _device(heater, heats | temperatures) for use in ("heating", "dhw")}
        building["cooling_device"] = _device("HeatPump", cools)
    if site["outages"]:
        building["power_outage"] = {"simulate_power_outage": True, **OUTAGES[site["outages"]]}
    if site["battery"]:
        building["electrical_storage"] = entries.battery(site["battery"])
    if site["pv"]:
        building["pv"] = entries.pv(site["pv"])
    for use, tank in site["tanks"].items():
        if tank and site["thermal"]:
            building[f"{use}_storage"] = _device("StorageTank", {name: v for name, v in tank.items() if v is not None})
    if site["thermal"] and site["sized"]:
        # CityLearn sizes them, and its numbers are of other types then.
        for name in ("cooling_device", "heating_device", "dhw_device", "cooling_storage", "dhw_storage"):
            if name in building:
                building[name] |= {"autosize": True, "autosize_attributes": {"safety_factor": 1.5}}
    for i, attributes in enumerate(site["chargers"]):
        name = f"charger_{n}_{i}"
        next(sockets).to_csv(folder / f"{name}.csv", index=False)
        phase = {"phase_connection": site["service"]["on"][i]} if site["service"] else {}
        own = {"noise_std": site["noise"], "attributes": attributes | phase}
        building["chargers"][name] = entries.charger(f"{name}.csv", 0.0) | own
    if site["constraints"]:
        names = list(building["chargers"])
        phases = [
            {**phase, "chargers": [name for name, is_on in zip(names, phase["chargers"], strict=True) if is_on]}
            for phase in site["constraints"]["phases"]
        ]
        building["charging_constraints"] = {**site["constraints"], "phases": phases}
    if site["service"]:
        building["electrical_service"] = {name: value for name, value in site["service"].items() if name != "on"}
        if site["battery"]:
            building["electrical_storage"]["attributes"] = {**site["battery"], "phase_connection": site["service"]["on"][-1]}
    return building


def _appliance(folder: Path, name: str, rows: int, rng: np.random.Generator) -> dict[str, Any]:
    """An appliance with cycles one after another, of which some start late, last long, or end with the rows."""
    profiles, schedule, row = [], [], int(rng.integers(0, 5))
    for i in range(3):
        energies = rng.uniform(0.0, 5.0, int(rng.integers(1, 11))).round(3).tolist()
        profiles.append((f"p{i}", len(energies), float(np.float32(energies).sum()), str(energies)))
    while row < rows:
        which = int(rng.integers(3))
        latest = row + int(rng.integers(0, 8))
        deadline = latest + profiles[which][1] - 1 + int(rng.integers(0, 3))
        schedule.append((f"c{row}", f"p{which}", row, latest, deadline, round(rng.random(), 2), rng.random() < 0.5))
        row = deadline + 1 + int(rng.integers(0, 4))
    files = {"cycle_profiles_file": f"profiles_{name}.csv", "flexibility_schedule_file": f"schedule_{name}.csv"}
    columns = (
        ["profile_id", "duration_steps", "total_energy_kwh", "load_profile"],
        ["cycle_id", "profile_id", "earliest_start_time_step", "latest_start_time_step", "deadline_time_step", "priority",
         "must_run"],
    )  # fmt: skip
    for file, values, names in zip(files.values(), (profiles, schedule), columns, strict=True):
        pd.DataFrame(values, columns=names).to_csv(folder / file, index=False)
    threshold = {"attributes": {"trigger_threshold": 0.0}} if rng.random() < 0.5 else {}
    return {"type": "citylearn.energy_model.DeferrableAppliance", **files, **threshold}


def _schedules(plan: dict[str, Any], vehicles: list[str], rows: int, rng: np.random.Generator) -> list[pd.DataFrame]:
    """Charging sessions: vehicles come to any charger that is free, some announced, no vehicle at two at once."""
    count = sum(len(site["chargers"]) for site in plan["buildings"])
    session_id = "electric_vehicle_session_id"
    columns = (STATE, ID, DEPARTURE, REQUIRED_SOC, ARRIVAL, ARRIVAL_SOC, session_id)
    text: dict[str, Any] = {name: np.full((count, rows), 3 if name == STATE else "", dtype=object) for name in columns}
    busy = dict.fromkeys(vehicles, 0)
    free = [0] * count
    number = 0
    for row in range(rows):
        for c in range(count):
            ready = [v for v in vehicles if busy[v] <= row]
            if free[c] > row or not ready or rng.random() > 0.4:
                continue
            vehicle = ready[rng.integers(len(ready))]
            wait = int(rng.integers(1, 4)) if plan["announced"] and rng.random() < 0.6 else 0
            stay = int(rng.integers(1, 9))
            first, end = min(row + wait, rows), min(row + wait + stay, rows)
            soc = round(float(rng.random()), 3) if plan["arrivals_given"] or rng.random() < 0.7 else ""
            text[STATE][c, row:first], text[STATE][c, first:end] = 2, 1
            text[ID][c, row:end] = vehicle
            text[session_id][c, first:end] = f"session_{number}" if plan["session_ids"] else ""
            for at in range(row, first):
                text[ARRIVAL][c, at], text[ARRIVAL_SOC][c, at] = first - at, soc
            if not wait and first < rows:
                text[ARRIVAL_SOC][c, first] = soc
            for at in range(first, end):
                text[DEPARTURE][c, at] = row + wait + stay - at
                text[REQUIRED_SOC][c, at] = round(float(rng.uniform(0.4, 1.0)), 3)
            number += 1
            # One row between two sessions of a vehicle or a charger, mostly.
            pause = int(rng.random() < 0.8)
            free[c], busy[vehicle] = end + pause, end + pause
    return [pd.DataFrame({name: values[c] for name, values in text.items()}) for c in range(count)]
