"""Names, paths, years and splits."""

import shutil
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from common.errors import ScenarioError
from common.paths import PathError
from common.units import DAY, WEEK
from envs.scenarios.scenario import DEFAULT, SPLITS, Splits, Window, _in_full, sample_weeks, scenario, training_starts
from tests.envs.schema_changes import edited, put


def hours(windows: tuple[Window, ...]) -> set[tuple[int, int]]:
    return {(w.year, h) for w in windows for h in range(w.start, w.start + w.hours)}


def test_a_generated_scenario_has_years_of_its_own_for_each_split() -> None:
    site = scenario("iquitos-38")
    years = [set(site.years(split)) for split in SPLITS]
    assert all(years)
    assert all(not one & other for one, other in combinations(years, 2))


def test_one_year_is_split_into_disjoint_hours_that_leave_nothing_but_a_rest(small_schema: Path) -> None:
    site = scenario(str(small_schema))
    parts = [hours(site.windows(split)) for split in SPLITS]
    assert all(not one & other for one, other in combinations(parts, 2))
    assert len(set.union(*parts)) == 40 * DAY


def test_a_long_year_is_split_by_weeks(small_schema: Path, tmp_path: Path) -> None:
    path = edited(small_schema, tmp_path, put("simulation_end_time_step", value=8759))
    windows = scenario(str(path)).windows("validation")
    assert {w.hours for w in windows} == {WEEK}
    assert len(windows) == 10


def test_stated_ranges_have_their_weeks_though_the_last_hour_is_no_step(small_schema: Path) -> None:
    site = scenario(str(small_schema), splits=Splits(("0-13",), ("14-27",), ("28-39",)))
    (window,) = site.windows("validation")
    assert (window.start, window.hours) == (WEEK, 2 * WEEK - 1)
    assert [week.hours for week in sample_weeks((window,), 2)] == [WEEK, WEEK - 1]
    assert site.years("validation") == (1,)
    assert site.described("validation") == "validation (days 14-27)"


def test_each_statement_has_a_place_of_its_own_in_the_cache(small_schema: Path) -> None:
    stated = [Splits(("0-13",), ("14-27",), (test,)) for test in ("28-39", "28-38")]
    keys = {scenario(str(small_schema), splits=splits).key for splits in (DEFAULT, *stated)}
    assert len(keys) == 3
    generated = {scenario("iquitos", splits=splits).key for splits in (DEFAULT, Splits(("8",)), Splits(test=("9",)))}
    assert len(generated) == 3
    # The same years in other words are the same scenario.
    assert scenario("iquitos", splits=Splits(("1", "4-5"))).key == scenario("iquitos").key


def test_a_generated_year_is_the_same_whatever_trains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envs.scenarios.scenario.cached_folder", lambda key, fill: Path(key))
    assert scenario("iquitos", splits=Splits(("8",))).schema_path(8) == scenario("iquitos").schema_path(8)


def test_too_short_a_year_is_refused(small_schema: Path, tmp_path: Path) -> None:
    path = edited(small_schema, tmp_path, put("simulation_end_time_step", value=100))
    with pytest.raises(ScenarioError, match=r"100 steps, one fewer than rows; .* at least 121 rows"):
        scenario(str(path)).windows("train")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("iquitoss", "did you mean iquitos"),
        ("lima", "iquitos, iquitos-38"),
        ("nowhere/schema.json", "no file"),
        ("iquitos:pv_kwp=-1", "pv_kwp=KILOWATTS"),
        ("iquitos:battery=3", "pv_kwp=KILOWATTS"),
        ("iquitos:pv_kwp=nan", "pv_kwp=KILOWATTS"),
    ],
)
def test_what_is_no_scenario_is_refused_with_a_remedy(name: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        scenario(name)


@pytest.mark.parametrize("name", ["\\\\evil\\share\\schema.json", "//evil/share/schema.json", "\\\\?\\UNC\\evil\\share"])
def test_windows_connects_to_no_share_without_trust(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[str] = []

    def look(given: str) -> Path:
        looked_at.append(given)
        raise PathError("looked at")

    monkeypatch.setattr("envs.scenarios.scenario.user_path", look)
    with monkeypatch.context() as windows:
        windows.setattr("envs.scenarios.scenario.os.name", "nt")
        with pytest.raises(ScenarioError, match=r"is on a share, .*; give the share a drive letter, or, .*--trust-scenario"):
            scenario(name)
        assert looked_at == []
        with pytest.raises(PathError):
            scenario(name, trusted=True)
    assert looked_at == [name]


def test_a_share_keeps_its_drive_letter_on_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, behind = tmp_path / "schema.json", Path("\\\\server\\site\\schema.json")
    monkeypatch.setattr(Path, "resolve", lambda path: behind)
    assert _in_full(given) == behind
    with monkeypatch.context() as windows:
        windows.setattr("envs.scenarios.scenario.os.name", "nt")
        kept = _in_full(given)
    assert kept == given


def test_a_folder_with_a_name_that_is_no_unicode_is_one_line(small_schema: Path, tmp_path: Path) -> None:
    folder = tmp_path / "site\udcff"
    try:
        shutil.copytree(small_schema.parent, folder)
    except (OSError, ValueError, shutil.Error):
        pytest.skip("this system has no such names")
    with pytest.raises(ScenarioError, match="the name of its folder is no text in UTF-8; rename the folder"):
        scenario(str(folder))


def test_what_changes_the_numbers_changes_the_cache_key(small_schema: Path, tmp_path: Path) -> None:
    assert scenario("iquitos").key != scenario("iquitos:pv_kwp=4162").key != scenario("iquitos-38").key
    path = Path(shutil.copytree(small_schema.parent, tmp_path / "site")) / "schema.json"
    before = scenario(str(path)).key
    assert scenario(str(path)).key == before
    load = path.parent / "mall.csv"
    load.write_text(load.read_text(encoding="utf-8").replace("743.83", "743.84", 1), encoding="utf-8")
    assert scenario(str(path)).key != before


def test_training_starts_lie_at_midnight_and_stay_within_their_windows() -> None:
    whole = (Window(0, 0, 3 * WEEK), Window(0, 5 * WEEK, WEEK))
    starts = training_starts(whole, 336)
    assert all(w.start % DAY == 0 for w in starts)
    assert hours(tuple(starts)) == hours(whole)
    assert {w.hours for w in starts} == {336, WEEK}


def test_days_and_weeks_are_as_long_where_steps_are_quarters_of_an_hour() -> None:
    whole = (Window(0, 0, 4 * 3 * WEEK, 4),)
    starts = training_starts(whole, 336)
    assert starts[:2] == [Window(0, 0, 4 * 336, 4), Window(0, 4 * DAY, 4 * 336, 4)]
    assert [week.lasts for week in sample_weeks(whole, 3)] == [WEEK] * 3


def test_sampled_weeks_are_spread_and_all_of_the_split_for_zero() -> None:
    year = (Window(2, 0, 8760),)
    assert sample_weeks(year, 0) == year
    weeks = sample_weeks(year, 4)
    assert [w.hours for w in weeks] == [WEEK] * 4
    gaps = [b.start - a.start for a, b in pairwise(weeks)]
    assert max(gaps) - min(gaps) <= WEEK
    assert len(sample_weeks(year, 1000)) == 52
