"""What CityLearn 3.0.2 and this project read of a `schema.json`, as data.

The names are those that CityLearn's loader reads and its constructors take. A name that is not here has no effect there, or
stops it with a message without file and place. A test compares the attributes with the signatures of its constructors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from envs.scenarios import limits
from envs.scenarios.faults import shown
from envs.scenarios.limits import Limit
from envs.scenarios.shapes import (
    Anything,
    ByClass,
    Checked,
    Curve,
    DottedClass,
    Fault,
    Flag,
    Listing,
    Named,
    Number,
    Place,
    Record,
    Shape,
    Text,
    dotted,
    hint,
    is_left_out,
)  # fmt: skip

FIRST, LAST = "simulation_start_time_step", "simulation_end_time_step"

# -- devices ---------------------------------------------------------------------------------

_SEED = Number(Limit(0, 2**32 - 1, "the seed of NumPy's generator", whole=True))
_EVERY_DEVICE: dict[str, Shape] = {"random_seed": _SEED}
_STORAGE: dict[str, Shape] = {
    **_EVERY_DEVICE,
    "capacity": Number(limits.CAPACITY),
    "efficiency": Number(limits.EFFICIENCY),
    "loss_coefficient": Number(limits.SHARE),
    "initial_soc": Number(limits.SHARE),
}
_BATTERY: dict[str, Shape] = {
    **_STORAGE,
    "nominal_power": Number(limits.POWER),
    "capacity_loss_coefficient": Number(limits.SHARE),
    "depth_of_discharge": Number(limits.DEPTH),
    "power_efficiency_curve": Curve(limits.EFFICIENCY),
    "capacity_power_curve": Curve(limits.SHARE),
    "phase_connection": Text(),
}
_PV_MODES = ("per_kw", "w_per_kw", "profile", "absolute", "absolute_kwh", "kwh", "kwh_step", "energy")
ABSOLUTE_MODES = _PV_MODES[3:]
_HEAT_PUMP = Record(
    {
        **_EVERY_DEVICE,
        "nominal_power": Number(limits.POWER_OR_NONE),
        "efficiency": Number(limits.EFFICIENCY),
        "target_heating_temperature": Number(limits.SUPPLY_TEMPERATURE),
        "target_cooling_temperature": Number(limits.SUPPLY_TEMPERATURE),
    }
)
_HEATER = Record(
    {**_EVERY_DEVICE, "nominal_power": Number(limits.POWER_OR_NONE), "efficiency": Number(limits.EFFICIENCY)},
)
_TANK = Record(
    {
        **_STORAGE,
        "max_input_power": Number(limits.POWER_OR_NONE),
        "max_output_power": Number(limits.POWER_OR_NONE),
    }
)
_PV = Record(
    {
        **_EVERY_DEVICE,
        "nominal_power": Number(limits.POWER_OR_NONE),
        "efficiency": Number(limits.EFFICIENCY),
        "generation_mode": Text(choices=_PV_MODES),
    }
)
_CHARGER = Record(
    {
        "max_charging_power": Number(limits.CHARGER_POWER),
        "min_charging_power": Number(limits.CHARGER_POWER_OR_NONE),
        "max_discharging_power": Number(limits.CHARGER_POWER_OR_NONE),
        "min_discharging_power": Number(limits.CHARGER_POWER_OR_NONE),
        "efficiency": Number(limits.EFFICIENCY),
        "charge_efficiency_curve": Curve(limits.EFFICIENCY, least=1),
        "discharge_efficiency_curve": Curve(limits.EFFICIENCY, least=1),
        "phase_connection": Text(),
        "random_seed": _SEED,
    },
    idle=("nominal_power", "charger_type"),
)
MOST_WEIGHTS = 10**7  # of an LSTM, 40 MB; those of the public scenarios have less than a hundred thousand
_LSTM = Record(
    {
        "filename": Text("the name of a file"),
        "input_observation_names": Listing(Text(null=False), "names"),
        "input_normalization_minimum": Listing(Number(Limit(-1e12, 1e12, "a bound of an input"), null=False), "numbers"),
        "input_normalization_maximum": Listing(Number(Limit(-1e12, 1e12, "a bound of an input"), null=False), "numbers"),
        "hidden_size": Number(Limit(1, 10_000, "neurons", whole=True)),
        "num_layers": Number(Limit(1, 100, "layers", whole=True)),
        "lookback": Number(Limit(1, 1000, "hours", whole=True)),
        "input_size": Number(Limit(1, 1000, "inputs", whole=True)),
        "dropout": Number(limits.SHARE),
    },
    null=False,
)
_SIZING = Record(
    {
        "safety_factor": Number(limits.FACTOR),
        "duration": Number(limits.FACTOR),
        "parallel": Flag(),
        "epw_filepath": Text("the name of a file"),
        "use_sample_target": Flag(),
        "zero_net_energy_proportion": Number(limits.FACTOR),
        "roof_area": Number(Limit(0, 1e7, "m2 of a roof")),
    }
)
CLASSES: dict[str, Record] = {
    "Battery": Record(_BATTERY),
    "PV": _PV,
    "HeatPump": _HEAT_PUMP,
    "ElectricHeater": _HEATER,
    "StorageTank": _TANK,
    "Charger": _CHARGER,
    "LSTMDynamics": _LSTM,
}


def _device(*kinds: str, needed: tuple[str, ...] = ()) -> ByClass:
    return ByClass(
        {kind: CLASSES[kind] for kind in kinds},
        {"autosize": Flag(), "autosize_attributes": _SIZING},
        needed_attributes=needed,
    )


_SIZES = ("capacity", "nominal_power")
_DEVICES: dict[str, Shape] = {
    "electrical_storage": _device("Battery", needed=_SIZES),
    "pv": _device("PV"),
    "cooling_device": _device("HeatPump"),
    "heating_device": _device("HeatPump", "ElectricHeater"),
    "dhw_device": _device("HeatPump", "ElectricHeater"),
    "cooling_storage": _device("StorageTank"),
    "heating_storage": _device("StorageTank"),
    "dhw_storage": _device("StorageTank"),
}

# -- buildings -------------------------------------------------------------------------------

_FILE = Text("the name of a file")
_NOISE = Number(Limit(0, 1e6, "standard deviation of the noise"), null=False)
_LIMIT_KW = Number(limits.POWER_OR_NONE)
_BOTH_WAYS = Record({"import_kw": _LIMIT_KW, "export_kw": _LIMIT_KW})
_SHOWN = Record({name: Flag() for name in ("headroom", "headroom_export", "violation", "phase_encoding")})
_CONSTRAINTS = Record(
    {
        "building_limit_kw": _LIMIT_KW,
        "phases": Listing(
            Record({"name": Text(), "limit_kw": _LIMIT_KW, "chargers": Listing(Text(null=False), "chargers")}, null=False),
            "phases",
        ),
        "observations": _SHOWN,
        "expose_observations": Flag(),
    }
)
_SERVICE = Record(
    {
        "mode": Text(choices=("single_phase", "three_phase"), null=False),
        "default_split": Text(choices=("balanced", "L1", "L2", "L3"), null=False),
        "limits": Record({"total": _BOTH_WAYS, "per_phase": Named(_BOTH_WAYS, "phases")}),
        "observations": _SHOWN,
        "expose_observations": Flag(),
    },
    idle=("enabled",),
)
_OUTAGE = Record(
    {
        "simulate_power_outage": Flag(),
        "stochastic_power_outage": Flag(),
        "stochastic_power_outage_model": ByClass(
            {
                "PowerOutage": Record({"random_seed": _SEED}),
                "ReliabilityMetricsPowerOutage": Record(
                    {
                        "random_seed": _SEED,
                        "saifi": Number(Limit(0, 8760, "outages a year")),
                        "caidi": Number(Limit(0, 525_600, "minutes of an outage")),
                        "start_time_steps": Listing(Number(Limit(0, 1e9, "rows", whole=True), null=False), "rows"),
                    }
                ),
            }
        ),
    },
    null=False,
)
_CHARGERS = Named(
    ByClass(
        {"Charger": _CHARGER},
        {"charger_simulation": _FILE, "noise_std": _NOISE},
        needed=("charger_simulation",),
        idle=("autosize", "include"),
        null=False,
    ),
    "chargers by name",
)
_APPLIANCES = Named(
    ByClass(
        {
            "DeferrableAppliance": Record(
                {
                    **_HEATER.names,
                    "trigger_threshold": Number(limits.SHARE),
                    "phase_connection": Text(),
                }
            )
        },
        {"cycle_profiles_file": _FILE, "flexibility_schedule_file": _FILE},
        needed=("cycle_profiles_file", "flexibility_schedule_file"),
        idle=("autosize", "include"),
        default="citylearn.energy_model.DeferrableAppliance",
        null=False,
    ),
    "appliances by name",
    null=False,
)
_ESCALATORS = Named(
    ByClass(
        {
            "Escalator": Record(
                {
                    **_HEATER.names,
                    **dict.fromkeys(("standby_power", "slow_power", "normal_power"), _LIMIT_KW),
                    "minimum_state_steps": Number(Limit(0, 1e6, "steps", whole=True)),
                    "service_threshold_passengers": Number(Limit(0, 1e6, "people")),
                }
            )
        },
        {"simulation": _FILE, "simulation_file": _FILE},
        idle=("autosize", "include"),
        default="citylearn.energy_model.Escalator",
        null=False,
    ),
    "escalators by name",
)
BUILDING_CLASSES = (
    "Building", "DynamicsBuilding", "LSTMDynamicsBuilding", "OccupantInteractionBuilding",
    "LogisticRegressionOccupantInteractionBuilding",
)  # fmt: skip


@dataclass(frozen=True)
class _Type:
    """Class of a building or vehicle, which needs no attributes."""

    known: tuple[str, ...]

    def faults(self, value: Any, place: Place) -> Iterator[Fault]:
        if value is not None:
            yield from DottedClass(self.known).faults(value, place)


_BUILDING = Record(
    {
        "include": Flag(),
        "type": _Type(BUILDING_CLASSES),
        "energy_simulation": _FILE,
        "weather": _FILE,
        "carbon_intensity": _FILE,
        "pricing": _FILE,
        "inactive_observations": Listing(Text(null=False), "observations"),
        "inactive_actions": Listing(Text(null=False), "actions"),
        **_DEVICES,
        "dynamics": ByClass({"LSTMDynamics": _LSTM}),
        "occupant": ByClass(
            {"LogisticRegressionOccupant": Record(
                {
                    "setpoint_increase_model_filename": _FILE,
                    "setpoint_decrease_model_filename": _FILE,
                    "delta_output_map": Named(Number(Limit(-100, 100, "degrees"), null=False), "steps of the set point"),
                },
                null=False,
            )},
            {"parameters_filename": _FILE},
            needed=("parameters_filename",),
        ),
        "power_outage": _OUTAGE,
        "chargers": _CHARGERS,
        "deferrable_appliances": _APPLIANCES,
        "escalators": _ESCALATORS,
        "noise_std": _NOISE,
        "equity_group": Anything(),
        "charging_constraints": _CONSTRAINTS,
        "electrical_service": _SERVICE,
    },
    needed=("energy_simulation", "weather"),
    # Attributes of CityLearn's classes that its loader does not pass on.
    idle=(
        "name", "ignore_dynamics", "ignore_occupant", "set_point_hold_time_steps", "maximum_temperature_delta",
        "observation_space_limit_delta", "demand_observation_limit_factor",
    ),
    null=False,
)  # fmt: skip
_VEHICLE = Record(
    {
        "include": Flag(),
        "type": _Type(("ElectricVehicle",)),
        "battery": ByClass(
            {"Battery": Record(_BATTERY)},
            {"autosize": Anything()},
            default="citylearn.energy_model.Battery",
            needed_attributes=_SIZES,
        ),
    },
    needed=("battery",),
    null=False,
)

# -- rewards ---------------------------------------------------------------------------------

_EXPONENT = Number(Limit(0, 100, "an exponent"))
_BAND = Number(Limit(0, 100, "degrees"))
REWARDS: dict[str, Record] = {
    "RewardFunction": Record({"exponent": _EXPONENT}),
    "MARL": Record({}),
    "IndependentSACReward": Record({}),
    "SolarPenaltyReward": Record({}),
    "ComfortReward": Record({"band": _BAND, "lower_exponent": _EXPONENT, "higher_exponent": _EXPONENT}),
    "SolarPenaltyAndComfortReward": Record(
        {
            "band": _BAND,
            "lower_exponent": _EXPONENT,
            "higher_exponent": _EXPONENT,
            "coefficients": Listing(Number(Limit(-1e9, 1e9, "a weight"), null=False), "numbers"),
        }
    ),
    "Electric_Vehicles_Reward_Function": Record(
        {"weights": Named(Number(Limit(-1e9, 1e9, "a weight"), null=False), "weights")}
    ),
}


@dataclass(frozen=True)
class _Reward:
    """A reward function for all buildings, or one for each."""

    def faults(self, value: Any, place: Place) -> Iterator[Fault]:
        kind = value.get("type") if isinstance(value, dict) else None
        if not isinstance(kind, dict):
            yield from ByClass(REWARDS, null=False).faults(value, place)
            return
        yield from Named(DottedClass(REWARDS), "a class for each building", least=1).faults(kind, (*place, "type"))
        attributes = value.get("attributes", {})
        yield from Named(Named(Anything(), "attributes"), "attributes", null=False).faults(attributes, (*place, "attributes"))


# -- observations and actions ----------------------------------------------------------------

_PREDICTED = (
    "outdoor_dry_bulb_temperature", "outdoor_relative_humidity", "diffuse_solar_irradiance", "direct_solar_irradiance",
    "electricity_pricing",
)  # fmt: skip
OBSERVATIONS = frozenset(
    {
        "month", "hour", "day_type", "minutes", "seconds", "daylight_savings_status", "carbon_intensity",
        "indoor_dry_bulb_temperature", "indoor_dry_bulb_temperature_cooling_set_point",
        "indoor_dry_bulb_temperature_heating_set_point", "indoor_dry_bulb_temperature_cooling_delta",
        "indoor_dry_bulb_temperature_heating_delta", "average_unmet_cooling_setpoint_difference", "comfort_band",
        "indoor_relative_humidity", "occupant_count", "hvac_mode", "power_outage", "non_shiftable_load", "solar_generation",
        "net_electricity_consumption",
        *(f"{name}{ahead}" for name in _PREDICTED for ahead in ("", "_predicted_1", "_predicted_2", "_predicted_3")),
        *(f"{use}_{what}" for use in ("cooling", "heating", "dhw") for what in (
            "demand", "electricity_consumption", "storage_soc", "storage_electricity_consumption", "device_efficiency",
        )),
        "electrical_storage_soc", "electrical_storage_electricity_consumption",
        *(f"{name}_without_control" for name in (
            "cooling_demand", "heating_demand", "dhw_demand", "non_shiftable_load", "indoor_dry_bulb_temperature",
            "indoor_relative_humidity", "indoor_dry_bulb_temperature_cooling_set_point",
            "indoor_dry_bulb_temperature_heating_set_point",
        )),
    }
)  # fmt: skip
AT_CHARGERS = frozenset(
    {
        "electric_vehicle_charger_connected_state", "connected_electric_vehicle_at_charger_departure_time",
        "connected_electric_vehicle_at_charger_required_soc_departure", "connected_electric_vehicle_at_charger_soc",
        "connected_electric_vehicle_at_charger_battery_capacity", "electric_vehicle_charger_incoming_state",
        "incoming_electric_vehicle_at_charger_estimated_arrival_time",
        "incoming_electric_vehicle_at_charger_estimated_soc_arrival",
    }
)  # fmt: skip
ACTIONS = frozenset(
    {
        "electrical_storage", "electric_vehicle_storage", "cooling_storage", "heating_storage", "dhw_storage",
        "cooling_device", "heating_device", "cooling_or_heating_device", "deferrable_appliance", "escalator",
    }
)  # fmt: skip
_OF_APPLIANCES = ("deferrable_appliance_", "escalator_")


@dataclass(frozen=True)
class _Switches:
    """Observations or actions by name, of which the active ones have to be known.

    Attributes:
        what: one of them.
        known: names.
        beginnings: of further names.
        item: shape of a switch.
    """

    what: str
    known: frozenset[str]
    beginnings: tuple[str, ...]
    item: Record

    def faults(self, value: Any, place: Place) -> Iterator[Fault]:
        yield from Named(self.item, f"{self.what}s by name", null=False).faults(value, place)
        if not isinstance(value, dict):
            return
        for name, entry in value.items():
            unknown = name not in self.known and not name.startswith(self.beginnings)
            if unknown and isinstance(entry, dict) and entry.get("active"):
                yield Fault((*place, name), f"is active, and CityLearn has no such {self.what}; {hint(name, self.known)}")


# -- the whole -------------------------------------------------------------------------------


def _is_date(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(date.fromisoformat(value))
    except ValueError:
        return False


def _is_inner(value: Any) -> bool:
    return isinstance(value, str) and not Path(value).is_absolute() and ".." not in Path(value).parts


def _is_off(value: Any) -> bool:
    return value in (False, 0)


_ROW = Number(Limit(0, 10**8, "a row of the series, counted from 0", whole=True), null=False)
SCHEMA = Record(
    {
        "random_seed": _SEED,
        "root_directory": Text("the name of a folder"),
        "central_agent": Flag(),
        FIRST: _ROW,
        LAST: _ROW,
        "episode_time_steps": Anything(),  # each run has a length of its own
        "rolling_episode_split": Flag(),
        "random_episode_split": Flag(),
        "seconds_per_time_step": Number(Limit(3600, 3600, "only hourly scenarios are supported")),
        "start_date": Checked("a date such as 2024-08-01", _is_date),
        "observations": _Switches(
            "observation",
            OBSERVATIONS | AT_CHARGERS,
            (*_OF_APPLIANCES, "charging_"),
            Record({"active": Flag(), "shared_in_central_agent": Flag()}, idle=("stochaicity:",), null=False),
        ),
        "actions": _Switches("action", ACTIONS, _OF_APPLIANCES, Record({"active": Flag()}, null=False)),
        "agent": Anything(),  # CityLearn's own agents
        "reward_function": _Reward(),
        "electric_vehicles_def": Named(_VEHICLE, "vehicles by name", left_out=True, null=False),
        "buildings": Named(_BUILDING, "buildings by name", least=1, left_out=True, null=False),
        "interface": Text(choices=("flat",)),
        "topology_mode": Text(choices=("static",)),
        "terminal_observation_padding": Flag(),
        "community_market": Record(
            {
                "enabled": Flag(),
                "local_price_ratio_to_grid_import": Number(limits.SHARE),
                "intra_community_sell_ratio": Number(limits.SHARE),
                "import_member_weights": Named(Number(Limit(0, 1e9, "a weight"), null=False), "weights"),
                "kpis": Record(
                    {"community_local_traded_enabled": Flag(), "community_self_consumption_enabled": Flag()},
                ),
            },
            idle=("grid_export_price", "counterfactual"),
        ),
        "demand_response": Record({"enabled": Checked("false, as it needs the interface entity", _is_off)}, idle=(
            "requests_file", "baseline_method", "baseline_window_seconds", "allow_overlapping_requests",
        )),
        "robustness": Record({"enabled": Flag(), "events_file": _FILE}, idle=(
            "random_seed", "missing_replacement_value", "modules",
        )),
        "render": Flag(),
        "render_mode": Text(choices=("none", "during", "end")),
        "render_file_format": Text(choices=("csv", "parquet")),
        "render_chunk_size": Number(Limit(1, 1e9, "rows", whole=True)),
        "render_session_name": Checked("the name of a folder, without .. and not beginning with a slash", _is_inner),
        "export_kpis_on_episode_end": Flag(),
        "export_only_final_episode": Flag(),
        "debug_timing": Flag(),
        "check_observation_limits": Flag(),
        "physics_invariant_checks": Flag(),
        "metrics_log_interval": Number(Limit(0, 1e9, "steps", whole=True), null=False),
        "ev_departure_within_tolerance": Number(limits.SHARE),
        "ev_departure_service_tolerance": Number(limits.SHARE),
    },
    needed=(FIRST, LAST, "observations", "actions", "reward_function", "buildings"),
    idle=(
        "render_directory", "dataset_id", "dataset_family", "dataset_contract_version", "timezone", "observation_bundles",
        "derived_forecasts", "topology_events", "shared_observations", "name",
    ),
    null=False,
)  # fmt: skip


def schema_faults(schema: dict[str, Any]) -> list[Fault]:
    """Faults of a schema's form and of its numbers, without a look at any file."""
    faults = list(SCHEMA.faults(schema, ()))
    # What depends on several places can be told only where each has its form.
    return faults if any(fault.form for fault in faults) else [*faults, *_beside(schema)]


def _beside(schema: dict[str, Any]) -> Iterator[Fault]:
    """Faults of values beside one another, in a schema of the right form."""
    if schema[FIRST] >= schema[LAST]:
        text = f"is {schema[LAST]} and {FIRST} {schema[FIRST]}; the last row to be run has to come after the first"
        yield Fault((LAST,), text)
    buildings = {name: building for name, building in schema["buildings"].items() if not is_left_out(building)}
    if not buildings:
        yield Fault(("buildings",), "has none with include true; include one")
    active = {name for name, entry in schema["observations"].items() if entry.get("active")}
    seen = {name: active - set(building.get("inactive_observations") or ()) for name, building in buildings.items()}
    chargers = any(building.get("chargers") for building in buildings.values())
    if buildings and not any(names if chargers else names - AT_CHARGERS for names in seen.values()):
        yield Fault(("observations",), "has none that is active; a policy needs one")
    if any(building.get("dynamics") for building in buildings.values()):
        # A model of the indoor temperature makes CityLearn compute the inactive ones too.
        for name in schema["observations"]:
            if name not in OBSERVATIONS | AT_CHARGERS and not name.startswith(_OF_APPLIANCES):
                text = f"is unknown to CityLearn, which stops at it in a building with dynamics; {hint(name, OBSERVATIONS)}"
                yield Fault(("observations", name), text)
    robustness = schema.get("robustness") or {}
    if robustness.get("enabled") and not robustness.get("events_file"):
        yield Fault(("robustness", "events_file"), "is missing, and robustness is enabled; name a file")
    for name, building in buildings.items():
        yield from _in_building(schema, building, ("buildings", name))


def _in_building(schema: dict[str, Any], building: dict[str, Any], place: Place) -> Iterator[Fault]:
    acting = (schema["actions"].get("electrical_storage") or {}).get("active")
    if (
        acting
        and not building.get("electrical_storage")
        and "electrical_storage" not in (building.get("inactive_actions") or ())
    ):
        text = "is missing, and its action is active; add one, or add 'electrical_storage' to the building's inactive_actions"
        yield Fault((*place, "electrical_storage"), text)
    kind = str(building.get("type") or "").rpartition(".")[2]
    for part, kinds in (("dynamics", BUILDING_CLASSES[1:]), ("occupant", BUILDING_CLASSES[3:])):
        if kind in kinds and not building.get(part):
            yield Fault((*place, part), f"is missing; a building of type {kind} needs one")
    if building.get("dynamics"):
        yield from _dynamics(building["dynamics"], (*place, "dynamics", "attributes"))
    yield from _phases(building, place)
    for use in ("cooling", "heating", "dhw"):
        sizing = (building.get(f"{use}_device") or {}).get("autosize_attributes") or {}
        if sizing.get("safety_factor") is not None and sizing["safety_factor"] < 1.0:
            where = (*place, f"{use}_device", "autosize_attributes", "safety_factor")
            yield Fault(where, f"is {shown(sizing['safety_factor'])}; below 1 the device cannot meet its demand", form=False)
    for name, charger in (building.get("chargers") or {}).items():
        attributes = charger.get("attributes") or {}
        for way in ("charging_power", "discharging_power"):
            low, high = attributes.get(f"min_{way}"), attributes.get(f"max_{way}")
            if low is not None and high is not None and low > high:
                where = (*place, "chargers", name, "attributes", f"min_{way}")
                yield Fault(where, f"is {shown(low)}, above max_{way} {shown(high)}; lower it", form=False)


def _phases(building: dict[str, Any], place: Place) -> Iterator[Fault]:
    """Faults of the phases to which a building with an electrical service connects its devices."""
    service = building.get("electrical_service")
    if not service:
        return
    one = service.get("mode", "single_phase") == "single_phase"
    phases = ("L1",) if one else ("L1", "L2", "L3")
    named: dict[Place, Any] = {
        ("electrical_storage", "attributes"): building.get("electrical_storage"),
        **{("chargers", name, "attributes"): charger for name, charger in (building.get("chargers") or {}).items()},
    }
    for where, entry in named.items():
        phase = ((entry or {}).get("attributes") or {}).get("phase_connection")
        if phase is not None and phase not in (*phases, *(() if one else ("all_phases",))):
            yield Fault((*place, *where, "phase_connection"), f"is {shown(phase)}; it has to be one of {', '.join(phases)}")
    if one and service.get("default_split", "balanced") not in ("balanced", "L1"):
        yield Fault((*place, "electrical_service", "default_split"), "has to be balanced or L1 with a single phase")
    for phase in (service.get("limits") or {}).get("per_phase") or {}:
        if phase not in phases:
            where = (*place, "electrical_service", "limits", "per_phase", phase)
            yield Fault(where, f"is no phase of this service; it has to be one of {', '.join(phases)}")


def _dynamics(entry: dict[str, Any], place: Place) -> Iterator[Fault]:
    attributes = entry.get("attributes") or {}
    if str(entry["type"]).rpartition(".")[2] != "LSTMDynamics":
        return
    lists = ("input_observation_names", "input_normalization_minimum", "input_normalization_maximum")
    for name in ("filename", *lists, "hidden_size", "num_layers", "lookback"):
        if attributes.get(name) is None:
            yield Fault((*place, name), "is missing; the model cannot be read without it")
    for i, name in enumerate(attributes.get(lists[0]) or ()):
        if name.removesuffix("_sin").removesuffix("_cos") not in OBSERVATIONS:
            yield Fault((*place, lists[0], str(i)), f"is {shown(name)}, and CityLearn has no such observation; correct it")
    inputs = attributes.get("input_size") or len(attributes.get(lists[0]) or ())
    weights = _lstm_weights(inputs, attributes.get("hidden_size") or 0, attributes.get("num_layers") or 0)
    if weights > MOST_WEIGHTS:
        # CityLearn builds the network before it reads the file.
        text = f"and num_layers make a network of {weights:,.0f} weights; it may have at most {MOST_WEIGHTS:,}, so lower them"
        yield Fault((*place, "hidden_size"), text, form=False)
    lengths = {len(attributes.get(name) or ()) for name in lists}
    if len(lengths) > 1:
        yield Fault((*place, lists[0]), f"and {dotted(lists[1:])} have different lengths; give each input two bounds")


def _lstm_weights(inputs: float, hidden: float, layers: float) -> float:
    """Weights of an LSTM as torch builds it: in each layer four gates, each with two biases for a neuron."""
    return 4 * hidden * (inputs + hidden + 2 + (layers - 1) * (2 * hidden + 2))
