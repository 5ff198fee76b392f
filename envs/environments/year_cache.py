"""Everything that a scenario year needs before a run: its files, tables, layout and uncontrolled run, all cached."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from envs.batch_backend.tables import Tables, Year, serving_actions
from envs.cache import cached_array, cached_file, cached_json, is_cached
from envs.citylearn_backend.simulator import SIMULATORS, CityLearnSimulator, check_repeats
from envs.citylearn_backend.tables import read_buildings, read_layout, read_tables
from envs.current_hour import scaled
from envs.district import Buildings, District
from envs.environments.backend import beyond_batch
from envs.objective.reference import VERSION as REFERENCE_VERSION
from envs.objective.reference import BuildingSeries, Reference, cached_reference, reference_key, scale_of
from envs.objective.reward import serves_people
from envs.objective.series import HeldSoc, Run, cut
from envs.objective.weights import Weights
from envs.observation import ObservationLayout, join_layouts, layout_gap
from envs.scenarios.scenario import Scenario, Split, Window
from envs.scenarios.schema_file import building_names
from envs.scenarios.tariff import DemandCharge

# Parts of the cache keys: raise one when a change of the code changes layouts or tables.
LAYOUT_VERSION = 7
TABLES_VERSION = 15
SCALE_VERSION = 4  # of stated splits
BUILDINGS_VERSION = 2
_VARIES = 1e-3  # least part of a feature's range, and of the greatest singular value of all, that counts


# Whoever opens a year takes its tables and then its uncontrolled run, which share these arrays.
@lru_cache(maxsize=1)
def year_tables(scenario: Scenario, year: int) -> Tables:
    """Tables of a year without the raw observations, read from CityLearn the first time and cached."""
    return Tables.load(tables_file(scenario, year), template=False)


def tables_file(scenario: Scenario, year: int) -> Path:
    """File with the tables of a year, read from CityLearn the first time and cached."""

    def write(path: Path) -> None:
        with SIMULATORS.lend(scenario, year) as simulator:
            read_tables(simulator).save(path)

    return cached_file(f"{scenario.key}/tables-{year}-v{TABLES_VERSION}.npz", write)


def scaled_template(scenario: Scenario, year: int, day_peak: bool = False, own_layout: bool = False) -> np.ndarray:
    """Observations of a year in its layout, without what depends on actions; shape (rows, observations), float32."""

    def scaled() -> np.ndarray:
        raw = Tables.load(tables_file(scenario, year)).rows["template"]
        return observation_layout(scenario, year, day_peak, own_layout).scale_exogenous(raw)

    return cached_array(_template_key(scenario, year, day_peak, own_layout), scaled)


def year_reference(scenario: Scenario, year: int, on_progress: Progress | None = None) -> Reference:
    """Uncontrolled run of a year, simulated once and cached; a `ScenarioError` if CityLearn's runs do not repeat.

    The batch backend simulates it where it can, whichever backend a policy uses: one scenario has one reference. Its means are
    those of its split: all segments of it together, and their own hours alone.
    """
    reference = _own_reference(scenario, year, on_progress)
    if not scenario.segments:
        return reference
    split = scenario.split_of(year)

    def scale() -> dict[str, float]:
        pairs = ((window.year, window) for window in scenario.windows(split))
        return scale_of([(reference if other == year else _own_reference(scenario, other), window) for other, window in pairs])

    return reference.scaled_by(cached_json(dict[str, float], f"{scenario.key}/scale-{split}-v{SCALE_VERSION}.json", scale))


def whole_year(scenario: Scenario, year: int) -> Window:
    """All hours of a year that can be stepped; of a segment those of its split."""
    if scenario.segments:
        return next(window for window in scenario.windows(scenario.split_of(year)) if window.year == year)
    one = scenario.steps_per_hour
    return Window(year, 0, year_reference(scenario, year).run.net_kwh.shape[1] // one * one, one)


def _own_reference(scenario: Scenario, year: int, on_progress: Progress | None = None) -> Reference:
    """The same with the means of the year itself."""
    if not beyond_batch(scenario):
        tables = year_tables(scenario, year)
        return cached_reference(scenario, year, tables.exogenous, tables.sessions, lambda: _run_batch(tables))
    with SIMULATORS.lend(scenario, year) as simulator:

        def simulate() -> tuple[Run, np.ndarray]:
            check_repeats(simulator)
            return uncontrolled_run(simulator, on_progress=on_progress)

        return cached_reference(scenario, year, simulator.exogenous, simulator.sessions, simulate)


def observation_layout(
    scenario: Scenario, year: int | None = None, day_peak: bool = False, own_layout: bool = False
) -> ObservationLayout:
    """Layout of a scenario, made once and cached, with bounds from the first training year, or all segments that train.

    Where the buildings of `year` do not fit it, its split has one of its own, for baselines and bounds. With `own_layout` other
    buildings than those that train have bounds of their own in any case: policies for single buildings know a building by them,
    one for the whole site needs those of training. `day_peak` as of `Seen`.
    """
    return _split_layout(scenario, layout_split(scenario, year, day_peak, own_layout), day_peak)


def layout_split(scenario: Scenario, year: int | None, day_peak: bool, own_layout: bool) -> Split:
    """Split that the layout of `observation_layout` has its bounds from."""
    split = "train" if year is None else scenario.split_of(year)
    if scenario.same_buildings(split):
        return "train"
    differs = layout_gap(_split_layout(scenario, "train", day_peak), _split_layout(scenario, split, day_peak))
    return split if own_layout or differs else "train"


def _split_layout(scenario: Scenario, split: Split, day_peak: bool) -> ObservationLayout:
    """Layout with the bounds of a split's first year, or of all its segments."""
    years = scenario.years(split)[: None if scenario.segments else 1]

    def layout() -> ObservationLayout:
        layouts = []
        for year in years:
            with SIMULATORS.lend(scenario, year) as simulator:
                layouts.append(read_layout(simulator, DemandCharge.of(simulator.schema_path), day_peak))
        joined = join_layouts(layouts)
        return replace(joined, served=_served(scenario, split, joined))

    name = "layout" if split == "train" else f"layout-{split}"
    return cached_json(ObservationLayout, f"{scenario.key}/{name}{_seen(day_peak)}-v{LAYOUT_VERSION}.json", layout)


def _served(scenario: Scenario, split: Split, layout: ObservationLayout) -> tuple[tuple[float, ...], ...]:
    """See `ObservationLayout`: least squares over hours that train; for other buildings over those before their split's."""
    if not serves_people(scenario) or beyond_batch(scenario):
        return ()
    history, features, actions = _history(scenario, split), list[np.ndarray](), list[np.ndarray]()
    for window in [Window(scenario.years(split)[0], 0, history)] if history else scenario.windows(split):
        tables, part = Tables.load(tables_file(scenario, window.year)), window.rows
        low, span = (tables.site["action"][name] for name in ("low", "span"))
        given = serving_actions(tables.site["thermal"], tables.rows["meter"][part], len(low))
        # Storages rest in the middle of their range, also where a power of zero lies elsewhere in it.
        actions.append(np.where(given.any(axis=0), scaled(given, low, low + span), 0.0))
        features.append(layout.scale_exogenous(tables.rows["template"][part]).astype(np.float64))
    seen = np.concatenate(features)
    # Nothing is learned of observations that hardly vary, such as those that depend on actions, constant in the template.
    seen[:, np.ptp(seen, axis=0) < _VARIES] = 0.0
    weights = np.linalg.lstsq(np.c_[seen, np.ones(len(seen))], np.concatenate(actions), rcond=_VARIES)[0]
    return tuple(map(tuple, weights.T.tolist()))


def _template_key(scenario: Scenario, year: int, day_peak: bool, own_layout: bool = False) -> str:
    suffix = "-own" if own_layout and not scenario.same_buildings(scenario.split_of(year)) else ""
    return f"{scenario.key}/observations{_seen(day_peak)}{suffix}-{year}-v{LAYOUT_VERSION}-{TABLES_VERSION}.npy"


def _seen(day_peak: bool) -> str:
    return "-day-peak" if day_peak else ""


def district(scenario: Scenario, day_peak: bool = False) -> District | None:
    """Buildings of a scenario; None where there is one, for which CityLearn is not opened."""
    return any_district(scenario, day_peak) if has_several_buildings(scenario) else None


def has_several_buildings(scenario: Scenario) -> bool:
    """Whether several buildings of a scenario train. CityLearn is not opened."""
    return scenario.schema is not None and len(building_names(scenario.schema_path(scenario.years("train")[0]))) > 1


def any_district(scenario: Scenario, day_peak: bool = False, split: Split = "train") -> District:
    """Buildings of a split with their own layout, from its first year; made once and cached."""
    year = scenario.years(split)[0]
    if scenario.same_buildings(split):
        split, year = "train", scenario.years("train")[0]

    history = _history(scenario, split)

    def buildings() -> Buildings:
        with SIMULATORS.lend(scenario, year) as simulator:
            return read_buildings(simulator, history)

    name = "buildings" if split == "train" else f"buildings-{split}-{history}"
    read = cached_json(Buildings, f"{scenario.key}/{name}-v{BUILDINGS_VERSION}.json", buildings)
    return District(observation_layout(scenario, year, day_peak, own_layout=True), read)


def _history(scenario: Scenario, split: Split) -> int:
    """Rows before a split of which a policy may know its buildings: not by what the split will bring. 0 for all."""
    return 0 if split == "train" else scenario.segments[scenario.years(split)[0]].history


def prepare_year(scenario: Scenario, year: int, on_progress: Progress | None = None, day_peak: bool = False) -> None:
    """Make everything that a year needs for training, where the cache lacks it; tells the part that is done, 0 to 1."""
    if year == scenario.years("train")[0]:
        district(scenario, day_peak)
    year_reference(scenario, year, on_progress)
    if not beyond_batch(scenario):
        scaled_template(scenario, year, day_peak)


def is_prepared(scenario: Scenario, year: int, day_peak: bool = False) -> bool:
    """Whether `prepare_year` has nothing to do."""
    # Where the day's peak is observed, there are observations of their own. CityLearn needs none.
    sees_more = day_peak and not beyond_batch(scenario)
    return is_cached(reference_key(scenario, year)) and (not sees_more or is_cached(_template_key(scenario, year, day_peak)))


# The years of a process; environments only read them.
@lru_cache(maxsize=8)
def building_series(scenario: Scenario, year: int, weights: Weights) -> BuildingSeries:
    """What the rewards of single buildings are computed from in a year."""
    return BuildingSeries.of([year_reference(scenario, year)], weights)


ASTRAY = 5.0  # C in the mean of a year; in the challenge of 2023 it is 1.8 at most, in some public neighbourhoods 22


def rooms_astray(scenario: Scenario, years: Iterable[int]) -> list[str]:
    """A line where temperatures of the uncontrolled site are far from those of the data, as its models of rooms do not fit."""
    furthest = [0.0]
    for year in years:
        reference = year_reference(scenario, year)
        indoor, given = reference.run.indoor_c, reference.exogenous.given_c
        if given.size:  # else no room has a model
            furthest = list(np.nan_to_num(np.abs(indoor - given[:, : indoor.shape[1]])).mean(axis=1))
        if max(furthest) > ASTRAY:
            count = sum(distance > ASTRAY for distance in furthest)
            return [
                f"doubtful: without control {count} of {len(furthest)} buildings are over {ASTRAY:.0f} C from the temperatures "
                f"of the data in the mean, at most {max(furthest):.0f} C: models of rooms do not fit, so scores say little"
            ]
    return []


def run_alone(scenario: Scenario, window: Window, reference: Reference) -> Run:
    """The uncontrolled run over a window, with the temperatures of a run of these hours alone, simulated once and cached.

    Models of the temperature begin anew with each window. All else is as in the run of the year, which `reference` has.
    """
    run = cut(reference.run, window.start, window.hours)
    if not reference.exogenous.warm_up.any():
        return run

    def indoor() -> np.ndarray:
        if not beyond_batch(scenario):
            return _run_batch(year_tables(scenario, window.year), window.start, window.hours)[0].indoor_c
        with SIMULATORS.lend(scenario, window.year) as simulator:
            return uncontrolled_run(simulator, window.start, window.hours)[0].indoor_c

    key = f"{scenario.key}/indoor-{window.year}-{window.start}-{window.hours}-v{REFERENCE_VERSION}.npy"
    return replace(run, indoor_c=cached_array(key, indoor))


def _run_batch(tables: Tables, start: int = 0, hours: int = 0) -> tuple[Run, np.ndarray]:
    """The uncontrolled site over some hours of a year, by default all, and `held_soc` of `Reference` where it is all."""
    # Imported here: compiled code takes a second to load, and scenarios of CityLearn may not need it.
    from envs.batch_backend.simulator import BatchSimulator, Recorder

    steps = hours or len(tables.exogenous.hour) - 1
    simulator = BatchSimulator({0: Year(tables)}, copies=1, record=steps)
    simulator.begin(0, 0, start, steps, seed=0)
    recorder, held = Recorder(simulator, steps), HeldSoc(tables.sessions)
    for row in range(start, start + steps):
        held.add(row, simulator.vehicle_soc(0))
        simulator.step(simulator.uncontrolled_actions())
        recorder.add()
    held.add(start + steps, simulator.vehicle_soc(0))  # of those that stay
    return recorder.run(0, 0, steps), held.soc


def action_range(scenario: Scenario, year: int) -> tuple[np.ndarray, np.ndarray]:
    """Least and greatest value of each action of CityLearn in a year, each of shape (actions,)."""
    with SIMULATORS.lend(scenario, year) as simulator:
        return simulator.action_low, simulator.action_high


Progress = Callable[[float], None]
STEPS_BETWEEN_REPORTS = 50


def uncontrolled_run(
    simulator: CityLearnSimulator, start: int = 0, hours: int = 0, on_progress: Progress | None = None
) -> tuple[Run, np.ndarray]:
    """Some hours of a year, by default all, under the simulator's `uncontrolled_actions`, and `held_soc` of `Reference`."""
    steps, held = hours or simulator.rows - 1, HeldSoc(simulator.sessions)
    simulator.begin(start, steps, seed=0)
    for step in range(steps):
        held.add(start + step, simulator.vehicle_soc)
        simulator.step(simulator.uncontrolled_actions())
        if on_progress and step % STEPS_BETWEEN_REPORTS == 0:
            on_progress(step / steps)
    held.add(start + steps, simulator.vehicle_soc)  # of those that stay
    return simulator.run(), held.soc
