"""The reward `improvement`: what a step gains over the scenario's own uncontrolled run at the same hour.

The formula has its one home here, its weights in `envs.objective.weights`. The compiled kernel (`envs.batch_backend.kernel`)
repeats it for speed, and a test compares both. The linear programme of the bound takes its factors from `coefficients`.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from common.errors import ScenarioError
from envs.objective.weights import DEFAULT, Weights
from envs.scenarios import schema_file, trust
from envs.scenarios.scenario import Scenario
from envs.scenarios.schema_shape import STORAGE_ACTIONS, THERMAL_ACTIONS
from envs.scenarios.shapes import included

RewardName = Literal["improvement", "schema"]


class Term(NamedTuple):
    """A term of the reward: a figure of a step that is compared with the uncontrolled run's, over the mean that scales it."""

    meaning: str  # of the figure
    more_is_better: bool = False


# Figures and means by the name of their term, in the order of `TERMS`; of one step or summed over several, all buildings
# together. The means are of the uncontrolled year, by the hour, and make the terms comparable.
ByTerm = Mapping[str, float]
# In the order of `Weights`.
TERMS: Mapping[str, Term] = {
    # CO2 of the imported energy [kg], and its mean.
    "co2": Term("emission"),
    # Of energy, and the rise of the month's demand charge where there is one [currency]; the mean cost, demand charge included.
    "cost": Term("cost"),
    # [kWh]; the mean PV generation.
    "solar": Term("PV energy used on site", more_is_better=True),
    # Size of the change of net import since the step before [kWh], and its mean.
    "grid": Term("changes of net import"),
    # [kWh]; the mean energy that departures require.
    "ev": Term("energy missing in leaving vehicles"),
    # Rise of the day's highest import so far [kW]; its mean is the sum of the days' highest imports over the hours.
    "peak": Term("the days' highest imports"),
    # Where people are, summed over the buildings; the mean number of buildings with people in them, of those whose temperature
    # is computed.
    "comfort": Term("degrees beyond the comfort band"),
}


def improvement_terms(now: ByTerm, uncontrolled: ByTerm, scale: ByTerm, weights: Weights = DEFAULT) -> dict[str, float]:
    """Terms of the reward, weighted, of figures and their means; their sum is the reward.

    With subscript 0 for the uncontrolled run: co2 (E0-E)/mean(E0), cost (C0-C)/mean(C0), solar
    (S-S0)/mean(PV), grid (|dG0|-|dG|)/mean(|dG0|), ev -(U-U0)/mean(required), peak (dP0-dP)/mean(dP0),
    comfort (T0-T)/mean(occupied), times the weights. So a degree too much in all hours and buildings with people costs the
    weight of comfort. A term with a mean of zero (a site without PV, vehicles or a carbon price) is zero.

    P is the day's highest net import of the whole site so far, zero at midnight, and dP its rise in the hour. The rises of a
    day add up to its highest import. An hour's rise depends on no later hour, and the sum is linear in one variable a day, as
    the bound needs it. The peak of a month or a year would be zero in all but a few hours.
    """
    weight, terms = weights.by_term(), dict[str, float]()
    for name, term in TERMS.items():
        gain = now[name] - uncontrolled[name] if term.more_is_better else uncontrolled[name] - now[name]
        terms[name] = weight[name] * gain / scale[name] if scale[name] > 0.0 else 0.0
    return terms


def coefficients(scale: ByTerm, weights: Weights = DEFAULT) -> dict[str, float]:
    """What a unit of each term's gain is worth: its weight over its mean, zero where the mean is zero."""
    weight = weights.by_term()
    return {name: weight[name] / mean if mean > 0.0 else 0.0 for name, mean in scale.items()}


def _serving(scenario: Scenario) -> list[str]:
    """Actions of devices that serve people, such as `cooling_device`, which some building's device obeys."""
    names = schema_file.active_actions(scenario.schema) if scenario.schema else []
    buildings = _buildings(scenario)
    return [name for name in names if name not in STORAGE_ACTIONS and any(_obeys(each, name) for each in buildings)]


def _buildings(scenario: Scenario) -> list[Mapping[str, Any]]:
    return [*included(schema_file.read_schema(scenario.schema)).values()] if scenario.schema else []


def _obeys(building: Mapping[str, Any], name: str) -> bool:
    if name in (building.get("inactive_actions") or ()):
        return False
    if name in THERMAL_ACTIONS:
        # CityLearn's own static buildings take such an action, and do nothing.
        return bool(building.get("dynamics")) or building.get("type") not in (None, *trust.CLASSES["building"])
    return bool(building.get(f"{name}s"))


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
    plain = [building for building in _buildings(scenario) if not building.get("dynamics")]
    return [name for name in thermal if any(_obeys(building, name) for building in plain)]


def serves_people(scenario: Scenario) -> bool:
    """Whether actions move devices that people's comfort depends on."""
    return bool(_serving(scenario))
