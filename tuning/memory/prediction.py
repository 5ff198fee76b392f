"""The predicted memory of a trial, from its hyperparameters and the sizes of its scenario.

Here is what all trials share; each algorithm adds its own terms, see `AlgorithmSpec.memory`.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Self

import numpy as np

from common.units import FLOAT, GIB, KIB, MIB
from envs.batch_backend import records
from envs.district import District
from envs.environments.year_cache import district, observation_layout, tables_file
from envs.gym.task import EnvTask
from envs.objective.weights import DEFAULT
from envs.planning.mpc_site import PLANNED
from envs.seen import Seen
from envs.task import Task
from envs.yardsticks.lessons import lesson_windows
from search_spaces import Assignment
from tuning.algorithms.memory import Place, Problem, Term, Workload, floats, product, total
from tuning.algorithms.networks.building_kinds import BuildingKinds, Parts
from tuning.algorithms.registry import AlgorithmSpec

# Segments that torch's allocator takes from the driver: 2 MiB for tensors below 1 MiB, 20 MiB below 10 MiB, else steps of 2.
# On average half of each kind stays empty. Source: PyTorch's documentation of CUDA memory management.
SEGMENTS_BYTES: Final = (2 * MIB + 20 * MIB + 2 * MIB) // 2

# Host memory of a process after its first update, with NumPy, Ray, RLlib, torch for the CPU and numba. Measured on Linux (see
# docs/memory.md); calibration corrects it elsewhere.
PROCESS_BYTES: Final = 1015 * MIB
READING: Final = 10  # one tenth of the years' arrays stays in the heap after they are read, measured likewise


@dataclass(frozen=True)
class CardBaseline:
    """What a process takes before it has any data, as it computes on a card; see `tuning.memory.baseline`."""

    context: int  # GPU memory outside of torch's allocator, bytes: CUDA's context, and the kernels that are loaded into it
    workspace: int  # GPU memory that cuBLAS takes from torch's allocator and keeps, bytes
    host: int  # host memory beyond that of a process on the CPU, bytes
    source: str  # of these figures

    def vram(self) -> int:
        """GPU memory, bytes."""
        return self.context + self.workspace


# cuBLAS's workspace by NVIDIA's documentation of CUBLAS_WORKSPACE_CONFIG: 2 x 4 MiB and 8 x 16 KiB of each thread's handle.
ASSUMED: Final = CardBaseline(450 * MIB, 2 * (2 * 4096 + 8 * 16) * KIB, 600 * MIB, "assumed, as no card was measured")


@dataclass(frozen=True)
class Prediction:
    """Predicted memory of a trial."""

    terms: tuple[Term, ...]  # of its memory; their sum is what it takes at its worst moment
    # Factors from earlier trials of this algorithm on this machine; 1 for a place without one.
    correction: Mapping[Place, float] = field(default_factory=dict)

    def uncorrected(self, place: Place) -> int:
        """Sum of the terms of a place, bytes."""
        return total(self.terms, place)

    def nbytes(self, place: Place) -> int:
        """Bytes of a place: the terms with their correction."""
        return round(self.uncorrected(place) * self.correction.get(place, 1.0))

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


def predict(spec: AlgorithmSpec, h: Assignment, run: Workload, sizes: Sizes, baseline: CardBaseline = ASSUMED) -> Prediction:
    """Memory of a trial, without correction; `baseline` is that of the card, where the learner uses one."""
    sizes = sizes.seeing(Seen.of(DEFAULT, h))
    problem = problem_of(h, sizes)
    terms = [*_host(run, sizes), *_lessons(run, problem), *spec.memory(h, run, problem)]
    return Prediction((*terms, *(_device(terms, baseline, h) if run.gpu else [])))


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
    process = Term("process", "ram", PROCESS_BYTES, "Python, Ray, RLlib, torch and compiled code, measured")
    if not sizes.training_years:
        return [
            process,
            Term("environment", "ram", sizes.year_bytes, "what its process grew by with its first copy, measured"),
            product("copies", "ram", "--num-envs", (run.num_envs, "copies"), (sizes.copy_bytes, "B, measured")),
            product("evaluation", "ram", "--episodes", (run.windows, "copies"), (sizes.copy_bytes, "B, measured")),
        ]
    years = sizes.training_years * (sizes.year_bytes + sizes.joined_bytes) + sizes.year_bytes + sizes.single_bytes
    years += years // READING
    return [
        process,
        Term(
            "scenario years", "ram", years,
            f"{sizes.training_years} for training, each as it is read and joined to the others, one for validation, "
            f"1/{READING} for what reading leaves behind",
        ),
        product("copies of the site", "ram", "--num-envs", (run.num_envs, "copies"), (sizes.copy_bytes, "B of state")),
        product("evaluation", "ram", "--validation-weeks", (run.windows, "windows"), (sizes.copy_bytes, "B of state")),
        # What they lack and are owed: of all windows, which have a year's sessions together, and of the run that is judged.
        product("sessions of an evaluation", "ram", "", (4, "arrays"), (sizes.sessions, "sessions"), (8, "B")),
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


def _device(terms: list[Term], baseline: CardBaseline, h: Assignment) -> list[Term]:
    """What comes with the device, however much lies on it.

    Steps are recorded in a stream that has a workspace of its own, gradients and the optimizer's each in segments of their own.
    """
    streams, pools = (2, 3) if h["cuda_graphs"] else (1, 1)
    return [
        Term("CUDA's libraries", "ram", baseline.host, baseline.source),
        Term("CUDA context", "vram", baseline.context, f"outside of torch's allocator; {baseline.source}"),
        Term("cuBLAS workspace", "vram", streams * baseline.workspace, baseline.source),
        Term(
            "allocator", "vram", pools * SEGMENTS_BYTES + total(terms, "vram") // 32,
            "segments of 2 and 20 MiB that are half empty on average, and what falls between blocks",
        ),
    ]  # fmt: skip


def size(nbytes: float) -> str:
    """Bytes as text: two decimals of a GiB, or one of a MiB or KiB."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB")):
        if abs(nbytes) >= unit:
            return f"{nbytes / unit:,.2f} {name}" if unit == GIB else f"{nbytes / unit:,.1f} {name}"
    return f"{nbytes / KIB:,.1f} KiB"


TEMPLATE = "rows_template"  # raw observations, which are in the file and are not read into memory

# CityLearn's own objects of a year, for each row and observation, where CityLearn steps. Most of it is vehicles' schedules.
# Measured as the growth of a process with the second year that it built: 24 B with 128 sockets, 20 B with 38.
CITYLEARN_BYTES_EACH = 24


@dataclass(frozen=True)
class BuildingSizes:
    """Sizes of what a policy for single buildings sees and moves."""

    agents: int
    features: int
    actions: int

    def seeing(self, more: int) -> BuildingSizes:
        """The same buildings for a policy that sees so many more features of each."""
        return replace(self, features=self.features + more)


@dataclass(frozen=True)
class Sizes:
    """Sizes of a scenario."""

    observations: int  # features of the site's observation
    actions: int
    chargers: int  # that have an action and features of one kind; 0 for fewer than two
    charger_features: int
    training_years: int  # how many; with stated splits, segments beyond the first that validates count too
    sessions: int  # charging sessions of a year
    year_bytes: int
    joined_bytes: int  # of a year where it is joined to others
    single_bytes: int  # that a year takes more where it is the only one
    copy_bytes: int  # state of one copy of the site
    # For a policy for single buildings, with chargers that follow the rule and with learned ones; None for one building.
    buildings: tuple[BuildingSizes, BuildingSizes] | None = None
    lessons: tuple[int, ...] = ()  # hours of each run of a teacher's lessons, where it can teach
    rows: int = 0
    meters: int = 1  # buildings, each of which has a meter
    planned: tuple[str, ...] = ()  # actions of tanks and thermal devices that plans have

    @classmethod
    def of_environment(cls, task: EnvTask) -> Self:
        """Sizes of an environment, which has no years: what its process takes stands in the place of one."""
        probe = task.probe
        # Copies in processes of their own each import what the first one does.
        copy_bytes = probe.copy_bytes + (probe.process_bytes if task.in_processes else 0)
        return cls(probe.features, probe.outputs, 0, 0, 0, 0, probe.process_bytes, 0, 0, copy_bytes)

    def seeing(self, seen: Seen) -> Sizes:
        """The same scenario for a policy that sees more. What is seen further is of its meters and of the site."""
        more = len(seen.names(self.meters, self.planned))
        features = 2 * len(seen.own(self.planned)) + len(seen.common)  # of a building and of the district
        # As it is made and as it is observed; where years are joined, once more.
        rows = FLOAT * self.rows * more
        return replace(
            self,
            observations=self.observations + more,
            year_bytes=self.year_bytes + 2 * rows,
            joined_bytes=self.joined_bytes + rows if self.joined_bytes else 0,
            copy_bytes=self.copy_bytes + FLOAT * more if self.copy_bytes else 0,
            buildings=(self.buildings[0].seeing(features), self.buildings[1].seeing(features)) if self.buildings else None,
        )


def sizes_of(task: Task) -> Sizes:
    """Sizes of a task; its site's first training year, or longest stated segment, is prepared and stands for the others."""
    if isinstance(task, EnvTask):
        return Sizes.of_environment(task)
    scenario, site = task.site, district(task.site, task.seen.day_peak)
    layout, buildings = observation_layout(scenario, day_peak=task.seen.day_peak), _of_buildings(site)
    groups = layout.chargers
    chargers, features = (len(groups.actions), len(groups.observations[0])) if groups else (0, 0)
    years = len(scenario.years("train"))
    if scenario.segments:
        # Beside one year that validates, which always counts.
        years += len(scenario.years("validation")) - 1
    meters = len(site.buildings.power_kw) if site else 1
    planned = tuple(name for name in PLANNED if name in layout.actions)
    shape = layout.size, len(layout.actions), chargers, features, years
    if task.stepped_by == "citylearn":
        rows = sum(window.hours for window in scenario.windows("train")) // len(scenario.years("train"))
        if scenario.segments:
            rows = scenario.segments[scenario.longest_segment].length
        return Sizes(
            *shape, 0, CITYLEARN_BYTES_EACH * rows * layout.size, 0, 0, 0, buildings, rows=rows, meters=meters, planned=planned
        )
    year = scenario.longest_segment if scenario.segments else scenario.years("train")[0]
    arrays = _arrays(tables_file(scenario, year))
    rows, sessions = arrays["rows_meter"][0], arrays["sessions_end"][0]
    template = FLOAT * rows * layout.size
    read = sum(nbytes for name, (_, nbytes) in arrays.items() if name != TEMPLATE)
    # The uncontrolled run beside the tables: what each session lacked, three series and four more of hourly figures.
    reference = 8 * sessions + 8 * rows * 7
    of_year = rows * records.HOUR.itemsize + sessions * records.SESSION.itemsize
    joined = template + of_year + arrays["rows_meter"][1] + arrays["rows_plugged"][1]
    batteries = arrays["initial_soc"][0]
    # Random numbers' state, charge of each battery now and before and its wear, the observation.
    copy = 624 * 4 + batteries * 16 + FLOAT * layout.size
    # Each window of the lessons is run twice.
    lessons = tuple(window.hours for window in lesson_windows(scenario) for _ in range(2))
    return Sizes(
        *shape, sessions, read + template + reference, joined, of_year, copy, buildings, lessons, rows, meters, planned
    )


def _of_buildings(site: District | None) -> tuple[BuildingSizes, BuildingSizes] | None:
    if site is None:
        return None
    kinds = [BuildingKinds.of(site, learned) for learned in (False, True)]
    by_rule, learned = (BuildingSizes(len(Parts.of(site, k.learn_charging).acting), k.size, len(k.actions)) for k in kinds)
    return by_rule, learned


def _arrays(path: Path) -> dict[str, tuple[int, int]]:
    """Length of the first axis and bytes of each array in a file of arrays, from their headers alone."""
    arrays = {}
    with zipfile.ZipFile(path) as file:
        for name in file.namelist():
            with file.open(name) as array:
                version = np.lib.format.read_magic(array)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                shape, _, kind = read(array)
                arrays[name.removesuffix(".npy")] = (shape[0] if shape else 1, int(np.prod(shape)) * kind.itemsize)
    return arrays
