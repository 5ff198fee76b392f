"""Settings beside RLlib's: they have to survive RLlib's copies of a configuration."""

from tuning.algorithms.on_policy.a2c import A2CConfig, A2CLearner
from tuning.algorithms.on_policy.config import OnPolicyConfig
from tuning.algorithms.on_policy.ppo import PPOConfig, PPOLearner
from tuning.algorithms.sampling.preprocessing import Preprocessing
from tuning.algorithms.schedule import Schedule


def test_a_copy_has_the_same_settings_and_the_class_keeps_its_own() -> None:
    config = PPOConfig()
    config.learning_rate = Schedule(0.1, "linear", 0.5, 100)
    config.preprocessing, config.parts, config.clip_range_vf = Preprocessing(clip_obs=2.0), 3, 0.2
    copied = config.copy()
    assert isinstance(copied, PPOConfig)
    assert (copied.learning_rate, copied.preprocessing) == (config.learning_rate, config.preprocessing)
    assert (copied.parts, copied.clip_range_vf) == (3, 0.2)
    assert (OnPolicyConfig.parts, PPOConfig.clip_range_vf) == (1, None)


def test_each_algorithm_has_its_learner() -> None:
    assert PPOConfig().get_default_learner_class() is PPOLearner
    assert A2CConfig().get_default_learner_class() is A2CLearner


def test_a2c_takes_one_epoch_without_minibatches_or_penalty() -> None:
    config = A2CConfig()
    assert (config.num_epochs, config.minibatch_size, config.use_kl_loss) == (1, None, False)
