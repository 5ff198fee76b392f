"""Constants of episodes."""

from common.units import WEEK
from envs.objective.episodes import EVALUATION_SEED, TRAINING_HOURS


def test_training_episodes_are_whole_weeks() -> None:
    assert TRAINING_HOURS % WEEK == 0


def test_evaluations_draw_the_same_drift_every_time() -> None:
    assert EVALUATION_SEED == 0
