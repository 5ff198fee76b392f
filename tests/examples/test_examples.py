"""Each example runs, in the order in which a reader would try them."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = ("hidden_sizes=8", "n_steps=64", "batch_size=32", "n_epochs=1")


def run(folder: Path, name: str, *arguments: str) -> str:
    """Output of an example."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def searched(small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Folder with the experiment of the example, and what the example printed."""
    folder = tmp_path_factory.mktemp("examples")
    small = ("--steps", "512", "--trials", "2", "--fixed", *SMALL)
    return folder, run(folder, "search", "--scenario", str(small_schema), *small)


def test_every_example_is_run_here_and_listed() -> None:
    names = {path.stem for path in EXAMPLES.glob("*.py")}
    assert names == {"headroom", "search", "analyse", "put_to_work"}
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"| `{name}.py` |" in listed for name in names)


def test_headroom_prints_a_line_for_each_baseline_and_bound(small_schema: Path, tmp_path: Path) -> None:
    said = run(tmp_path, "headroom", "--scenario", str(small_schema))
    assert "uncontrolled " in said
    assert "bound of cost " in said


def test_a_search_goes_on_with_more_trials(searched: tuple[Path, str]) -> None:
    assert "best of 1: trial 0" in searched[1]
    assert "best of 2: trial" in searched[1]


def test_results_are_analysed_without_ray_and_torch(searched: tuple[Path, str]) -> None:
    said = run(searched[0], "analyse", "experiments/example")
    assert "hp_learning_rate" in said
    assert "co2_kg: " in said


def test_a_policy_is_put_to_work(searched: tuple[Path, str]) -> None:
    said = run(searched[0], "put_to_work", "experiments/example", "--to", "controller")
    assert "kWh imported in 960 hours" in said
    assert (searched[0] / "controller" / "policy.onnx").is_file()
