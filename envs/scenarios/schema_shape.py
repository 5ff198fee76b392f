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
    hint,
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
OF_APPLIANCES = ("deferrable_appliance_", "escalator_")


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
            (*OF_APPLIANCES, "charging_"),
            Record({"active": Flag(), "shared_in_central_agent": Flag()}, idle=("stochaicity:",), null=False),
        ),
        "actions": _Switches("action", ACTIONS, OF_APPLIANCES, Record({"active": Flag()}, null=False)),
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
