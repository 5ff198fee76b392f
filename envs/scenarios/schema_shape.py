"""What CityLearn 3.0.2 and this project read of a `schema.json`, as data.

The names are those that its loader reads and its constructors take, which a test compares. Another has no effect there, or
stops it. Limits are wide: what lies beyond is a wrong unit or a slip, and would make a search learn from nonsense.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from envs.scenarios.shapes import (
    FLAG,
    ByClass,
    Checked,
    Curve,
    Each,
    Fault,
    Limit,
    Place,
    Record,
    Shape,
    choice,
    dotted_class,
    is_number,
    remedy,
    text,
)  # fmt: skip

FIRST, LAST = "simulation_start_time_step", "simulation_end_time_step"
WASHING = "washing_machine"  # beginning of names of CityLearn 2.4 that version 3 does not have
SET_POINT, DELTA = (f"indoor_dry_bulb_temperature_{what}" for what in ("set_point", "delta"))  # before version 2.2
CONVERT = "run python -m envs.convert"  # the remedy for what its files have
USES = ("cooling", "heating", "dhw")  # of heat and cold, in the kernel's order

FORECAST_HOURS = (6, 12, 24)  # of CityLearn's three predictions
# What a column's name has more for each of them, and for the value itself, and how many hours ahead that is.
AHEAD = {"": 0, **{f"_predicted_{i}": hours for i, hours in enumerate(FORECAST_HOURS, start=1)}}

# -- devices ---------------------------------------------------------------------------------

_POWER_WHY = "10 GW is more than any site has; the unit is kW"
MOST_CHARGER = 1e5  # kW
_CHARGER_WHY = "100 MW is more than any charger has; the unit is kW"
_POWER = Limit(0, 1e7, _POWER_WHY, above=True)
_POWER_OR_NONE = Limit(0, 1e7, _POWER_WHY)
_SHARE = Limit(0, 1, "a share")
_EFFICIENCY = Limit(0, 1, "more than 1 would make energy", above=True)
_FACTOR = Limit(0, 1000, "a factor of the size", above=True)
_WEIGHT = Limit(-1e9, 1e9, "a weight", null=False)
_SEED = Limit(0, 2**32 - 1, "the seed of NumPy's generator", whole=True)
_FILE = text("the name of a file")
_NAME = text(null=False)

_STORAGE = {
    "random_seed": _SEED,
    "capacity": Limit(0, 1e7, "10 GWh is more than any storage holds; the unit is kWh", above=True),
    "efficiency": _EFFICIENCY,
    "loss_coefficient": _SHARE,
    "initial_soc": _SHARE,
}
_BATTERY = Record(
    {
        **_STORAGE,
        "nominal_power": _POWER,
        "capacity_loss_coefficient": _SHARE,
        "depth_of_discharge": Limit(0, 1, "a share of the capacity", above=True),
        "power_efficiency_curve": Curve(_EFFICIENCY),
        "capacity_power_curve": Curve(_SHARE),
        "phase_connection": text(),
    }
)
_PV_MODES = ("per_kw", "w_per_kw", "profile", "absolute", "absolute_kwh", "kwh", "kwh_step", "energy")
ABSOLUTE_MODES = _PV_MODES[3:]
_HEATER = {"random_seed": _SEED, "nominal_power": _POWER_OR_NONE, "efficiency": _EFFICIENCY}
_SUPPLY_TEMPERATURE = Limit(-90, 200, "degrees Celsius")
_BOUNDS = Each(Limit(-1e12, 1e12, "a bound of an input", null=False), "numbers", list)
CLASSES: dict[str, Record] = {
    "Battery": _BATTERY,
    "PV": Record({**_HEATER, "generation_mode": choice(*_PV_MODES)}),
    "HeatPump": Record({**_HEATER, "target_heating_temperature target_cooling_temperature": _SUPPLY_TEMPERATURE}),
    "ElectricHeater": Record(_HEATER),
    "StorageTank": Record({**_STORAGE, "max_input_power max_output_power": _POWER_OR_NONE}),
    "Charger": Record(
        {
            "max_charging_power": Limit(0, MOST_CHARGER, _CHARGER_WHY, above=True),
            "min_charging_power max_discharging_power min_discharging_power": Limit(0, MOST_CHARGER, _CHARGER_WHY),
            "efficiency": _EFFICIENCY,
            "charge_efficiency_curve discharge_efficiency_curve": Curve(_EFFICIENCY, least=1),
            "phase_connection": text(),
            "random_seed": _SEED,
        },
        idle=("nominal_power", "charger_type"),
    ),
    "LSTMDynamics": Record(
        {
            "filename": _FILE,
            "input_observation_names": Each(_NAME, "names", list),
            "input_normalization_minimum input_normalization_maximum": _BOUNDS,
            "hidden_size": Limit(1, 10_000, "neurons", whole=True),
            "num_layers": Limit(1, 100, "layers", whole=True),
            "lookback": Limit(1, 1000, "hours", whole=True),
            "input_size": Limit(1, 1000, "inputs", whole=True),
            "dropout": _SHARE,
        },
        null=False,
    ),
}
_SIZING = Record(
    {
        "safety_factor duration zero_net_energy_proportion": _FACTOR,
        "parallel use_sample_target": FLAG,
        "epw_filepath": _FILE,
        "roof_area": Limit(0, 1e7, "m2 of a roof"),
    }
)


def _device(*kinds: str, needed: tuple[str, ...] = ()) -> ByClass:
    return ByClass(
        {kind: CLASSES[kind] for kind in kinds}, {"autosize": FLAG, "autosize_attributes": _SIZING}, needed_attributes=needed
    )


# -- buildings -------------------------------------------------------------------------------

_SIZES = ("capacity", "nominal_power")
_NOISE = Limit(0, 1e6, "standard deviation of the noise", null=False)
_BOTH_WAYS = Record({"import_kw export_kw": _POWER_OR_NONE})
_SHOWN = Record({"headroom headroom_export violation phase_encoding": FLAG})
_PHASE = Record({"name": text(), "limit_kw": _POWER_OR_NONE, "chargers": Each(_NAME, "chargers", list)}, null=False)
_SERVICE = Record(
    {
        "mode": choice("single_phase", "three_phase", null=False),
        "default_split": choice("balanced", "L1", "L2", "L3", null=False),
        "limits": Record({"total": _BOTH_WAYS, "per_phase": Each(_BOTH_WAYS, "phases")}),
        "observations": _SHOWN,
        "expose_observations": FLAG,
    },
    idle=("enabled",),
)
_OUTAGES = {
    "PowerOutage": Record({"random_seed": _SEED}),
    "ReliabilityMetricsPowerOutage": Record(
        {
            "random_seed": _SEED,
            "saifi": Limit(0, 8760, "outages a year"),
            "caidi": Limit(0, 525_600, "minutes of an outage"),
            "start_time_steps": Each(Limit(0, 1e9, "rows", whole=True, null=False), "rows", list),
        }
    ),
}
_OUTAGE = Record(
    {
        "simulate_power_outage stochastic_power_outage": FLAG,
        "stochastic_power_outage_model": ByClass(_OUTAGES),
    },
    null=False,
)
_OCCUPANT = Record(
    {
        "setpoint_increase_model_filename setpoint_decrease_model_filename": _FILE,
        "delta_output_map": Each(Limit(-100, 100, "degrees", null=False), "steps of the set point"),
    },
    null=False,
)
CHARGER = ByClass(
    {"Charger": CLASSES["Charger"]},
    {"charger_simulation": _FILE, "noise_std": _NOISE},
    needed=("charger_simulation",),
    idle=("autosize", "include"),
    null=False,
)
_APPLIANCE = ByClass(
    {"DeferrableAppliance": Record({**_HEATER, "trigger_threshold": _SHARE, "phase_connection": text()})},
    {"cycle_profiles_file flexibility_schedule_file": _FILE},
    needed=("cycle_profiles_file", "flexibility_schedule_file"),
    idle=("autosize", "include"),
    default="citylearn.energy_model.DeferrableAppliance",
    null=False,
)
_ESCALATOR = ByClass(
    {
        "Escalator": Record(
            {
                **_HEATER,
                "standby_power slow_power normal_power": _POWER_OR_NONE,
                "minimum_state_steps": Limit(0, 1e6, "steps", whole=True),
                "service_threshold_passengers": Limit(0, 1e6, "people"),
            }
        )
    },
    {"simulation simulation_file": _FILE},
    idle=("autosize", "include"),
    default="citylearn.energy_model.Escalator",
    null=False,
)
INPUTS = ("input_observation_names", "input_normalization_minimum", "input_normalization_maximum")  # of LSTM dynamics
BUILDING_CLASSES = (
    "Building", "DynamicsBuilding", "LSTMDynamicsBuilding", "OccupantInteractionBuilding",
    "LogisticRegressionOccupantInteractionBuilding",
)  # fmt: skip
BUILDING = Record(
    {
            "include": FLAG,
            "type": dotted_class(BUILDING_CLASSES),
            "energy_simulation weather carbon_intensity pricing": _FILE,
            "inactive_observations": Each(_NAME, "observations", list),
            "inactive_actions": Each(_NAME, "actions", list),
            "electrical_storage": _device("Battery", needed=_SIZES),
            "pv": _device("PV"),
            "cooling_device": _device("HeatPump"),
            "heating_device dhw_device": _device("HeatPump", "ElectricHeater"),
            "cooling_storage heating_storage dhw_storage": _device("StorageTank"),
            # Public data repeat the inputs beside the attributes, from where CityLearn does not read them.
            "dynamics": ByClass({"LSTMDynamics": CLASSES["LSTMDynamics"]}, idle=INPUTS),
            "occupant": ByClass(
                {"LogisticRegressionOccupant": _OCCUPANT}, {"parameters_filename": _FILE}, needed=("parameters_filename",)
            ),
            "power_outage": _OUTAGE,
            "chargers": Each(CHARGER, "chargers by name"),
            "deferrable_appliances": Each(_APPLIANCE, "appliances by name", null=False),
            "escalators": Each(_ESCALATOR, "escalators by name"),
            "noise_std": _NOISE,
            "equity_group": Shape(),
            "charging_constraints": Record(
                {
                    "building_limit_kw": _POWER_OR_NONE,
                    "phases": Each(_PHASE, "phases", list),
                    "observations": _SHOWN,
                    "expose_observations": FLAG,
                }
            ),
            "electrical_service": _SERVICE,
        },
    needed=("energy_simulation", "weather"),
    # Attributes of CityLearn's classes that its loader does not pass on.
    idle=(
        "name", "ignore_dynamics", "ignore_occupant", "set_point_hold_time_steps", "maximum_temperature_delta",
        "observation_space_limit_delta", "demand_observation_limit_factor",
    ),
    older={f"{WASHING}s": CONVERT},
    null=False,
)  # fmt: skip
_VEHICLE = Record(
    {
        "include": FLAG,
        "type": dotted_class(("ElectricVehicle",)),
        "battery": ByClass(
            {"Battery": _BATTERY},
            {"autosize": Shape()},
            default="citylearn.energy_model.Battery",
            needed_attributes=_SIZES,
        ),
    },
    needed=("battery",),
    null=False,
)

# -- rewards ---------------------------------------------------------------------------------

_COMFORT = {"band": Limit(0, 100, "degrees"), "lower_exponent higher_exponent": Limit(0, 100, "an exponent")}
# They run in scenarios that are not trusted too.
REWARDS: dict[str, Record] = {
    "RewardFunction": Record({"exponent": Limit(0, 100, "an exponent")}),
    "MARL": Record({}),
    "IndependentSACReward": Record({}),
    "SolarPenaltyReward": Record({}),
    "ComfortReward": Record(_COMFORT),
    "SolarPenaltyAndComfortReward": Record({**_COMFORT, "coefficients": Each(_WEIGHT, "numbers", list)}),
    "Electric_Vehicles_Reward_Function": Record({"weights": Each(_WEIGHT, "weights")}),
}


class _Reward(Shape):
    def _faults(self, value: Any, place: Place) -> Iterator[Fault]:
        kind = value.get("type") if isinstance(value, dict) else None
        if not isinstance(kind, dict):
            yield from ByClass(REWARDS, null=False).faults(value, place)
            return
        each = Each(dotted_class(REWARDS, null=False), "a class for each building", least=1)
        yield from each.faults(kind, (*place, "type"))
        attributes = Each(Each(Shape(), "attributes"), "attributes", null=False)
        yield from attributes.faults(value.get("attributes", {}), (*place, "attributes"))


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
        *(f"{name}{ahead}" for name in _PREDICTED for ahead in AHEAD),
        *(f"{use}_{what}" for use in USES for what in (
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
# The name of a charger stands between both parts.
CHARGER_FEATURES = {
    "electric_vehicle_charger_": ("connected_state", "incoming_state"),
    "connected_electric_vehicle_at_charger_": ("departure_time", "required_soc_departure", "soc", "battery_capacity"),
    "incoming_electric_vehicle_at_charger_": ("estimated_arrival_time", "estimated_soc_arrival"),
}
AT_CHARGERS = frozenset(prefix + end for prefix, ends in CHARGER_FEATURES.items() for end in ends)
# Actions that only move energy in time. Other devices serve people, such as by cooling a room or washing.
STORAGE_ACTIONS = frozenset({"electrical_storage", "electric_vehicle_storage", *(f"{use}_storage" for use in USES)})
# Of devices that the uncontrolled site runs as the building's own controller does.
THERMAL_ACTIONS = frozenset({"cooling_device", "heating_device", "cooling_or_heating_device"})
ACTIONS = STORAGE_ACTIONS | THERMAL_ACTIONS | {"deferrable_appliance", "escalator"}
OF_APPLIANCES = ("deferrable_appliance_", "escalator_")


_HOURS_AHEAD = re.compile(rf"_predicted_({'|'.join(map(str, FORECAST_HOURS))})h$")


def todays_name(name: str) -> str:
    """What CityLearn 3 calls an observation of version 2, which named predictions by hours ahead and had one set point."""
    if name in (SET_POINT, DELTA):
        return name.replace("temperature", "temperature_cooling")
    return _HOURS_AHEAD.sub(lambda hours: f"_predicted_{FORECAST_HOURS.index(int(hours[1])) + 1}", name)


def is_older(name: str) -> bool:
    """Whether an observation or action is one of CityLearn 2 that version 3 has under another name, or not at all."""
    return name.startswith(WASHING) or todays_name(name) != name


@dataclass(frozen=True)
class _Switches(Shape):
    """Observations or actions by name, of which the active ones have to be known, or begin like some."""

    what: str
    known: frozenset[str]
    beginnings: tuple[str, ...]
    item: Record

    def _faults(self, value: Any, place: Place) -> Iterator[Fault]:
        yield from Each(self.item, f"{self.what}s by name", null=False).faults(value, place)
        if not isinstance(value, dict):
            return
        active = [name for name, entry in value.items() if isinstance(entry, dict) and entry.get("active")]
        unknown = [name for name in active if name not in self.known and not name.startswith(self.beginnings)]
        older = [name for name in unknown if is_older(name)]
        lacks = f"is active, and CityLearn has no such {self.what}"
        for name in unknown:
            if name not in older:
                yield Fault((*place, name), f"{lacks}; {remedy(name, self.known)}", form=False)
        if older:
            more = (
                f"; {len(older) - 1} more {'have names' if older[2:] else 'has a name'} of an older version"
                if older[1:]
                else ""
            )
            yield Fault((*place, older[0]), f"{lacks}{more}; {CONVERT}", form=False)


# -- the whole -------------------------------------------------------------------------------


def _is_date(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(date.fromisoformat(value))
    except ValueError:
        return False


def _divides_an_hour(value: Any) -> bool:
    return is_number(value) and 1 <= value <= 3600 and 3600 % value == 0


def steps_per_hour(schema: Mapping[str, Any]) -> int:
    """Steps of an hour, and rows in the files; 1 where a schema is wrong about it, which its shape says."""
    seconds: Any = schema.get("seconds_per_time_step")
    return round(3600 / seconds) if _divides_an_hour(seconds) else 1


def _is_inner(value: Any) -> bool:
    return isinstance(value, str) and not Path(value).is_absolute() and ".." not in Path(value).parts


_ROW = Limit(0, 10**8, "a row of the series, counted from 0", whole=True, null=False)
_SEEN = Record({"active shared_in_central_agent": FLAG}, idle=("stochaicity:",), null=False)
SCHEMA = Record(
    {
            "random_seed": _SEED,
            "root_directory": text("the name of a folder"),
            "central_agent rolling_episode_split random_episode_split terminal_observation_padding render": FLAG,
            "export_kpis_on_episode_end export_only_final_episode debug_timing": FLAG,
            "check_observation_limits physics_invariant_checks": FLAG,
            f"{FIRST} {LAST}": _ROW,
            "episode_time_steps": Shape(),  # each run has a length of its own
            "seconds_per_time_step": Checked("seconds that divide an hour, such as 3600, 900 or 300", _divides_an_hour),
            "start_date": Checked("a date such as 2024-08-01", _is_date),
            "observations": _Switches(
                "observation", OBSERVATIONS | AT_CHARGERS, (*OF_APPLIANCES, "charging_"), _SEEN, null=False
            ),
            "actions": _Switches("action", ACTIONS, OF_APPLIANCES, Record({"active": FLAG}, null=False), null=False),
            "agent": Shape(),  # CityLearn's own agents
            "reward_function": _Reward(null=False),
            "electric_vehicles_def": Each(_VEHICLE, "vehicles by name", left_out=True, null=False),
            "buildings": Each(BUILDING, "buildings by name", least=1, left_out=True, null=False),
            "interface": choice("flat", "entity"),
            "topology_mode": choice("static"),
            "community_market": Record(
                {
                        "enabled": FLAG,
                        "local_price_ratio_to_grid_import intra_community_sell_ratio": _SHARE,
                        "import_member_weights": Each(Limit(0, 1e9, "a weight", null=False), "weights"),
                        "kpis": Record({"community_local_traded_enabled community_self_consumption_enabled": FLAG}),
                    },
                idle=("grid_export_price", "counterfactual"),
            ),
            "demand_response": Record(
                {"enabled": Checked("false, as policies here have the flat interface", lambda value: value in (False, 0))},
                idle=("requests_file", "baseline_method", "baseline_window_seconds", "allow_overlapping_requests"),
            ),
            "robustness": Record(
                {"enabled": FLAG, "events_file": _FILE}, idle=("random_seed", "missing_replacement_value", "modules")
            ),
            "render_mode": choice("none", "during", "end"),
            "render_file_format": choice("csv", "parquet"),
            "render_chunk_size": Limit(1, 1e9, "rows", whole=True),
            "render_session_name": Checked("the name of a folder, without .. and not beginning with a slash", _is_inner),
            "metrics_log_interval": Limit(0, 1e9, "steps", whole=True, null=False),
            "ev_departure_within_tolerance ev_departure_service_tolerance": _SHARE,
        },
    needed=(FIRST, LAST, "observations", "actions", "reward_function", "buildings"),
    idle=(
        "render_directory", "dataset_id", "dataset_family", "dataset_contract_version", "timezone", "observation_bundles",
        "derived_forecasts", "topology_events", "shared_observations", "name",
    ),
    null=False,
)  # fmt: skip
