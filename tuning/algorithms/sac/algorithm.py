"""SAC as an algorithm of RLlib: its configuration, and its rounds of collecting and learning."""

from __future__ import annotations

import math
from typing import Any

from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.utils.metrics import (
    ENV_RUNNER_RESULTS,
    ENV_RUNNER_SAMPLING_TIMER,
    LEARNER_RESULTS,
    LEARNER_UPDATE_TIMER,
    NUM_ENV_STEPS_SAMPLED_LIFETIME,
    TIMERS,
)

from tuning.algorithms.sac.env_runner import ReplayEnvRunner
from tuning.algorithms.sac.learner import Replay, SACLearner
from tuning.algorithms.sac.module import SACModule, SACShape
from tuning.algorithms.sac.prioritized_replay import Prioritization
from tuning.algorithms.sampling.preprocessing import PreprocessingConfig
from tuning.algorithms.schedule import Schedule


class SACConfig(PreprocessingConfig, AlgorithmConfig):
    """RLlib's general configuration, with SAC's own attributes. Transitions and steps are those of all copies together.

    Attributes:
        learning_rate: of the critics over the budget, and of what has none of its own; instead of RLlib's `lr`.
        actor_learning_rate: of the policy; None for `learning_rate`.
        alpha_learning_rate: of the entropy coefficient; None for `learning_rate`.
        buffer_size: transitions.
        batch_size: transitions of a gradient step.
        learning_starts: transitions that are collected by random actions before the first gradient step.
        train_freq: transitions between two rounds of gradient steps.
        gradient_steps: of a round.
        transitions_per_iteration: that one `train()` collects at least; several rounds.
        tau: part of the way that targets go to the critics in a gradient step.
        ent_coef: fixed entropy coefficient; None learns it.
        target_entropy: that a learned coefficient aims at; None for minus the number of actions.
        n_step: steps whose rewards are summed before a value is trusted.
        prioritization: how much priorities count when transitions are drawn; None draws uniformly.
        shape: of the networks.
        max_grad_norm: that gradients of critics and of the policy are each cut to; None for no cut.
        bf16: whether networks reckon in bfloat16 while they learn.
        parts: pieces that a batch's gradients are summed up from.
        pin_memory: see `tuning.algorithms.precision.to_device`.
    """

    def __init__(self, algo_class: type[Algorithm] | None = None) -> None:
        super().__init__(algo_class=algo_class or SAC)
        self.learning_rate = Schedule(3e-4, "constant", 1.0, 1)
        self.actor_learning_rate: Schedule | None = None
        self.alpha_learning_rate: Schedule | None = None
        self.buffer_size = 1_000_000
        self.batch_size = 256
        self.learning_starts = 100
        self.train_freq = 1
        self.gradient_steps = 1
        self.transitions_per_iteration = 1000
        self.tau = 0.005
        self.ent_coef: float | None = None
        self.target_entropy: float | None = None
        self.n_step = 1
        self.prioritization: Prioritization | None = None
        self.shape = SACShape((256, 256), "relu")
        self.max_grad_norm: float | None = None
        self.bf16 = False
        self.parts = 1
        self.pin_memory = False
        # Not RLlib's settings: fixed, because nothing else works.
        self.environment(normalize_actions=False, clip_actions=False)
        self.env_runners(env_runner_cls=ReplayEnvRunner, num_env_runners=0, batch_mode="truncate_episodes")

    def get_default_learner_class(self) -> type[SACLearner]:
        """See `AlgorithmConfig`."""
        return SACLearner

    def get_default_rl_module_spec(self) -> RLModuleSpec:
        """See `AlgorithmConfig`."""
        return RLModuleSpec(module_class=SACModule, model_config={"shape": self.shape})

    def validate(self) -> None:
        """See `AlgorithmConfig`.

        Raises:
            ValueError: for what cannot be trained together, by name.
        """
        super().validate()
        copies = self.num_envs_per_env_runner
        faults = {
            f"batch_size={self.batch_size}: it is at most buffer_size={self.buffer_size}": self.batch_size > self.buffer_size,
            f"buffer_size={self.buffer_size}: {copies} copies need a place each": self.buffer_size < copies,
            f"train_freq={self.train_freq}: it is a multiple of the {copies} copies": self.train_freq % copies != 0,
            f"n_step={self.n_step}: a copy has {self.buffer_size // copies} transitions of buffer_size={self.buffer_size}": (
                self.n_step > max(1, self.buffer_size // copies)
            ),
            f"ent_coef={self.ent_coef}: it is fixed, so there is nothing for target_entropy and alpha_learning_rate to do": (
                self.ent_coef is not None and (self.target_entropy is not None or self.alpha_learning_rate is not None)
            ),
            "ent_coef has to be None where ent_coef_initial is set": (
                (self.ent_coef is None) != (self.shape.ent_coef_initial is not None)
            ),
            "num_env_runners and num_learners have to be 0: environments, buffer and learner share one process": (
                bool(self.num_env_runners or self.num_learners)
            ),
        }
        for fault, applies in faults.items():
            if applies:
                raise ValueError(fault)


class SAC(Algorithm):
    """Rounds of collecting transitions into a buffer and of gradient steps on samples of it.

    What it replaces of RLlib:

    - `training_step`: several rounds, because RLlib's bookkeeping around it takes milliseconds, and because a round's metrics
      are not worth a row of their own.
    - Weights are not copied to the env runner: it acts by the learner's module.

    The replay buffer is not in its state: see `tuning.trial.checkpoint`, which writes only what is new in it.
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

        Rounds are counted by the transitions collected: where copies that are reset make a round collect more than it should,
        the next one collects less.
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
