"""Building an algorithm leaves no folder behind."""

from pathlib import Path

import pytest
from ray.tune import Trainable
from ray.tune.trainable import trainable

from tuning.algorithms.no_log_folder import NoLogFolder
from tuning.algorithms.on_policy.learner import OnPolicy
from tuning.algorithms.sac.algorithm import SAC


class Nothing(NoLogFolder, Trainable):
    def setup(self, config: object) -> None:
        pass


@pytest.mark.usefixtures("small_ray")
def test_building_makes_no_folder_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainable, "DEFAULT_STORAGE_PATH", str(tmp_path))
    Nothing({})
    assert list(tmp_path.iterdir()) == []


def test_all_algorithms_are_built_so() -> None:
    assert issubclass(OnPolicy, NoLogFolder)
    assert issubclass(SAC, NoLogFolder)
