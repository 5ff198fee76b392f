"""Settings of SAC that contradict each other are refused."""

from typing import Any

import pytest

from tests.tuning.algorithms.sac.sac_small import setup
from tuning.algorithms.sac.algorithm import SACConfig
from tuning.algorithms.sac.trainer import SACTrainer

pytestmark = pytest.mark.usefixtures("small_ray")


@pytest.mark.parametrize(
    ("hyperparameters", "message"),
    [
        ({"buffer_size": 16, "batch_size": 32}, "batch_size=32.*buffer_size=16"),
        ({"buffer_size": 2, "batch_size": 1}, "buffer_size=2.*4 copies"),
        ({"n_step": 600, "buffer_size": 1000}, "n_step=600.*250"),
        ({"ent_coef": 0.1, "target_entropy": -3.0}, "ent_coef=0.1.*target_entropy"),
        ({"ent_coef": 0.1, "alpha_learning_rate": 0.1}, "ent_coef=0.1.*alpha_learning_rate"),
    ],
)
def test_settings_that_contradict_each_other_are_refused_by_name(hyperparameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SACTrainer(setup(**hyperparameters))


def test_a_configuration_that_would_part_runner_and_learner_is_refused() -> None:
    for setting in ("num_env_runners", "num_learners"):
        config = SACConfig()
        setattr(config, setting, 1)
        with pytest.raises(ValueError, match="share one process"):
            config.validate()
