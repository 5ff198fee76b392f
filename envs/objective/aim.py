"""What a user wants of a policy: the weights of its reward, what a search maximises, and what a winner has to meet."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from common.errors import UserError
from common.measure import SCORE, SITE, Measure, Sign, services, shortfall
from common.texts import hint, number_or_nan, printable
from envs.objective.columns import ALIASES, measures
from envs.objective.kpis import BATTERY, CARBON, CITYLEARN, DEMAND_CHARGE, OUTAGES, PRICE, PV, SCORE_2023, TEMPERATURE, VEHICLES
from envs.objective.reward import RewardName
from envs.objective.weights import DEFAULT, MOST, Weights, shown_term
from envs.scenarios import schema_file
from envs.scenarios.scenario import Scenario
from envs.scenarios.shapes import included
from envs.scenarios.splits import Split
from envs.scenarios.tariff import DemandCharge
from envs.scenarios.trust import is_on

if TYPE_CHECKING:
    from common.measure import Service, Years

Find = Callable[[str, str], Measure]
# A row of evaluations: values by column, see `results.schema` and `envs.objective.columns`.
Row = Mapping[str, Any]
# Below any objective's value: where requirements are missed, trials are ranked here, by how much.
_MISSED = -1e15
_MOST_SHORT = 1e6
MOST_OBJECTIVES = 2
_SIGNS: tuple[Sign, ...] = (">=", "<=")
_FORM = "it takes NAME>=NUMBER or NAME<=NUMBER in quotes, as in --require 'ev_served>=0.95'"
CHARGING = "electric_vehicle_storage"  # kind of the action of a charger
_JUDGED: tuple[Split, ...] = ("validation", "test")  # where a policy is rated


def _has_charger(building: Mapping[str, Any]) -> bool:
    return bool(building.get("chargers")) and CHARGING not in (building.get("inactive_actions") or ())


def _has_device(name: str, size: str) -> Callable[[Mapping[str, Any]], bool]:
    def has(building: Mapping[str, Any]) -> bool:
        device = building.get(name) or {}
        # CityLearn sizes it where that is on, whatever the schema gives.
        return bool(device) and (is_on(device.get("autosize")) or (device.get("attributes") or {}).get(size) != 0)

    return has


# Whether a building of a schema has what a KPI needs.
_HAS: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {
    VEHICLES: _has_charger,
    PV: _has_device("pv", "nominal_power"),
    BATTERY: _has_device("electrical_storage", "capacity"),
    CARBON: lambda building: bool(building.get(CARBON)),
    PRICE: lambda building: bool(building.get(PRICE)),
    TEMPERATURE: lambda building: bool(building.get(TEMPERATURE)),
    OUTAGES: lambda building: is_on((building.get("power_outage") or {}).get("simulate_power_outage")),
}
# KPIs without which a weight of the reward can do nothing; the other terms always can.
_OF_WEIGHTS = {"co2": "co2_kg", "cost": "bill", "solar": "self_consumption", "ev": "ev_served", "comfort": "discomfort"}


def absent(scenario: Scenario, measure: Measure) -> str:
    """Why a KPI says nothing of a site, in a few words; empty where it says something."""
    if not measure.needs:
        return ""
    if scenario.schema is None:  # a generated site, which has all that serves no people within
        return f"{scenario.title} has no {measure.needs}" if measure.needs in (TEMPERATURE, OUTAGES) else ""
    charge = DemandCharge.of(scenario.schema)
    if measure.name == "bill" and charge:
        return ""
    if measure.needs == DEMAND_CHARGE:
        lacks = charge is None
        return f"{scenario.title} has no demand charge: no tariff.json beside its schema names one" if lacks else ""
    if measure.needs == VEHICLES and CHARGING not in schema_file.active_actions(scenario.schema):
        return f"no action of {scenario.title} is a charger's"
    schema = schema_file.read_schema(scenario.schema)
    for split in _JUDGED:
        segments = [segment for segment in scenario.segments if segment.split == split]
        names = segments[0].buildings if segments else included(schema)
        if not any(_HAS[measure.needs](schema["buildings"][name]) for name in names):
            return f"no building of {scenario.title_of(split)} has {measure.needs}"
    return ""


def idle_terms(scenario: Scenario) -> dict[str, str]:
    """Terms of the reward that are the same for every policy on a site, each with the reason."""
    known = measures()
    reasons = {term: absent(scenario, known[kpi]) for term, kpi in _OF_WEIGHTS.items()}
    return {term: reason for term, reason in reasons.items() if reason}


class AimError(UserError, ValueError):
    """An aim that cannot be had; says what is wrong, and what can be given."""


@dataclass(frozen=True)
class Requirement:
    """A bound, in the measure's unit, that a measure has to keep."""

    measure: Measure
    sign: Sign
    bound: float

    @property
    def text(self) -> str:
        """What `parse` reads."""
        return f"{self.measure.name}{self.sign}{self.bound!r}"

    @property
    def shown(self) -> str:
        """As a person reads it."""
        return f"{self.measure.name} {self.sign} {self.bound:.15g}"

    def shortfall(self, value: float) -> float:
        """By how much a value misses the bound, see `common.measure.shortfall`."""
        return shortfall(value, self.sign, self.bound)

    @classmethod
    def parse(cls, text: str, find: Find | None = None) -> Self:
        """Requirement of a text of the form NAME>=NUMBER or NAME<=NUMBER; an `AimError` if it is none."""
        sign = next((sign for sign in _SIGNS if sign in text), None)
        name, _, value = text.partition(sign or "=")
        bound = number_or_nan(value)
        if not sign or not math.isfinite(bound):
            raise AimError(f"--require {printable(text)!r}: {_FORM}")
        measure = (find or _measure)("--require", name.strip())
        if measure.is_share and bound > 1.0:
            raise AimError(f"--require {printable(text)!r}: {measure.name} is at most 1, as 0.9 for 90 %")
        return cls(measure, sign, bound)


@dataclass(frozen=True)
class Outcome:
    """How a policy did by an aim."""

    score: float  # mean reward an hour
    objective: float | None = None  # value of the objective in its unit; None where that is the score alone
    # by how much requirements and services are missed, as a sum of parts; 0 where all is met; None where nothing is required
    shortfall: float | None = None
    objective_2: float | None = None  # value of the second of two objectives; None with one
    gain: float | None = None  # with two objectives, by how much the first is better than on the uncontrolled site, see `gain`
    gain_2: float | None = None  # likewise the second

    @property
    def gains(self) -> tuple[float, float] | None:
        """Both gains; None with one objective."""
        return None if self.gain is None or self.gain_2 is None else (self.gain, self.gain_2)


@dataclass(frozen=True)
class Aim:
    """What a user wants of a policy."""

    weights: Weights = DEFAULT  # of the terms of the reward `improvement`
    objective: Measure = SCORE  # what a search maximises, or minimises where less is better
    requirements: tuple[Requirement, ...] = ()  # what a winner has to meet, beside `services`
    second: Measure | None = None  # the second objective, where there are two; the search then gives a front

    @classmethod
    def parse(
        cls, weights: Sequence[str] = (), objective: str = SCORE.name, require: Sequence[str] = (), find: Find | None = None
    ) -> Self:
        """Aim of `--weights`, `--objective` and `--require`; a `UserError` for the first that is not valid.

        `find` gives the measure of an option and a name, by default that of a site.
        """
        if not 1 <= len(names := objective.split()) <= MOST_OBJECTIVES:
            raise AimError(
                f"--objective {printable(objective)!r}: it takes one KPI, or two for a front, as in --objective co2 bill"
            )
        measures = [(find or _measure)("--objective", name) for name in names]
        for name, aimed in zip(names, measures, strict=True):
            if aimed.better == "neither":
                raise AimError(f"--objective {name}: it says nothing about a policy; choose another KPI, or score")
        measure, second = measures[0], measures[1] if len(measures) > 1 else None
        if measure == second:
            raise AimError(f"--objective {objective}: both are {measure.name}; give two different KPIs, or one")
        requirements = tuple(Requirement.parse(text, find) for text in require)
        bounds = [(requirement.measure.name, requirement.sign) for requirement in requirements]
        for requirement, key in zip(requirements, bounds, strict=True):
            if bounds.count(key) > 1:
                raise AimError(f"--require: {key[0]}{key[1]} is given twice; keep one of them ({requirement.text})")
        stated = dict(zip(bounds, requirements, strict=True))
        for (name, sign), least in stated.items():
            if sign == ">=" and (most := stated.get((name, "<="))) and least.bound > most.bound:
                raise AimError(f"--require: no value meets both {least.text} and {most.text}; change one of them")
        return cls(Weights.parse(weights), measure, requirements, second)

    @property
    def is_score(self) -> bool:
        """Whether the objective is the score alone."""
        return self.objective == SCORE and self.second is None

    @property
    def objectives(self) -> tuple[Measure, ...]:
        """The objective, or both."""
        return (self.objective,) if self.second is None else (self.objective, self.second)

    @property
    def names(self) -> str:
        """What `parse` reads as objective."""
        return " ".join(measure.name for measure in self.objectives)

    @property
    def share(self) -> RewardShare | None:
        """How two objectives share the reward `improvement`; None with one, or where they have no two terms in it."""
        return None if self.second is None else RewardShare.of(self.weights, self.objective, self.second)

    def measured(self, columns: Mapping[str, Measure]) -> Aim:
        """The same aim, its objectives as the columns of evaluations have them: these know in which money a site is paid."""
        known = [columns.get(measure.name, measure) if measure != SCORE else measure for measure in self.objectives]
        return replace(self, objective=known[0], second=known[1] if self.second else None)

    def alone(self, name: str) -> Aim:
        """The same aim with one objective; an `AimError` if there is none of this name."""
        return replace(self, objective=_measure("--objective", name), second=None)

    @property
    def require(self) -> tuple[str, ...]:
        """What `parse` reads as requirements."""
        return tuple(requirement.text for requirement in self.requirements)

    @property
    def facts(self) -> dict[str, str]:
        """What differs from the default, by what it is called, as a person reads it."""
        facts = {} if self.weights.is_default else {"weights": self.weights.shown}
        if not self.is_score:
            facts["objective"] = " and ".join(f"{measure.name} ({measure.better} is better)" for measure in self.objectives)
        if self.requirements:
            facts["requirements"] = ", ".join(requirement.shown for requirement in self.requirements)
        return facts

    @property
    def shown(self) -> str:
        """The same in one line; empty for the default."""
        return "; ".join(f"{name}: {text}" for name, text in self.facts.items())

    def outcome(self, rows: Sequence[Row]) -> Outcome:
        """How a policy did."""
        return Outcome(
            SCORE.value(rows),
            None if self.is_score else self.objective.value(rows),
            self._shortfall(rows),
            self.second.value(rows) if self.second else None,
            gain(self.objective, rows) if self.second else None,
            gain(self.second, rows) if self.second else None,
        )

    def _services(self, rows: Years) -> list[Service]:
        return services(rows, [requirement.measure.name for requirement in self.requirements])

    def required(self, rows: Years) -> str:
        """All that a policy has to meet on the site of these rows, in words."""
        return " and ".join([*(each.shown for each in self.requirements), *(each.text for each in self._services(rows))])

    def _required(self, rows: Years) -> tuple[Requirement, ...]:
        known = measures()
        kept = (Requirement(known[service.measure.name], service.sign, service.bound(rows)) for service in self._services(rows))
        return (*self.requirements, *kept)

    def _shortfall(self, rows: Sequence[Row]) -> float | None:
        short = sum(requirement.shortfall(requirement.measure.value(rows)) for requirement in self._required(rows))
        return short if short or self.requirements else None

    def goal(self, outcome: Outcome) -> float:
        """What trials are compared by: the score, the objective turned so that more is better, or the mean of two gains."""
        if self.second:
            return sum(outcome.gains) / 2.0 if outcome.gains else math.nan
        if outcome.objective is None:
            return outcome.score
        return -outcome.objective if self.objective.better == "less" else outcome.objective

    def rating(self, outcome: Outcome) -> float:
        """What trials are ranked by: the goal, or far below any where requirements are missed, and less for missing more."""
        if not outcome.shortfall:
            return self.goal(outcome)
        return _MISSED * (1.0 + min(outcome.shortfall, _MOST_SHORT)) if math.isfinite(self.goal(outcome)) else math.nan

    @staticmethod
    def shortfall_of(rating: float) -> float:
        """By how much requirements are missed where a rating says so, as a sum of parts; 0 where it does not."""
        return max(0.0, rating / _MISSED - 1.0) if rating <= _MISSED else 0.0

    @staticmethod
    def is_missed(rating: float) -> bool:
        """Whether a rating says that requirements are missed."""
        return rating <= _MISSED

    @property
    def _missed(self) -> str:
        # Without any of the user's, what is missed is that of `services`.
        return "misses a requirement" if self.requirements else "serves too little"

    def told(self, outcome: Outcome) -> str:
        """What a line says of an outcome: the score, then what else was aimed at."""
        parts = [f"score {SCORE.shown(outcome.score)}"]
        values = zip(self.objectives, (outcome.objective, outcome.objective_2), strict=False)
        parts += [f"{measure.name} {measure.shown(value)}" for measure, value in values if value is not None]
        if outcome.shortfall:
            parts.append(self._missed)
        return ", ".join(parts)

    def told_rating(self, rating: float) -> str:
        """A rating as a person reads it: the score or the objective's value; where requirements are missed, that they are."""
        if rating <= _MISSED:
            return self._missed
        if self.second:
            return f"mean gain {rating:+.2%}"
        value = -rating if self.objective.better == "less" else rating
        return self.objective.shown(value) if self.is_score else f"{self.objective.name} {self.objective.shown(value)}"

    def missed(self, rows: Years) -> list[str]:
        """Requirements that a policy misses, each with its value and that of the uncontrolled site."""
        lines = []
        for requirement in self._required(rows):
            value = requirement.measure.value(rows)
            if requirement.shortfall(value):
                before = requirement.measure.value(rows, SITE)
                site = "" if math.isnan(before) else f"; the uncontrolled site {requirement.measure.exact(before)}"
                # The bound of a service is computed, so it has many digits.
                bound = requirement.bound if requirement in self.requirements else round(requirement.bound, 4)
                lines.append(f"{replace(requirement, bound=bound).shown} (it has {requirement.measure.exact(value)}{site})")
        return lines

    def idle(self, scenario: Scenario) -> dict[str, str]:
        """Weights that can do nothing on a site, each with the reason."""
        return {term: reason for term, reason in idle_terms(scenario).items() if self.weights.stated.get(term)}

    def idle_lines(self, scenario: Scenario) -> list[str]:
        """A line that names the weights that can do nothing on a site; none where all can do something."""
        if not (idle := self.idle(scenario)):
            return []
        absent, weights = idle_terms(scenario), self.weights.by_term()
        # That of comfort holds where people feel temperatures, without being stated.
        whole = sum(weight for term, weight in weights.items() if term in self.weights.stated or term not in absent)
        part = sum(weights[term] for term in idle) / whole
        reasons = "; ".join(f"{term}: {reason}" for term, reason in idle.items())
        return [f"aim: weights that are {part:.0%} of all can do nothing here ({reasons}); --weights states others"]

    def why_alike(self, reward: RewardName) -> str:
        """Why the trials of a search with two objectives are all rewarded alike; empty where they are not, and with one."""
        if self.second is None:
            return ""
        if reward != "improvement":
            return f"the reward {reward} has no weights"
        return why_none(self.weights, self.objective, self.second)

    def check(self, scenario: Scenario, reward: RewardName) -> None:
        """Check that a site and its reward can tell what is aimed at; an `AimError` for what they cannot."""
        if reward == "schema" and not self.weights.is_default:
            raise AimError("--weights are of the reward improvement, and --reward schema has none: leave one of them out")
        if self.share and self.share.together > MOST:
            both = " and ".join(map(shown_term, (self.share.first, self.share.second)))
            raise AimError(
                f"--weights: {both} weigh {self.share.together:g} together, and one "
                f"may get all of it, which is at most {MOST:g}; divide all weights"
            )
        idle = self.idle(scenario)
        if not self.weights.is_default and all(term in idle for term, weight in self.weights.stated.items() if weight):
            raise AimError(f"--weights: none of them can do anything: {'; '.join(idle.values())}")
        if self.second and SCORE_2023 in self.names.split():
            raise AimError(f"--objective {SCORE_2023}: what it gains on the uncontrolled site is not known; leave out one")
        aimed = [("--objective", measure) for measure in self.objectives]
        for option, measure in (*aimed, *(("--require", requirement.measure) for requirement in self.requirements)):
            if reason := absent(scenario, measure):
                raise AimError(f"{option} {measure.name}: {reason}; leave it out, or choose another KPI")


def gain(measure: Measure, rows: Sequence[Row]) -> float:
    """By how much a policy is better than the uncontrolled site, as a part of what that has; NaN where a year has no value.

    So gains of several measures can be compared. Where the uncontrolled site has 0, it is the plain difference. CityLearn's
    ratios are compared with 1, its own baseline.
    """
    if measure == SCORE:
        return measure.value(rows)
    before = 1.0 if measure.name in CITYLEARN else measure.value(rows, SITE)
    more = measure.value(rows) - before
    return (-more if measure.better == "less" else more) / (abs(before) or 1.0)


def _measure(option: str, name: str) -> Measure:
    known, name = measures(), ALIASES.get(name, name)
    if name in known:
        return known[name]
    if ":" in name:
        raise AimError(f"{option} {printable(name)}: it is of an environment, which --env names")
    remedy = hint(name, [*known, *ALIASES], f"there are {', '.join(known)}")
    raise AimError(f"{option} {printable(name)!r}: there is no KPI of this name; {remedy}")


SCORE_ALONE = Aim()


# The term of the reward that a measure improves with. What is not here has none.
TERM_OF: Mapping[str, str] = {
    "co2_kg": "co2",
    "energy_cost": "cost",
    "demand_charge": "cost",
    "bill": "cost",
    "self_consumption": "solar",
    "export_kwh": "solar",
    "ramping_kwh": "grid",
    "ev_missing_kwh": "ev",
    "ev_served": "ev",
    "departures_met": "ev",
    "peak_kw": "peak",
    "daily_peak_kw": "peak",
    "discomfort": "comfort",
    "unmet_degree_hours": "comfort",
}


@dataclass(frozen=True)
class RewardShare:
    """How the terms of two aims share what they weigh together of the user's weights; the first weighs more than 0."""

    weights: Weights
    first: str
    second: str

    @classmethod
    def of(cls, weights: Weights, first: Measure, second: Measure) -> Self | None:
        """The share between two aims; None where there is none to draw, see `why_none`."""
        if why_none(weights, first, second):
            return None
        return cls(weights, TERM_OF[first.name], TERM_OF[second.name])

    @property
    def together(self) -> float:
        """What both terms weigh together."""
        by_term = self.weights.by_term()
        return by_term[self.first] + by_term[self.second]

    @property
    def default(self) -> float:
        """The first aim's share of the user's weights."""
        return self.share_in(self.weights)

    def weights_at(self, share: float) -> Weights:
        """Weights of the reward of a trial."""
        if share == self.default:
            return self.weights  # exactly, without rounding
        return replace(self.weights, **{self.first: share * self.together, self.second: (1.0 - share) * self.together})

    def share_in(self, weights: Weights) -> float:
        """The first aim's share of the weights of a trial."""
        by_term = weights.by_term()
        return by_term[self.first] / (by_term[self.first] + by_term[self.second])


def why_none(weights: Weights, first: Measure, second: Measure) -> str:
    """Why two aims have no share of the reward to draw; empty where they have one."""
    if without := [measure.name for measure in (first, second) if measure.name not in TERM_OF]:
        return f"{' and '.join(without)} has no term of its own in the reward"
    terms = [TERM_OF[measure.name] for measure in (first, second)]
    if terms[0] == terms[1]:
        return f"both have the term {shown_term(terms[0])} of the reward"
    # A policy observes what the user's weights reward, so no trial may reward what these do not.
    if unweighted := [term for term in terms if not weights.by_term()[term]]:
        return f"--weights give {' and '.join(map(shown_term, unweighted))} no weight"
    return ""
