"""Generated years keep to the figures of the site."""

import csv
from dataclasses import replace
from pathlib import Path

from envs.scenarios.iquitos import SITES
from envs.scenarios.iquitos.files import write_year
from envs.scenarios.iquitos.site import ROWS

YEARS = range(8)


def test_the_number_of_a_year_is_all_that_it_depends_on(tmp_path: Path) -> None:
    site = SITES["iquitos-38"]
    few = replace(site, sockets=tuple(replace(kind, count=2) for kind in site.sockets))
    folders = {name: tmp_path / name for name in ("first", "second", "other")}
    for name, folder in folders.items():
        folder.mkdir()
        write_year(few, 3 if name == "other" else 7, folder)
    contents = {name: {p.name: p.read_bytes() for p in folder.iterdir()} for name, folder in folders.items()}
    assert contents["first"] == contents["second"]
    differing = {name for name, content in contents["first"].items() if contents["other"][name] != content}
    assert {"mall.csv", "weather.csv", "motorcycle_001.csv"} <= differing
    assert "schema.json" not in differing


def test_no_vehicle_is_in_two_places_in_the_files(tmp_path: Path) -> None:
    write_year(SITES["iquitos-38"], 1, tmp_path)
    places: dict[tuple[int, str], str] = {}
    for path in sorted(tmp_path.glob("moto*.csv")):
        rows = list(csv.DictReader(path.open(encoding="utf-8")))
        assert len(rows) == ROWS
        for i, row in enumerate(rows):
            assert row["electric_vehicle_charger_state"] in {"1", "3"}
            if row["electric_vehicle_charger_state"] == "1":
                assert places.setdefault((i, row["electric_vehicle_id"]), path.name) == path.name
    assert places
