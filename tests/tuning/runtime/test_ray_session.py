"""Ray is started and ended here, private to this process; a Ray that runs already is used and left running."""

import ipaddress
import json
import os
import site
import stat
import subprocess
import sys
import venv
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import psutil
import pytest
from ray._private import worker
from ray.exceptions import OutOfMemoryError
from ray.tune.execution import class_cache

from common.errors import UserError
from tuning.runtime import ray_session as module
from tuning.runtime.cluster import ClusterError
from tuning.runtime.ray_session import (
    ENVIRONMENT,
    LOGS,
    OF_A_JOB,
    STAYS,
    NodeLostError,
    RayRunningError,
    StartError,
    as_lost_node,
    check_nodes,
    count_killed_as_lost,
    is_ray_running,
    private_ray,
    ray_session,
    sent_environment,
    set_environment,
)


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


@pytest.fixture
def ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ray:
    """A substitute that does not run yet, with the folders for logs that stay after errors in the test's own."""
    monkeypatch.setattr(module, "_temporary", lambda: str(tmp_path))
    monkeypatch.setattr(module, "check_cluster", lambda address, source: "")
    return Ray(monkeypatch)


def test_it_is_started_on_this_machine_and_ended(ray: Ray) -> None:
    with pytest.raises(KeyError), ray_session(num_cpus=3):
        raise KeyError
    options, end = ray.calls
    assert (options["address"], options["num_cpus"], end) == ("local", 3, "shutdown")


def test_a_cluster_that_answers_is_joined_as_it_is(ray: Ray, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = list[Any]()
    monkeypatch.setattr("tuning.runtime.ray_session.check_cluster", lambda *of: tried.append(of))
    with ray_session("auto", "RAY_ADDRESS"):
        pass
    assert tried == [("auto", "RAY_ADDRESS")]
    assert ray.calls[0]["address"] == "auto"
    assert not {"object_store_memory", "_temp_dir"} & ray.calls[0].keys()


def test_processes_of_a_cluster_get_the_environment_that_those_of_an_own_ray_inherit(
    ray: Ray, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    parents: list[Parent], is_job: bool, expected: bool, ray: Ray, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ray._private import ray_constants

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
def test_a_cluster_that_lets_nothing_join_is_one_line(
    ray: Ray, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def init(**options: Any) -> None:
        raise error("Version mismatch:\n  3.11 here\n  3.12 there")

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


LATE = "the node timed out during startup"


@pytest.mark.parametrize(
    ("errors", "raised", "calls"),
    [
        ([LATE, LATE], None, ["init", "shutdown"] * 3),
        ([LATE] * 3, pytest.raises(StartError, match=r"in 3 attempts, .*: end some of them, then"), ["init", "shutdown"] * 3),
        (["no such option"], pytest.raises(RuntimeError, match="no such option"), ["init"]),
    ],
)
def test_a_start_that_took_too_long_is_tried_again_and_another_error_is_raised(
    ray: Ray, monkeypatch: pytest.MonkeyPatch, errors: list[str], raised: Any, calls: list[str]
) -> None:
    left = list(errors)

    def init(**options: Any) -> None:
        ray.calls.append("init")
        if left:
            raise RuntimeError(left.pop())

    monkeypatch.setattr("ray.init", init)
    with raised or nullcontext(), ray_session():
        pass
    assert ray.calls == calls


def test_an_error_that_tells_of_lost_processes_names_their_logs(ray: Ray) -> None:
    with pytest.raises(NodeLostError) as lost, ray_session():
        raise NodeLostError
    folder = Path(ray.calls[0]["_temp_dir"])
    assert lost.value.logs == folder / LOGS
    assert folder.parent.is_dir()


def test_what_ray_reads_of_the_environment_is_set_whatever_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize(
    ("node", "sent"),
    [(None, {STAYS: "0"}), (SimpleNamespace(), {STAYS: "0"}), (SimpleNamespace(passes_environment=True), {})],
    ids=["a cluster", "a Ray of the user's", "one that was started here"],
)
def test_trials_are_sent_what_they_do_not_inherit_and_no_credentials(
    monkeypatch: pytest.MonkeyPatch, node: SimpleNamespace | None, sent: dict[str, str]
) -> None:
    names = {STAYS, "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SECURITY_TOKEN", "AWS_SESSION_TOKEN"}
    for name in names:
        monkeypatch.setenv(name, "of this process")
    monkeypatch.setattr(class_cache, "ENV_VARS_TO_PROPAGATE", names)
    monkeypatch.setattr(worker, "_global_node", node)
    with sent_environment():
        actor = class_cache._ActorClassCache().get(type("Trial", (), {}))
    assert actor._default_options["runtime_env"].get("env_vars", {}) == sent
    # What else uses Tune in this process has it as before.
    assert names == class_cache.ENV_VARS_TO_PROPAGATE
    assert class_cache.DEFAULT_ENV_VARS


ON_POSIX = pytest.mark.skipif(os.name != "posix", reason="Windows keeps files of a home folder from other users by itself")


PROGRAM = """
import contextlib
import json
import os
import signal
from pathlib import Path
import psutil
import ray
from tuning.runtime.ray_session import LOGS, ray_logs, ray_session

assert ray_logs() is None
with ray_session(num_cpus=1):
    @ray.remote(num_cpus=1, runtime_env={"env_vars": {"TOLD": "as Tune does"}})
    class Actor:
        def told(self):
            import os
            return os.environ["TOLD"]

    actor = Actor.remote()
    ray.get(actor.told.remote(), timeout=90)
    own, found, theirs = psutil.Process(), [], []
    for process in [own, *own.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):  # some only start another one
            found += [at for at in process.net_connections("inet") if at.status == psutil.CONN_LISTEN]
            theirs += [process] if process != own else []
    folder = Path(ray.get_runtime_context().worker.node.get_temp_dir_path())
    for child in theirs:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP) if os.name != "nt" else ():
            child.send_signal(number)
    print(json.dumps({
        "told": ray.get(actor.told.remote(), timeout=90),
        "listening": [at.laddr.ip for at in found],
        "mode": folder.parent.stat().st_mode,
        "files": [path.name for path in (*(folder / LOGS).glob("raylet*"), *folder.rglob("plasma_store"))],
    }))
    assert (ray_logs() / "raylet.out").is_file()
_, left = psutil.wait_procs(theirs, timeout=10)
assert theirs and not left
"""


@dataclass(frozen=True)
class Session:
    """A Ray that a process has started, used and ended.

    Attributes:
        home: its home folder, which was empty.
        found: what it printed.
    """

    home: Path
    found: dict[str, Any]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """Of an interpreter in a folder with a space and a quote, where a shell starts the workers."""
    home, environment = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("within") / "it's a t\u00fcner"
    interpreter = sys.executable
    if os.name != "nt":
        venv.create(environment, symlinks=True)
        interpreter = str(environment / "bin" / "python")
        (packages,) = environment.glob("lib/*/site-packages")
        paths = [str(Path(__file__).parents[3]), *site.getsitepackages()]
        (packages / "of_the_tests.pth").write_text("\n".join(paths), encoding="utf-8")
    done = subprocess.run(
        [interpreter, "-c", PROGRAM], capture_output=True, text=True, timeout=180, check=False, cwd=home.parent,
        env={**os.environ, "HOME": str(home), "USERPROFILE": str(home)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-1000:]
    return Session(home, json.loads(done.stdout.splitlines()[-1]))


def test_processes_live_on_at_signals_to_a_whole_job_and_end_with_the_session(session: Session) -> None:
    assert session.found["told"] == "as Tune does"


def test_all_processes_of_a_session_listen_on_loopback_alone(session: Session) -> None:
    addresses = session.found["listening"]
    assert len(addresses) >= 5, addresses
    assert all(ipaddress.ip_address(address.removeprefix("::ffff:")).is_loopback for address in addresses), addresses


@ON_POSIX
def test_sockets_and_logs_are_where_other_users_cannot_enter(session: Session) -> None:
    assert stat.S_IMODE(session.found["mode"]) == stat.S_IRWXU
    assert "plasma_store" in session.found["files"]
    assert any(name.startswith("raylet") for name in session.found["files"])


def test_no_token_is_written(session: Session) -> None:
    assert list(session.home.iterdir()) == []


def test_folder_and_environment_are_of_the_session_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", "of a cluster")
    tokens = set()
    for _ in range(2):
        with private_ray() as folder:
            tokens.add(os.environ["RAY_AUTH_TOKEN"])
            (folder / "a" / "b").mkdir(parents=True)
        assert not folder.parent.exists()
    assert len(tokens | {"of a cluster"}) == 3
    assert os.environ["RAY_AUTH_TOKEN"] == "of a cluster"
    monkeypatch.delenv("RAY_AUTH_TOKEN")
    with private_ray():
        pass
    assert "RAY_AUTH_TOKEN" not in os.environ


def test_the_runtime_environment_of_a_clusters_job_is_not_taken_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", "{}")
    with private_ray():
        assert "RAY_JOB_CONFIG_JSON_ENV_VAR" not in os.environ
    assert os.environ["RAY_JOB_CONFIG_JSON_ENV_VAR"] == "{}"


@pytest.mark.parametrize(("error", "is_kept"), [(UserError, False), (KeyboardInterrupt, False), (RuntimeError, True)])
def test_logs_are_kept_where_they_may_explain_an_error(error: type[BaseException], is_kept: bool) -> None:
    with pytest.raises(error), private_ray() as folder:
        raise error
    assert folder.parent.exists() == is_kept
    if is_kept:
        folder.parent.rmdir()


@ON_POSIX
def test_a_token_of_a_cluster_is_kept_from_other_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    token = tmp_path / ".ray" / "auth_token"
    token.parent.mkdir()
    token.write_text("secret")
    token.chmod(0o644)
    with private_ray():
        assert stat.S_IMODE(token.stat().st_mode) == stat.S_IRUSR | stat.S_IWUSR
    assert token.read_text() == "secret"


@ON_POSIX
def test_a_folder_with_a_name_too_long_for_sockets_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("x" * module.LONGEST_TEMPORARY)
    long.mkdir()
    monkeypatch.setenv("RAY_TMPDIR", str(long))
    with private_ray() as folder:
        assert folder.parents[1] == Path("/tmp")


@pytest.mark.parametrize(
    ("system", "executable", "told"),
    [
        ("posix", "/home/me/env/bin/python", None),
        ("posix", "/home/me/my site's t\u00fcner/bin/python", "'/home/me/my site'\"'\"'s t\u00fcner/bin/python'"),
        ("nt", r"C:\Users\me\my sites\Scripts\python.exe", None),
    ],
)
def test_an_interpreter_is_told_quoted_where_a_shell_starts_it(
    monkeypatch: pytest.MonkeyPatch, system: str, executable: str, told: str | None
) -> None:
    monkeypatch.setattr(module.os, "name", system)
    assert module._python(executable).get("runtime_env", {}).get("py_executable") == told


def test_a_process_that_ray_killed_for_host_memory_was_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    from ray.air.execution._internal import actor_manager

    monkeypatch.setattr(actor_manager, "RayActorError", actor_manager.RayActorError)  # as it was, afterwards
    count_killed_as_lost()
    task, killed = MagicMock(), OutOfMemoryError("killed")
    actor_manager.RayActorManager._actor_task_failed(MagicMock(), task, killed)
    task._on_error.assert_called_once_with(task._tracked_actor, killed)
