"""What a year needs is made once, and then opens without CityLearn."""

import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from common.errors import ScenarioError
from common.paths import cache_folder
from envs.batch_backend.tables import Tables, serving_actions
from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.environments import year_cache
from envs.environments.year_cache import (
    is_prepared,
    observation_layout,
    prepare_year,
    rooms_astray,
    scaled_template,
    tables_file,
    uncontrolled_run,
    year_reference,
    year_tables,
)
from envs.objective.reference import reference_key
from envs.objective.series import Sessions
from envs.observation import DAY_PEAK_NAME
from envs.scenarios.scenario import Scenario, scenario
from tests.envs.models import with_dynamics
from tests.envs.schema_changes import edit, edited, put

ROOT = Path(__file__).parents[3]


def test_what_thermal_devices_do_without_control_follows_from_the_hours_that_train(small_schema: Path, tmp_path: Path) -> None:
    found = []
    for factor in (1.0, 3.0):
        path = with_dynamics(small_schema, tmp_path / str(factor))
        series, site = pd.read_csv(path.parent / "mall.csv"), scenario(str(path))
        demand = 60.0 * (1.0 + np.sin(2.0 * np.pi * series["hour"] / 24.0))
        trains = np.zeros(len(series), dtype=bool)
        for window in site.windows("train"):
            trains[window.rows] = True
        series.assign(cooling_demand=np.where(trains, 1.0, factor) * demand).to_csv(path.parent / "mall.csv", index=False)
        site = scenario(str(path))
        found.append(np.array(observation_layout(site).served))
    battery, cooling = found[0]
    np.testing.assert_array_equal(found[1], found[0])
    assert not battery.any()
    tables, part = Tables.load(tables_file(site, 0)), trains.nonzero()[0]
    given = 2.0 * serving_actions(tables.site["thermal"], tables.rows["meter"][part], 2)[:, 1] - 1.0
    told = scaled_template(site, 0)[part] @ cooling[:-1] + cooling[-1]
    assert np.corrcoef(told, given)[0, 1] > 0.99
    assert observation_layout(scenario(str(small_schema))).served == ()


def test_a_prepared_year_opens_without_citylearn(site: Scenario, small_schema: Path) -> None:
    prepare_year(site, 0)
    assert is_prepared(site, 0)
    scaled = scaled_template(site, 0)
    assert scaled.shape == (len(year_tables(site, 0).exogenous.hour), observation_layout(site).size)
    assert np.abs(scaled).max() <= 1.0
    program = (
        "import sys; from envs.task import SiteTask\n"
        f"SiteTask({str(small_schema)!r}).training_env(2).reset(seed=0)\n"
        "print(*{'citylearn', 'torch', 'pvlib'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == []


def test_a_year_is_prepared_when_its_uncontrolled_run_is_kept(site: Scenario) -> None:
    prepare_year(site, 0)
    path = cache_folder() / reference_key(site, 0)
    kept = path.read_bytes()
    path.unlink()
    assert not is_prepared(site, 0)
    path.write_bytes(kept)
    assert is_prepared(site, 0)


def test_where_the_days_peak_is_observed_a_year_has_observations_of_its_own(small_schema: Path, tmp_path: Path) -> None:
    # Of a folder of its own: other tests observe the peak of the shared site.
    site = scenario(shutil.copytree(small_schema.parent, str(tmp_path / "peaks")))
    prepare_year(site, 0)
    assert not is_prepared(site, 0, day_peak=True)
    prepare_year(site, 0, day_peak=True)
    assert is_prepared(site, 0, day_peak=True)
    plain, more = (observation_layout(site, day_peak=day_peak) for day_peak in (False, True))
    assert more.names == (*plain.names, DAY_PEAK_NAME)
    assert more.size == plain.size + 1 == scaled_template(site, 0, day_peak=True).shape[1]


def test_runs_are_repeated_once_where_citylearn_steps_the_site(
    small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repeated: list[object] = []

    def refuse(simulator: object) -> None:
        repeated.append(simulator)
        raise ScenarioError("two runs differ")

    monkeypatch.setattr("envs.environments.year_cache.check_repeats", refuse)
    # Other tests have such a site in a folder of another name, and so in another place of the cache.
    folder = Path(shutil.copytree(small_schema.parent, tmp_path / "repeated"))
    site = scenario(str(folder))
    year_reference(site, 0)  # the batch backend draws nothing
    assert repeated == []
    edit(folder, put("community_market", value={"enabled": True}))
    beyond = scenario(str(folder))
    with pytest.raises(ScenarioError, match="two runs differ"):
        year_reference(beyond, 0)
    assert not is_prepared(beyond, 0)
    monkeypatch.setattr("envs.environments.year_cache.check_repeats", repeated.append)
    found = year_reference(site, 0)
    monkeypatch.setattr("envs.environments.year_cache.uncontrolled_run", lambda *_, **options: (found.run, found.held_soc))
    year_reference(beyond, 0)
    year_reference(beyond, 0)
    assert len(repeated) == 2


def test_tables_of_a_year_come_without_raw_observations(site: Scenario) -> None:
    assert "template" not in year_tables(site, 0).rows
    assert "template" in Tables.load(tables_file(site, 0)).rows


def test_what_vehicles_have_that_stay_as_the_rows_end_is_known(site: Scenario, small_schema: Path, tmp_path: Path) -> None:
    sessions = year_tables(site, 0).sessions
    last = int(sessions.start[(sessions.start > 130) & (sessions.end > sessions.start + 2)].min()) + 2
    short = edited(small_schema, tmp_path, lambda schema: schema.update(simulation_end_time_step=last))
    of_batch = year_reference(scenario(str(short)), 0)
    assert (of_batch.sessions.end >= last).any()
    _, of_citylearn = uncontrolled_run(CityLearnSimulator(short, with_reward=False))
    assert np.isfinite(of_batch.held_soc).all()
    np.testing.assert_allclose(of_citylearn, of_batch.held_soc, atol=1e-5)


class Idle:
    """In place of a simulator of CityLearn."""

    rows, taken, vehicle_soc = 500, 0, np.zeros(0)
    sessions = Sessions(**dict.fromkeys((field.name for field in fields(Sessions)), np.zeros(0, int)))

    def begin(self, start: int, hours: int, seed: int) -> None:
        assert (start, hours) == (0, self.rows - 1)

    def uncontrolled_actions(self) -> None:
        self.taken += 1

    def step(self, actions: None) -> None: ...

    def run(self) -> int:
        return self.taken


def test_it_spans_the_year_and_reports_rising_parts_of_it() -> None:
    parts: list[float] = []
    assert uncontrolled_run(Idle(), on_progress=parts.append)[0] == Idle.rows - 1  # type: ignore[arg-type, comparison-overlap]
    assert parts == sorted(parts)
    assert parts[0] == 0.0
    assert 0.9 <= parts[-1] < 1.0


def test_rooms_whose_models_do_not_fit_are_doubted(monkeypatch: pytest.MonkeyPatch) -> None:
    data, none = np.full((3, 11), 20.0), np.zeros((0, 0))  # of a year without models of rooms
    runs = {0: data[:, :10] + 1.0, 1: data[:, :10] + np.array([[-9.0], [4.9], [np.nan]]), 2: np.full((3, 10), np.nan)}

    def reference(site: Scenario, year: int) -> SimpleNamespace:
        given = none if year == 2 else data
        return SimpleNamespace(run=SimpleNamespace(indoor_c=runs[year]), exogenous=SimpleNamespace(given_c=given))

    monkeypatch.setattr(year_cache, "year_reference", reference)
    site = scenario("iquitos")
    assert rooms_astray(site, [0, 2]) == []
    (line,) = rooms_astray(site, [2, 0, 1])
    assert line.startswith("doubtful: without control 1 of 3 buildings are over 5 C")
    assert "at most 9 C" in line
