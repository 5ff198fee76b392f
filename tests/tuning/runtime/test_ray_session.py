"""Ray is started and ended here, and a Ray that runs already is used and left running."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from common.errors import UserError
from tuning.runtime.cluster import ClusterError
from tuning.runtime.private_ray import LOGS
from tuning.runtime.ray_session import (
    ENVIRONMENT,
    OF_A_JOB,
    NodeLostError,
    RayRunningError,
    StartError,
    as_lost_node,
    check_nodes,
    is_ray_running,
    ray_session,
    set_environment,
)


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After errors, folders for logs stay."""
    monkeypatch.setattr("tuning.runtime.private_ray._temporary", lambda: str(tmp_path))


class Ray:
    """Substitute for Ray that records starts and ends."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, running: bool = False) -> None:
        import ray

        self.running, self.calls = running, list[Any]()
        monkeypatch.setattr(ray, "is_initialized", lambda: self.running)
        monkeypatch.setattr(ray, "init", self.init)
        monkeypatch.setattr(ray, "shutdown", lambda: self.calls.append("shutdown"))

    def init(self, **options: Any) -> None:
        self.calls.append(options)


def test_it_is_started_on_this_machine_and_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = Ray(monkeypatch)
    with pytest.raises(KeyError), ray_session(num_cpus=3):
        raise KeyError
    options, end = ray.calls
    assert (options["address"], options["num_cpus"], end) == ("local", 3, "shutdown")


def test_a_cluster_that_answers_is_joined_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    ray, tried = Ray(monkeypatch), list[Any]()
    monkeypatch.setattr("tuning.runtime.ray_session.check_cluster", lambda *of: tried.append(of))
    with ray_session("auto", "RAY_ADDRESS"):
        pass
    assert tried == [("auto", "RAY_ADDRESS")]
    assert ray.calls[0]["address"] == "auto"
    assert not {"object_store_memory", "_temp_dir"} & ray.calls[0].keys()


def test_processes_of_a_cluster_get_the_environment_that_those_of_an_own_ray_inherit(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = Ray(monkeypatch)
    monkeypatch.setattr("tuning.runtime.ray_session.check_cluster", lambda address, source: "")
    with ray_session("auto"):
        pass
    assert ray.calls[0]["runtime_env"] == {"env_vars": ENVIRONMENT}
    # Ray refuses a variable that both the job and its driver set.
    monkeypatch.setenv(OF_A_JOB, json.dumps({"runtime_env": {"env_vars": {"OMP_NUM_THREADS": "2"}}}))
    with ray_session("auto"):
        pass
    assert ray.calls[2]["runtime_env"]["env_vars"].keys() == ENVIRONMENT.keys() - {"OMP_NUM_THREADS"}


class Parent:
    """Substitute for a process above this one."""

    def __init__(self, *words: str) -> None:
        self._words = words

    def cmdline(self) -> list[str]:
        if not self._words:
            raise psutil.AccessDenied(1)
        return list(self._words)


SHELL, SUPERVISOR = Parent("/bin/sh", "-c", "uv run python"), Parent("ray::JobSupervisor")
GONE = Parent()
BY_UV, NODE_BY_UV = Parent("/usr/bin/uv", "run", "python", "-m", "tuning.run"), Parent("uv", "run", "ray", "start")


@pytest.mark.parametrize(
    ("parents", "is_job", "expected"),
    [
        ([BY_UV, SHELL, SUPERVISOR], True, True),
        ([SHELL, SUPERVISOR], True, False),
        ([SHELL, SUPERVISOR, NODE_BY_UV], True, False),
        ([BY_UV, SHELL], False, False),
        ([GONE, BY_UV, SHELL, SUPERVISOR], True, True),
    ],
)
def test_trials_of_a_job_are_run_by_uv_where_the_job_is(
    parents: list[Parent], is_job: bool, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ray._private import ray_constants

    Ray(monkeypatch)
    monkeypatch.setattr("tuning.runtime.ray_session.check_cluster", lambda address, source: "")
    monkeypatch.setattr("psutil.Process.parents", lambda self: parents)
    monkeypatch.setattr(ray_constants, "RAY_ENABLE_UV_RUN_RUNTIME_ENV", not expected)
    if is_job:
        monkeypatch.setenv(OF_A_JOB, "{}")
    else:
        monkeypatch.delenv(OF_A_JOB, raising=False)
    with ray_session("auto"):
        pass
    assert expected == ray_constants.RAY_ENABLE_UV_RUN_RUNTIME_ENV


@pytest.mark.parametrize("error", [RuntimeError, ConnectionError, ValueError])
def test_a_cluster_that_lets_nothing_join_is_one_line(monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    def init(**options: Any) -> None:
        raise error("Version mismatch:\n  3.11 here\n  3.12 there")

    Ray(monkeypatch)
    monkeypatch.setattr("tuning.runtime.ray_session.check_cluster", lambda address, source: None)
    monkeypatch.setattr("ray.init", init)
    with (
        pytest.raises(ClusterError, match=r"^--address 'auto': Version mismatch: 3\.11 here 3\.12 there$"),
        ray_session("auto"),
    ):
        pass


def test_one_that_runs_is_used_and_left_running(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = Ray(monkeypatch, running=True)
    assert is_ray_running()
    with ray_session(num_cpus=3):
        pass
    assert ray.calls == []
    with (
        pytest.raises(RayRunningError, match="--address auto: Ray runs in this process already") as refused,
        ray_session("auto"),
    ):
        pass
    assert isinstance(refused.value, UserError)
    assert ray.calls == []


def test_a_start_that_took_too_long_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = Ray(monkeypatch)
    errors = [RuntimeError("the node timed out during startup")] * 2

    def init(**options: Any) -> None:
        ray.calls.append("init")
        if errors:
            raise errors.pop()

    monkeypatch.setattr("ray.init", init)
    with ray_session():
        pass
    assert ray.calls == ["init", "shutdown", "init", "shutdown", "init", "shutdown"]


def test_a_machine_that_is_too_busy_for_ray_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = Ray(monkeypatch)

    def init(**options: Any) -> None:
        ray.calls.append("init")
        raise RuntimeError("the node timed out during startup")

    monkeypatch.setattr("ray.init", init)
    with pytest.raises(StartError, match=r"in 3 attempts, .*: end some of them, then"), ray_session():
        pass
    assert ray.calls[:6] == ["init", "shutdown"] * 3


def test_any_other_error_of_a_start_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = Ray(monkeypatch)

    def init(**options: Any) -> None:
        raise RuntimeError("no such option")

    monkeypatch.setattr("ray.init", init)
    with pytest.raises(RuntimeError, match="no such option"), ray_session():
        pass
    assert ray.calls == []


def test_an_error_that_tells_of_lost_processes_names_their_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = Ray(monkeypatch)
    with pytest.raises(NodeLostError) as lost, ray_session():
        raise NodeLostError
    folder = Path(ray.calls[0]["_temp_dir"])
    assert lost.value.logs == folder / LOGS
    assert folder.parent.is_dir()


def test_to_look_whether_it_runs_does_not_import_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    assert not is_ray_running()
    assert "ray" not in sys.modules


def test_what_ray_reads_of_the_environment_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ENVIRONMENT:
        monkeypatch.setenv(name, "other")
    set_environment()
    assert {name: os.environ[name] for name in ENVIRONMENT} == ENVIRONMENT


@pytest.mark.parametrize("alive", [True, False])
def test_without_a_node_that_lives_the_search_cannot_go_on(monkeypatch: pytest.MonkeyPatch, alive: bool) -> None:
    monkeypatch.setattr("ray.nodes", lambda: [{"Alive": False}, {"Alive": alive}])
    if alive:
        check_nodes()
    else:
        with pytest.raises(NodeLostError):
            check_nodes()


def test_errors_of_rays_own_processes_have_one_name_and_those_of_tasks_keep_theirs() -> None:
    import ray

    with pytest.raises(NodeLostError), as_lost_node():
        raise ray.exceptions.NodeDiedError("gone")
    task = ray.exceptions.RayTaskError("f", "Traceback", ValueError("own"))
    with pytest.raises(ray.exceptions.RayTaskError), as_lost_node():
        raise task
    with pytest.raises(ValueError, match="other"), as_lost_node():
        raise ValueError("other")
