"""What our search of the comparison begins with. Nothing is trained here."""

from pathlib import Path

from benchmarks.real_searches import ours
from benchmarks.real_searches.records import Task, Terms
from tests.envs.changed_rows import two_buildings
from tuning.algorithms.registry import algorithm
from tuning.search.run.opening import check_new

TERMS = Terms(60.0, 20_000, 4, 1, 2)


def test_a_search_starts_as_one_of_the_command_line_does(small_schema: Path, tmp_path: Path) -> None:
    several = two_buildings(small_schema, tmp_path / "homes")
    default, shared, planned = (
        algorithm("ppo").preset(name, {}, {"steps": 20_000.0}) for name in ("default", "several-buildings", "planned")
    )
    for schema, expected in ((small_schema, (default, {**default, "plan": "learned"})), (several, (default, shared, planned))):
        task = Task(str(schema), 0, TERMS, tmp_path)
        assert check_new(ours.settings(task)).plan.starts == expected


def test_the_default_alone_has_no_starts(small_schema: Path, tmp_path: Path) -> None:
    settings = ours.settings_alone(Task(str(small_schema), 0, TERMS, tmp_path))
    assert check_new(settings).plan.starts == ()
