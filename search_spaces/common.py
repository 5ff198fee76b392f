"""Hyperparameters that algorithms share; functions where the default or the range is the algorithm's own."""

from optuna.distributions import CategoricalDistribution, FloatDistribution

from search_spaces.parameter import Assignment, Kind, OnlyIf, Parameter, Scale
from search_spaces.space import SearchSpace

SHAPES = ("constant", "linear", "exponential", "cosine")
FALLING = SHAPES[1:]


def learning_rate(default: float) -> Parameter:
    """Step size of the optimizer."""
    return Parameter(
        "learning_rate", Kind.NUMBER, default, "step size of the optimizer at the start", low=1e-8, high=1.0,
        search=FloatDistribution(3e-5, 3e-3, log=True),
    )  # fmt: skip


def max_grad_norm(default: float | None, searched_to: float) -> Parameter:
    """Where gradients are cut."""
    return Parameter(
        "max_grad_norm", Kind.NUMBER, default, "norm that gradients are cut to; none for no cut", low=1e-3, high=1e4,
        optional=True,
        # Below, Adam's own scaling makes the cut pointless; above, it never cuts.
        search=FloatDistribution(0.3, searched_to, log=True),
    )  # fmt: skip


def schedule(
    name: str, default: str = "constant", search: CategoricalDistribution | None = None
) -> tuple[Parameter, Parameter]:
    """How a value changes over the budget: its shape, and which part of it remains at the end."""
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


def networks(activation: str, search: CategoricalDistribution | None = None) -> tuple[Parameter, Parameter]:
    """Hidden layers."""
    return (
        Parameter(
            "hidden_sizes", Kind.SIZES, "128,128", "units of the hidden layers, of each network",
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

# Searched where a site has several buildings, see `tuning.search.proposals.plan`.
SHARED_POLICY = Parameter(
    "shared_policy", Kind.FLAG, False, "one policy sees and acts for each building by itself; nothing else on a single building"
)

# What policies see beside CityLearn's observations, see `envs.seen`. Searched where a site has a storage, see
# `tuning.search.proposals.plan`.
PLAN = Parameter(
    "plan", Kind.TEXT, "none", "forecasts with which model predictive control makes the plan that is seen",
    choices=("none", "yesterday", "seven-days", "learned"),
)  # fmt: skip

# What depends on the card, not on the site; see `tuning.algorithms.precision`.
HARDWARE = (
    Parameter("bf16", Kind.FLAG, False, "networks compute in bfloat16 while they learn"),
    Parameter("tf32", Kind.FLAG, False, "products of matrices use TF32 on cards that have it"),
    Parameter("torch_compile", Kind.FLAG, False, "forward passes are compiled; takes a minute and a C++ compiler"),
    Parameter(
        "cuda_graphs",
        Kind.FLAG,
        True,
        "gradient steps on a card are recorded once and replayed as CUDA graphs",
        only_if=OnlyIf("torch_compile", (False,)),
    ),
    Parameter("pin_memory", Kind.FLAG, False, "batches go to the card through memory that it reads by itself; needs a GPU"),
)

# What presets of other libraries have in common: observations as they come, no limits.
PLAIN: Assignment = {
    "learning_rate_schedule": "constant", "normalize_observations": False, "clip_obs": None, "log_std_init": 0.0,
}  # fmt: skip

# Of searches with two objectives: what the first of them gets of the reward.
REWARD_SHARE = "reward_share"
SHARES = (0.0, 1.0)  # all for the second objective, all for the first


def with_reward_share(space: SearchSpace, default: float) -> SearchSpace:
    """A space in which the reward's share is searched too."""
    share = Parameter(
        REWARD_SHARE, Kind.NUMBER, default, "the first objective's part of what both objectives' terms weigh in the reward",
        low=SHARES[0], high=SHARES[1], search=FloatDistribution(*SHARES),
    )  # fmt: skip
    return SearchSpace((*space.parameters, share))
