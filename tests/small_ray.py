"""Ray as small as it gets, with which modules run one after another: to start it takes longer than most of them."""

import inspect
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tuning.runtime.ray_session import ray_session

CORES, STORE = 2, 100 * 2**20  # of Ray's objects, bytes


class SmallRay:
    """A Ray of this process that is started once, and again where a test has ended it."""

    def __init__(self) -> None:
        self._open: ExitStack | None = None

    def start(self) -> None:
        import ray

        if self._open is not None and ray.is_initialized():
            return
        self.stop()  # where a test has shut it down
        with ExitStack() as stack:
            stack.enter_context(ray_session(num_cpus=CORES, object_store_memory=STORE))
            from ray.rllib.connectors import connector_v2

            patched = stack.enter_context(pytest.MonkeyPatch.context())
            patched.setattr(connector_v2, "inspect", SimpleNamespace(stack=_callers, getargvalues=inspect.getargvalues))
            self._open = stack.pop_all()

    def stop(self) -> None:
        if self._open is not None:
            self._open.close()
        self._open = None


def sharing(items: Sequence[pytest.Item]) -> set[Path]:
    """Modules with a test that uses the fixture `small_ray`, itself or by another one."""
    return {item.path for item in items if "small_ray" in getattr(item, "fixturenames", ())}


def _callers() -> list[Any]:
    """The two innermost frames. For all of them with their sources, RLlib's connectors take half of the time of such tests."""
    own = sys._getframe(1)
    return [SimpleNamespace(frame=own), SimpleNamespace(frame=own.f_back)]
