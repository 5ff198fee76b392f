"""Rows of trials for tests."""

from datetime import UTC, datetime
from typing import Any

KINDS = {"learning_rate": float, "batch_size": int, "activation": str, "target_kl": float}


def trial(number: int, score: float | None, state: str = "complete") -> dict[str, Any]:
    return {
        "trial": number, "state": state, "score": score, "started": datetime.now(UTC),
        "hp_learning_rate": 1e-3, "hp_batch_size": 64, "hp_activation": "relu", "hp_target_kl": None,
    }  # fmt: skip
