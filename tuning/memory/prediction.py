"""The predicted memory of a trial, from its hyperparameters and the sizes of its scenario.

Here is what all trials share; each algorithm adds its own terms, see `AlgorithmSpec.memory`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from common.units import GIB, KIB, MIB
from envs.objective.weights import DEFAULT
from envs.seen import Seen
from search_spaces import Assignment
from tuning.algorithms.memory import PLACES, Place, Problem, Term, Workload, floats, product, total
from tuning.algorithms.spec import AlgorithmSpec
from tuning.memory.scenario_sizes import Sizes

__all__ = ["PLACES", "Place", "Prediction", "Term", "predict", "problem_of", "size"]

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


@dataclass(frozen=True)
class Prediction:
    """Predicted memory of a trial.

    Attributes:
        correction: factor of the terms from earlier trials of this algorithm on this machine, by place.
    """

    terms: tuple[Term, ...]  # of its memory; their sum is what it takes at its worst moment
    cores: int = 1
    correction: tuple[float, float] = (1.0, 1.0)

    def uncorrected(self, place: Place) -> int:
        """Sum of the terms of a place, bytes."""
        return total(self.terms, place)

    def nbytes(self, place: Place) -> int:
        """Bytes of a place: the terms with their correction."""
        return round(self.uncorrected(place) * self.correction[PLACES.index(place)])

    @property
    def vram(self) -> int:
        """GPU memory, bytes; 0 for a trial without a GPU."""
        return self.nbytes("vram")

    @property
    def ram(self) -> int:
        """Host memory, bytes."""
        return self.nbytes("ram")

    def largest(self, place: Place) -> Term:
        """The term that takes most of a place."""
        return max((term for term in self.terms if term.place == place), key=lambda term: term.nbytes)


def predict(spec: AlgorithmSpec, h: Assignment, run: Workload, sizes: Sizes) -> Prediction:
    """Memory and cores of a trial, without correction."""
    sizes = sizes.seeing(Seen.of(DEFAULT, h))
    problem = problem_of(h, sizes)
    terms = [*_host(run, sizes), *_lessons(run, problem), *spec.memory(h, run, problem)]
    return Prediction((*terms, *(_device(terms) if run.gpu else [])))


def problem_of(h: Assignment, sizes: Sizes) -> Problem:
    """What an assignment's networks see and do on a site; without `learn_charging` they learn all actions."""
    if sizes.buildings and h.get("shared_policy"):
        one = sizes.buildings[bool(h["learn_charging"])]
        return Problem(one.features, one.actions, one.features, agents=one.agents)
    if not sizes.chargers:
        return Problem(sizes.observations, sizes.actions, sizes.observations)
    # Of each kind of the chargers' features the mean.
    inputs = sizes.observations - sizes.charger_features * (sizes.chargers - 1)
    if h.get("learn_charging", True):
        return Problem(sizes.observations, sizes.actions, inputs, sizes.chargers, sizes.charger_features)
    return Problem(inputs, sizes.actions - sizes.chargers, inputs)


def _host(run: Workload, sizes: Sizes) -> list[Term]:
    years = sizes.training_years * (sizes.year_bytes + sizes.joined_bytes) + sizes.year_bytes + sizes.single_bytes
    years += years // READING
    window = sizes.copy_bytes + 8 * sizes.sessions
    return [
        Term("process", "ram", PROCESS_BYTES, "Python, Ray, RLlib, torch and compiled code, measured"),
        Term(
            "scenario years", "ram", years,
            f"{sizes.training_years} for training, each as it is read and joined to the others, one for validation, "
            f"1/{READING} for what reading leaves behind",
        ),
        product("copies of the site", "ram", "--num-envs", (run.num_envs, "copies"), (sizes.copy_bytes, "B of state")),
        product("evaluation", "ram", "--validation-weeks", (run.windows, "windows"), (window, "B of state and sessions")),
    ]  # fmt: skip


def _lessons(run: Workload, problem: Problem) -> list[Term]:
    """What a copy learns from before the first update. It is freed then, but may leave a gap in the heap."""
    if not run.lessons:
        return []
    rows = sum(run.lessons) * problem.agents, "hours"
    # Observations as they are shown, as the policy gets them, and joined; actions, labels, ends of their range, twice; rewards.
    numbers = 3 * problem.observations + 9 * problem.actions + 4
    terms = [floats("lessons of the teacher", "ram", "", rows, (numbers, "numbers"))]
    if run.gpu:
        moved = problem.observations + 4 * problem.actions + 1
        terms.append(floats("lessons on the card", "vram", "", rows, (moved, "numbers")))
    return terms


def _device(terms: list[Term]) -> list[Term]:
    """What comes with the device, however much lies on it."""
    return [
        Term("CUDA's libraries", "ram", CUDA_HOST_BYTES, "a constant until it is measured on this machine"),
        Term("CUDA context", "vram", CONTEXT_BYTES, "outside of torch's allocator; a constant until this card is calibrated"),
        Term("cuBLAS workspace", "vram", WORKSPACE_BYTES, "2 x 4 MiB + 8 x 16 KiB, NVIDIA's default"),
        Term(
            "allocator", "vram", SEGMENTS_BYTES + total(terms, "vram") // 32,
            "segments of 2 and 20 MiB that are half empty on average, and what falls between blocks",
        ),
    ]  # fmt: skip


def size(nbytes: float) -> str:
    """Bytes as text: two decimals of a GiB, or one of a MiB or KiB."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB")):
        if abs(nbytes) >= unit:
            return f"{nbytes / unit:,.2f} {name}" if unit == GIB else f"{nbytes / unit:,.1f} {name}"
    return f"{nbytes / KIB:,.1f} KiB"
