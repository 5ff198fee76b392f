"""A folder that was made for CityLearn 2 becomes one that CityLearn 3 loads and the batch backend steps."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from common.errors import ScenarioError
from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.environments.backend import unsupported
from envs.scenarios.conversion import ConversionOptions
from envs.scenarios.conversion.converting import UndecidedError, convert
from envs.scenarios.scenario import scenario
from tests.envs.schema_changes import edit
from tests.envs.series_changes import change_column, lines_of, put_cells, write_lines

Machines = Literal["", "leave-out", "deferrable"]
CHARGER = "motorcycle_001.csv"
ROWS = 8761


@pytest.fixture
def old(site: Path) -> Path:
    """Folder of the small site with what CityLearn 2.4 wrote otherwise: one fault of each kind."""
    machine = [f'1,{row % 24 + 1},{8 + day * 24},{12 + day * 24},"[0.5, 0.25]"' if 8 <= row % 24 <= 12 else "1,1,-1,-1,-1"
               for row in range(ROWS) for day in [row // 24]]  # fmt: skip
    (site / "machine.csv").write_text("\n".join(["day_type,hour,wm_start_time_step,wm_end_time_step,load_profile", *machine]))

    def change(schema: dict[str, Any]) -> None:
        schema["buildings"]["mall"] |= {
            "washing_machines": {
                "washer": {
                    "type": "citylearn.energy_model.WashingMachine", "autosize": False,
                    "washing_machine_energy_simulation": "machine.csv",
                }
            },
            "inactive_observations": ["washing_machine_load_profile"],
        }  # fmt: skip
        schema["observations"] |= {
            f"washing_machine_{name}": {"active": True, "shared_in_central_agent": False}
            for name in ("start_time_step", "end_time_step", "load_profile")
        }
        schema["actions"]["washing_machine"] = {"active": True}

    edit(site, change)
    put_cells(site / "mall.csv", 25, hour="0")
    header, *charger = lines_of(site / CHARGER)
    cells = [row.split(",") for row in charger]
    states = "".join(row[0] for row in cells)
    one, other, third = (at + 2 for at in [i for i in range(500, 8000) if states.startswith("3311", i)][:3])
    cells[one][5] = ""  # an arrival without its charge
    cells[other][2] = ""  # a row without hours to the departure
    cells[third][5] = "1"  # one per cent, beside percentages
    for at, row in enumerate(cells):
        if row[5] and at not in (one, third):
            row[5] = str(100.0 * float(row[5]))
    write_lines(site / CHARGER, [header, *map(",".join, cells), *charger[:300]])
    return site


def options(old: Path, new: Path, machines: Machines = "deferrable") -> ConversionOptions:
    return ConversionOptions(old / "schema.json", new, machines, "mean", "percent")


def test_what_is_to_be_corrected_is_told_of_the_original_whatever_the_new_folder_is_called(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(site, lambda schema: schema["buildings"]["mall"]["electrical_storage"]["attributes"].update(capacity=-1))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UndecidedError) as told:
        convert(ConversionOptions(site / "schema.json", Path("o")))
    assert told.value.args[1].startswith(
        f"  {site / 'schema.json'}: buildings.mall.electrical_storage.attributes.capacity is -1; it has to be a number above 0"
    )


def test_each_fault_is_found_and_what_has_several_meanings_is_asked_about(old: Path, tmp_path: Path) -> None:
    with pytest.raises(UndecidedError) as asked:
        convert(ConversionOptions(old / "schema.json", tmp_path / "new"))
    lines = list(asked.value.args)
    decide, repair = lines.index("to be decided:"), lines.index("would be repaired:")
    asked_for = "".join(lines[decide:repair])
    assert [option in asked_for for option in ("--washing-machines", "--arrival-soc", "--small-soc")] == [True] * 3
    repaired = "".join(lines[repair:])
    assert "hour: 0 where midnight is 24 in other lines; now 24 (line 25 of mall.csv)" in repaired
    assert "electric_vehicle_departure_time: no hours to the departure" in repaired
    assert f"rows: more than the site's {ROWS:,}" in repaired
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("machines", ["leave-out", "deferrable"])
def test_the_checks_and_citylearn_take_what_is_made(machines: Machines, old: Path, tmp_path: Path) -> None:
    from citylearn.citylearn import CityLearnEnv

    with pytest.raises(ScenarioError):
        scenario(str(old))
    before = {file.name: file.read_bytes() for file in old.iterdir()}
    convert(options(old, tmp_path / "new", machines))
    assert {file.name: file.read_bytes() for file in old.iterdir()} == before
    scenario(str(tmp_path / "new"))
    env = CityLearnEnv(str(tmp_path / "new/schema.json"), central_agent=True, offline=True)
    names = set(env.observation_names[0])
    expected = {"pending", "earliest_start_time_step", "latest_start_time_step"} if machines == "deferrable" else set()
    assert {name.removeprefix("deferrable_appliance_washer_") for name in names if name.startswith("def")} == expected
    assert ("deferrable_appliance_washer" in env.action_names[0]) == (machines == "deferrable")


def test_hours_that_count_from_zero_are_each_one_more(site: Path, small_schema: Path, tmp_path: Path) -> None:
    change_column(site / "mall.csv", "hour", lambda cell: str(int(cell) - 1))
    (line,) = convert(ConversionOptions(site / "schema.json", tmp_path / "new"))
    assert line.startswith("hour: hours count from 0")
    assert lines_of(tmp_path / "new/mall.csv") == lines_of(small_schema.parent / "mall.csv")


def test_series_of_a_folder_of_their_own_and_a_tariff_go_along(small_schema: Path, tmp_path: Path) -> None:
    site = tmp_path / "old"
    shutil.copytree(small_schema.parent, site / "series")
    shutil.move(site / "series/schema.json", site / "schema.json")
    shutil.move(site / "series/tariff.json", site / "tariff.json")
    edit(site, lambda schema: schema.update(root_directory="series"))
    convert(ConversionOptions(site, tmp_path / "new"))
    given = scenario(str(tmp_path / "new"))
    assert given.schema == tmp_path / "new/schema.json"
    assert (tmp_path / "new/series/mall.csv").is_file()
    assert (tmp_path / "new/tariff.json").read_bytes() == (site / "tariff.json").read_bytes()


def test_a_file_elsewhere_is_not_copied(site: Path, tmp_path: Path) -> None:
    shutil.move(site / "weather.csv", tmp_path / "weather.csv")
    edit(site, lambda schema: schema["buildings"]["mall"].update(weather="../weather.csv"))
    with pytest.raises(Exception, match=r"weather is '../weather.csv', which is outside .* bring the file there"):
        convert(ConversionOptions(site, tmp_path / "new"))
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("name", "machines"),
    [
        ("citylearn_challenge_2022_phase_all_plus_evs", "deferrable"),
        ("citylearn_charging_constraints_demo", "leave-out"),
    ],
)
def test_public_data_are_taken_by_both_backends_then(
    name: str, machines: Machines, thermal_schema: Callable[[str], Path], tmp_path: Path
) -> None:
    convert(options(thermal_schema(name).parent, tmp_path / "new", machines))
    path = tmp_path / "new/schema.json"
    assert unsupported(path) == []
    CityLearnSimulator(path, with_reward=True)
