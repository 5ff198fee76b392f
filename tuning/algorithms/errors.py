"""What can go wrong while an algorithm learns, and where its policy acts."""

from __future__ import annotations

import math
from collections.abc import Mapping


class DivergedError(ArithmeticError):
    """Learning ended in numbers that are not finite; says which, when, and what to change."""


class UnfitError(ValueError):
    """A policy cannot act on a site; says why."""


def check_finite(means: Mapping[str, float], steps: int) -> None:
    """Check the means of an update. Raises `DivergedError` if one is not finite."""
    broken = [name for name, value in means.items() if not math.isfinite(value) and name != "explained_variance"]
    if broken:
        raise DivergedError(
            f"{', '.join(broken)} not finite after {steps} steps: "
            "lower learning_rate or max_grad_norm, or set normalize_rewards"
        )
