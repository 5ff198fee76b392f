"""Ray as small as it gets; building an algorithm would start it with its defaults."""

import inspect
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from envs.environments.seen_year import seen_rows
from tests.envs.made_up_plans import made_up_plan
from tuning.runtime.ray_session import ray_session


class SmallRay:
    """A Ray that modules share one after another: to start it takes longer than most of them."""

    def __init__(self) -> None:
        self._open: ExitStack | None = None

    def start(self) -> None:
        import ray

        if self._open is not None and ray.is_initialized():
            return
        self.stop()  # where a test has shut it down
        with ExitStack() as stack:
            stack.enter_context(ray_session(num_cpus=1))
            from ray.rllib.connectors import connector_v2

            patched = stack.enter_context(pytest.MonkeyPatch.context())
            patched.setattr(connector_v2, "inspect", SimpleNamespace(stack=_callers, getargvalues=inspect.getargvalues))
            self._open = stack.pop_all()

    def stop(self) -> None:
        if self._open is not None:
            self._open.close()
        self._open = None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the modules that share a Ray next to one another; the order is that of the outer hook otherwise."""
    sharing = _sharing(items)
    items.sort(key=lambda item: item.path in sharing)


@pytest.fixture(scope="session")
def shared_ray() -> Iterator[SmallRay]:
    ray = SmallRay()
    yield ray
    ray.stop()


@pytest.fixture(scope="module", autouse=True)
def no_ray_left(request: pytest.FixtureRequest, shared_ray: SmallRay) -> Iterator[None]:
    """A module begins without Ray, or with the shared one. Building an algorithm starts Ray unless it runs."""
    shares = request.path in _sharing(request.session.items)
    if not shares:
        shared_ray.stop()
    yield
    if "ray" in sys.modules and not shares:
        import ray

        left = ray.is_initialized()
        ray.shutdown()
        assert not left, "a test of this module built an algorithm without the fixture small_ray"


@pytest.fixture(scope="module")
def small_ray(shared_ray: SmallRay) -> None:
    """Ray runs, with one core."""
    shared_ray.start()


def _sharing(items: list[pytest.Item]) -> set[Path]:
    """Modules with a test that uses `small_ray`, itself or by a fixture."""
    return {item.path for item in items if "small_ray" in getattr(item, "fixturenames", ())}


def _callers() -> list[Any]:
    """The two innermost frames. For all of them with their sources, RLlib's connectors take half of the time of such tests."""
    own = sys._getframe(1)
    return [SimpleNamespace(frame=own), SimpleNamespace(frame=own.f_back)]


@pytest.fixture
def a_plan(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Random numbers in place of plans."""
    monkeypatch.setattr("envs.environments.seen_year.shadow", made_up_plan)
    seen_rows.cache_clear()
    yield
    seen_rows.cache_clear()
