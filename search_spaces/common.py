"""Hyperparameters that algorithms share.

Functions where the default or the range is the algorithm's own. `..._schedule` and `..._final` say how a value changes over
the budget.
"""

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from search_spaces.parameter import Assignment, AtMost, Kind, OnlyIf, Parameter, Scale, SearchedFrom

SHAPES = ("constant", "linear", "exponential", "cosine")
FALLING = SHAPES[1:]


def learning_rate(default: float, low: float, high: float) -> Parameter:
    """Step size of the optimizer, searched between two bounds."""
    search = FloatDistribution(low, high, log=True)
    return Parameter(
        "learning_rate", Kind.NUMBER, default, "step size of the optimizer at the start", low=1e-8, high=1.0, search=search
    )


def schedule(
    name: str, default: str = "constant", search: CategoricalDistribution | None = None
) -> tuple[Parameter, Parameter]:
    """How a value changes over the budget: its shape, and which part of it remains at the end.

    Args:
        name: of the value.
        default: shape.
        search: of the shape.
    """
    return (
        Parameter(
            f"{name}_schedule", Kind.TEXT, default, f"how {name} changes over the budget", choices=SHAPES, search=search
        ),
        # Not 0: an exponential decay never gets there, and the last updates should still do something.
        Parameter(
            f"{name}_final", Kind.NUMBER, 0.05, f"part of {name} that remains at the end of the budget",
            low=1e-6, high=1.0, only_if=OnlyIf(f"{name}_schedule", FALLING),
        ),
    )  # fmt: skip


# Half a million steps are few: a rate that falls lets the policy settle in them. Which way it falls matters less.
LEARNING_RATE_SCHEDULE = schedule("learning_rate", "linear", CategoricalDistribution(("constant", "linear")))

GAMMA = Parameter(
    "gamma", Kind.NUMBER, 0.99, "discount of the next hour", low=0.0, high=1.0,
    # Horizons 1/(1-gamma) from ten hours to six weeks.
    search=FloatDistribution(1e-3, 1e-1, log=True), scale=Scale.ONE_MINUS,
)  # fmt: skip


def n_steps(default: int, low: int, high: int) -> Parameter:
    """Transitions between two updates, searched between two powers of two.

    At least four updates in a trial are valid. Fewer than eight are not searched: most policies do not move in so few.
    """
    return Parameter(
        "n_steps", Kind.INTEGER, default, "transitions collected between two updates", low=2, high=10_000_000,
        search=IntDistribution(low, high), scale=Scale.POWER_OF_TWO, at_most=AtMost("steps", 0.25),
        searched_to=AtMost("steps", 1 / 8),
    )  # fmt: skip


GAE_LAMBDA = Parameter(
    "gae_lambda", Kind.NUMBER, 0.95, "bias against variance of the advantage", low=0.0, high=1.0,
    # From 0.8, a few hours of rewards, to 0.995, a week of them.
    search=FloatDistribution(5e-3, 2e-1, log=True), scale=Scale.ONE_MINUS,
)  # fmt: skip

ENTROPY = (
    Parameter(
        "ent_coef", Kind.NUMBER, 0.0, "weight of the entropy bonus", low=0.0, high=10.0,
        # The mean reward is a few hundredths: a larger bonus drowns it.
        search=FloatDistribution(1e-7, 3e-3, log=True),
    ),
    *schedule("ent_coef"),
)  # fmt: skip

VF_COEF = Parameter(
    "vf_coef", Kind.NUMBER, 0.5, "weight of the value loss", low=0.0, high=100.0,
    # Not searched: with layers of their own, policy and value hardly compete for it; only the gradient's norm is shared.
)  # fmt: skip

MAX_GRAD_NORM = Parameter(
    "max_grad_norm", Kind.NUMBER, 0.5, "norm that gradients are cut to; none for no cut", low=1e-3, high=1e4, optional=True,
    # Below, Adam's own scaling makes the cut pointless; above, it never cuts.
    search=FloatDistribution(0.3, 5.0, log=True),
)  # fmt: skip

NORMALIZE_ADVANTAGE = Parameter(
    "normalize_advantage", Kind.FLAG, True, "bring advantages to mean 0 and deviation 1 before they weigh the gradient"
)

NORMALIZE_OBSERVATIONS = Parameter(
    "normalize_observations", Kind.FLAG, True, "scale observations by their running mean and variance",
    # They lie within [-1, 1] already; what moves in a small part of that is drawn out by it.
    search=CategoricalDistribution((True, False)),
)  # fmt: skip

PREPROCESSING = (
    Parameter(
        "clip_obs", Kind.NUMBER, 10.0, "largest magnitude of an observation, after it is scaled; none for no limit",
        low=0.1, high=1e6, optional=True,
    ),
    Parameter(
        "normalize_rewards", Kind.FLAG, False, "divide rewards by the running deviation of the discounted return",
        # Rewards of a few hundredths make small value losses, beside which the entropy bonus and the cut of gradients differ.
        search=CategoricalDistribution((True, False)),
    ),
    Parameter("reward_scale", Kind.NUMBER, 1.0, "factor of the rewards that the learner sees", low=1e-6, high=1e6),
)  # fmt: skip


def networks(default: str, activation: str, search: CategoricalDistribution | None = None) -> tuple[Parameter, Parameter]:
    """Hidden layers."""
    return (
        Parameter(
            "hidden_sizes", Kind.SIZES, default, "units of the hidden layers, of each network",
            # Some hundred observations and up to 130 actions: narrower than 64 they do not fit through. Wider than 256 they
            # cost several times as much, and no trial was better for it.
            search=CategoricalDistribution(("64,64", "128,128", "256,256")),
        ),
        Parameter(
            "activation", Kind.TEXT, activation, "of the hidden layers", choices=("tanh", "relu", "silu"), search=search,
        ),
    )  # fmt: skip


CHARGING = (
    Parameter(
        "learn_charging", Kind.FLAG, False, "learn the chargers' actions; else vehicles charge while they lack energy",
        # What a single vehicle does hardly shows in the reward: where it pays, it takes many steps to find out.
        search=CategoricalDistribution((True, False)),
    ),
    Parameter(
        "initial_charging", Kind.NUMBER, 1.0, "action for a charger while its vehicle lacks energy, before anything is learned",
        low=-1.0, high=1.0,
        # Not searched: 1 is full power, as on the uncontrolled site; below, most trials never find what a short stay needs.
    ),
)  # fmt: skip

# Searched where a site has several buildings, see
# `tuning.search.proposals.fitting`.
SHARED_POLICY = Parameter(
    "shared_policy", Kind.FLAG, False, "one policy sees and acts for each building by itself; nothing else on a single building"
)

# What policies see beside CityLearn's observations, see `envs.seen`. Searched where a site has it, see
# `tuning.search.proposals.fitting`.
SEEN = (
    Parameter(
        "plan", Kind.TEXT, "none", "forecasts with which model predictive control makes the plan that is seen",
        choices=("none", "yesterday", "seven-days", "learned"),
    ),
)  # fmt: skip

ACTOR_CRITIC = (
    *CHARGING,
    Parameter("shared_layers", Kind.FLAG, False, "policy and value function have their hidden layers in common"),
    Parameter(
        "log_std_init", Kind.NUMBER, -1.5, "logarithm of the actions' deviations at the start", low=-10.0, high=2.0,
        # From 0.05 to 1, of an action's range of 2. With a deviation of 1 a third of the actions are cut off at its ends.
        search=FloatDistribution(-3.0, 0.0),
        # Changes of a plan count from 0.3 on. Of 147 trials that had a plan and began with less than 0.4, none changed it for
        # the better, and two thirds kept it in all hours. See the page search.
        searched_from=SearchedFrom(-1.0, "plan", ("yesterday", "seven-days", "learned")),
    ),
    Parameter("state_dependent_std", Kind.FLAG, False, "the actions' deviations follow from the observation"),
    Parameter("orthogonal_init", Kind.FLAG, True, "layers start orthogonal, and actions near the middle of their range"),
)  # fmt: skip

# What depends on the card, not on the site; see `tuning.algorithms.precision`.
HARDWARE = (
    Parameter("bf16", Kind.FLAG, False, "networks compute in bfloat16 while they learn"),
    Parameter("tf32", Kind.FLAG, False, "products of matrices use TF32 on cards that have it"),
    Parameter("torch_compile", Kind.FLAG, False, "forward passes are compiled; takes a minute and a C++ compiler"),
    Parameter(
        "cuda_graphs",
        Kind.FLAG,
        False,
        "compiled passes are replayed as CUDA graphs; needs a GPU",
        only_if=OnlyIf("torch_compile", (True,)),
    ),
    Parameter("pin_memory", Kind.FLAG, False, "batches go to the card through memory that it reads by itself; needs a GPU"),
)

# What presets of other libraries have in common: observations as they come, no limits.
PLAIN: Assignment = {
    "learning_rate_schedule": "constant", "normalize_observations": False, "clip_obs": None, "log_std_init": 0.0,
}  # fmt: skip
