"""Generated years keep to the figures of the site."""

from dataclasses import replace
from pathlib import Path

from envs.scenarios.iquitos import SITES
from envs.scenarios.iquitos.files import write_year


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
