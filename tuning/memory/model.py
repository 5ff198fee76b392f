"""What a trial takes of memory, term by term, from its hyperparameters and the sizes of its scenario.

Here is what all trials share: the process, the copies of the site, the device. Each algorithm has its own terms, see
`tuning.algorithms.spec.AlgorithmSpec.memory`.
"""

from __future__ import annotations

from typing import Final

from common.units import FLOAT, KIB, MIB
from envs.objective.weights import DEFAULT
from envs.seen import Seen
from search_spaces import Assignment
from tuning.algorithms.memory_terms import Term, Workload, total
from tuning.algorithms.networks.sizes import Problem
from tuning.algorithms.spec import AlgorithmSpec
from tuning.memory.prediction import Prediction
from tuning.memory.scenario_sizes import Sizes

# CUDA's context and the kernels that are loaded into it lie outside of torch's allocator. Some hundred MiB a process, by card
# and driver; calibration corrects it.
CONTEXT_BYTES: Final = 450 * MIB
# cuBLAS's default workspace of a handle, by NVIDIA's documentation of CUBLAS_WORKSPACE_CONFIG: 2 x 4 MiB and 8 x 16 KiB.
WORKSPACE_BYTES: Final = 2 * 4096 * KIB + 8 * 16 * KIB
# Segments that torch's allocator takes from the driver: 2 MiB for tensors below 1 MiB, 20 MiB below 10 MiB, else steps of 2.
# On average half of each kind stays empty. Source: PyTorch's documentation of CUDA memory management.
SEGMENTS_BYTES: Final = (2 * MIB + 20 * MIB + 2 * MIB) // 2

# Host memory of a process after its first update, with NumPy, Ray, RLlib, torch for the CPU and numba. Measured on Linux (see
# docs/memory.md); calibration corrects it elsewhere.
PROCESS_BYTES: Final = 1015 * MIB
READING: Final = 10  # one tenth of the years' arrays stays in the heap after they are read, measured likewise
CUDA_HOST_BYTES: Final = 600 * MIB  # CUDA's libraries and its context on the host


def predict(spec: AlgorithmSpec, h: Assignment, run: Workload, sizes: Sizes) -> Prediction:
    """Memory and cores of a trial, without correction.

    Args:
        spec: its algorithm.
        h: full assignment of the algorithm's space.
        run: its settings.
        sizes: of its scenario.
    """
    sizes = sizes.seeing(Seen.of(DEFAULT, h))
    problem = problem_of(h, sizes)
    terms = [*_process(run), *_environments(run, sizes), *spec.memory(h, run, problem)]
    if run.lessons:
        terms += _lessons(run, problem)
    if run.gpu:
        terms += _device(terms)
    return Prediction(tuple(terms))


def problem_of(h: Assignment, sizes: Sizes) -> Problem:
    """What an assignment's networks see and do on a site; see `tuning.algorithms.networks.site_view`.

    An algorithm without the hyperparameter `learn_charging` learns all actions.
    """
    if sizes.buildings and h.get("shared_policy"):
        own = sizes.buildings[bool(h["learn_charging"])]
        return Problem(own.features, own.actions, own.features, agents=own.agents)
    if not sizes.chargers:
        return Problem(sizes.observations, sizes.actions, sizes.observations)
    # Of each kind of the chargers' features the mean.
    inputs = sizes.observations - sizes.charger_features * (sizes.chargers - 1)
    if h.get("learn_charging", True):
        return Problem(sizes.observations, sizes.actions, inputs, sizes.chargers, sizes.charger_features)
    return Problem(inputs, sizes.actions - sizes.chargers, inputs)


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
        Term(
            "copies of the site", "ram", run.num_envs * sizes.copy_bytes, f"{run.num_envs} x {sizes.copy_bytes:,} B of state",
            "--num-envs",
        ),
        Term(
            "evaluation", "ram", run.windows * (sizes.copy_bytes + 8 * sizes.sessions),
            f"{run.windows} windows x (state + 8 B x {sizes.sessions:,} charging sessions)", "--validation-weeks",
        ),
    ]  # fmt: skip


def _lessons(run: Workload, problem: Problem) -> list[Term]:
    """What a copy learns from before the first update. It is freed then, but may leave a gap in the heap."""
    rows = sum(run.lessons) * problem.agents
    # Observations as they are shown, as the policy gets them, and joined; actions, labels, ends of their range, twice; rewards.
    numbers = 3 * problem.observations + 9 * problem.actions + 4
    terms = [Term("lessons of the teacher", "ram", FLOAT * rows * numbers, f"{rows:,} hours x {numbers} x 4 B")]
    if run.gpu:
        moved = problem.observations + 4 * problem.actions + 1
        terms.append(Term("lessons on the card", "vram", FLOAT * rows * moved, f"{rows:,} hours x {moved} x 4 B"))
    return terms


def _device(terms: list[Term]) -> list[Term]:
    """What comes with the device, however much lies on it."""
    tensors = total(terms, "vram")
    return [
        Term("CUDA context", "vram", CONTEXT_BYTES, "outside of torch's allocator; a constant until this card is calibrated"),
        Term("cuBLAS workspace", "vram", WORKSPACE_BYTES, "2 x 4 MiB + 8 x 16 KiB, NVIDIA's default"),
        Term(
            "allocator", "vram", SEGMENTS_BYTES + tensors // 32,
            "segments of 2 and 20 MiB that are half empty on average, and what falls between blocks",
        ),
    ]  # fmt: skip
