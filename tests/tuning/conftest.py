"""Ray as small as it gets; building an algorithm would start it with its defaults."""

import inspect
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tuning.runtime.ray_session import ray_session


@pytest.fixture(scope="module", autouse=True)
def no_ray_left() -> Iterator[None]:
    """Building an algorithm starts Ray unless it runs; later modules could not start theirs."""
    yield
    if "ray" in sys.modules:
        import ray

        left = ray.is_initialized()
        ray.shutdown()
        assert not left, "a test of this module built an algorithm without the fixture small_ray"


@pytest.fixture(scope="module")
def small_ray() -> Iterator[None]:
    with ray_session(num_cpus=1), pytest.MonkeyPatch.context() as patched:
        from ray.rllib.connectors import connector_v2

        patched.setattr(connector_v2, "inspect", SimpleNamespace(stack=_callers, getargvalues=inspect.getargvalues))
        yield


def _callers() -> list[Any]:
    """The two innermost frames. For all of them with their sources, RLlib's connectors take half of the time of such tests."""
    own = sys._getframe(1)
    return [SimpleNamespace(frame=own), SimpleNamespace(frame=own.f_back)]
