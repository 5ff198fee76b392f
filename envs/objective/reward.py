"""The reward `improvement`: what a step gains over the scenario's own uncontrolled run at the same hour.

Weights and formula have their one home here. The compiled kernel (`envs.batch_backend.kernel`) repeats the formula for speed,
and a test compares both. The linear programme of the bound takes its factors from `coefficients`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from envs.errors import ScenarioError
from envs.scenarios import schema_file, trust
from envs.scenarios.scenario import Scenario

RewardName = Literal["improvement", "schema"]

# Actions that only move energy in time. Other devices serve people, such as by cooling a room or washing.
STORAGE_ACTIONS = frozenset(
    {"electrical_storage", "electric_vehicle_storage", "cooling_storage", "heating_storage", "dhw_storage"}
)

WEIGHTS = {"co2": 0.50, "cost": 0.15, "solar": 0.20, "grid": 0.05, "ev": 0.10}


@dataclass(frozen=True)
class StepFigures:
    """Inputs of the reward in one step, or their sums over several, all buildings together.

    Attributes:
        emission_kg: CO2 of the imported energy.
        cost: of energy, and the rise of the month's demand charge where there is one [currency].
        solar_use_kwh: PV energy used on site.
        ramp_kwh: size of the change of net import since the step before.
        missing_kwh: energy missing in vehicles that leave.
    """

    emission_kg: float
    cost: float
    solar_use_kwh: float
    ramp_kwh: float
    missing_kwh: float


@dataclass(frozen=True)
class Scale:
    """Hourly means of the uncontrolled year, which make the terms comparable.

    Attributes:
        emission_kg: mean emission.
        cost: mean cost, demand charge included.
        pv_kwh: mean PV generation.
        ramp_kwh: mean size of the change of net import.
        required_kwh: mean energy that departures require.
    """

    emission_kg: float
    cost: float
    pv_kwh: float
    ramp_kwh: float
    required_kwh: float

    def by_term(self) -> dict[str, float]:
        """The mean that normalises each term, in the order of `WEIGHTS`."""
        return {
            "co2": self.emission_kg,
            "cost": self.cost,
            "solar": self.pv_kwh,
            "grid": self.ramp_kwh,
            "ev": self.required_kwh,
        }


def improvement_terms(now: StepFigures, uncontrolled: StepFigures, scale: Scale) -> dict[str, float]:
    """Terms of the reward, weighted; their sum is the reward.

    With subscript 0 for the uncontrolled run: co2 (E0-E)/mean(E0), cost (C0-C)/mean(C0), solar
    (S-S0)/mean(PV), grid (|dG0|-|dG|)/mean(|dG0|), ev -(U-U0)/mean(required), times `WEIGHTS`. So
    the uncontrolled site gets 0, and a mean of 0.05 is five per cent better by weight. A term with
    a mean of zero (a site without PV, vehicles or a carbon price) is zero.
    """
    gains = {
        "co2": uncontrolled.emission_kg - now.emission_kg,
        "cost": uncontrolled.cost - now.cost,
        "solar": now.solar_use_kwh - uncontrolled.solar_use_kwh,
        "grid": uncontrolled.ramp_kwh - now.ramp_kwh,
        "ev": uncontrolled.missing_kwh - now.missing_kwh,
    }
    return {name: WEIGHTS[name] * gains[name] / mean if mean > 0.0 else 0.0 for name, mean in scale.by_term().items()}


def coefficients(scale: Scale) -> dict[str, float]:
    """What a unit of each term's gain is worth: its weight over its mean, zero where the mean is zero."""
    return {name: WEIGHTS[name] / mean if mean > 0.0 else 0.0 for name, mean in scale.by_term().items()}


def check_reward(scenario: Scenario, reward: RewardName) -> None:
    """Check that a reward fits a site.

    Raises:
        ScenarioError: for `improvement` where an action is of a device that serves people. This reward counts energy alone, so
            the best policy would switch the device off. For `schema` where the schema names a class that is not CityLearn's and
            the scenario is not trusted.
    """
    if not scenario.schema:
        return
    if reward == "schema":
        trust.check_reward(scenario.schema, schema_file.read_schema(scenario.schema), scenario.trusted)
        return
    serving = [name for name in schema_file.active_actions(scenario.schema) if name not in STORAGE_ACTIONS]
    if serving:
        raise ScenarioError(
            f"{scenario.title} has the actions {', '.join(serving)}. The reward improvement counts energy alone, so its best "
            "policy would switch these devices off: take --reward schema, or make them inactive in the schema"
        )
