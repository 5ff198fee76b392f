"""Reports as files."""

import subprocess
import sys
from pathlib import Path

from results.report import NAME, write
from results.report.writing import destination

ROOT = Path(__file__).parents[3]


def test_the_page_lies_in_the_experiment_or_where_it_is_wanted(experiment: Path, tmp_path: Path) -> None:
    assert write(experiment) == experiment / NAME
    assert write([experiment], to=tmp_path / "new" / "a.html").read_bytes() == (experiment / NAME).read_bytes()
    assert not list(experiment.glob("*.new"))


def test_where_a_page_goes_by_default(experiment: Path) -> None:
    (experiment / "rolled.parquet").touch()
    assert destination([experiment / "rolled.parquet"]) == experiment / "rolled.html"
    assert destination([experiment, experiment]) == Path(NAME)


def test_it_needs_neither_ray_nor_torch(experiment: Path) -> None:
    code = (
        "import sys\n"
        "for name in ('ray', 'torch', 'citylearn', 'optuna', 'matplotlib', 'vl_convert'): sys.modules[name] = None\n"
        f"from results import report; print(report.write({str(experiment)!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(experiment / NAME)
