"""SAC's settings, as its learner and its env runner read them; `SACConfig` names these two."""

from __future__ import annotations

from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig

from tuning.algorithms.sac.module import SACShape
from tuning.algorithms.sampling.preprocessing import PreprocessingConfig
from tuning.algorithms.schedule import Schedule


class SACSettings(PreprocessingConfig, AlgorithmConfig):
    """RLlib's general configuration with SAC's own. Transitions and steps are those of all copies together."""

    def __init__(self, algo_class: type[Algorithm] | None = None) -> None:
        super().__init__(algo_class=algo_class)
        # Of the critics, and the default of the other two; instead of RLlib's `lr`.
        self.learning_rate = Schedule(3e-4, "constant", 1.0, 1)
        self.actor_learning_rate: Schedule | None = None  # of the policy; None for `learning_rate`
        self.alpha_learning_rate: Schedule | None = None  # of the entropy coefficient, likewise
        self.buffer_size = 1_000_000
        self.batch_size = 256
        self.learning_starts = 100  # transitions by random actions before the first gradient step
        self.actor_starts = 0  # transitions before policy and entropy coefficient learn too
        self.train_freq = 1  # transitions between two rounds
        self.gradient_steps = 1
        self.transitions_per_iteration = 1000  # that one `train()` collects at least; several rounds
        self.tau = 0.005  # part of the way of targets to critics
        self.ent_coef: float | None = None  # fixed; None learns it
        self.target_entropy: float | None = None  # of a learned coefficient; None for minus the number of actions
        self.n_step = 1  # steps of which rewards are summed before a value is trusted
        self.shape = SACShape((256, 256), "relu")
        self.max_grad_norm: float | None = None
        self.bf16 = False
        self.parts = 1  # pieces that gradients are summed up from
        self.pin_memory = False

    def validate(self) -> None:
        """See `AlgorithmConfig`. Raises `ValueError` for settings that contradict each other, by name."""
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
