"""Copies of reports have each report once, whatever was killed, and all of them where they are wanted only later."""

import csv
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tensorboardX.proto.event_pb2 import Event

from common.errors import UsageError
from results.table_files import add_rows, drop_rows_after, read_rows
from tuning.experiment.folder import ExperimentPaths
from tuning.experiment.settings import Settings
from tuning.trial.report_copies import Copy, Tracked, check_trackers, copies_of

CSV, EVENTS = Settings(track=("csv",)), Settings(track=("tensorboard",))

TRIAL = {"trial": 3, "started": datetime(2026, 1, 1, tzinfo=UTC)}


def rows(*steps: int) -> list[dict[str, Any]]:
    """Reports after so many steps."""
    return [
        {
            "trial": 3, "update": own // 100, "steps": own, "time": datetime(2026, 1, 1, tzinfo=UTC), "score": None,
            "episode_return": own / 1000.0, "policy_loss": -0.5, "value_loss": 2.0, "entropy": None, "learning_rate": 1e-3,
        }
        for own in steps
    ]  # fmt: skip


def write(paths: ExperimentPaths, copy: Copy, *steps: int) -> None:
    """What a trial does: the table first, then its copy."""
    add_rows(paths.folder, "reports", 3, rows(*steps))
    copy.add(rows(*steps))


def begin(settings: Settings, paths: ExperimentPaths) -> Copy:
    (copy,) = copies_of(settings, paths, TRIAL, {}, read_rows(paths.folder, "reports", 3))
    return copy


@pytest.fixture
def paths(tmp_path: Path) -> ExperimentPaths:
    return ExperimentPaths(tmp_path)


def lines(paths: ExperimentPaths) -> list[dict[str, str]]:
    with paths.csv(3).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def events(paths: ExperimentPaths, tag: str) -> list[tuple[int, float]]:
    """Steps and values of a tag, and that the file begins by dropping what was read before."""
    (path,) = paths.tensorboard(3).iterdir()
    content, found = path.read_bytes(), list[Event]()
    while content:
        # Length, its checksum, the event, its checksum.
        length = int.from_bytes(content[:8], "little")
        found.append(Event.FromString(content[12 : 12 + length]))
        content = content[16 + length :]
    assert any(event.HasField("session_log") and event.step == 0 for event in found[:3])
    return [(event.step, round(value.simple_value, 6)) for event in found for value in event.summary.value if value.tag == tag]


def test_a_line_of_the_csv_file_is_a_report(paths: ExperimentPaths) -> None:
    assert copies_of(Settings(), paths, TRIAL, {}, []) == []
    copy = begin(CSV, paths)
    assert lines(paths) == []
    write(paths, copy, 100, 700)
    copy.close()
    assert paths.csv(3).read_text(encoding="utf-8").splitlines() == [
        "episode,step,reward_avg,actor_loss,critic_loss,entropy,lr",
        "0,100,0.1,-0.5,2.0,,0.001",
        "2,700,0.7,-0.5,2.0,,0.001",
    ]


def test_an_event_is_a_value_of_a_report(paths: ExperimentPaths) -> None:
    copy = begin(EVENTS, paths)
    write(paths, copy, 100, 200)
    copy.close()
    assert events(paths, "train/reward_avg") == [(100, 0.1), (200, 0.2)]
    assert events(paths, "train/entropy") == events(paths, "score") == []


def seen(paths: ExperimentPaths, settings: Settings) -> Sequence[int]:
    if settings == CSV:
        return [int(line["step"]) for line in lines(paths)]
    return [step for step, _ in events(paths, "train/lr")]


@pytest.mark.parametrize("settings", [CSV, EVENTS])
def test_after_a_kill_no_report_is_doubled_or_missing(paths: ExperimentPaths, settings: Settings) -> None:
    copy = begin(settings, paths)
    write(paths, copy, 100, 200)
    copy.add(rows(300))  # beyond the checkpoint: the table has lost it
    add_rows(paths.folder, "reports", 3, rows(400))  # so is this one dropped
    copy.close()
    for path in paths.tensorboard(3).glob("*"):
        path.rename(path.with_name("events.out.tfevents.1.before"))  # a name has the second in which it was made
    drop_rows_after(paths.folder, "reports", 3, 200)
    again = begin(settings, paths)
    write(paths, again, 300, 400)
    again.close()
    assert seen(paths, settings) == [100, 200, 300, 400]


def test_a_file_that_another_program_holds_on_windows_has_all_reports_later(
    paths: ExperimentPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = begin(CSV, paths)
    opened = Path.open

    def held(path: Path, *arguments: Any, **others: Any) -> Any:
        if path == paths.csv(3):
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *arguments, **others)

    with monkeypatch.context() as held_open:
        held_open.setattr(Path, "open", held)
        with pytest.raises(PermissionError):
            copy.add(rows(50))  # elsewhere it is a fault
        held_open.setattr("tuning.trial.report_copies.HELD_FILES_REFUSE", True)
        copy.add(rows(100))
    copy.add(rows(200))
    assert [line["step"] for line in lines(paths)] == ["50", "100", "200"]


class DownError(Exception):
    pass


class Services:
    """Substitute for both libraries: runs by their names, each with its hyperparameters and what was logged by steps."""

    def __init__(self) -> None:
        self.runs: dict[str, dict[str, Any]] = {}
        self.is_down = False

    def run(self, name: str) -> dict[str, Any]:
        if self.is_down:
            raise DownError("no answer\nfrom there")
        return self.runs.setdefault(name, {"given": {}, "logged": [], "ended": 0})

    def log(self, name: str, step: int, values: dict[str, float]) -> None:
        self.run(name)["logged"].append((step, values))

    # Of MLflow.

    def get_experiment_by_name(self, name: str) -> None:
        return None

    def create_experiment(self, name: str) -> str:
        return name

    def search_runs(self, places: list[str], query: str, max_results: int) -> list[Any]:
        name = f"{places[0]} {query}"
        return [SimpleNamespace(info=SimpleNamespace(run_id=name))] if name in self.runs else []

    def create_run(self, place: str, tags: dict[str, str], run_name: str) -> Any:
        name = f"{place} tags.trial = '{tags['trial']}'"
        self.run(name)
        return SimpleNamespace(info=SimpleNamespace(run_id=name))

    def update_run(self, name: str, status: str) -> None:
        self.run(name)["ended"] -= 1

    def log_param(self, name: str, key: str, value: Any) -> None:
        self.run(name)["given"][key] = value

    def get_metric_history(self, name: str, tag: str) -> list[Any]:
        return [SimpleNamespace(step=step) for step, values in self.run(name)["logged"] if tag in values]

    def log_batch(self, name: str, metrics: list[Any]) -> None:
        (step,) = {metric[3] for metric in metrics}
        self.log(name, step, {metric[0]: metric[1] for metric in metrics})

    def set_terminated(self, name: str) -> None:
        self.run(name)["ended"] += 1

    # Of Weights & Biases.

    def init(self, id: str, config: dict[str, Any], **_: Any) -> Any:
        run = self.run(id)
        run["given"].update(config)
        run["ended"] = 0
        return SimpleNamespace(
            step=max((step for step, _ in run["logged"]), default=-1) + 1,
            log=lambda values, step: self.log(id, step, values),
            finish=lambda: run.update(ended=run["ended"] + 1),
        )


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch) -> Services:
    services = Services()
    for name, content in {
        "mlflow": {}, "mlflow.tracking": {"MlflowClient": lambda: services}, "mlflow.entities": {"Metric": lambda *of: of},
        "mlflow.exceptions": {"MlflowException": DownError}, "wandb.errors": {"Error": DownError},
        "wandb": {"init": services.init, "Settings": SimpleNamespace},
    }.items():  # fmt: skip
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    return services


@pytest.mark.parametrize("name", ["mlflow", "wandb"])
def test_a_trial_that_goes_on_continues_its_run_and_sends_no_report_twice(name: str, services: Services) -> None:
    check_trackers([name])
    first = Tracked(name, "one", "3-then", {"gamma": 0.9}, rows(100))
    first.add(rows(200, 300))
    first.close()
    # A kill lost the last one, and it is told again.
    second = Tracked(name, "one", "3-then", {"gamma": 0.9}, rows(100, 200))
    second.add(rows(300, 400))
    second.close()
    Tracked(name, "one", "4-then", {"gamma": 0.8}, rows(100)).close()
    one, other = services.runs.values()
    assert one == {
        "given": {"gamma": 0.9},
        "logged": [
            (steps, {"train/reward_avg": steps / 1000.0, "train/actor_loss": -0.5, "train/critic_loss": 2.0, "train/lr": 1e-3})
            for steps in (100, 200, 300, 400)
        ],
        "ended": 1,
    }
    assert (other["given"], len(other["logged"])) == ({"gamma": 0.8}, 1)


@pytest.mark.parametrize("name", ["mlflow", "wandb"])
@pytest.mark.parametrize("is_begun", [False, True])
def test_a_service_that_does_not_answer_costs_a_line(
    name: str, is_begun: bool, services: Services, capsys: pytest.CaptureFixture[str]
) -> None:
    services.is_down = not is_begun
    tracked = Tracked(name, "one", "3-then", {}, rows(100))
    services.is_down = True
    tracked.add(rows(200, 300))
    tracked.close()
    assert capsys.readouterr().err == (f"note: --track {name}: no answer; what this trial reports is in the results alone\n")


def test_a_library_that_is_not_there_is_named_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    monkeypatch.delenv("UV_RUN_RECURSION_DEPTH", raising=False)
    with pytest.raises(UsageError, match=r"^--track wandb: it is not installed .*; pip install wandb$"):
        check_trackers(["tensorboard", "wandb"])
    monkeypatch.setenv("UV_RUN_RECURSION_DEPTH", "1")
    with pytest.raises(UsageError, match=r"pip install wandb, or uv run --with wandb python -m .* --track wandb$"):
        check_trackers(["tensorboard", "wandb"])
