"""SAC's hyperparameters and how they are searched. Steps and transitions are those of all copies together."""

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from search_spaces import common
from search_spaces.parameter import Assignment, AtMost, Kind, OnlyIf, Parameter, PartOf, Scale
from search_spaces.space import SearchSpace

_AUTOMATIC = OnlyIf("ent_coef", (None,))

SAC = SearchSpace(
    (
        # Below, half a million steps do not get anywhere; above, critics run away with their own targets.
        common.learning_rate(3e-4),
        *common.LEARNING_RATE_SCHEDULE,
        Parameter(
            "actor_learning_rate", Kind.NUMBER, None, "step size of the policy's optimizer; none for learning_rate",
            low=1e-8, high=1.0, optional=True,
            # Not searched: one rate for all three is what the algorithm was published with.
        ),
        Parameter(
            "buffer_size", Kind.INTEGER, 1_000_000, "newest transitions that are kept", low=1, high=100_000_000,
            # From four years of hours, which forgets early mistakes, to all of a trial.
            search=IntDistribution(15, 20), scale=Scale.POWER_OF_TWO, enough="steps",
        ),
        Parameter(
            "batch_size", Kind.INTEGER, 256, "transitions in one gradient step", low=1, high=10_000_000,
            # Smaller ones leave the hardware idle, larger ones cost more than they add.
            search=IntDistribution(7, 10), scale=Scale.POWER_OF_TWO, at_most=AtMost("buffer_size"),
        ),
        Parameter(
            "learning_starts", Kind.INTEGER, 1000, "transitions by random actions before the first gradient step",
            low=0, high=10_000_000, at_most=AtMost("steps", 0.5),
            # Not searched: a few weeks of hours fill the first batches, and what comes after drowns them.
        ),
        Parameter(
            "train_freq", Kind.INTEGER, 64, "transitions collected between two rounds of gradient steps",
            low=1, high=10_000_000, scale=Scale.POWER_OF_TWO, at_most=AtMost("steps", 0.25),
            # Not searched: fewer use few copies at once, with more the policy that collects is old. What counts is how many
            # gradient steps there are for each transition.
        ),
        Parameter(
            "gradient_steps", Kind.INTEGER, 4, "gradient steps of a round", low=1, high=100_000,
            # From a step for 32 transitions to one for 4. A simulated site's next week costs less than another look at the last
            # one: at equal time, more weeks taught more than more steps. Policies were seen to do nothing until up to 1,600
            # gradient steps, so short trials take more for each transition.
            search=IntDistribution(2, 5), scale=Scale.POWER_OF_TWO, part_of=PartOf("train_freq"),
            searched_to=AtMost("steps", 1 / 5000),
        ),
        common.GAMMA,
        Parameter(
            "tau", Kind.NUMBER, 0.005, "part of the way that targets go to the critics in a gradient step", low=1e-6, high=1.0,
            # Below, targets are thousands of steps behind; above, they hardly steady anything.
            search=FloatDistribution(1e-3, 5e-2, log=True),
        ),
        Parameter(
            "ent_coef", Kind.NUMBER, None, "fixed entropy coefficient; none learns it", low=0.0, high=1e3, optional=True,
            # Not searched: what is right depends on the scale of rewards, which the learned one follows.
        ),
        Parameter(
            "ent_coef_initial", Kind.NUMBER, 0.01, "learned entropy coefficient at the start", low=1e-6, high=1e3,
            # The mean reward is a few hundredths: beginning at 1, entropy is all that counts for thousands of steps. Beginning
            # below, policies were seen to stay at the end of their range, where they discharge empty batteries at all hours.
            search=FloatDistribution(3e-3, 0.1, log=True), only_if=_AUTOMATIC,
        ),
        Parameter(
            "target_entropy", Kind.NUMBER, None, "that the learned coefficient aims at; none for minus the number of actions",
            low=-1e6, high=1e6, optional=True, only_if=_AUTOMATIC,
        ),
        Parameter(
            "alpha_learning_rate", Kind.NUMBER, None, "step size of the entropy coefficient; none for learning_rate",
            low=1e-8, high=1.0, optional=True, only_if=_AUTOMATIC,
        ),
        Parameter(
            "n_step", Kind.INTEGER, 1, "steps of which rewards are summed before a value is trusted", low=1, high=1000,
            # More carry news faster, but off-policy: they judge old actions.
            search=IntDistribution(1, 8, log=True),
        ),
        common.max_grad_norm(None, 30.0),
        *common.CHARGING,
        Parameter(
            "log_std_init", Kind.NUMBER, -1.0, "logarithm of the actions' deviations at the start, before they are squashed",
            low=-10.0, high=2.0,
            # Not searched: the entropy coefficient soon has them where it wants them.
        ),
        common.NORMALIZE_OBSERVATIONS,
        *common.PREPROCESSING,
        *common.networks("relu", CategoricalDistribution(("tanh", "relu"))),
        common.SHARED_POLICY,
        common.PLAN,
        *common.HARDWARE,
    )
)  # fmt: skip

SAC_PRESETS: dict[str, Assignment] = {
    "default": {},
    "several-buildings": {"shared_policy": True},
    "rtx4060-before": {
        "learning_rate": 3e-4, "batch_size": 512, "buffer_size": 5_000_000, "gradient_steps": 1024, "learning_starts": 1000,
        "train_freq": 1,
    },
    "rtx4060-after": {
        "learning_rate": 3e-4, "batch_size": 256, "buffer_size": 1_000_000, "gradient_steps": 2048, "learning_starts": 500,
        "train_freq": 2,
    },
    "script-before": {
        "batch_size": 512, "buffer_size": 1_000_000, "gamma": 0.999, "learning_rate": 3e-4, "hidden_sizes": "1024,1024",
    },
    "script-after": {
        "batch_size": 256, "buffer_size": 500_000, "gamma": 0.99, "learning_rate": 3e-4, "hidden_sizes": "512,512",
    },
    "report": {
        "batch_size": 8192, "buffer_size": 200_000, "gradient_steps": 4, "train_freq": 1, "learning_rate": 3e-5,
        "gamma": 0.99, "target_entropy": -126.0, "bf16": True,
    },
    "oom-before": {"batch_size": 256, "buffer_size": 500_000, "hidden_sizes": "512,512", "bf16": True},
    "oom-safe": {"batch_size": 128, "buffer_size": 250_000, "hidden_sizes": "256,256", "bf16": False},
    "stable-baselines3": {
        **common.PLAIN, "learning_rate": 3e-4, "buffer_size": 1_000_000, "learning_starts": 100, "batch_size": 256,
        "tau": 0.005, "gamma": 0.99, "train_freq": 1, "gradient_steps": 1, "ent_coef_initial": 1.0,
        "hidden_sizes": "256,256", "activation": "relu",
    },
    "rllib": {
        **common.PLAIN, "learning_rate": 3e-4, "actor_learning_rate": 3e-5, "buffer_size": 1_000_000, "learning_starts": 1500,
        "batch_size": 256, "tau": 0.005, "gamma": 0.99, "train_freq": 1, "gradient_steps": 1, "n_step": 1,
        "ent_coef_initial": 1.0, "hidden_sizes": "256,256", "activation": "relu",
    },
}  # fmt: skip
