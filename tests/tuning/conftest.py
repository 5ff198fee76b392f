"""Ray as small as it gets; building an algorithm would start it with its defaults."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def no_ray_left() -> Iterator[None]:
    """Building an algorithm starts Ray where nobody has; the modules after it could not start theirs."""
    yield
    if "ray" in sys.modules:
        import ray

        left = ray.is_initialized()
        ray.shutdown()
        assert not left, "a test of this module built an algorithm without the fixture small_ray"


@pytest.fixture(scope="module")
def small_ray() -> Iterator[None]:
    import ray

    ray.init(num_cpus=1, include_dashboard=False, object_store_memory=150 * 2**20, log_to_driver=False)
    yield
    ray.shutdown()
