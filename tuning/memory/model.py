"""What a trial takes of memory, term by term, from its hyperparameters and the sizes of its scenario."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from search_spaces import Assignment
from tuning.memory.network_sizes import (
    FLOAT,
    Problem,
    actor_critic_parameters,
    critic_parameters,
    on_policy_kept,
    policy_parameters,
    sac_kept,
    working,
)
from tuning.memory.prediction import KIB, MIB, Place, Prediction, Term, total
from tuning.memory.scenario_sizes import Sizes
from tuning.trial.checkpoint import REPLAY_FILE_BYTES

# CUDA's context and the kernels that are loaded into it lie outside of torch's allocator. Some hundred MiB a process, by card
# and driver; calibration puts it right.
CONTEXT_BYTES = 450 * MIB
# cuBLAS's default workspace of a handle, by NVIDIA's documentation of CUBLAS_WORKSPACE_CONFIG: 2 x 4 MiB and 8 x 16 KiB.
WORKSPACE_BYTES = 2 * 4096 * KIB + 8 * 16 * KIB
# torch's allocator asks the driver for 2 MiB for what is below 1 MiB, for 20 MiB for what is below 10 MiB, and rounds the rest
# up to 2 MiB (documentation of PyTorch's CUDA memory management): on average half of each kind stays empty.
SEGMENTS_BYTES = (2 * MIB + 20 * MIB + 2 * MIB) // 2
VALUE_ROWS = 2048  # observations whose values are computed at once, see `tuning.algorithms.on_policy.learner`
SAMPLE_BYTES = 16 * MIB  # of SAC's observations that are drawn at once, see `tuning.algorithms.sac.learner`

WRITE_BYTES = 16 * MIB  # of an array that NumPy copies on its way to a file at once
PASSING = ("activations", "working memory", "minibatch", "batches")  # there while gradients are reckoned and at no other time

# Host memory of a process that has imported Python, NumPy, Ray, RLlib, torch for the CPU and numba, and has run its first
# update: measured on Linux (see docs/memory.md); calibration puts it right elsewhere.
PROCESS_BYTES = 1015 * MIB
READING = 10  # part of the years' arrays that reading them leaves in the heap beside them, measured likewise
# Of a policy's weights between learner and env runner, on the host: RLlib's copies on their way, a checkpoint's, and the gaps
# that these leave in the heap. Found with random configurations (seeds 0 to 2 of tests/tuning/resources/test_ram.py, which
# holds the model to others).
WEIGHT_COPIES = 12
# CUDA's libraries and its context on the host.
CUDA_HOST_BYTES = 600 * MIB


# What makes a term smaller.
LEVERS = {
    "replay buffer": "buffer_size",
    "rollout to learn from": "n_steps",
    "rollout as collected": "n_steps",
    "rollout on its way": "n_steps",
    "minibatch": "batch_size",
    "activations": "batch_size",
    "working memory": "batch_size",
    "batches": "batch_size",
    "batches on their way": "batch_size",
    "weights": "hidden_sizes",
    "gradients": "hidden_sizes",
    "optimizer": "hidden_sizes",
    "target networks": "hidden_sizes",
    "copies of the site": "--num-envs",
    "evaluation": "--validation-weeks",
}


@dataclass(frozen=True)
class Workload:
    """What of a trial's settings its memory depends on beside the hyperparameters.

    Attributes:
        algo: algorithm.
        num_envs: copies of the site, as many as the trial steps.
        steps: budget in environment steps.
        reports: evaluations.
        windows: of an evaluation, stepped side by side.
        gpu: whether the learner uses a GPU.
        parts: pieces that a minibatch's gradient is summed up from.
    """

    algo: str
    num_envs: int
    steps: int
    reports: int
    windows: int
    gpu: bool
    parts: int = 1


def predict(h: Assignment, run: Workload, sizes: Sizes) -> Prediction:
    """Memory and cores of a trial, without correction.

    Args:
        h: full assignment of the algorithm's space.
        run: its settings.
        sizes: of its scenario.
    """
    problem = problem_of(h, sizes)
    learner: Place = "vram" if run.gpu else "ram"
    terms = [
        *_process(run),
        *_environments(run, sizes),
        *(_sac(h, run, problem, learner) if run.algo == "sac" else _on_policy(h, run, problem, learner)),
    ]
    if run.gpu:
        terms += _device(terms)
    return Prediction(tuple(replace(term, lever=LEVERS.get(term.name, "")) for term in terms))


def problem_of(h: Assignment, sizes: Sizes) -> Problem:
    """What the networks of an assignment see and do on a site; see `tuning.algorithms.networks.site_view`."""
    if not sizes.chargers:
        return Problem(sizes.observations, sizes.actions, sizes.observations)
    # Of each kind of the chargers' features the mean.
    inputs = sizes.observations - sizes.charger_features * (sizes.chargers - 1)
    if h["learn_charging"]:
        return Problem(sizes.observations, sizes.actions, inputs, sizes.chargers, sizes.charger_features)
    return Problem(inputs, sizes.actions - sizes.chargers, inputs)


def replay_bytes(size: int, copies: int, observations: int, actions: int, prioritized: bool) -> int:
    """Memory of a full `ReplayBuffer`, bytes: a row more than the transitions need, in whole rows of all copies.

    Args:
        size: transitions.
        copies: of the environment.
        observations: features of an observation.
        actions: of an action.
        prioritized: whether there is a tree of priorities over the places.
    """
    places = (-(-size // copies) + 1) * copies
    tree = 2 * 8 * 2 ** math.ceil(math.log2(places)) if prioritized else 0
    return places * (FLOAT * (observations + actions + 1) + 1) + tree


def _process(run: Workload) -> list[Term]:
    terms = [
        Term("process", "ram", PROCESS_BYTES, "Python, Ray, RLlib, torch and compiled code, measured"),
    ]
    if run.gpu:
        terms.append(Term("CUDA's libraries", "ram", CUDA_HOST_BYTES, "a constant until it is measured on this machine"))
    return terms


def _environments(run: Workload, sizes: Sizes) -> list[Term]:
    years = sizes.training_years * (sizes.year_bytes + sizes.joined_bytes) + sizes.year_bytes + sizes.single_bytes
    years += years // READING
    return [
        Term(
            "scenario years", "ram", years,
            f"{sizes.training_years} for training, each as it is read and joined to the others, one for validation, "
            f"1/{READING} for what reading leaves behind",
        ),
        Term("copies of the site", "ram", run.num_envs * sizes.copy_bytes, f"{run.num_envs} x {sizes.copy_bytes:,} B of state"),
        Term(
            "evaluation", "ram", run.windows * (sizes.copy_bytes + 8 * sizes.sessions),
            f"{run.windows} windows x (state + 8 B x {sizes.sessions:,} charging sessions)",
        ),
    ]  # fmt: skip


def _network(parameters: int, trained: int, slots: int, targets: int, place: Place) -> list[Term]:
    optimizer = {1: "RMSprop: squares", 2: "Adam: means and squares"}[slots]
    terms = [
        Term("weights", place, FLOAT * parameters, f"{parameters:,} x 4 B"),
        Term("gradients", place, FLOAT * trained, f"{trained:,} x 4 B"),
        Term("optimizer", place, FLOAT * slots * trained, f"{slots} x {trained:,} x 4 B ({optimizer})"),
    ]
    return terms + ([Term("target networks", place, FLOAT * targets, f"{targets:,} x 4 B")] if targets else [])


def _on_policy(h: Any, run: Workload, problem: Problem, place: Place) -> list[Term]:
    parameters = actor_critic_parameters(h, problem)
    slots = 1 if run.algo == "a2c" and h["optimizer"] == "rmsprop" else 2
    # All transitions of the hour in which the last one is due.
    rows = h["n_steps"] + run.num_envs
    # Observation, action, its distribution, its log-probability.
    numbers = problem.observations + 3 * problem.actions + 1
    minibatch = _minibatch(h, run, rows)
    # Beside these value, target and advantage.
    terms = _network(parameters, parameters, slots, 0, place)
    terms.append(
        Term("rollout to learn from", place, FLOAT * rows * (numbers + 3), f"{rows:,} transitions x {numbers + 3} x 4 B")
    )
    if run.algo == "ppo":
        copied = FLOAT * minibatch * (numbers + 3)
        terms.append(Term("minibatch", place, copied, f"{minibatch:,} transitions x {numbers + 3} x 4 B, copied"))
    part = -(-minibatch // run.parts)
    kept = on_policy_kept(run.algo, h, problem, part, run.gpu)
    terms.append(Term("activations", place, kept, f"what the gradient of {part:,} rows keeps of the forward pass"))
    # Values of the whole rollout, block by block, come before the gradients: the larger of both.
    widest = max(problem.inputs, *(int(size) for size in h["hidden_sizes"].split(",")))
    values = FLOAT * min(rows, VALUE_ROWS) * 3 * widest
    backward = working(h, part, 1)
    terms.append(
        Term(
            "working memory", place, max(backward, values - kept),
            "the larger of two layers' gradients, and of three layers of up to 2,048 rows whose values are computed at once",
        )
    )  # fmt: skip
    # Two clocks of 8 B, two rewards of 8 B and two flags beside the numbers; the learner's arrays are joined from these.
    collected = FLOAT * rows * numbers + 34 * rows
    terms.append(Term("rollout as collected", "ram", collected, f"{rows:,} transitions x ({numbers} x 4 B + 34 B)"))
    if run.gpu:
        terms.append(Term("rollout on its way", "ram", FLOAT * rows * numbers, "joined on the host before it moves"))
    terms.append(
        Term(
            "weights of the env runner", "ram", WEIGHT_COPIES * FLOAT * parameters,
            f"{WEIGHT_COPIES} x {parameters:,} x 4 B: its own, copies on their way, gaps between them; measured",
        )
    )  # fmt: skip
    terms.append(_checkpoint(parameters * (1 + slots), 0, terms))
    return terms


def _minibatch(h: Any, run: Workload, rows: int) -> int:
    size = h["batch_size"] or rows
    # PPO cuts into pieces of nearly equal size, A2C into pieces of that size.
    return -(-rows // max(1, round(rows / size))) if run.algo == "ppo" else min(rows, size)


def _sac(h: Any, run: Workload, problem: Problem, place: Place) -> list[Term]:
    policy, critics = policy_parameters(h, problem), critic_parameters(h, problem)
    learned = 1 if h["ent_coef"] is None else 0
    batch, trained = h["batch_size"], policy + critics + learned
    terms = _network(trained, trained, 2, critics, place)
    per_batch = 2 * FLOAT * batch * problem.observations
    at_once = 1 if h["prioritized_replay"] else max(1, min(h["gradient_steps"], SAMPLE_BYTES // per_batch))
    numbers = 2 * problem.observations + problem.actions + 2 + bool(h["prioritized_replay"])
    drawn = FLOAT * at_once * batch * numbers
    terms.append(Term("batches", place, drawn, f"{at_once} at once x {batch:,} transitions x {numbers} x 4 B"))
    part = -(-batch // run.parts)
    kept = sac_kept(h, problem, part, run.gpu)
    terms.append(Term("activations", place, kept, f"what the larger gradient of {part:,} rows keeps of the forward pass"))
    terms.append(Term("working memory", place, working(h, part, 2), "gradients of two layers of both critics"))
    if run.gpu:
        terms.append(Term("batches on their way", "ram", 2 * drawn, "as drawn, and in memory that the card reads"))
    held = min(h["buffer_size"], run.steps + run.num_envs)
    buffer = replay_bytes(held, run.num_envs, problem.observations, problem.actions, h["prioritized_replay"])
    terms.append(
        Term(
            "replay buffer", "ram", buffer,
            f"{held:,} transitions x ({problem.observations} + {problem.actions} + 1) x 4 B, in host memory",
        )
    )  # fmt: skip
    # Rows since the last evaluation are copied to be written, a file of them at a time.
    new = replay_bytes(min(held, run.steps // run.reports), run.num_envs, problem.observations, problem.actions, False)
    terms.append(_checkpoint(3 * trained + critics, min(new, REPLAY_FILE_BYTES), terms))
    return terms


def _checkpoint(numbers: int, new: int, terms: list[Term]) -> Term:
    """What a checkpoint takes above what the learner takes for itself at other times: the two never come together.

    Args:
        numbers: of the state.
        new: bytes of transitions that are written.
        terms: of the trial so far.
    """
    # New transitions are copied and go to the file in pieces, then the state is copied.
    own = max(FLOAT * numbers, new + min(new, WRITE_BYTES))
    passing = sum(term.nbytes for term in terms if term.place == "ram" and term.name in PASSING)
    words = f"the larger of {numbers:,} x 4 B and {new:,} B of new transitions with what is on its way to the file"
    return Term("checkpoint", "ram", max(0, own - passing), f"{words}, above activations, working memory and batches")


def _device(terms: list[Term]) -> list[Term]:
    """What comes with the device, whatever lies on it."""
    tensors = total(terms, "vram")
    return [
        Term("CUDA context", "vram", CONTEXT_BYTES, "outside of torch's allocator; a constant until this card is calibrated"),
        Term("cuBLAS workspace", "vram", WORKSPACE_BYTES, "2 x 4 MiB + 8 x 16 KiB, NVIDIA's default"),
        Term(
            "allocator", "vram", SEGMENTS_BYTES + tensors // 32,
            "segments of 2 and 20 MiB that are half empty on average, and what falls between blocks",
        ),
    ]  # fmt: skip
