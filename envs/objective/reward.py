"""The reward `improvement`: what a step gains over the scenario's own uncontrolled run at the same hour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RewardName = Literal["improvement", "schema"]

# Actions that move energy in time. What other devices do, as cooling a room or washing, is done for somebody.
STORAGE_ACTIONS = frozenset(
    {"electrical_storage", "electric_vehicle_storage", "cooling_storage", "heating_storage", "dhw_storage"}
)

WEIGHTS = {"co2": 0.50, "cost": 0.15, "solar": 0.20, "grid": 0.05, "ev": 0.10}


@dataclass(frozen=True)
class StepFigures:
    """What the reward looks at in one step, all buildings together.

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
        required_kwh: mean energy that departures ask for.
    """

    emission_kg: float
    cost: float
    pv_kwh: float
    ramp_kwh: float
    required_kwh: float


def improvement_terms(now: StepFigures, uncontrolled: StepFigures, scale: Scale) -> dict[str, float]:
    """Terms of the reward, weighted; their sum is the reward.

    With subscript 0 for the uncontrolled run: co2 (E0-E)/mean(E0), cost (C0-C)/mean(C0), solar
    (S-S0)/mean(PV), grid (|dG0|-|dG|)/mean(|dG0|), ev -(U-U0)/mean(required), times `WEIGHTS`. So
    the uncontrolled site gets 0, and a mean of 0.05 is five per cent better by weight. A term
    whose mean is zero (a site without PV, vehicles or a carbon price) is zero.
    """
    differences = {
        "co2": (uncontrolled.emission_kg - now.emission_kg, scale.emission_kg),
        "cost": (uncontrolled.cost - now.cost, scale.cost),
        "solar": (now.solar_use_kwh - uncontrolled.solar_use_kwh, scale.pv_kwh),
        "grid": (uncontrolled.ramp_kwh - now.ramp_kwh, scale.ramp_kwh),
        "ev": (uncontrolled.missing_kwh - now.missing_kwh, scale.required_kwh),
    }
    return {name: WEIGHTS[name] * difference / mean if mean > 0.0 else 0.0 for name, (difference, mean) in differences.items()}
