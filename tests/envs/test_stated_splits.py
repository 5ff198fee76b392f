"""Stated splits share nothing: what training and validation compute does not change with rows and buildings of other splits."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from envs.citylearn_backend.simulator import SIMULATORS
from envs.environments.year_cache import any_district, observation_layout, scaled_template, year_reference, year_tables
from envs.objective.evaluate import evaluate
from envs.observation import ObservationLayout, join_layouts, layout_gap
from envs.scenarios.scenario import Scenario, Split, Splits, Window, scenario
from envs.task import SiteTask
from tests.districts import write_district
from tests.envs.changed_rows import OF_MALL, OF_OFFICE, SHARED, two_buildings, with_other_rows

# The test lies between two ranges that train, and before the days that validate.
SPLITS = Splits(
    ("0-8", "19-29"),
    ("30-34",),
    ("9-18",),
    train_buildings=("mall",),
    validation_buildings=("mall",),
    test_buildings=("office",),
)


@pytest.fixture(scope="module")
def site(small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return two_buildings(small_schema, tmp_path_factory.mktemp("two") / "site")


def numbers(of: Scenario, split: Split) -> list[Any]:
    """Everything that is computed of a split's data before a run, to be compared bit by bit."""
    found: list[Any] = [repr(observation_layout(of)), of.windows(split)]
    for year in of.years(split):
        reference, tables = year_reference(of, year), year_tables(of, year)
        found += [reference.scale, reference.hourly.tobytes(), reference.dear.tobytes(), reference.run.missing_kwh.tobytes()]
        # CityLearn draws the efficiency of devices that the site has not, each time anew.
        meter = tables.rows["meter"][["load", "solar", "price", "carbon", "demand"]]
        # As values: records have unused bytes between them.
        found += [repr(values.tolist()) for values in ({**tables.rows, "meter": meter} | tables.site).values()]
        found += [vars(tables.sessions)[name].tobytes() for name in ("start", "end", "required_soc", "arrival_soc")]
    return found


def steps(path: Path, backend: str, count: int) -> bytes:
    """Observations and rewards of some steps of training, the last of them at the ends of windows."""
    env = SiteTask(str(path), splits=SPLITS, backend=backend).training_env(2)  # type: ignore[arg-type]
    random, taken = np.random.default_rng(1), [env.reset(seed=3)[0].copy()]
    for _ in range(count):
        observation, reward, *_ = env.step(random.uniform(-1.0, 1.0, env.action_space.shape or ()))
        taken += [observation.copy(), reward]
    env.close()
    return b"".join(values.tobytes() for values in taken)


def test_training_does_not_change_with_rows_and_buildings_that_do_not_train(site: Path, tmp_path: Path) -> None:
    others = set(range(366)) - {*range(9), *range(19, 30)}
    changed = with_other_rows(site, tmp_path / "changed", others, (*SHARED, *OF_MALL))
    changed = with_other_rows(changed, tmp_path / "both", set(range(366)), OF_OFFICE)
    first, second = (scenario(str(path), splits=SPLITS) for path in (site, changed))
    assert first.key != second.key
    assert numbers(first, "train") == numbers(second, "train")
    assert steps(site, "batch", 700) == steps(changed, "batch", 700)
    assert steps(site, "citylearn", 4) == steps(changed, "citylearn", 4)
    # The rows that were changed decide the other splits.
    assert numbers(first, "test") != numbers(second, "test")


def test_validation_does_not_change_with_rows_of_the_test(site: Path, tmp_path: Path) -> None:
    # Now the test is right before validation, which has no history then.
    splits = Splits(("0-8",), ("19-29",), ("9-18", "35-39"))
    tested = {*range(9, 19), *range(35, 41)}
    changed = with_other_rows(site, tmp_path / "changed", tested, (*SHARED, *OF_MALL, *OF_OFFICE))
    first, second = (scenario(str(path), splits=splits) for path in (site, changed))
    assert numbers(first, "validation") == numbers(second, "validation")
    scores = []
    for path in (site, changed):
        env = SiteTask(str(path), splits=splits).evaluation_env()
        scores.append(evaluate(env, lambda seen: np.full((len(seen), 6), 0.3)))
    assert repr(scores[0]) == repr(scores[1])


def test_scores_of_a_split_are_relative_to_its_own_uncontrolled_hours(site: Path) -> None:
    of = scenario(str(site), splits=SPLITS)
    scales = {split: [year_reference(of, year).scale for year in of.years(split)] for split in ("train", "validation")}  # type: ignore[arg-type]
    assert scales["train"][0] == scales["train"][1] != scales["validation"][0]
    emission = [year_reference(of, year).hourly[:, 0] for year in of.years("train")]
    assert scales["train"][0]["co2"] == pytest.approx(np.concatenate(emission).mean())
    # Hours before the days that validate do not count.
    history = of.windows("validation")[0].start
    assert history
    emission = [year_reference(of, of.years("validation")[0]).hourly[history:, 0]]
    assert scales["validation"][0]["co2"] == pytest.approx(emission[0].mean())


def test_a_segment_is_what_citylearn_runs_between_its_rows(site: Path) -> None:
    of = scenario(str(site), splits=SPLITS)
    (window,) = of.windows("validation")
    assert (window.start, window.hours) == (7 * 24, 5 * 24 - 1)
    with SIMULATORS.lend(of, window.year) as simulator:
        assert simulator.rows == (7 + 5) * 24
        assert [building.name for building in simulator.env.buildings] == ["mall"]
        whole = scenario(str(site))
        with SIMULATORS.lend(whole, 0) as all_rows:
            part = slice(23 * 24, 35 * 24)
            np.testing.assert_array_equal(simulator.exogenous.load_kwh[0], all_rows.exogenous.load_kwh[0, part])


def test_bounds_of_several_segments_are_the_widest() -> None:
    one = ObservationLayout(("a", "b"), (0.0, -5.0), (3.0, 4.0), ("x",), (0.0,), (0.0,))
    other = ObservationLayout(("a", "b"), (-1.0, 0.0), (1.0, 9.0), ("x",), (0.0,), (0.5,))
    joined = join_layouts([one, other])
    assert (joined.low, joined.high, joined.hourly_soc) == ((-1.0, -5.0), (3.0, 9.0), (0.5,))
    assert join_layouts([one]) == one


def test_a_fixed_layout_fits_equal_names_alone() -> None:
    one = ObservationLayout(("a", "b"), (0.0, 0.0), (3.0, 4.0), ("x",), (0.0,), (0.0,))
    assert layout_gap(one, one) == ""
    assert layout_gap(one, ObservationLayout(("a",), (0.0,), (3.0,), ("x",), (0.0,), (0.0,))) == "1 observations, not 2"
    assert "other actions, such as y" in layout_gap(
        one, ObservationLayout(one.names, one.low, one.high, ("y",), (0.0,), (0.0,))
    )


def test_baselines_run_in_a_split_with_other_buildings(site: Path) -> None:
    of = scenario(str(site), splits=SPLITS)
    assert of.same_buildings("validation")
    assert not of.same_buildings("test")
    own = observation_layout(of, of.years("test")[0])
    assert own.actions == ("electrical_storage",)
    env = SiteTask(of.name, splits=of.splits).evaluation_env(of.windows("test"))
    (evaluation,) = evaluate(env, lambda seen: env.present.uncontrolled_actions())
    assert evaluation.score == 0.0
    assert evaluation.hours == 10 * 24 - 1


def test_policies_for_single_buildings_see_other_homes_through_their_own_bounds(small_schema: Path, tmp_path: Path) -> None:
    home: dict[str, Any] = {"battery": (800.0, 100.0), "pv": 1000.0, "chargers": []}
    path = write_district(small_schema, tmp_path / "site", {"small": {"load": 0.2, **home}, "large": {"load": 1.0, **home}})
    own = Splits(("0-9",), ("10-19",), ("20-29",), ("small",), ("small",), ("large",))
    of = scenario(str(path), splits=own)
    (window,) = of.windows("test")
    trained, large = observation_layout(of), observation_layout(of, window.year, own_layout=True)
    # Names and number match, so a policy for the whole site runs there.
    assert layout_gap(trained, large) == ""
    assert trained.high != large.high
    assert any_district(of, split="test").layout == large
    assert observation_layout(of, of.years("validation")[0], own_layout=True) == trained
    load = trained.names.index("non_shiftable_load")
    for backend in ("batch", "citylearn"):
        seen = []
        for own_layout in (False, True):
            task = SiteTask(str(path), splits=own, backend=backend)  # type: ignore[arg-type]
            env = task.evaluation_env([Window(window.year, window.start, 30)], own_layout)
            taken: list[np.ndarray] = []

            def idle(observation: np.ndarray, taken: list[np.ndarray] = taken) -> np.ndarray:
                taken.append(observation[:, load].copy())
                return np.zeros((1, 1))

            evaluate(env, idle)
            env.close()
            seen.append(np.concatenate(taken))
        expected = scaled_template(of, window.year, own_layout=True)[window.start :][: len(seen[1]), load]
        np.testing.assert_allclose(seen[1], expected, atol=1e-6)
        assert (seen[0] == 1.0).mean() > 0.5  # beyond the bounds of the home that trains
        assert (seen[1] < 1.0).mean() > 0.5


def test_the_size_of_another_home_is_that_of_its_history(small_schema: Path, tmp_path: Path) -> None:
    home: dict[str, Any] = {"battery": None, "pv": 1000.0, "load": 1.0}
    homes = {"one": {"chargers": ["motorcycle_001"], **home}, "other": {"chargers": ["motorcycle_002"], **home}}
    path = write_district(small_schema, tmp_path / "site", homes)
    changed = with_other_rows(path, tmp_path / "changed", range(20, 30), ("other.csv",))
    own = Splits(("0-9",), ("10-12",), ("20-29",), ("one",), ("one",), ("other",))
    first, second = (scenario(str(each), splits=own) for each in (path, changed))
    (year,) = first.years("test")
    assert year_tables(first, year).exogenous.load_kwh.max() < year_tables(second, year).exogenous.load_kwh.max()
    sizes = [any_district(each, split="test").buildings.power_kw for each in (first, second)]
    assert sizes[0] == sizes[1]
