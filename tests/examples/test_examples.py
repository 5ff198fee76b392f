"""Each example runs, in the order in which a reader would try them."""

import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tuning.trial.small_trials import completed, in_environment
from tuning.algorithms.registry import algorithm_of
from tuning.experiment.folder import create
from tuning.experiment.settings import Settings
from tuning.trial.protocol import Proposal
from tuning.trial.records import TrialRecords

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = ("hidden_sizes=8", "n_steps=64", "batch_size=32", "n_epochs=1", "plan=none")


def main_of(name: str) -> Callable[..., None]:
    """The function of an example that its command line calls."""
    found: Callable[..., None] = runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"]
    return found


@pytest.fixture(scope="module")
def searched(small_ray: None, small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder in which the example has searched, on a Ray that runs before and afterwards."""
    folder = tmp_path_factory.mktemp("examples")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        main_of("search")(str(small_schema), trials=2, steps=512, fixed=SMALL)
    return folder


def test_every_example_is_run_here_and_listed() -> None:
    names = {path.stem for path in EXAMPLES.glob("*.py")}
    # The pump is run by the tests of environments.
    assert names == {"headroom", "search", "analyse", "put_to_work", "pump"}
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"| `{name}.py` |" in listed for name in names)


def test_headroom_prints_a_line_for_each_baseline_and_bound(small_schema: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main_of("headroom")(str(small_schema))
    said = capsys.readouterr().out
    assert "uncontrolled " in said
    assert "bound of cost " in said


def test_a_search_goes_on_with_more_trials(searched: Path) -> None:
    from results import load

    assert load(searched / "experiments" / "example").trials["state"].isin(["complete", "frozen"]).tolist() == [True] * 2


def test_results_are_analysed_without_ray_and_torch(searched: Path) -> None:
    """As a user starts it: from the command line."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "analyse.py"), "experiments/example"],
        cwd=searched, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "hp_learning_rate" in done.stdout  # the second trial was drawn
    assert "co2_kg: " in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["analyse.py", "absent"], ["put_to_work.py", "absent", "--to", "x"], ["headroom.py", "--scenario", "absent"],
        ["search.py", "--scenario", "absent"], ["search.py", "--trials", "1"],
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_one_line(tmp_path: Path, arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / arguments[0]), *arguments[1:]],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")


def test_where_no_trial_is_complete_each_is_shown_with_its_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    experiment = create(Settings(name="failed", dir=str(tmp_path), backend="batch"))
    records = TrialRecords(experiment)
    records.begin(Proposal(0, algorithm_of(experiment.settings).space.complete({}, {"steps": 1000.0})))
    records.end(0, "failed", "Traceback\nValueError: bad luck")
    main_of("analyse")(experiment.paths.folder)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].endswith("ValueError: bad luck")
    last = lines[-1]
    assert "no trial is complete yet, so there is no best one; --resume" in last


def test_results_of_an_environment_are_analysed_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main_of("analyse")(completed(in_environment(tmp_path / "one", "CartPole-v1", "ppo"), (21.0, {})).paths.folder)
    assert capsys.readouterr().out.splitlines()[-1] == "score: 21"


def test_a_policy_is_put_to_work(searched: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(searched)
    main_of("put_to_work")(Path("experiments/example"), Path("controller"))
    assert "kWh imported in 960 hours" in capsys.readouterr().out
    assert (searched / "controller" / "policy.onnx").is_file()
