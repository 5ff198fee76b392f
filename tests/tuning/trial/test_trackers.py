"""A trial has one run of a tracking service with each report once, and a service that fails stops no search."""

import sys
from datetime import UTC, datetime
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from common.errors import UsageError
from tuning.trial.trackers import Tracked, check_trackers


def rows(*steps: int) -> list[dict[str, Any]]:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return [{"steps": own, "time": now, "score": None, "entropy": own / 100.0} for own in steps]


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
        "logged": [(steps, {"train/entropy": steps / 100.0}) for steps in (100, 200, 300, 400)],
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
    with pytest.raises(UsageError, match=r"^--track wandb: it is not installed .*; pip install wandb, or .*--track wandb"):
        check_trackers(["tensorboard", "wandb"])
