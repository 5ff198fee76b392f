"""What Ray runs for the driver gives its results, tells how far it is, and its errors are told as such."""

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import ray

from common.errors import ScenarioError
from envs.cache import CacheError
from tuning.runtime import jobs
from tuning.runtime.jobs import DiedError, Job, run_jobs
from tuning.runtime.ray_session import NodeLostError


@pytest.mark.parametrize(
    ("cause", "raised"),
    [
        (ScenarioError("no file"), ScenarioError),
        (CacheError("no permission"), CacheError),
        (KeyError(1), ray.exceptions.RayTaskError),
    ],
)
def test_an_error_of_the_scenario_comes_without_rays_wrapping(
    monkeypatch: pytest.MonkeyPatch, cause: Exception, raised: type[Exception]
) -> None:
    def get(task: Any) -> None:
        raise ray.exceptions.RayTaskError("prepare", "Traceback", cause)

    monkeypatch.setattr(jobs.ray, "get", get)
    with pytest.raises(raised):
        jobs.result_of("task")


class LostQueue:
    """The node of its actor has died."""

    def __init__(self, left: int = 0) -> None:
        self.left = left

    def get_nowait(self) -> tuple[int, float]:
        self.left -= 1
        if self.left < 0:
            raise ray.exceptions.ActorDiedError
        return 1, 0.5


def test_a_node_that_dies_takes_the_news_of_the_tasks_with_it_and_not_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    queue: Any = LostQueue(1)
    monkeypatch.setattr(jobs, "check_nodes", lambda: None)
    assert list(jobs._news(queue)) == [(1, 0.5)]


@pytest.mark.usefixtures("small_ray")
def test_jobs_give_their_results_in_order_and_those_that_are_ended_none(tmp_path: Path) -> None:
    seen = list[list[float]]()

    def goes_on(done: Sequence[float]) -> bool:
        seen.append([*done])
        return done[1] < 1.0

    assert run_jobs([Job(partial(abs, -number)) for number in range(3)], lambda done: True) == [0, 1, 2]
    assert run_jobs([Job(partial(time.sleep, 60.0)), Job(partial(abs, -7))], goes_on) == [None, 7]
    assert seen[0] == [0.0, 0.0]
    heard = tmp_path / "heard"

    def hears(done: Sequence[float]) -> bool:
        if done == [0.5]:
            heard.touch()
        return True

    assert run_jobs([Job(partial(half, heard), tells=True)], hears) == [True], "it told that it is half done"
    with pytest.raises(ScenarioError, match="no file"):
        run_jobs([Job(fail)], lambda done: True)
    # One that reads files of this machine alone needs no core of Ray's.
    assert run_jobs([Job(partial(abs, -5), here=True)]) == [5]


@pytest.mark.usefixtures("small_ray")
def test_a_process_that_dies_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"max_retries": 0}
    monkeypatch.setattr(jobs, "_place", lambda job: options)
    with pytest.raises(DiedError, match="the system kills processes when memory runs out"):
        run_jobs([Job(partial(os._exit, 3))])


def half(heard: Path, on_progress: Callable[[float], None]) -> bool:
    """Tell that half is done; whether that was heard."""
    on_progress(0.5)
    ends = time.monotonic() + 60.0
    while not heard.exists() and time.monotonic() < ends:
        time.sleep(0.1)
    return heard.exists()


def fail() -> None:
    raise ScenarioError("no file")


def test_without_a_node_the_preparation_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    queue: Any = LostQueue()
    monkeypatch.setattr(ray, "nodes", lambda: [{"Alive": False}])
    with pytest.raises(NodeLostError):
        list(jobs._news(queue))
