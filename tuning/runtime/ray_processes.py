"""The processes that Ray starts on this machine: only those that a search needs, and out of reach of signals to a command."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from typing import Any

import psutil

from tuning.runtime.processes import stop_signals

REGISTERED_SECONDS = 2.0  # at most, until a node is known
AGENT = "--dashboard_agent_command="  # an option of Ray's node
# In the agent's place, as a node needs one that lives as long as itself: on Linux it holds the other end of this pipe.
HAS_PIPE = sys.platform == "linux"
STAND_IN = [sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()"]


@contextmanager
def few_processes() -> Iterator[None]:
    """Let Ray start a node without its autoscaler, its dashboard and what prints logs of workers.

    Nobody asks them anything, and Ray has no option to leave them out. They take 5 seconds of a processor to begin, and Ray
    waits for most of them. The dashboard's agent takes a port that only one Ray of a machine can have, and tries for it for 3
    seconds while the node waits. It is left out on Linux alone.
    """
    services: Any = import_module("ray._private.services")
    nodes: Any = import_module("ray._private.node")
    utils: Any = import_module("ray._private.utils")
    whole, started, look = nodes.Node, services.ConsolePopen, utils.get_dashboard_dependency_error
    nodes.Node = _lean(whole)
    if HAS_PIPE:
        # It imports all of them, for half a second, to tell the agent that stands aside here.
        utils.get_dashboard_dependency_error = lambda: None
    if sys.platform != "win32":
        services.ConsolePopen = partial(_start, started)
    try:
        yield
    finally:
        nodes.Node, services.ConsolePopen, utils.get_dashboard_dependency_error = whole, started, look


def _lean(whole: Any) -> Any:
    """Ray's class of a node, without what nobody asks."""
    raylet: Any = import_module("ray._raylet")
    errors: Any = import_module("ray.exceptions")

    class Node(whole):  # type: ignore[misc]
        passes_environment = True  # that of this process, to all processes that it starts
        held: socket.socket | None = None

        def start_monitor(self) -> None:
            pass

        def start_log_monitor(self) -> None:
            pass

        def start_api_server(self, **options: Any) -> None:
            self._webui_url = ""

        def start_raylet(self, *arguments: Any, **options: Any) -> None:
            if HAS_PIPE:
                # As Ray's agent does where it serves nothing.
                for name in (
                    raylet.METRICS_AGENT_PORT_NAME, raylet.METRICS_EXPORT_PORT_NAME, raylet.DASHBOARD_AGENT_LISTEN_PORT_NAME,
                ):  # fmt: skip
                    raylet.persist_port(self._session_dir, self._node_id, name, -1)
                # The node waits a second for the port that the agent of environments chooses. It takes this one, which nobody
                # else gets as long as this socket has it; to listen there is left to the agent.
                self.held = socket.socket()
                self.held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                self.held.bind((self._node_ip_address, 0))
                self._ray_params.runtime_env_agent_port = port = self.held.getsockname()[1]
                raylet.persist_port(self._session_dir, self._node_id, raylet.RUNTIME_ENV_AGENT_PORT_NAME, port)
            super().start_raylet(*arguments, **options)
            # Ray asks once, and where the node is not there yet again after a second. If it fails, Ray says why.
            client, end = self.get_gcs_client(), time.monotonic() + REGISTERED_SECONDS
            with suppress(errors.RpcError):
                while time.monotonic() < end and not client.get_all_node_info(timeout=REGISTERED_SECONDS):
                    time.sleep(0.01)

        def kill_all_processes(self, *arguments: Any, **options: Any) -> None:
            super().kill_all_processes(*arguments, **options)
            if self.held:  # it may end before it has begun
                self.held.close()

    return Node


def _start(started: Any, command: list[str], *arguments: Any, **options: Any) -> Any:
    """Start a process of Ray that `stop_signals` do not reach, as it begins with these blocked.

    `timeout` signals a command's whole process group, Slurm and systemd all processes of a job. The driver alone is to have the
    signal: trials write their checkpoints, which they cannot without Ray. Windows has no such signals.
    """
    if HAS_PIPE:
        stand_in = AGENT + subprocess.list2cmdline(STAND_IN)
        command = [stand_in if word.startswith(AGENT) else word for word in command]
    before = signal.pthread_sigmask(signal.SIG_BLOCK, stop_signals())
    try:
        process = started(command, *arguments, **options)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    process.terminate = partial(_end, process)  # Ray ends its processes so
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process of Ray that SIGTERM does not reach, and those that it has started."""
    family = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    for each in family:
        with suppress(psutil.NoSuchProcess):
            each.kill()
