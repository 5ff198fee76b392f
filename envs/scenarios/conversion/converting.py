"""Makes a folder that CityLearn 3 takes of one that was made for CityLearn 2; the original is only read."""

import copy
import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from common.errors import ScenarioError, UsageError
from common.paths import new_folder, user_path
from common.texts import number_or_nan
from envs.scenarios import schema_file, trust
from envs.scenarios.conversion import ConversionOptions
from envs.scenarios.conversion.cells import Cells, Found, told
from envs.scenarios.conversion.charger_file import MEAN, repair
from envs.scenarios.conversion.older_names import rename_columns, rename_observations
from envs.scenarios.conversion.washing_machines import END, FILE_KEY, PROFILE, START, SUCCESSORS, replaced, tables
from envs.scenarios.csv_file import read_table
from envs.scenarios.schema_shape import WASHING
from envs.scenarios.series_files import CHARGER, NEEDED, is_file
from envs.scenarios.shapes import is_left_out
from envs.scenarios.tariff import FILE_NAME
from envs.scenarios.trust import CLASSES

SCHEMA, OPTION = "schema.json", "--washing-machines"
LEAST_SHARE = 0.02  # of `--arrival-soc`: CityLearn reads 1 in a column of percentages as full
_HOURS = 24


class UndecidedError(ScenarioError):
    """A site cannot be converted as asked. `args` are lines with all that was found."""


def convert(options: ConversionOptions) -> list[str]:
    """Make the folder, and check it as every command does.

    Returns:
        A line for each thing that differs from the original.

    Raises:
        UserError: in lines that say what is to be decided or corrected; then there is no folder.
    """
    soc = number_or_nan(options.arrival_soc)
    if options.arrival_soc not in ("", MEAN) and not LEAST_SHARE <= soc <= 1.0:
        raise UsageError(f"--arrival-soc {options.arrival_soc}: write {MEAN}, or a share from {LEAST_SHARE} to 1, as 0.5")
    given = user_path(options.schema)
    path = given / SCHEMA if given.is_dir() else given
    if not path.is_file():
        raise UsageError(f"no file {path}: name the schema.json of a site")
    if user_path(options.to).resolve().is_relative_to(path.parent.resolve()):
        raise UsageError(f"--to {options.to} lies in the folder of the original, which stays as it is; name another folder")
    with new_folder(options.to) as folder:
        conversion = _Conversion(path, folder, options)
        findings = conversion.found
        undecided = [one for one in findings if not one.decided]
        # What is to be decided is filled in for now, so that nothing but other faults remains.
        whole = folder.resolve()  # a name such as `o` is a part of words too
        faults = [fault.replace(str(whole), str(path.parent)) for fault in schema_file.all_faults(whole / SCHEMA).lines]
        if undecided or faults:
            raise UndecidedError(
                *_under("to be decided:", told(undecided)),
                *_under("to be corrected by hand:", faults),
                *_under("would be repaired:", told(one for one in findings if one.decided)),
                "nothing was written",
            )
    return told(findings)


def _under(head: str, lines: list[str]) -> list[str]:
    return [head, *(f"  {line}" for line in lines)] if lines else []


class _Conversion:
    """Writes the new folder; `found` is all that was found."""

    def __init__(self, path: Path, folder: Path, options: ConversionOptions) -> None:
        self._schema, self._options = copy.deepcopy(schema_file.read_schema(path)), options
        if outside := list(trust.outside(path, self._schema)):
            raise UsageError(f"{path}: {outside[0]}; only what lies below it can be copied, so bring the file there")
        self._root = trust.root_of(path, self._schema).resolve()
        self._new_root = folder / self._root.relative_to(path.parent.resolve())
        if isinstance(self._schema.get("root_directory"), str):
            self._schema["root_directory"] = str(self._root.relative_to(path.parent.resolve()).as_posix())
        self._buildings: dict[str, Any] = {
            name: building
            for name, building in self._schema["buildings"].items()
            if isinstance(building, dict) and not is_left_out(building)
        }
        self._copy_files()
        self.found = [*self._older_names(path.name), *self._machines(path.name)]
        self._series()
        self._chargers()
        (folder / SCHEMA).write_text(json.dumps(self._schema, indent=2) + "\n", encoding="utf-8")
        if (path.parent / FILE_NAME).is_file():
            shutil.copyfile(path.parent / FILE_NAME, folder / FILE_NAME)

    def _new(self, name: str) -> Path:
        file = self._new_root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        return file

    def _copy_files(self) -> None:
        self._new_root.mkdir(parents=True, exist_ok=True)
        for name in {file.name for file in trust.named_files(self._schema)}:
            if is_file(self._root / name):
                shutil.copyfile(self._root / name, self._new(name))

    def _cells(self, name: Any, needed: tuple[str, ...], root: Path | None = None) -> Cells | None:
        """A file that has the columns; None for another one, which the check of the new folder names."""
        if not isinstance(name, str) or not is_file(file := (root or self._new_root) / name):
            return None
        table = read_table(file, needed)
        if isinstance(table, str) or not set(needed) <= set(table):
            return None
        return Cells(file, len(table))

    def _named(self, key: str, entries: Iterable[Any]) -> Iterator[str]:
        names = (entry.get(key) for entry in entries if isinstance(entry, dict))
        yield from dict.fromkeys(name for name in names if isinstance(name, str))

    def _changing(self, key: str, entries: Iterable[Any], needed: tuple[str, ...] = ()) -> Iterator[tuple[str, Cells]]:
        """The files that entries name by a key, as far as they have the columns; each is written anew if it was changed."""
        for name in self._named(key, entries):
            if cells := self._cells(name, needed):
                yield name, cells
                if cells.changed:
                    cells.write(cells.file)

    def _older_names(self, schema_name: str) -> Iterator[Found]:
        yield from rename_observations(schema_name, self._schema, self._buildings)
        for kind in NEEDED:
            for name, cells in self._changing(kind, self._buildings.values()):
                yield from rename_columns(name, cells)

    def _series(self) -> None:
        """Hours of 0: beside 24, which is then midnight, they are 24; without it, all hours count from 0."""
        for name, cells in self._changing("energy_simulation", self._buildings.values(), ("hour",)):
            hour = cells.numbers("hour")
            zero = hour == 0.0
            if not zero.any():
                continue
            lines = tuple((np.flatnonzero(zero) + 2).tolist())
            if (hour == _HOURS).any():
                self.found.append(Found(name, "hour", lines, "0 where midnight is 24 in other lines", "now 24"))
                cells.put("hour", zero, [_HOURS] * int(zero.sum()))
            else:
                done = "now 1 to 24, each one more"
                self.found.append(Found(name, "hour", lines, "hours count from 0, and CityLearn's from 1", done))
                cells.put("hour", ~np.isnan(hour), hour[~np.isnan(hour)] + 1)

    def _chargers(self) -> None:
        files = list(self._named("energy_simulation", self._buildings.values()))
        first = self._cells(files[0], tuple(NEEDED["energy_simulation"])) if files else None
        groups = [building.get("chargers") for building in self._buildings.values()]
        chargers = [entry for group in groups if isinstance(group, dict) for entry in group.values()]
        for _, cells in self._changing("charger_simulation", chargers, CHARGER):
            if first:
                self.found += repair(cells, len(first.frame), self._options.arrival_soc, self._options.small_soc)

    def _machines(self, schema_name: str) -> Iterator[Found]:
        """Leave washing machines out, or make deferrable appliances of them."""
        wanted, has = self._options.washing_machines, False
        for building_name, building in self._buildings.items():
            machines = building.pop(f"{WASHING}s", None)
            for name, machine in machines.items() if isinstance(machines, dict) else ():
                has = True
                place = f"buildings.{building_name}.{WASHING}s.{name}"
                findings, done, decided = self._machine(building, building_name, name, machine)
                yield from findings
                yield Found(schema_name, place, (), "CityLearn 3 has no such device", done, decided)
        becomes = has and wanted == "deferrable"
        for place in ("observations", "actions"):
            names = self._schema.get(place)
            self._schema[place] = replaced(names, becomes)
            for name in names if isinstance(names, dict) else ():
                if name.startswith(WASHING):
                    done = f"now {', '.join(SUCCESSORS[name])}" if becomes and name in SUCCESSORS else "left out"
                    done = f"follows {OPTION}" if has and not wanted else done
                    yield Found(schema_name, f"{place}.{name}", (), "CityLearn 3 has none", done)
        for building in self._schema["buildings"].values():
            for key in ("inactive_observations", "inactive_actions"):
                if isinstance(building, dict) and key in building:
                    building[key] = replaced(building[key], becomes)

    def _machine(self, building: dict[str, Any], at: str, name: str, machine: Any) -> tuple[list[Found], str, bool]:
        """What becomes of a washing machine: what was found in its file, what is done, and whether that is decided."""
        wanted = self._options.washing_machines
        if wanted == "leave-out":
            return [], "left out", True
        file = machine.get(FILE_KEY) if isinstance(machine, dict) else None
        cells = self._cells(file, (START, END, PROFILE), self._root)  # which is not copied
        if cells is None:
            return [], f"no file with {START}, {END} and {PROFILE} under {FILE_KEY}: {OPTION} leave-out", False
        profiles, schedule, findings = tables(cells)
        if schedule.empty:
            return findings, f"it never runs: {OPTION} leave-out", False
        if not wanted:
            return [], f"{OPTION} leave-out, or deferrable for an appliance with the same energy and hours", False
        names = {"cycle_profiles_file": f"{at}_{name}_profiles.csv", "flexibility_schedule_file": f"{at}_{name}_schedule.csv"}
        for table, file in zip((profiles, schedule), names.values(), strict=True):
            table.to_csv(self._new(file), index=False, lineterminator="\n")
        building.setdefault("deferrable_appliances", {})[name] = {"type": CLASSES["appliance"][0], **names}
        done = f"now a deferrable appliance of {len(schedule)} cycles, which an action above 0.5 starts, in 2.4 one above 0"
        return findings, done, True
