"""The reward `improvement`: what a step gains over the scenario's own uncontrolled run at the same hour.

The formula has its one home here, its weights in `envs.objective.weights`. The compiled kernel (`envs.batch_backend.kernel`)
repeats it for speed, and a test compares both. The linear programme of the bound takes its factors from `coefficients`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from common.errors import ScenarioError
from envs.objective.weights import DEFAULT, Weights
from envs.scenarios import schema_file, trust
from envs.scenarios.scenario import Scenario
from envs.scenarios.schema_shape import STORAGE_ACTIONS, THERMAL_ACTIONS
from envs.scenarios.shapes import included

RewardName = Literal["improvement", "schema"]


class Term(NamedTuple):
    """A term of the reward."""

    figure: str  # of `StepFigures`, which is compared with the uncontrolled run's
    mean: str  # of `Scale`, which normalises it
    meaning: str
    more_is_better: bool = False


# In the order of `Weights`.
TERMS: Mapping[str, Term] = {
    "co2": Term("emission_kg", "emission_kg", "emission"),
    "cost": Term("cost", "cost", "cost"),
    "solar": Term("solar_use_kwh", "pv_kwh", "PV energy used on site", more_is_better=True),
    "grid": Term("ramp_kwh", "ramp_kwh", "changes of net import"),
    "ev": Term("missing_kwh", "required_kwh", "energy missing in leaving vehicles"),
    "peak": Term("peak_rise_kw", "peak_rise_kw", "the days' highest imports"),
    "comfort": Term("unmet_c", "occupied", "degrees beyond the comfort band"),
}


@dataclass(frozen=True)
class StepFigures:
    """Inputs of the reward in one step, or their sums over several, all buildings together."""

    emission_kg: float  # CO2 of the imported energy
    cost: float  # of energy, and the rise of the month's demand charge where there is one [currency]
    solar_use_kwh: float  # PV energy used on site
    ramp_kwh: float  # size of the change of net import since the step before
    missing_kwh: float  # energy missing in vehicles that leave
    peak_rise_kw: float  # rise of the day's highest import so far
    unmet_c: float  # degrees beyond the comfort band where people are, summed over the buildings


@dataclass(frozen=True)
class Scale:
    """Hourly means of the uncontrolled year, which make the terms comparable."""

    emission_kg: float  # mean emission
    cost: float  # mean cost, demand charge included
    pv_kwh: float  # mean PV generation
    ramp_kwh: float  # mean size of the change of net import
    required_kwh: float  # mean energy that departures require
    peak_rise_kw: float  # mean rise of the day's highest import: the sum of the days' highest imports over the hours
    occupied: float  # mean number of buildings with people in them, of those whose temperature is computed

    def by_term(self) -> dict[str, float]:
        """The mean that normalises each term, in the order of `TERMS`."""
        return {name: getattr(self, term.mean) for name, term in TERMS.items()}


def improvement_terms(
    now: StepFigures, uncontrolled: StepFigures, scale: Scale, weights: Weights = DEFAULT
) -> dict[str, float]:
    """Terms of the reward, weighted; their sum is the reward.

    With subscript 0 for the uncontrolled run: co2 (E0-E)/mean(E0), cost (C0-C)/mean(C0), solar
    (S-S0)/mean(PV), grid (|dG0|-|dG|)/mean(|dG0|), ev -(U-U0)/mean(required), peak (dP0-dP)/mean(dP0),
    comfort (T0-T)/mean(occupied), times the weights. So a degree too much in all hours and buildings with people costs the
    weight of comfort. A term with a mean of zero (a site without PV, vehicles or a carbon price) is zero.

    P is the day's highest net import of the whole site so far, zero at midnight, and dP its rise in the hour. The rises of a
    day add up to its highest import. An hour's rise depends on no later hour, and the sum is linear in one variable a day, as
    the bound needs it. The peak of a month or a year would be zero in all but a few hours.
    """
    weight, mean, found = weights.by_term(), scale.by_term(), dict[str, float]()
    for name, term in TERMS.items():
        ours, theirs = getattr(now, term.figure), getattr(uncontrolled, term.figure)
        gain = ours - theirs if term.more_is_better else theirs - ours
        found[name] = weight[name] * gain / mean[name] if mean[name] > 0.0 else 0.0
    return found


def coefficients(scale: Scale, weights: Weights = DEFAULT) -> dict[str, float]:
    """What a unit of each term's gain is worth: its weight over its mean, zero where the mean is zero."""
    weight = weights.by_term()
    return {name: weight[name] / mean if mean > 0.0 else 0.0 for name, mean in scale.by_term().items()}


def _serving(scenario: Scenario) -> list[str]:
    """Actions of devices that serve people, such as `cooling_device`."""
    names = schema_file.active_actions(scenario.schema) if scenario.schema else []
    return [name for name in names if name not in STORAGE_ACTIONS]


def reference_lines(scenario: Scenario) -> list[str]:
    """A line that says which devices that serve people the uncontrolled site leaves off; none where it leaves none off."""
    off = ", ".join(name for name in _serving(scenario) if name not in THERMAL_ACTIONS)
    if not off:
        return []
    return [f"the uncontrolled site leaves {off} off: changes against it count all energy with which a policy serves people"]


def check_reward(scenario: Scenario, reward: RewardName) -> None:
    """Check that a reward fits a site; a `ScenarioError` if it does not.

    `improvement` knows of what devices do for people the indoor temperature alone. Where it is not computed, or an action is of
    another device, its best policy would switch that off. The class that `schema` names has to be CityLearn's, or trusted.
    """
    if not scenario.schema:
        return
    if reward == "schema":
        trust.check_reward(scenario.schema, schema_file.read_schema(scenario.schema), scenario.trusted)
        return
    if off := unknown_actions(scenario):
        raise ScenarioError(
            f"{scenario.title} has the actions {', '.join(off)}. The reward improvement does not know what they do for people, "
            "so its best policy would switch them off: search with --reward schema, or make them inactive in the schema"
        )


def unknown_actions(scenario: Scenario) -> list[str]:
    """Actions of devices of which nothing says what they do for people: all but thermal ones whose temperature is computed."""
    serving = _serving(scenario)
    return [name for name in serving if name not in THERMAL_ACTIONS] or _unfelt(scenario, serving)


def _unfelt(scenario: Scenario, thermal: list[str]) -> list[str]:
    """Actions of thermal devices of which some stand in buildings without a model of the temperature."""
    buildings = included(schema_file.read_schema(scenario.schema)).values() if scenario.schema and thermal else ()
    plain = [building for building in buildings if not building.get("dynamics")]
    return [name for name in thermal if any(name not in (building.get("inactive_actions") or ()) for building in plain)]


def serves_people(scenario: Scenario) -> bool:
    """Whether actions move devices that people's comfort depends on."""
    return bool(_serving(scenario))
