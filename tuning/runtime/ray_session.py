"""Start Ray, join a cluster, or use a Ray that runs already; end only a Ray that was started here.

One that is started here is private: on the loopback address, with a token and a folder of its own.
"""

import json
import logging
import os
import secrets
import shlex
import shutil
import stat
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import psutil

from common.errors import UserError
from tuning.runtime.cluster import PRIVATE, ClusterError, check_cluster, is_ray_running, only_joined, set_variables
from tuning.runtime.processes import own_stop_signals, stop_signals_later
from tuning.runtime.ray_processes import few_processes

# Of a Ray on this machine. Trials pass a few kilobytes; by default Ray's store takes a third of the memory.
OPTIONS: dict[str, Any] = {
    "address": "local", "include_dashboard": False, "object_store_memory": 150 * 2**20,
    # By itself Ray begins a process for each core, and waits for them. Few are asked for anything.
    "_system_config": {"prestart_worker_first_driver": False},
}  # fmt: skip
QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL}
OF_A_JOB = "RAY_JOB_CONFIG_JSON_ENV_VAR"  # Ray sets it where a cluster runs a job that was submitted
ATTEMPTS = 3  # of starting Ray: on a busy machine its processes may not start in the half minute that it gives them
# Addresses of sockets have at most 107 bytes. Ray's sockets take up to 83 of them below the folder for temporary files, as in
# ray-abcdefgh/ray/session_2026-01-31_23-59-59_123456_1234567/sockets/plasma_store.1.
LONGEST_TEMPORARY = 24
LOGS = Path("session_latest") / "logs"  # of Ray, in its folder

STAYS = "RAY_CHDIR_TO_TRIAL_DIR"  # whether trials leave the folder in which they begin
ENVIRONMENT = {
    # One thread per process: a trial has one core.
    "OMP_NUM_THREADS": "1",
    # Freed large arrays go back to the system. By default Linux's allocator keeps them in a heap that grows to several times
    # the memory in use, differently each time. Other systems do not know the variable.
    "MALLOC_MMAP_THRESHOLD_": str(2**20),
    # That alone would give the smaller ones at the heap's end back too, to be taken anew in each gradient step.
    "MALLOC_TRIM_THRESHOLD_": str(64 * 2**20),
    # Small ones stay in one heap for all threads. Each trial of a process has a thread of its own, and with a heap for each,
    # which is the default, the process grows from trial to trial until it has more than it was granted.
    "MALLOC_ARENA_MAX": "1",
    # Trials write their results; Tune's CSV, JSON and TensorBoard copies are not needed.
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    # `tuning.search.run.run_control` handles Ctrl-C.
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    # Closing environments may take longer than Tune's two seconds; after these Tune would lose the next trial.
    "TUNE_FUNCTION_THREAD_TIMEOUT_S": "60",
    # Every trial that waits asks for its place, so that an autoscaler adds nodes for all of them. By itself Tune asks for one
    # at a time. `tuning.search.run.adapters` limits how many wait. Ray's scheduler of placement groups is slow beyond so many.
    "TUNE_MAX_PENDING_TRIALS_PG": "1000",
    STAYS: "0",
    # Under `uv run` Ray would copy the project for its workers, without compiled code and caches. See `_join` for jobs.
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    # The new output engine prints a line even where `verbose` is 0.
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


def set_environment() -> None:
    """Set the environment variables of Ray. It reads some of them when it is imported, so this has to come before."""
    os.environ.update(ENVIRONMENT)


class NodeLostError(RuntimeError):
    """Ray has no node left. Tune would wait for another one for ever."""

    logs: Path | None = None  # folder of the lost Ray's logs; None if it was not started here


class StartError(UserError):
    """Ray's processes do not start on this machine in the time that Ray gives them."""


class RayRunningError(UserError):
    """A process that runs Ray already cannot join a cluster."""


def check_nodes() -> None:
    """Raise a NodeLostError if Ray has no node left."""
    import ray

    if not any(node["Alive"] for node in ray.nodes()):
        raise NodeLostError


def ray_logs() -> Path | None:
    """Folder of the logs of the Ray that runs; None where it runs on other machines alone, or not at all."""
    from ray._private import worker

    node = worker._global_node
    return None if node is None else Path(node.get_logs_dir_path())


@contextmanager
def as_lost_node() -> Iterator[None]:
    """Raise errors of Ray as NodeLostError: its own processes died. Those of tasks come from the task's code, and stay."""
    import ray

    try:
        yield
    except ray.exceptions.RayTaskError:
        raise
    except ray.exceptions.RayError as error:
        raise NodeLostError from error


@contextmanager
def ray_session(address: str = "", source: str = "--address", **options: Any) -> Iterator[None]:
    """Start Ray on this machine or join a cluster; leave it at the end. A Ray that runs already is used and left running.

    One that is started here is private to this process: see `private_ray`. No `address` stands for this machine, where
    `options` are those of `ray.init`; `source` names it in messages.

    Raises:
        RayRunningError: if an address is given and Ray runs already.
        ClusterError: if there is no cluster at the address, or it cannot be joined.
    """
    set_environment()
    if is_ray_running():
        if address:
            raise RayRunningError(
                f"{source} {address}: Ray runs in this process already; leave the address out to use it, or end it with "
                "ray.shutdown()"
            )
        yield
        return
    check_cluster(address, source)
    # Before the import of ray, which prints.
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    import ray

    if address:
        _join(address, source)
        try:
            yield
        finally:
            with stop_signals_later():
                ray.shutdown()
        return
    with private_ray() as folder:
        _start({**OPTIONS, **_python(sys.executable), "_temp_dir": str(folder), **options})
        try:
            yield
        except NodeLostError as error:
            error.logs = folder / LOGS
            raise
        finally:
            # An interrupted shutdown would go on as Python ends, without the token that opens this Ray.
            with stop_signals_later():
                ray.shutdown()


def _join(address: str, source: str) -> None:
    """Join the cluster at an address, where one answers. Raises a ClusterError if it refuses, as for another version of Ray.

    A job of the cluster that is run by `uv run` runs its trials by `uv run` too: they need the project that was submitted.
    """
    import ray
    from ray._private import ray_constants

    only_joined()
    ray_constants.RAY_ENABLE_UV_RUN_RUNTIME_ENV = OF_A_JOB in os.environ and _is_run_by_uv()
    try:
        with own_stop_signals():
            ray.init(address=address, runtime_env={"env_vars": _of_processes()}, **QUIET)
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise ClusterError(f"{source} {address!r}: {' '.join(str(error).split())}") from error


def _is_run_by_uv() -> bool:
    """Whether `uv run` stands between this process and the process of Ray that runs its job.

    What stands above that one has nothing to do with the job: `uv run` may have started the node.
    """
    for parent in psutil.Process().parents():
        try:
            words = parent.cmdline()
        except psutil.Error:
            continue  # it has ended, or is another user's
        if words and words[0].startswith("ray::"):
            return False
        if words[1:2] == ["run"] and Path(words[0]).stem == "uv":
            return True
    return False


def _of_processes() -> dict[str, str]:
    """Environment variables for processes on a cluster's nodes, which do not inherit those of this one.

    A job's runtime environment may set some itself; Ray does not let both.
    """
    job = json.loads(os.environ.get(OF_A_JOB, "{}")).get("runtime_env") or {}
    return {name: value for name, value in ENVIRONMENT.items() if name not in job.get("env_vars", {})}


def _python(executable: str) -> dict[str, Any]:
    """Options of `ray.init` with which workers start by an interpreter whose path the shell would not take as one word.

    But on Windows, Ray starts workers through a shell and does not quote the interpreter. Where that lies in a folder with a
    space, trials would wait for their processes for ever.
    """
    quoted = executable if os.name == "nt" else shlex.quote(executable)
    return {} if quoted == executable else {"runtime_env": {"py_executable": quoted}}


def _start(options: dict[str, Any]) -> None:
    """Start Ray on this machine by `ray.init`, again and again where it takes too long."""
    import ray

    for attempt in range(1, ATTEMPTS + 1):
        try:
            with few_processes(), own_stop_signals():
                ray.init(**options, **QUIET)
            break
        except Exception as error:
            # Ray has no class of its own for this error.
            if "timed out during startup" not in str(error):
                raise
            ray.shutdown()
            if attempt == ATTEMPTS:
                raise StartError(
                    f"Ray did not start on this machine in {ATTEMPTS} attempts, as other programs keep it busy: end some of "
                    "them, then try again; an experiment that has begun goes on with --resume"
                ) from error


def count_killed_as_lost() -> None:
    """Let Ray Tune take a process that Ray killed for host memory for one that was lost: its trial is tried again.

    By itself Tune ends the search with an error where the process had not begun its work.
    """
    from ray.exceptions import OutOfMemoryError, RayActorError

    actor_manager: Any = import_module("ray.air.execution._internal.actor_manager")
    actor_manager.RayActorError = (RayActorError, OutOfMemoryError)


@contextmanager
def sent_environment() -> Iterator[None]:
    """Keep Ray Tune from sending environment variables of this process to trials.

    Credentials are among them, which Ray would write into its logs. Trials have those of their node, by its role or its
    environment. A Ray that was started here passes all variables of this process on, and where trials are sent none, their
    processes begin a second and a half earlier: no agent of Ray prepares an environment first.
    """
    from ray._private import worker
    from ray.tune.execution import class_cache

    before = class_cache.ENV_VARS_TO_PROPAGATE, class_cache.DEFAULT_ENV_VARS
    is_passed_on = getattr(worker._global_node, "passes_environment", False)
    class_cache.ENV_VARS_TO_PROPAGATE = set()
    class_cache.DEFAULT_ENV_VARS = {} if is_passed_on else {STAYS: ENVIRONMENT[STAYS]}
    try:
        yield
    finally:
        class_cache.ENV_VARS_TO_PROPAGATE, class_cache.DEFAULT_ENV_VARS = before


@contextmanager
def private_ray() -> Iterator[Path]:
    """Make the Ray that is started within private to this process and its children.

    - Everything that listens is on the loopback address. By itself Ray listens on all networks of a Linux machine.
    - A new token opens it. Ray's processes get it by the environment, which other users cannot read. By itself Ray writes one
      token for all times to the home folder, readable by all.
    - Its sockets and logs are in a new folder that other users cannot enter. By itself Ray keeps those of all sessions in one
      folder in which all users can write, for ever.

    Yields:
        The folder for Ray, which makes it. It is removed at the end, except after an error that its logs may explain.
    """
    _protect_token()
    folder = Path(tempfile.mkdtemp(prefix=PRIVATE, dir=_temporary()))
    is_needed = False
    try:
        values = {"RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
        # The runtime environment of a cluster's job names packages that only the cluster has.
        with _environment({**values, OF_A_JOB: None}):
            # Ray lets all users write in its own folder, so that one is within.
            yield folder / "ray"
    except Exception as error:
        is_needed = not isinstance(error, UserError)
        raise
    finally:
        if not is_needed:
            # On Windows processes that are just ending may hold files. These go with the system's temporary files.
            shutil.rmtree(folder, ignore_errors=True)


def _protect_token() -> None:
    """Keep other users from reading a token that Ray has written into the home folder before, for a cluster."""
    token = Path.home() / ".ray" / "auth_token"
    if os.name == "posix" and token.is_file() and token.stat().st_uid == os.getuid():
        token.chmod(stat.S_IRUSR | stat.S_IWUSR)


def _temporary() -> str:
    """Folder for temporary files, as Ray chooses it; a short one, where its name is too long for sockets in it."""
    given = os.environ.get("RAY_TMPDIR", "")
    # On macOS the system's own has a long name.
    folder = given if Path(given).is_dir() and given else "/tmp" if sys.platform == "darwin" else tempfile.gettempdir()
    return "/tmp" if os.name == "posix" and len(os.fsencode(folder)) > LONGEST_TEMPORARY else folder


@contextmanager
def _environment(values: dict[str, str | None]) -> Iterator[None]:
    """Set environment variables of Ray, or remove them (None), also for what Ray has read of them when it was imported."""
    from ray import _raylet
    from ray._private import ray_constants

    before = {name: os.environ.get(name) for name in values}
    loader = cast(Any, _raylet).AuthenticationTokenLoader.instance()
    is_cluster = ray_constants.ENABLE_RAY_CLUSTER
    set_variables(values)
    ray_constants.ENABLE_RAY_CLUSTER = False
    loader.reset_cache()
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = is_cluster
        set_variables(before)
        loader.reset_cache()
