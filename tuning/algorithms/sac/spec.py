"""SAC, as the registry lists it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search_spaces import sac
from tuning.algorithms.sac.costs import copies, sac_memory, sac_seconds
from tuning.algorithms.spec import AlgorithmSpec

if TYPE_CHECKING:
    from tuning.algorithms.trainer import Setup, Trainer


def _sac(setup: Setup) -> Trainer:
    from tuning.algorithms.sac.trainer import SACTrainer

    return SACTrainer(setup)


SAC = AlgorithmSpec("sac", sac.SAC, sac.SAC_PRESETS, _sac, copies, sac_memory, sac_seconds, can_be_taught=True)
