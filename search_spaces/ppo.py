"""PPO's hyperparameters and how they are searched."""

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from search_spaces.space import AtMost, Kind, Parameter, Scale, SearchSpace

PPO = SearchSpace(
    (
        Parameter(
            "learning_rate", Kind.NUMBER, 3e-4, "step size of Adam", low=1e-8, high=1.0,
            # Below, half a million steps do not get anywhere; above, the ratio's clip is left in one step.
            search=FloatDistribution(1e-5, 3e-3, log=True),
        ),
        Parameter(
            "n_steps", Kind.INTEGER, 2048, "transitions collected between two updates", low=2, high=10_000_000,
            # From five days to two years of hours; above, half a million steps are few updates. At least four in a trial.
            search=IntDistribution(7, 14), scale=Scale.POWER_OF_TWO, at_most=AtMost("steps", 0.25),
        ),
        Parameter(
            "batch_size", Kind.INTEGER, 256, "transitions in one gradient step", low=1, high=10_000_000,
            # Smaller ones leave the hardware idle, larger ones leave few gradient steps.
            search=IntDistribution(6, 11), scale=Scale.POWER_OF_TWO, at_most=AtMost("n_steps"),
        ),
        Parameter(
            "n_epochs", Kind.INTEGER, 10, "passes over the collected transitions", low=1, high=1000,
            # More passes over old data mostly hit the clip, and cost as much as new data.
            search=IntDistribution(1, 10, log=True),
        ),
        Parameter(
            "gamma", Kind.NUMBER, 0.99, "discount of the next hour", low=0.0, high=1.0,
            # Horizons 1/(1-gamma) from ten hours to six weeks.
            search=FloatDistribution(1e-3, 1e-1, log=True), scale=Scale.ONE_MINUS,
        ),
        Parameter(
            "gae_lambda", Kind.NUMBER, 0.95, "bias against variance of the advantage", low=0.0, high=1.0,
            search=FloatDistribution(5e-3, 2e-1, log=True), scale=Scale.ONE_MINUS,
        ),
        Parameter(
            "clip_range", Kind.NUMBER, 0.2, "furthest that a probability ratio is rewarded to move from 1", low=1e-3, high=10.0,
            search=FloatDistribution(0.1, 0.4),
        ),
        Parameter(
            "ent_coef", Kind.NUMBER, 0.0, "weight of the entropy bonus", low=0.0, high=10.0,
            # The mean reward is a few hundredths: a larger bonus drowns it.
            search=FloatDistribution(1e-7, 1e-2, log=True),
        ),
        Parameter(
            "vf_coef", Kind.NUMBER, 0.5, "weight of the value loss", low=0.0, high=100.0,
            # With networks of their own, policy and value hardly compete for it; only the gradient's norm is shared.
        ),
        Parameter(
            "max_grad_norm", Kind.NUMBER, 0.5, "norm that gradients are cut to; none for no cut",
            low=1e-3, high=1e4, optional=True,
            search=FloatDistribution(0.3, 5.0, log=True),
        ),
        Parameter(
            "target_kl", Kind.NUMBER, None, "divergence that an adaptive penalty aims at; none for no penalty",
            low=1e-5, high=10.0, optional=True,
        ),
        Parameter(
            "normalize_observations", Kind.FLAG, True, "scale observations by their running mean and variance",
            # They lie within [-1, 1] already; what moves in a small part of that is drawn out by it.
            search=CategoricalDistribution((True, False)),
        ),
        Parameter(
            "hidden_sizes", Kind.SIZES, "256,256", "units of the hidden layers, of policy and value each",
            # Some hundred observations and up to 130 actions: narrower than 64 they do not fit through.
            search=CategoricalDistribution(("64,64", "128,128", "256,256", "512,512")),
        ),
        Parameter(
            "activation", Kind.TEXT, "tanh", "of the hidden layers", choices=("tanh", "relu", "silu"),
            search=CategoricalDistribution(("tanh", "relu")),
        ),
    )
)  # fmt: skip
