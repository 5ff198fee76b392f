"""The example's files follow from its seed, and make its like."""

from dataclasses import replace
from pathlib import Path

from envs.scenarios.metered import SiteOptions
from envs.scenarios.metered.making import make_site


def test_an_example_is_made_of_files_that_make_its_like(tmp_path: Path) -> None:
    example = SiteOptions(tmp_path / "one", example=True, seed=3)
    *_, how = make_site(example)
    assert "--battery-kwh 10" in how
    make_site(replace(example, folder=tmp_path / "two"))
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*.csv"))
    assert len(files) == 13
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    make_site(replace(example, folder=tmp_path / "other", seed=4))
    assert (tmp_path / "other" / "Home_1.csv").read_bytes() != (tmp_path / "one" / "Home_1.csv").read_bytes()
