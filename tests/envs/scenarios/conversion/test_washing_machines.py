"""Washing machines of CityLearn 2.4 become appliances that may start in the same hours and take the same energy."""

from pathlib import Path

import pytest
from citylearn.data import DeferrableApplianceSimulation, WashingMachineSimulation
from citylearn.energy_model import WashingMachine

from envs.scenarios.conversion.cells import Cells
from envs.scenarios.conversion.washing_machines import Cycle, read_cycles, replaced, tables

NONE = ("-1", "-1", "-1")
HEADER = "day_type,hour,wm_start_time_step,wm_end_time_step,load_profile"


def cells(folder: Path, rows: list[tuple[str, str, str]]) -> Cells:
    lines = [f'1,{i % 24 + 1},{start},{end},"{profile}"' for i, (start, end, profile) in enumerate(rows)]
    (folder / "machine.csv").write_text("\n".join([HEADER, *lines, ""]), encoding="utf-8")
    return Cells(folder / "machine.csv", len(rows))


ROWS = [NONE, *[("1", "3", "[3.5]")] * 3, NONE, *[("5", "6", "[1.0, 0.25]")] * 2, *[("8", "9", "[2.0]")] * 3, NONE]


def test_a_cycle_may_start_where_the_windows_rows_include_themselves(tmp_path: Path) -> None:
    found = list(read_cycles(cells(tmp_path, ROWS)))
    assert found == [Cycle(1, 3, (3.5,)), Cycle(5, 6, (1.0, 0.25)), Cycle(8, 9, (2.0,))]


def test_they_are_those_in_which_a_machine_of_the_old_kind_starts(tmp_path: Path) -> None:
    """CityLearn 3.0.2 still has the old class, which it no longer loads."""
    from citylearn.base import EpisodeTracker

    file = cells(tmp_path, ROWS)
    starts = {row for cycle in read_cycles(file) for row in range(cycle.earliest, cycle.latest + 1)}
    frame = file.frame
    for row in range(len(ROWS)):
        tracker = EpisodeTracker(0, len(ROWS) - 1)
        tracker.next_episode(len(ROWS), False, False, 0)
        simulation = WashingMachineSimulation(*(frame[column].to_numpy() for column in HEADER.split(",")))
        machine = WashingMachine(simulation, "w", episode_tracker=tracker, seconds_per_time_step=3600, nominal_power=9.0)
        machine.reset()
        for _ in range(row):
            machine.next_time_step()
        machine.start_cycle(1.0)
        assert machine.initiated == (row in starts), row


@pytest.mark.parametrize("profile", ["-1", "[]", "nonsense", "[-2.0]"])
def test_a_window_without_energy_is_no_cycle(profile: str, tmp_path: Path) -> None:
    assert list(read_cycles(cells(tmp_path, [("0", "1", profile)] * 2))) == []


def test_citylearn_takes_the_tables(tmp_path: Path) -> None:
    profiles, schedule, found = tables(cells(tmp_path, ROWS))
    assert found == []
    read = DeferrableApplianceSimulation.from_dataframes(cycle_profiles=profiles, flexibility_schedule=schedule)
    windows = [
        (c["earliest_start_time_step"], c["latest_start_time_step"], c["deadline_time_step"]) for c in read.flexibility_schedule
    ]
    assert windows == [(1, 3, 3), (5, 6, 7), (8, 9, 9)]


def test_a_cycle_ends_before_the_next_may_start_and_it_is_said(tmp_path: Path) -> None:
    file = cells(tmp_path, [("0", "2", "[1.0, 1.0]")] * 3 + [("3", "4", "[1.0]")] * 2)
    profiles, schedule, (found,) = tables(file)
    assert schedule["latest_start_time_step"].tolist() == [1, 4]
    assert "starts by line 3" in found.done
    DeferrableApplianceSimulation.from_dataframes(cycle_profiles=profiles, flexibility_schedule=schedule)


@pytest.mark.parametrize(
    ("successors", "names"),
    [(False, {"hour"}), (True, {"hour", "deferrable_appliance_earliest_start_time_step", "deferrable_appliance_pending"})],
)
def test_names_are_replaced_or_left_out(successors: bool, names: set[str]) -> None:
    old = {"hour": {"active": True}, "washing_machine_start_time_step": {"active": True}, "washing_machine_other": {}}
    assert set(replaced(old, successors)) == names
    assert set(replaced(list(old), successors)) == names
    assert replaced(None, successors) is None
