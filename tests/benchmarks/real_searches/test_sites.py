import shutil
from pathlib import Path

from benchmarks.real_searches.sites import link_cache, scenario_name


def test_a_site_is_a_folder_of_the_data_or_a_schema_or_generated(small_schema: Path, tmp_path: Path) -> None:
    shutil.copytree(small_schema.parent, tmp_path / "homes")
    assert scenario_name("homes", tmp_path) == str(tmp_path / "homes" / "schema.json")
    assert scenario_name(str(small_schema), None) == str(small_schema)
    assert scenario_name("iquitos-38", tmp_path) == "iquitos-38"


def test_what_a_job_adds_to_its_cache_or_replaces_there_is_its_own(tmp_path: Path) -> None:
    (tmp_path / "base" / "site").mkdir(parents=True)
    (tmp_path / "base" / "site" / "year").write_text("whole")
    link_cache(tmp_path / "base", tmp_path / "own")
    assert (tmp_path / "own" / "site" / "year").read_text() == "whole"
    (tmp_path / "own" / "site" / "plan").write_text("mine")
    (tmp_path / "new").write_text("other")
    (tmp_path / "new").replace(tmp_path / "own" / "site" / "year")
    assert [path.name for path in (tmp_path / "base" / "site").iterdir()] == ["year"]
    assert (tmp_path / "base" / "site" / "year").read_text() == "whole"
