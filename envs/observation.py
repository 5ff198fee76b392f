"""From CityLearn's raw observation to the vector that a policy sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from envs.scenarios.schema_shape import CHARGER_FEATURES

# Cyclic observations and their period: 23 h and midnight are neighbours, so each becomes a sine and a cosine.
PERIODS = {"month": 12, "day_type": 7, "hour": 24, "minutes": 60}
# Bounds from one year's data are widened by this part, as other years go further.
MARGIN = 0.1
PEAK_NAMES = ("month_peak_hours_import", "month_off_peak_import")
DAY_PEAK_NAME = "day_import"  # the day's highest import so far


@dataclass(frozen=True)
class Charging:
    """The uncontrolled site's action at a charger, as a linear function of the charger's features."""

    bias: float  # part of full power when all features are 0
    weights: tuple[float, ...]  # of each feature, added to the bias, shape (F,). The sum is clipped to [0, 1]
    idle: float  # action at which nothing flows


@dataclass(frozen=True)
class ChargerGroups:
    """Which features and which action belong to each of S chargers."""

    # Indices of each charger's features, the same F kinds in the same order for all, shape (S, F).
    observations: tuple[tuple[int, ...], ...]
    actions: tuple[int, ...]  # index of each one's action, shape (S,)
    # The uncontrolled site's action at each, shape (S,); None where observations lack the features for it.
    uncontrolled: tuple[Charging, ...] | None = None


@dataclass(frozen=True)
class ObservationLayout:
    """Names and bounds of the raw observation, the same for all years, in which one load is one number."""

    # Raw observations in CityLearn's order, then what else is seen (`envs.seen`), then the month's peaks so far where the
    # tariff has a demand charge, then the day's highest import so far where the reward has weight on it.
    names: tuple[str, ...]
    low: tuple[float, ...]  # bound of each
    high: tuple[float, ...]  # likewise
    actions: tuple[str, ...]  # their names
    idle: tuple[float, ...]  # of each action, within [-1, 1], the value at which nothing flows
    # Of each action, the rise of a vehicle's state of charge in a step at full power. The capacity is the mean of the vehicles
    # that come to the charger. 0 where the action is not a charger's.
    hourly_soc: tuple[float, ...]
    # What thermal devices do without control, about: of each action the weights of the policy's features and a constant, whose
    # sum is the action, all 0 for other devices; shape (actions, size + 1). Empty where no action is a thermal device's.
    served: tuple[tuple[float, ...], ...] = ()

    @property
    def size(self) -> int:
        """Length of the policy's observation."""
        return len(self.names) + len(self.periodic)

    @property
    def scaled_names(self) -> list[str]:
        """Names of the policy's observation, in order."""
        periodic = [self.names[i] for i in self.periodic]
        return [f"{name}_sin" if name in PERIODS else name for name in self.names] + [f"{name}_cos" for name in periodic]

    @property
    def chargers(self) -> ChargerGroups | None:
        """The chargers that have an action, with the features that all of them have; None where there are fewer than two."""
        groups = self.any_chargers
        return groups if groups and len(groups.actions) > 1 else None

    @cached_property
    def any_chargers(self) -> ChargerGroups | None:
        """The same where there is a single one too; None where there is none, or no feature that all have."""
        numbered = enumerate(self.actions)
        known = [(i, name.removeprefix(CHARGER_ACTION)) for i, name in numbered if name.startswith(CHARGER_ACTION)]
        features: list[dict[str, int]] = []
        taken: set[int] = set()
        for _, charger in known:
            kind_of, kinds = charger_observations(charger), dict[str, int]()
            for i, name in enumerate(self.names):
                # Two buildings may use one charger's name; features and actions come in the same order.
                if i not in taken and (kind := kind_of.get(name)) and kind not in kinds:
                    kinds[kind] = i
            taken.update(kinds.values())
            features.append(kinds)
        common = [kind for kind in features[0] if all(kind in kinds for kinds in features)] if features else []
        if not common:
            return None
        observations = tuple(tuple(kinds[kind] for kind in common) for kinds in features)
        actions = tuple(i for i, _ in known)
        uncontrolled = None
        if _REQUIRED_SOC in common and _SOC in common:
            required, soc = common.index(_REQUIRED_SOC), common.index(_SOC)
            uncontrolled = tuple(
                self._charging(indices, action, required, soc) for indices, action in zip(observations, actions, strict=True)
            )
        return ChargerGroups(observations, actions, uncontrolled)

    def _charging(self, observations: tuple[int, ...], action: int, required: int, soc: int) -> Charging:
        """Full power while the missing energy takes more than a step of it, and then the rest."""
        centre, inverse = self.linear
        hourly = self.hourly_soc[action]
        weights, bias = [0.0] * len(observations), 0.0
        for feature, sign in ((required, 1.0), (soc, -1.0)):
            i = observations[feature]
            if not inverse[i] or not hourly:
                # No vehicle comes to this charger.
                return Charging(0.0, (0.0,) * len(observations), self.idle[action])
            weights[feature] = sign / inverse[i] / hourly
            bias += sign * centre[i] / hourly
        return Charging(float(bias), tuple(float(weight) for weight in weights), self.idle[action])

    def scale(self, raw: np.ndarray) -> np.ndarray:
        """Scale raw observations, shape (..., len(names)), to [-1, 1], float32, shape (..., size).

        Each value linearly from its bounds, clipped; of a cyclic one the sine in its place, and the cosines at the end.
        """
        centre, inverse = self.linear
        scaled = np.clip((raw - centre) * inverse, -1.0, 1.0)
        angle = 2.0 * np.pi * raw[..., self.periodic] / self.period
        scaled[..., self.periodic] = np.sin(angle)
        return np.concatenate([scaled, np.cos(angle)], axis=-1).astype(np.float32)

    def scale_exogenous(self, raw: np.ndarray) -> np.ndarray:
        """Scale raw observations that lack the month's and the day's peaks, which read zero; else as `scale`."""
        missing = np.zeros((*raw.shape[:-1], len(self.names) - raw.shape[-1]))
        return self.scale(np.concatenate([raw.astype(np.float64), missing], axis=-1))

    def seeing(self, names: tuple[str, ...], bounds: np.ndarray) -> ObservationLayout:
        """The same layout with further observations and their bounds, shape (further, 2), before the peaks."""
        at = self.simulated
        low, high = ((*old[:at], *new, *old[at:]) for old, new in zip((self.low, self.high), bounds.T.tolist(), strict=True))
        return replace(self, names=(*self.names[:at], *names, *self.names[at:]), low=low, high=high)

    @property
    def simulated(self) -> int:
        """Number of the raw observations before the peaks, which come last."""
        return sum(name not in (*PEAK_NAMES, DAY_PEAK_NAME) for name in self.names)

    @cached_property
    def periodic(self) -> list[int]:
        """Indices of the cyclic raw observations."""
        return [i for i, name in enumerate(self.names) if name in PERIODS]

    @cached_property
    def period(self) -> np.ndarray:
        """Period of each of them, shape (len(periodic),)."""
        return np.array([PERIODS[self.names[i]] for i in self.periodic], dtype=np.float64)

    @cached_property
    def linear(self) -> tuple[np.ndarray, np.ndarray]:
        """Centre and inverse half width of each raw observation, as `scale` uses them; each of shape (len(names),)."""
        low, high = np.array(self.low), np.array(self.high)
        span = high - low
        # A constant observation carries no information and is scaled to zero.
        return (low + high) / 2.0, np.divide(2.0, span, out=np.zeros_like(span), where=span > 0.0)


def join_layouts(layouts: Sequence[ObservationLayout]) -> ObservationLayout:
    """One layout for several segments of one split: the widest bounds of each observation."""
    return replace(
        layouts[0],
        low=tuple(map(min, zip(*(layout.low for layout in layouts), strict=True))),
        high=tuple(map(max, zip(*(layout.high for layout in layouts), strict=True))),
        # Of the first segment in which a vehicle comes to the charger.
        hourly_soc=tuple(next(filter(None, rises), 0.0) for rises in zip(*(each.hourly_soc for each in layouts), strict=True)),
    )


def layout_gap(trained: ObservationLayout, other: ObservationLayout) -> str:
    """Why a policy with a fixed layout cannot run on another site; empty where it can.

    For shared ones see `tuning.algorithms.networks.building_kinds.why_unfit`.
    """
    for what, ours, theirs in (("observations", trained.names, other.names), ("actions", trained.actions, other.actions)):
        if len(ours) != len(theirs):
            return f"{len(theirs)} {what}, not {len(ours)}"
        if ours != theirs:
            differs = next(theirs[i] for i in range(len(ours)) if ours[i] != theirs[i])
            return f"other {what}, such as {differs}"
    return ""


CHARGER_ACTION = "electric_vehicle_storage_"
_SOC, _REQUIRED_SOC = (f"connected_electric_vehicle_at_charger_{end}" for end in ("soc", "required_soc_departure"))


def charger_observations(charger: str) -> dict[str, str]:
    """Kinds of all observations that there may be of a charger, by their names."""
    return {f"{prefix}{charger}_{end}": prefix + end for prefix, ends in CHARGER_FEATURES.items() for end in ends}
