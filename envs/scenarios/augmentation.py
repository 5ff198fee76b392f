"""Synthetic training years: how many, their numbers, and the windows that training draws from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from envs.errors import ScenarioError
from envs.scenarios.references import DEVICES, is_on
from envs.scenarios.scenario import Scenario, Window
from envs.scenarios.schema_file import active_actions, count_steps, read_schema
from envs.scenarios.shapes import is_left_out
from envs.scenarios.synthetic_numbers import synthetic_number

OPTION = "--augment"
THERMAL_ACTIONS = frozenset({"cooling_storage", "heating_storage", "dhw_storage"})


@dataclass(frozen=True)
class Augmentation:
    """What training sees beside its real years.

    Attributes:
        years: synthetic years for each real one of a given scenario; further generated years of a generated one.
        seed: that the years follow from. Generated years follow from their numbers alone.
    """

    years: int = 0
    seed: int = 0


NONE = Augmentation()


def synthetic_years(scenario: Scenario, augmentation: Augmentation) -> tuple[int, ...]:
    """Numbers of the years that training sees beside its real ones.

    A generated scenario has further years of its own: the smallest numbers that are in no split. Of a given one, each real
    training year or segment is recombined `augmentation.years` times, see `envs.scenarios.recombination`.
    """
    if scenario.site:
        taken = {year for split in ("train", "validation", "test") for year in scenario.years(split)}
        free = (year for year in range(1, len(taken) + augmentation.years + 1) if year not in taken)
        return tuple(next(free) for _ in range(augmentation.years))
    real = len(scenario.years("train"))
    return tuple(synthetic_number(augmentation.seed, index) for index in range(augmentation.years * real))


def training_windows(scenario: Scenario, augmentation: Augmentation = NONE) -> tuple[Window, ...]:
    """All hours that training may see, real ones first.

    Of a year that three splits share, a synthetic copy holds days of the train split alone, so all of its hours may train.
    Where vehicles come and go, their sessions stay in their rows, and so do the windows.
    """
    real = scenario.windows("train")
    years = synthetic_years(scenario, augmentation)
    if not years:
        return real
    if scenario.site:
        return (*real, *(Window(year, 0, real[0].hours) for year in years))
    if scenario.segments or has_chargers(scenario):
        numbers = scenario.years("train")
        copies = [
            Window(year, own.start, own.hours)
            for index, year in enumerate(years)
            for own in real
            if own.year == numbers[index % len(numbers)]
        ]
        return (*real, *copies)
    assert scenario.schema is not None
    steps = count_steps(scenario.schema)
    return (*real, *(Window(year, 0, steps) for year in years))


def has_chargers(scenario: Scenario) -> bool:
    """Whether vehicles come and go on a given scenario."""
    return any(building.get("chargers") for building in _buildings(scenario).values())


def check_augmentation(scenario: Scenario, augmentation: Augmentation, backend: str) -> None:
    """Check that a scenario's years can be recombined.

    Raises:
        ScenarioError: if CityLearn steps it, or derives a device or an action of it from the rows that it runs.
    """
    if not augmentation.years:
        return
    if backend != "batch":
        raise ScenarioError(f"{OPTION}: the batch backend alone steps synthetic years of {scenario.title}; leave it out")
    if scenario.site:
        return
    assert scenario.schema is not None
    if thermal := sorted(set(active_actions(scenario.schema)) & THERMAL_ACTIONS):
        raise ScenarioError(
            f"{OPTION}: CityLearn derives the range of the action {thermal[0]} from the rows that it runs, so years with other "
            "rows would have another action; leave it out"
        )
    for name, building in _buildings(scenario).items():
        sized = [device for device in DEVICES if is_on((building.get(device) or {}).get("autosize"))]
        if sized:
            raise ScenarioError(
                f"{OPTION}: CityLearn sizes the {sized[0]} of building {name} by the rows that it runs, so years with other "
                "rows would have other devices; set autosize to false and give its size"
            )


def _buildings(scenario: Scenario) -> Mapping[str, Any]:
    assert scenario.schema is not None
    return {name: own for name, own in read_schema(scenario.schema)["buildings"].items() if not is_left_out(own)}
