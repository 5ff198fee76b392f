"""SAC as an algorithm of RLlib: its configuration, and its rounds of collecting and learning."""

from __future__ import annotations

import math
from typing import Any

from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.utils.metrics import (
    ENV_RUNNER_RESULTS,
    ENV_RUNNER_SAMPLING_TIMER,
    LEARNER_RESULTS,
    LEARNER_UPDATE_TIMER,
    NUM_ENV_STEPS_SAMPLED_LIFETIME,
    TIMERS,
)

from tuning.algorithms.rllib_learner import NoLogFolder
from tuning.algorithms.sac.batch import Replay
from tuning.algorithms.sac.config import SACSettings
from tuning.algorithms.sac.env_runner import ReplayEnvRunner
from tuning.algorithms.sac.learner import SACLearner
from tuning.algorithms.sac.module import SACModule


class SACConfig(SACSettings):
    """SAC's settings with what they configure: the algorithm, its env runner, its learner and its networks."""

    def __init__(self, algo_class: type[Algorithm] | None = None) -> None:
        super().__init__(algo_class=algo_class or SAC)
        # Fixed, because nothing else works.
        self.environment(normalize_actions=False, clip_actions=False)
        self.env_runners(env_runner_cls=ReplayEnvRunner, num_env_runners=0, batch_mode="truncate_episodes")

    def get_default_learner_class(self) -> type[SACLearner]:
        """See `AlgorithmConfig`."""
        return SACLearner

    def get_default_rl_module_spec(self) -> RLModuleSpec:
        """See `AlgorithmConfig`."""
        return RLModuleSpec(module_class=SACModule, model_config={"shape": self.shape})


class SAC(NoLogFolder, Algorithm):
    """Rounds of collecting transitions into a buffer and of gradient steps on samples of it.

    `training_step` takes several rounds, because RLlib's bookkeeping around it takes milliseconds. The env runner acts by the
    learner's module, so weights are not copied. The buffer is not in its state, see `tuning.trial.checkpoint`.
    """

    config: SACConfig
    metrics: Any
    learner_group: Any

    @classmethod
    def get_default_config(cls) -> SACConfig:
        """See `Algorithm`."""
        return SACConfig()

    def setup(self, config: Any) -> None:
        """See `Algorithm`."""
        super().setup(config)
        self.runner.share(self.learner.network, self.learner.device)

    @property
    def learner(self) -> SACLearner:
        """The one learner."""
        learner: SACLearner = self.learner_group._learner
        return learner

    @property
    def runner(self) -> ReplayEnvRunner:
        """The one env runner."""
        runner: Any = self.env_runner
        return runner

    def training_step(self) -> None:
        """Collect `train_freq` transitions and take `gradient_steps`, again and again for `transitions_per_iteration`.

        Where resets make a round collect more than it should, the next one collects less.
        """
        config, runner = self.config, self.runner
        before = int(self.metrics.peek((ENV_RUNNER_RESULTS, NUM_ENV_STEPS_SAMPLED_LIFETIME), default=0))
        steps, learned = before, False
        while steps - before < config.transitions_per_iteration:
            with self.metrics.log_time((TIMERS, ENV_RUNNER_SAMPLING_TIMER)):
                steps += runner.collect(config.train_freq - steps % config.train_freq, steps < config.learning_starts)
            if steps >= config.learning_starts:
                learned = True
                with self.metrics.log_time((TIMERS, LEARNER_UPDATE_TIMER)):
                    self.learner_group.update(
                        batch=self.replay(),
                        timesteps={NUM_ENV_STEPS_SAMPLED_LIFETIME: steps},
                        gradient_steps=config.gradient_steps,
                    )
        runner.log()
        self.metrics.aggregate([runner.get_metrics()], key=ENV_RUNNER_RESULTS)
        if learned:
            self.metrics.aggregate([self.learner.report()], key=LEARNER_RESULTS)

    def replay(self) -> Replay:
        """The buffer with today's statistics."""
        runner = self.runner
        preprocessing = runner.preprocessing
        frozen = None if runner.normalizer is None else runner.normalizer.frozen()
        deviation = 1.0 if runner.reward_normalizer is None else runner.reward_normalizer.std
        return Replay(
            runner.buffer,
            None if frozen is None else frozen.mean,
            None if frozen is None else frozen.scale,
            math.inf if preprocessing.clip_obs is None else preprocessing.clip_obs,
            preprocessing.reward_scale / deviation,
        )
