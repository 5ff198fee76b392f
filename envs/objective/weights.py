"""Weights of the terms of the reward `improvement`: what a policy is rewarded for."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Self

from common.errors import ScenarioError
from common.texts import hint, number_or_nan, printable

MOST = 1000.0  # of a weight: only their ratios say what is best
_ALIASES = {"ramping": "grid"}
_OTHERWISE = {name: alias for alias, name in _ALIASES.items()}
_NOTHING = "--weights: all weights are 0, so there is nothing to learn; give one above 0"
_FORM = "it takes NAME=NUMBER, as in --weights co2=0.5 cost=0.3 ramping=0.2"


def shown_term(name: str) -> str:
    """What a term is called where people read of it."""
    return _OTHERWISE.get(name, name)


class WeightsError(ScenarioError):
    """Weights that no reward can have; says which, and what can be given."""


@dataclass(frozen=True)
class Weights:
    """Weights of the terms, in the order of the terms everywhere. `envs.objective.reward` has their formulas.

    That of comfort is a price, which holds unless another one is given. The others share what is wanted.
    """

    co2: float = 0.50
    cost: float = 0.15
    solar: float = 0.20
    grid: float = 0.05  # changes of net import (ramping)
    ev: float = 0.10
    peak: float = 0.0  # the days' highest imports
    comfort: float = 1.0  # degrees beyond the comfort band, where people are

    def __post_init__(self) -> None:
        """Check the values; a `WeightsError` for the first that is not from 0 to `MOST`, or if all are 0."""
        for name, value in self.by_term().items():
            # Written so that NaN fails. Below zero no linear programme bounds the score.
            if not 0.0 <= value <= MOST:
                raise WeightsError(f"--weights {shown_term(name)}={value:g}: a weight lies from 0 to {MOST:g}")
        if not any(self.by_term().values()):
            raise WeightsError(_NOTHING)

    def by_term(self) -> dict[str, float]:
        """The weight of each term, in their order."""
        return asdict(self)

    @property
    def observes_day_peak(self) -> bool:
        """Whether policies observe the day's highest import so far: what they are rewarded for has to be seen."""
        return self.peak > 0.0

    @property
    def is_default(self) -> bool:
        """Whether these are the weights that hold where none are given."""
        return self == Weights()

    @property
    def stated(self) -> dict[str, float]:
        """The weights above 0 by term, and that of comfort where it is not what holds unless it is given."""
        parts = {name: value for name, value in self.by_term().items() if value and name != "comfort"}
        return parts if parts and self.comfort == Weights.comfort else {**parts, "comfort": self.comfort}

    @property
    def texts(self) -> tuple[str, ...]:
        """What `parse` reads, one text for each of `stated`; none for the default."""
        return () if self.is_default else tuple(f"{name}={value!r}" for name, value in self.stated.items())

    @property
    def shown(self) -> str:
        """The same as a person reads it."""
        return ", ".join(f"{shown_term(name)} {value:g}" for name, value in self.stated.items())

    @property
    def key(self) -> str:
        """Part of the key of what depends on the weights in the cache; empty for the default."""
        return "" if self.is_default else f"-w{hashlib.sha256(repr(self).encode()).hexdigest()[:12]}"

    @classmethod
    def parse(cls, texts: Sequence[str]) -> Self:
        """Weights of texts NAME=NUMBER; a `WeightsError` for the first of another form, unknown, twice or out of range."""
        if not texts:
            return cls()
        given: dict[str, float] = {}
        names = [entry.name for entry in fields(cls)]
        for text in texts:
            shown = printable(text)
            name, separator, value = text.partition("=")
            name = _ALIASES.get(name, name)
            if not separator:
                raise WeightsError(f"--weights {shown!r}: {_FORM}")
            if name not in names:
                remedy = hint(name, [*names, *_ALIASES], f"there are {', '.join(shown_term(term) for term in names)}")
                raise WeightsError(f"--weights {shown!r}: there is no term of this name; {remedy}")
            if name in given:
                raise WeightsError(f"--weights {shown!r}: {shown_term(name)} is given twice")
            given[name] = number_or_nan(value)
            if math.isnan(given[name]):
                raise WeightsError(f"--weights {shown!r}: {_FORM}")
        if not any(given.values()):
            raise WeightsError(_NOTHING)
        return cls(**{name: given.get(name, cls.comfort if name == "comfort" else 0.0) for name in names})


DEFAULT = Weights()
