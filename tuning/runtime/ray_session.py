"""Start Ray for a search, and end it."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from common.errors import UserError

OBJECT_STORE_BYTES = 150 * 2**20  # trials pass a few kilobytes; Ray's default is a third of the memory
ATTEMPTS = 3  # of starting Ray: it gives its processes half a minute, which a busy machine may not have

ENVIRONMENT = {
    # One thread per process: a trial owns one core, and more threads only thrash.
    "OMP_NUM_THREADS": "1",
    # Large arrays go back to the system when they are freed. By default Linux's allocator soon keeps them in a heap, which then
    # grows to several times what is in use, never twice alike; other systems do not know the variable.
    "MALLOC_MMAP_THRESHOLD_": str(2**20),
    # Results are written by ourselves; Tune's CSV, JSON and TensorBoard copies are not needed.
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    # Ctrl-C is handled in `tuning.search.run_control`.
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    # Closing environments may take longer than Tune's two seconds, after which it would lose the next trial.
    "TUNE_FUNCTION_THREAD_TIMEOUT_S": "60",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    # Under `uv run` Ray would copy the project for its workers, in which compiled code and caches beside it are lost each time.
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    # The new output engine prints a line even where `verbose` is 0.
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


def set_environment() -> None:
    """Set what Ray reads of the environment: some of it when it is imported, so this comes before."""
    os.environ.update(ENVIRONMENT)


class NodeLostError(RuntimeError):
    """Ray's last node is gone. Tune would wait for ever for another one, which on one machine nobody starts."""


class RayRunningError(UserError):
    """A cluster is to be joined by a process that has a Ray already."""


def is_ray_running() -> bool:
    """Whether this process has started or joined a Ray, as a notebook may have. Ray is not imported for it."""
    ray = sys.modules.get("ray")
    return ray is not None and ray.is_initialized()


def check_nodes() -> None:
    """See that Ray has a node left.

    Raises:
        NodeLostError: if it has none.
    """
    import ray

    if not any(node["Alive"] for node in ray.nodes()):
        raise NodeLostError


@contextmanager
def as_lost_node() -> Iterator[None]:
    """Call what Ray says when its own processes die by one name.

    Raises:
        NodeLostError: for Ray's errors but those of tasks, which are the tasks' own.
    """
    import ray

    try:
        yield
    except ray.exceptions.RayTaskError:
        raise
    except ray.exceptions.RayError as error:
        raise NodeLostError from error


@contextmanager
def ray_session(address: str = "", **options: Any) -> Iterator[None]:
    """Ray on this machine alone, or a cluster that is joined. A Ray that runs in this process already is used and left running.

    Args:
        address: of the cluster; none for this machine.
        options: of `ray.init`, for this machine.

    Raises:
        RayRunningError: if a cluster is to be joined by a process that has a Ray already.
    """
    set_environment()
    if is_ray_running():
        if address:
            raise RayRunningError(
                f"--address {address}: Ray runs in this process already; leave the address out to use it, or end it with "
                "ray.shutdown()"
            )
        yield
        return
    # Set before ray is imported, which speaks at once.
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    import ray

    # It has a level of its own, and would say at each start which of its interfaces is used.
    logging.getLogger("ray.rllib").setLevel(logging.ERROR)
    if not address:
        options = {"address": "local", "include_dashboard": False, "object_store_memory": OBJECT_STORE_BYTES, **options}
    else:
        options = {"address": address}
    for attempt in range(1, ATTEMPTS + 1):
        try:
            ray.init(**options, log_to_driver=False, logging_level=logging.CRITICAL)
            break
        except Exception as error:
            # Ray raises nothing more particular.
            if "timed out during startup" not in str(error) or attempt == ATTEMPTS:
                raise
            ray.shutdown()
    try:
        yield
    finally:
        ray.shutdown()
