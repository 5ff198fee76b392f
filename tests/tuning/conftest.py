"""Ray as small as it gets; building an algorithm would start it with its defaults."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def small_ray() -> Iterator[None]:
    import ray

    ray.init(num_cpus=1, include_dashboard=False, object_store_memory=150 * 2**20, log_to_driver=False)
    yield
    ray.shutdown()
