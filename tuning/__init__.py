"""Hyperparameter search for building control, as Python calls; each command of this package is a thin skin over one of them.

from tuning import Settings, tune
tune(Settings(algo="ppo", trials=8)).best   # of results.Results

Importing this takes no time: each name is imported from its part when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from common.errors import InconsistentError as InconsistentError
    from common.errors import UserError as UserError
    from tuning.diagnosis.examination import examine as examine
    from tuning.diagnosis.memory_forecast import MemoryForecast as MemoryForecast
    from tuning.diagnosis.memory_forecast import predict_memory as predict_memory
    from tuning.diagnosis.settings import DoctorSettings as DoctorSettings
    from tuning.diagnosis.settings import MemorySettings as MemorySettings
    from tuning.experiment.settings import Settings as Settings
    from tuning.exporting.files import export_policy as export_policy
    from tuning.exporting.rollout import Rollout as Rollout
    from tuning.exporting.rollout import roll_out as roll_out
    from tuning.exporting.settings import ExportSettings as ExportSettings
    from tuning.exporting.settings import RolloutSettings as RolloutSettings
    from tuning.judging.comparison import compare as compare
    from tuning.judging.headroom import Headroom as Headroom
    from tuning.judging.headroom import find_headroom as find_headroom
    from tuning.judging.report import Comparison as Comparison
    from tuning.judging.settings import HeadroomSettings as HeadroomSettings
    from tuning.judging.settings import JudgeSettings as JudgeSettings
    from tuning.search.tune import SearchStoppedError as SearchStoppedError
    from tuning.search.tune import resume as resume
    from tuning.search.tune import tune as tune
    from tuning.search.tune import tune_all as tune_all

_NAMES = {
    "common.errors": ("InconsistentError", "UserError"),
    "tuning.diagnosis.examination": ("examine",),
    "tuning.diagnosis.memory_forecast": ("MemoryForecast", "predict_memory"),
    "tuning.diagnosis.settings": ("DoctorSettings", "MemorySettings"),
    "tuning.experiment.settings": ("Settings",),
    "tuning.exporting.files": ("export_policy",),
    "tuning.exporting.rollout": ("Rollout", "roll_out"),
    "tuning.exporting.settings": ("ExportSettings", "RolloutSettings"),
    "tuning.judging.comparison": ("compare",),
    "tuning.judging.headroom": ("Headroom", "find_headroom"),
    "tuning.judging.report": ("Comparison",),
    "tuning.judging.settings": ("HeadroomSettings", "JudgeSettings"),
    "tuning.search.tune": ("SearchStoppedError", "resume", "tune", "tune_all"),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    """Import a public name from its part."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    """Public names, for completion in notebooks."""
    return __all__
