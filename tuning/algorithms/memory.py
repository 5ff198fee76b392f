"""What learners take of memory, as terms of a prediction, and the sizes of layers that these follow from.

Nothing is built to predict a proposal. The process and the years of the site take nine tenths of a trial on the CPU, CUDA's
context nine tenths of one on a card. So what follows is as exact as keeps the sum within 10 %, no more.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from common.units import FLOAT
from search_spaces import Assignment

Place = Literal["vram", "ram"]
PLACE_NAMES: dict[Place, str] = {"vram": "GPU memory", "ram": "host memory"}
PLACES: tuple[Place, ...] = tuple(PLACE_NAMES)
CHARGER_UNITS: Final = 16  # of the network that acts for one charger: it has some four features
ROOM: Final = 1.1  # rows of a recorded gradient step's room, in parts of those that it was first needed for
_HALF: Final = 2  # bytes of a bfloat16


@dataclass(frozen=True)
class Term:
    """One thing that takes memory."""

    name: str
    place: Place
    nbytes: int
    formula: str  # where the number comes from
    lever: str = ""  # hyperparameter or option that makes it smaller; empty where there is none


def product(name: str, place: Place, lever: str, *factors: tuple[int, str]) -> Term:
    """A term that is a product; its factors, each with its unit, are its formula."""
    formula = " x ".join(f"{number:,} {unit}" for number, unit in factors)
    return Term(name, place, math.prod(number for number, _ in factors), formula, lever)


def floats(name: str, place: Place, lever: str, *factors: tuple[int, str]) -> Term:
    """A term of single-precision numbers."""
    return product(name, place, lever, *factors, (FLOAT, "B"))


def total(terms: Iterable[Term], place: Place) -> int:
    """Sum of the terms of a place, bytes."""
    return sum(term.nbytes for term in terms if term.place == place)


@dataclass(frozen=True)
class Workload:
    """What of a trial's settings its memory depends on beside the hyperparameters."""

    num_envs: int  # copies of the site, as many as the trial steps
    steps: int  # budget in environment steps
    evaluations: int
    windows: int  # of an evaluation, stepped side by side
    gpu: bool  # whether the learner uses a GPU
    parts: int = 1  # pieces that a minibatch's gradient is summed up from
    lessons: tuple[int, ...] = ()  # hours of each run that a teacher demonstrates before it learns on; none without a teacher

    @property
    def learner(self) -> Place:
        """Where the learner's tensors lie."""
        return "vram" if self.gpu else "ram"


@dataclass(frozen=True)
class Problem:
    """What networks learn from and act on."""

    observations: int  # features of an observation that is stored
    actions: int
    inputs: int  # features that the site's layers see
    chargers: int = 0  # for which a network of their own acts; 0 where none is learned
    charger_features: int = 0
    agents: int = 1  # transitions of a step of a copy of the site: one for each building where one policy acts for each


def equal_parts(whole: Any, most: int) -> int:
    """The largest number, `most` at most and 1 at least, into which a whole number is divided without a rest."""
    return max(n for n in range(1, max(1, min(most, whole)) + 1) if whole % n == 0)


def hidden_sizes(hyperparameters: Assignment) -> tuple[int, ...]:
    """Units of the hidden layers."""
    return tuple(int(size) for size in str(hyperparameters["hidden_sizes"]).split(","))


def perceptron(inputs: int, sizes: Sequence[int]) -> int:
    """Numbers in linear layers with biases."""
    return sum((before + 1) * after for before, after in zip((inputs, *sizes), sizes, strict=False))


def charger_network(problem: Problem, features: int, outputs: int) -> int:
    """Numbers in a `ChargerNetwork`."""
    return CHARGER_UNITS * (problem.chargers + features + problem.inputs + 1) + (CHARGER_UNITS + 1) * outputs


def head(problem: Problem, units: int, outputs: int) -> int:
    """Numbers in the policy's last layer, with a `ChargerNetwork` beside it where chargers are learned."""
    layer = (units + 1) * outputs * (problem.actions - problem.chargers)
    return layer + (charger_network(problem, problem.charger_features, outputs) if problem.chargers else 0)


def networks(place: Place, trained: int, slots: int, targets: int = 0) -> Term:
    """Weights, their gradients, what the optimizer keeps of each (`slots` numbers), and target networks."""
    return floats("networks and optimizer", place, "hidden_sizes", (trained * (2 + slots) + targets, "numbers"))


def with_room(h: Any, run: Workload, rows: int) -> int:
    """Rows of a gradient step, and of its room where it is recorded."""
    return rows + (math.ceil(ROOM * rows) if run.gpu and h["cuda_graphs"] else 0)


def activations(h: Any, problem: Problem, run: Workload, rows: int, passes: int, others: int) -> Term:
    """What a gradient keeps of its forward passes, and of what flows back through the widest layer.

    It goes through `passes` networks; `others` are a row's numbers beside those of hidden layers.
    """
    hidden = hidden_sizes(h)
    # SiLU keeps its input beside its output.
    layers = passes * sum(hidden) * (2 if h["activation"] == "silu" else 1) + 2 * (passes - 1) * max(hidden)
    if problem.chargers:
        # Each network sees its chargers' features; a function that is compiled for the CPU keeps no hidden layer.
        others += problem.chargers * (problem.charger_features + 2)
        is_compiled = not (run.gpu or h["bf16"] or h["torch_compile"])
        others += 0 if is_compiled else (passes - 1) * problem.chargers * (2 * CHARGER_UNITS + problem.charger_features)
    each = layers * (_HALF if h["bf16"] else FLOAT) + FLOAT * others
    return product("activations", run.learner, "batch_size", (-(-rows // run.parts), "rows"), (each, "B that a gradient keeps"))
