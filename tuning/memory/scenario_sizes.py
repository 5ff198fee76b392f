"""Sizes of a scenario that a trial's memory depends on."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from common.units import FLOAT
from envs.batch_backend import records
from envs.batch_backend.tables import USES
from envs.district import District
from envs.environments.year_cache import district, observation_layout, tables_file
from envs.seen import Seen
from envs.task import Task
from envs.yardsticks.lessons import lesson_windows
from tuning.algorithms.networks.building_kinds import BuildingKinds, Parts

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
    """Sizes of a scenario.

    Attributes:
        buildings: for a policy for single buildings, with chargers that follow the rule and with learned ones; None where there
            is one building.
    """

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
    buildings: tuple[BuildingSizes, BuildingSizes] | None = None
    lessons: tuple[int, ...] = ()  # hours of each run of a teacher's lessons, where it can teach
    rows: int = 0
    meters: int = 1  # buildings, each of which has a meter
    tanks: tuple[str, ...] = ()  # uses of which buildings have thermal storages that act

    def seeing(self, seen: Seen) -> Sizes:
        """The same scenario for a policy that sees more. What is seen further is of its meters and of the site."""
        more = len(seen.names(self.meters, self.tanks))
        own = 2 * len(seen.own(self.tanks)) + len(seen.common)  # of a building and of the district
        # As it is made and as it is observed; where years are joined, once more.
        rows = FLOAT * self.rows * more
        return replace(
            self,
            observations=self.observations + more,
            year_bytes=self.year_bytes + 2 * rows,
            joined_bytes=self.joined_bytes + rows if self.joined_bytes else 0,
            copy_bytes=self.copy_bytes + FLOAT * more if self.copy_bytes else 0,
            buildings=(self.buildings[0].seeing(own), self.buildings[1].seeing(own)) if self.buildings else None,
        )


def sizes_of(task: Task) -> Sizes:
    """Sizes of a task; its site's first training year, or longest stated segment, is prepared and stands for the others."""
    scenario, site = task.site, district(task.site, task.seen.day_peak)
    layout, buildings = observation_layout(scenario, day_peak=task.seen.day_peak), _building_sizes(site)
    groups = layout.chargers
    chargers, features = (len(groups.actions), len(groups.observations[0])) if groups else (0, 0)
    years = len(scenario.years("train"))
    if scenario.segments:
        # Beside one year that validates, which always counts.
        years += len(scenario.years("validation")) - 1
    meters = len(site.buildings.power_kw) if site else 1
    tanks = tuple(use for use in USES if f"{use}_storage" in layout.actions)
    shape = layout.size, len(layout.actions), chargers, features, years
    if task.stepped_by == "citylearn":
        rows = sum(window.hours for window in scenario.windows("train")) // len(scenario.years("train"))
        if scenario.segments:
            rows = scenario.segments[scenario.longest_segment].length
        return Sizes(
            *shape, 0, CITYLEARN_BYTES_EACH * rows * layout.size, 0, 0, 0, buildings, rows=rows, meters=meters, tanks=tanks
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
    return Sizes(*shape, sessions, read + template + reference, joined, of_year, copy, buildings, lessons, rows, meters, tanks)


def _building_sizes(site: District | None) -> tuple[BuildingSizes, BuildingSizes] | None:
    if site is None:
        return None
    kinds = [BuildingKinds.of(site, learned) for learned in (False, True)]
    by_rule, learned = (
        BuildingSizes(len(Parts.of(site, each.learn_charging).acting), each.size, len(each.actions)) for each in kinds
    )
    return by_rule, learned


def _arrays(path: Path) -> dict[str, tuple[int, int]]:
    """Length of the first axis and bytes of each array in a file of arrays, from their headers alone."""
    found = {}
    with zipfile.ZipFile(path) as file:
        for name in file.namelist():
            with file.open(name) as array:
                version = np.lib.format.read_magic(array)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                shape, _, kind = read(array)
                found[name.removesuffix(".npy")] = (shape[0] if shape else 1, int(np.prod(shape)) * kind.itemsize)
    return found
