"""What a scenario year needs before it can be stepped: its files, tables, layout and uncontrolled run, all cached."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np

from envs.batch_backend.tables import Tables, read_tables
from envs.batch_backend.unsupported import unsupported
from envs.cache import cache_folder, cached_file
from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.errors import ScenarioError
from envs.objective.reference import Reference, cached_reference, reference_key
from envs.objective.series import Run
from envs.observation import ObservationLayout, layout_of
from envs.scenarios.scenario import Scenario
from envs.scenarios.tariff import DemandCharge

Backend = Literal["batch", "citylearn"]
BackendChoice = Literal["auto", "batch", "citylearn"]

# Parts of the cache keys of layouts and tables: raise one when they would come out otherwise.
LAYOUT_VERSION = 3
TABLES_VERSION = 4

Progress = Callable[[float], None]


class _Pool:
    """Simulators of this process that no environment uses now.

    Building one takes seconds, so trials that follow one another in a process pass them on. Two
    environments never share one: an episode of the one would end in the other's.
    """

    def __init__(self) -> None:
        self._idle: dict[tuple[Path, bool], list[CityLearnSimulator]] = {}

    def take(self, schema_path: Path, with_reward: bool = False) -> CityLearnSimulator:
        idle = self._idle.get((schema_path, with_reward))
        return idle.pop() if idle else CityLearnSimulator(schema_path, with_reward)

    def give_back(self, simulator: CityLearnSimulator) -> None:
        self._idle.setdefault((simulator.schema_path, simulator.with_reward), []).append(simulator)


SIMULATORS = _Pool()


def beyond_batch(scenario: Scenario) -> list[str]:
    """What a scenario uses that the batch backend does not do, each as a few words; empty where it does it all."""
    # Of generated scenarios it does all; to look at their files here would have them generated.
    return unsupported(scenario.schema) if scenario.schema else []


def choose_backend(scenario: Scenario, choice: BackendChoice) -> Backend:
    """The backend that a choice means for a scenario.

    Raises:
        ScenarioError: if `batch` is asked for and the scenario uses what it does not do.
    """
    if choice == "citylearn":
        return "citylearn"
    missing = beyond_batch(scenario)
    if missing and choice == "batch":
        raise ScenarioError(f"--backend batch cannot step {scenario.title}: {', '.join(missing)}; take citylearn or auto")
    return "citylearn" if missing else "batch"


def year_tables(scenario: Scenario, year: int) -> Tables:
    """Tables of a year without the raw observations, read from CityLearn the first time and cached."""
    return Tables.load(tables_file(scenario, year), template=False)


def tables_file(scenario: Scenario, year: int) -> Path:
    """File with the tables of a year, read from CityLearn the first time and cached."""

    def write(path: Path) -> None:
        schema_path = scenario.schema_path(year)
        simulator = SIMULATORS.take(schema_path)
        read_tables(simulator, schema_reward(schema_path)).save(path)
        SIMULATORS.give_back(simulator)

    return cached_file(f"{scenario.key}/tables-{year}-v{TABLES_VERSION}.npz", write)


def scaled_template(scenario: Scenario, year: int) -> np.ndarray:
    """Observations of a year in the scenario's layout, with what depends on actions left out; made the first time and cached.

    Returns:
        Shape (rows, observations), float32.
    """

    def write(path: Path) -> None:
        raw = Tables.load(tables_file(scenario, year)).rows["template"]
        with path.open("wb") as file:
            np.save(file, observation_layout(scenario).scale_exogenous(raw))

    path = cached_file(f"{scenario.key}/observations-{year}-v{LAYOUT_VERSION}-{TABLES_VERSION}.npy", write)
    found: np.ndarray = np.load(path)
    return found


def schema_reward(schema_path: Path) -> tuple[str, str]:
    """Class of the reward function that a schema names, without its module, and its attributes as JSON."""
    reward = json.loads(schema_path.read_text(encoding="utf-8"))["reward_function"]
    return reward["type"].rpartition(".")[2], json.dumps(reward.get("attributes"))


def year_reference(scenario: Scenario, year: int, on_progress: Progress | None = None) -> Reference:
    """Uncontrolled run of a year, simulated the first time and cached.

    The batch backend does it where it can, whichever backend is to be used: one scenario has one reference.
    """
    if beyond_batch(scenario):
        simulator = SIMULATORS.take(scenario.schema_path(year))
        found = cached_reference(
            scenario, year, simulator.exogenous, simulator.sessions, lambda: _run_citylearn(simulator, on_progress)
        )
        SIMULATORS.give_back(simulator)
        return found
    return batch_reference(scenario, year, year_tables(scenario, year))


def batch_reference(scenario: Scenario, year: int, tables: Tables) -> Reference:
    """Uncontrolled run of a year whose tables are read already, for scenarios that the batch backend can step."""
    return cached_reference(scenario, year, tables.exogenous, tables.sessions, lambda: _run_batch(tables))


def observation_layout(scenario: Scenario) -> ObservationLayout:
    """Layout of a scenario, from its first training year; made the first time and cached."""

    def write(path: Path) -> None:
        schema_path = scenario.schema_path(scenario.years("train")[0])
        simulator = SIMULATORS.take(schema_path)
        path.write_text(layout_of(simulator, DemandCharge.of(schema_path)).to_json(), encoding="utf-8")
        SIMULATORS.give_back(simulator)

    path = cached_file(f"{scenario.key}/layout-v{LAYOUT_VERSION}.json", write)
    return ObservationLayout.from_json(path.read_text(encoding="utf-8"))


def prepare_year(scenario: Scenario, year: int, on_progress: Progress | None = None) -> None:
    """Make what a year needs before it can be learned on, where the cache lacks it.

    Args:
        scenario: the scenario.
        year: year number.
        on_progress: called now and then with the part that is done, 0 to 1.
    """
    if year == scenario.years("train")[0]:
        observation_layout(scenario)
    year_reference(scenario, year, on_progress)
    if not beyond_batch(scenario):
        scaled_template(scenario, year)


def is_prepared(scenario: Scenario, year: int) -> bool:
    """Whether `prepare_year` has nothing to do."""
    return (cache_folder() / reference_key(scenario, year)).is_file()


def _run_batch(tables: Tables) -> Run:
    # Imported here: compiled code takes a second to load, and CityLearn's scenarios may not need it.
    from envs.batch_backend.simulator import BatchSimulator, Recorder, Year

    # Nobody looks at the observations.
    blind = np.zeros((len(tables.exogenous.hour), len(tables.names)), dtype=np.float32)
    simulator = BatchSimulator({0: Year(tables, blind)}, copies=1, record=True)
    steps = len(tables.exogenous.hour) - 1
    simulator.begin(0, 0, 0, steps, seed=0)
    recorder = Recorder(simulator)
    for _ in range(steps):
        simulator.step(simulator.uncontrolled_actions())
        recorder.add()
    return recorder.run(0, 0, steps)


def _run_citylearn(simulator: CityLearnSimulator, on_progress: Progress | None) -> Run:
    steps = simulator.rows - 1
    simulator.begin(0, steps, seed=0)
    for step in range(steps):
        simulator.step(simulator.uncontrolled_actions())
        if on_progress and step % 50 == 0:
            on_progress(step / steps)
    return simulator.run()
