"""What the cache lacks is made before the first trial; an error of the scenario is told as such."""

from __future__ import annotations

import io
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
import ray
from rich.console import Console

from common.errors import ScenarioError
from envs.cache import CacheError
from envs.task import SiteTask
from tuning.runtime.ray_session import NodeLostError
from tuning.search.run import preparation
from tuning.search.run.preparation import Job, prepare, run_jobs


def test_where_nothing_lacks_nothing_is_said_or_started(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    monkeypatch.setattr(preparation, "is_prepared", lambda site, year, day_peak: not looked.append(year))  # type: ignore[func-returns-value]
    monkeypatch.setattr(preparation, "Queue", None)
    output = io.StringIO()
    task = SiteTask("iquitos-38")
    prepare(task, Console(file=output))
    assert output.getvalue() == ""
    assert sorted(looked) == sorted([*task.site.years("train"), *task.site.years("validation")])


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

    monkeypatch.setattr(preparation.ray, "get", get)
    with pytest.raises(raised):
        preparation.result_of("task")


class LostQueue:
    """The node of its actor has died."""

    def __init__(self, left: int = 0) -> None:
        self.left = left

    def get_nowait(self) -> tuple[int, float]:
        self.left -= 1
        if self.left < 0:
            raise ray.exceptions.ActorDiedError
        return 1, 0.5

    def put_nowait(self, news: tuple[int, float]) -> None:
        raise ray.exceptions.ActorDiedError


def test_a_node_that_dies_takes_the_news_of_the_tasks_with_it_and_not_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    queue: Any = LostQueue(1)
    monkeypatch.setattr(preparation, "check_nodes", lambda: None)
    assert list(preparation._news(queue)) == [(1, 0.5)]
    preparation._tell(queue, 1, 0.7)


@pytest.mark.usefixtures("small_ray")
def test_jobs_give_their_results_in_order_and_those_that_are_ended_none() -> None:
    seen = list[list[float]]()

    def goes_on(done: Sequence[float]) -> bool:
        seen.append([*done])
        return done[1] < 1.0

    assert run_jobs([Job(partial(abs, -number)) for number in range(3)], lambda done: True) == [0, 1, 2]
    assert run_jobs([Job(partial(time.sleep, 60.0)), Job(partial(abs, -7))], goes_on) == [None, 7]
    assert seen[0] == [0.0, 0.0]
    with pytest.raises(ScenarioError, match="no file"):
        run_jobs([Job(fail)], lambda done: True)


def fail() -> None:
    raise ScenarioError("no file")


def test_without_a_node_the_preparation_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    queue: Any = LostQueue()
    monkeypatch.setattr(ray, "nodes", lambda: [{"Alive": False}])
    with pytest.raises(NodeLostError):
        list(preparation._news(queue))
