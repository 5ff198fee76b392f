"""The hyperparameters of one algorithm, and how an assignment of values to them is checked, completed and drawn.

Those that are searched have one of Optuna's distributions. A `Scale` says how the number that Optuna draws becomes the value.
An `AtMost` ties a value to one that was drawn before it, so no assignment is drawn that cannot be trained.

What is drawn is a point: inner numbers by inner name, in distributions that are the same for all trials of an experiment.
`SearchSpace.assignment` makes the values of it; `SearchSpace.point` is the way back, for any valid assignment.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution

from common.texts import hint
from search_spaces.parameter import Assignment, Parameter, SpaceError, Value


@dataclass(frozen=True)
class SearchSpace:
    """Hyperparameters of one algorithm, each after those that its condition names."""

    parameters: tuple[Parameter, ...]

    def __getitem__(self, name: str) -> Parameter:
        """Hyperparameter of a name. Raises a SpaceError if there is none, with the nearest name."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        names = [parameter.name for parameter in self.parameters]
        raise SpaceError(f"no hyperparameter {name}: {hint(name, names)}")

    def __contains__(self, name: object) -> bool:
        """Whether there is a hyperparameter of a name."""
        return any(parameter.name == name for parameter in self.parameters)

    def describe(self) -> dict[str, str]:
        """What is searched and how, by name: equal texts for equal spaces."""
        return {parameter.name: parameter.describe() for parameter in self.parameters}

    def ranges(self, fixed: Assignment, limits: Mapping[str, float] = MappingProxyType({})) -> dict[str, dict[str, Any]]:
        """Where and how each value is drawn in one experiment, by name, as JSON: what analysis needs of `distributions`."""
        known, ranges = {**limits, **fixed}, dict[str, dict[str, Any]]()
        for parameter in self.parameters:
            if parameter.search is None or parameter.name in fixed:
                continue
            ends = (0.0, 0.0)
            if parameter.part_of:
                name = parameter.part_of.name
                whole: Any = ranges.get(name) or dict.fromkeys(("low", "high"), fixed.get(name, self[name].default))
                ends = float(whole["low"]), float(whole["high"])
            ranges[parameter.name] = parameter.range(self._range(parameter, fixed, known), ends)
        return ranges

    def parse(self, pairs: Mapping[str, str]) -> Assignment:
        """Values of texts by name. Raises a SpaceError for the first that is not valid."""
        return {name: self[name].parse(text) for name, text in pairs.items()}

    def check(self, assignment: Assignment, limits: Mapping[str, float] = MappingProxyType({})) -> None:
        """Raise a SpaceError for a fault of values or of the conditions between them; the assignment need not be complete.

        Limits are what conditions may name beside hyperparameters, such as the budget `steps`.
        """
        known = {**limits, **{name: value for name, value in assignment.items() if isinstance(value, int | float)}}
        for name, value in assignment.items():
            parameter = self[name]
            parameter.check(value)
            bound = parameter.at_most
            if bound and isinstance(value, int | float) and value > bound.of(known):
                raise SpaceError(f"{_text(parameter, value)}: it is at most {bound.describe(known[bound.name])}")
        for name, value in assignment.items():
            condition = self[name].only_if
            # Its default does no harm, and stands in every full assignment.
            if (
                condition
                and value != self[name].default
                and self._known(condition.name, assignment) not in (None, *condition.values)
            ):
                raise SpaceError(f"{name}={assignment[name]}: it acts only with {condition.describe()}")
        for parameter in self.parameters:
            if parameter.name not in assignment:
                self._check_room(parameter, assignment, known)

    def own_values(self) -> Assignment:
        """Values that the user's file fixes, by name."""
        return {parameter.name: parameter.default for parameter in self.parameters if parameter.own and not parameter.search}

    def check_fixed(self, fixed: Assignment) -> None:
        """Raise a SpaceError for a fixed value that lies outside of the bounds of the user's file."""
        for name, value in fixed.items():
            bounds = self[name].own
            if bounds and not bounds.contain(value):
                raise SpaceError(f"{name}={value}: it contradicts {bounds.describe()}; change one of them")

    def complete(
        self,
        given: Assignment,
        limits: Mapping[str, float] = MappingProxyType({}),
        wished: Assignment | None = None,
    ) -> Assignment:
        """Full assignment of given values and defaults, these cut to what the conditions leave them.

        Wished values stand in the place of defaults, and give way as they do. It fulfils `check` if one with the given values
        can.
        """
        return self.assignment({}, given, limits, wished)

    def distributions(
        self, fixed: Assignment, limits: Mapping[str, float] = MappingProxyType({})
    ) -> dict[str, BaseDistribution]:
        """What is drawn in one experiment, by inner name: the same for all its trials, so samplers can model it jointly.

        Ranges are cut by limits, by fixed values and by the user's bounds. A condition on a value that is drawn too cuts no
        range; `assignment` cuts what was drawn.
        """
        known = {**limits, **fixed}
        return {
            parameter.inner_name: self._range(parameter, fixed, known)
            for parameter in self.parameters
            if parameter.search is not None and parameter.name not in fixed
        }

    def assignment(
        self,
        point: Mapping[str, float | int | str],
        fixed: Assignment,
        limits: Mapping[str, float] = MappingProxyType({}),
        wished: Assignment | None = None,
    ) -> Assignment:
        """Full assignment: fixed values, else drawn ones as far as conditions leave them, else wished ones or defaults.

        What was drawn is of `distributions`. If fixed values and limits fulfil `check`, so does the assignment.
        """
        values: Assignment = {}
        for parameter in self.parameters:
            known = {**limits, **values}
            if parameter.name in fixed:
                values[parameter.name] = fixed[parameter.name]
            elif parameter.inner_name not in point or not _acts(parameter, values):
                wish = (wished or {}).get(parameter.name, parameter.default)
                values[parameter.name] = self._nearest(parameter, wish, fixed, known)
            else:
                drawn = parameter.outer(point[parameter.inner_name], values)
                values[parameter.name] = self._cut(parameter, drawn, fixed, known)
        return values

    def whole(self, assignment: Assignment) -> Assignment:
        """An assignment with defaults for what it lacks, in the order of the space."""
        return {parameter.name: assignment.get(parameter.name, parameter.default) for parameter in self.parameters}

    def point(self, assignment: Assignment, distributions: Mapping[str, BaseDistribution]) -> dict[str, float | int | str]:
        """What `distributions` would have had to give for a full assignment, or the nearest of it.

        A hyperparameter that does not act in the assignment has its default there, and so the default's point.
        """
        return {
            parameter.inner_name: parameter.nearest(assignment[parameter.name], assignment, distributions[parameter.inner_name])
            for parameter in self.parameters
            if parameter.inner_name in distributions
        }

    def _check_room(self, parameter: Parameter, fixed: Assignment, known: Mapping[str, float]) -> None:
        """Check that conditions and the user's bounds leave a value of a hyperparameter that is not fixed, and that acts."""
        condition, bounds, least = parameter.at_most, parameter.own, self._least(parameter, fixed)
        if bounds and (where := parameter.only_if) and self._known(where.name, fixed) not in (None, *where.values):
            raise SpaceError(
                f"{parameter.name}: it acts only with {where.describe()}; search or set that, or remove it from {bounds.source}"
            )
        ceilings = {}  # by their words
        if condition and condition.name in known:
            ceilings[condition.describe(known[condition.name])] = condition.of(known)
        if bounds and self._needs(parameter, fixed):
            ceilings[f"{bounds.high:.15g} ({parameter.name}: {bounds.describe()})"] = bounds.high
        for words, greatest in ceilings.items():
            if not parameter.scale.has_value(least, greatest):
                cause = self._cause(parameter, fixed, least)
                raise SpaceError(f"{parameter.name}: it would have to be at least {least:.15g}{cause} and at most {words}")

    def _cause(self, parameter: Parameter, fixed: Assignment, least: float) -> str:
        """What asks for the least value of a hyperparameter, in brackets; empty where it is the least valid one."""
        if parameter.name in fixed:
            return f" ({_text(parameter, fixed[parameter.name])})"
        if parameter.own and parameter.own.low == least:
            return f" ({parameter.name}: {parameter.own.describe()})"
        for name, need in self._needs(parameter, fixed).items():
            if need == least:
                other = self[name]
                assert other.at_most
                return self._cause(other, fixed, need * other.at_most.part)
        return ""

    def _known(self, name: str, assignment: Assignment) -> Value:
        """Value that a hyperparameter will have; None where it is searched."""
        parameter = self[name]
        return assignment.get(name, parameter.default if parameter.search is None else None)

    def _nearest(self, parameter: Parameter, value: Value, given: Assignment, known: Mapping[str, Value]) -> Value:
        """A default or what stands for it, moved into the user's bounds and cut; see `_cut`."""
        if parameter.own and _acts(parameter, known):
            value = parameter.own.nearest(value)
        return self._cut(parameter, value, given, known)

    def _cut(self, parameter: Parameter, value: Value, given: Assignment, known: Mapping[str, Value]) -> Value:
        """A value, cut to what its own condition leaves, and those of given values that name it."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        low, bound, scale = self._least(parameter, given), parameter.at_most, parameter.scale
        if bound and value > bound.of(known):
            value = scale.outer(scale.floor(bound.of(known)))
            assert isinstance(value, int | float)
        return scale.outer(math.ceil(scale.inner(low))) if value < low else value

    def _least(self, parameter: Parameter, fixed: Assignment) -> float:
        """Least value of a hyperparameter with which those that are tied to it can have theirs."""
        return max([parameter.least, *self._needs(parameter, fixed).values()])

    def _needs(self, parameter: Parameter, fixed: Assignment) -> dict[str, float]:
        """Values that a hyperparameter has at least, by the name of the one that is tied to it and needs that."""
        needs = {}
        for other in self.parameters:
            if other.at_most and other.at_most.name == parameter.name:
                value = fixed.get(other.name)
                # None is a value too: it switches the other off, which then needs nothing.
                least = other.low if other.name in fixed else self._least(other, fixed)
                needs[other.name] = (value if isinstance(value, int | float) else least) / other.at_most.part
        return needs

    def _range(self, parameter: Parameter, fixed: Assignment, known: Mapping[str, Value]) -> BaseDistribution:
        """The distribution, cut to what limits and fixed values leave."""
        distribution = parameter.search
        assert distribution is not None
        if not isinstance(distribution, IntDistribution | FloatDistribution):
            return distribution
        low, high, scale = distribution.low, distribution.high, parameter.scale
        end = parameter.searched_to.of(known) if parameter.searched_to else math.inf
        if parameter.part_of:
            # Here the inner number says how much smaller the part is than the whole.
            high = max(low, min(high, scale.floor(max(end, 1.0))))
            return type(distribution)(low, high, log=distribution.log)  # type: ignore[arg-type]
        if parameter.enough and isinstance(limit := known.get(parameter.enough), int | float):
            # The first power of two that holds it all.
            high = min(high, math.ceil(scale.inner(limit)))
        high = min(high, scale.floor(max(end, 1.0)))
        low = min(low, high)
        # Other values may force it above or below the range that is searched. Then the range gives way, not the condition.
        # A range of the user does not have to: `check` has refused what leaves no value in it.
        least = max(self._needs(parameter, fixed).values(), default=-math.inf)
        if least > parameter.low:
            low = max(low, math.ceil(scale.inner(least)))
            high = max(low, high)
        if parameter.at_most:
            high = min(high, scale.floor(parameter.at_most.of(known)))
            low = min(low, high)
        return type(distribution)(low, high, log=distribution.log)  # type: ignore[arg-type]


def _text(parameter: Parameter, value: Value) -> str:
    """Name and value of a hyperparameter, with the user's file where that fixes it."""
    return f"{parameter.name}={value}" + (f" in {parameter.own.source}" if parameter.own and not parameter.search else "")


def _acts(parameter: Parameter, values: Mapping[str, Value]) -> bool:
    return parameter.only_if is None or values[parameter.only_if.name] in parameter.only_if.values
