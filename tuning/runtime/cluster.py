"""Which Ray a command uses: this machine's own, or a cluster that `--address` or RAY_ADDRESS names, and whether that answers.

Run as a process of its own, it tries the address of a cluster, as Ray warns for minutes where nothing answers, and cannot be
stopped. It prints what answers, or why nothing does.
"""

import logging
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

import psutil

from common.errors import UserError

ADDRESS = "RAY_ADDRESS"  # Ray sets it in the jobs of a cluster; its own commands read it too
THIS_MACHINE = "local"
ANSWER_SECONDS = 10.0
FOLDER_SECONDS = 60.0  # for a process on each node to start and look
HIGHEST_PORT = 65535
OPEN_NOTE = (
    "this Ray cluster has no token: whatever reaches its ports can run code on it; start it with RAY_AUTH_MODE=token "
    "(docs/deploy.md)"
)
_answered: dict[str, str] = {}  # by address

# Of the process that tries an address.
OPEN, GUARDED = "open", "guarded"  # a cluster without tokens, and one that accepts the token of this process
CONNECT_SECONDS = 5.0
_GCS = "--gcs-address="  # in the command of a node's processes
PRIVATE = "ray-"  # beginning of the name of a folder of `ray_session.private_ray`
_PRIVATE = re.compile(rf"[/\\]{PRIVATE}\w{{8}}[/\\]ray[/\\]session_")  # in the command of such a node's processes
NO_NODE = "this machine is no node of a Ray cluster that ray start began; give host:port of one"
MODE = "RAY_AUTH_MODE"
GIVE_TOKEN = (
    "give RAY_AUTH_MODE=token, and it in ~/.ray/auth_token, in the file that RAY_AUTH_TOKEN_PATH names, or in RAY_AUTH_TOKEN"
)


class ClusterError(UserError):
    """The cluster of `--address` cannot be joined."""


class FolderError(UserError):
    """Nodes of a cluster do not have the folder of an experiment, which trials on them write to."""


def is_ray_running() -> bool:
    """Whether this process has started Ray or joined a cluster, as a notebook may have. Does not import Ray."""
    ray = sys.modules.get("ray")
    return ray is not None and ray.is_initialized()


def cluster_address(given: str) -> str:
    """Address of the cluster to join, of `--address` or RAY_ADDRESS; empty for this machine, and where Ray runs here."""
    if given:
        return "" if given == THIS_MACHINE else given
    named = os.environ.get(ADDRESS, "")
    return "" if is_ray_running() or named == THIS_MACHINE or _is_dashboard(named) else named


def address_source(given: str) -> str:
    """What names the cluster to join, for messages."""
    return "--address" if given else ADDRESS


def check_address(given: str) -> list[str]:
    """Check that the cluster to join answers, and say what the user should know of it; see `check_cluster`."""
    notes = []
    address, named = cluster_address(given), os.environ.get(ADDRESS, "")
    if address and not given:
        notes.append(f"Ray cluster: {address}, named by {ADDRESS}; --address {THIS_MACHINE} uses this machine alone")
    elif not given and _is_dashboard(named) and not is_ray_running():
        notes.append(f"{ADDRESS} names a dashboard, which takes jobs (ray job submit); this run uses this machine alone")
    cluster = check_cluster(address, address_source(given))
    return [*notes, cluster] if cluster else notes


def _is_dashboard(named: str) -> bool:
    return named.startswith(("http://", "https://"))


def check_cluster(address: str, source: str = "--address") -> str:
    """Check that a Ray cluster answers and lets this process join; one that did is not tried again.

    No `address` stands for this machine alone; `source` names it in messages. Returns what the user should know, or an
    empty text. Raises a ClusterError if none answers within `ANSWER_SECONDS`, or it does not accept this process's token.
    """
    if not address:
        return ""
    if not _is_address(address):
        raise ClusterError(
            f"{source} {address!r}: it takes auto, or host:port, as in 10.0.0.1:6379, on a machine of the cluster; --address "
            "local uses this machine alone"
        )
    answer = _answered.get(address) or _try(address)
    if answer not in (OPEN, GUARDED):
        raise ClusterError(f"{source} {address!r}: {answer}")
    _answered[address] = answer
    return OPEN_NOTE if answer == OPEN else ""


def _is_address(address: str) -> bool:
    host, _, port = address.rpartition(":")
    is_port = port.isascii() and port.isdecimal() and len(port) <= len(str(HIGHEST_PORT)) and 0 < int(port) <= HIGHEST_PORT
    return address == "auto" or (is_port and bool(host.strip()) and "/" not in host)


def _try(address: str) -> str:
    """What kind of cluster answers at an address (`OPEN`, `GUARDED`), or why none does."""
    done = subprocess.run(
        [sys.executable, "-m", "tuning.runtime.cluster", address, str(ANSWER_SECONDS)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False,
    )  # fmt: skip
    return "Ray ended at the attempt to reach it" if done.returncode else done.stdout.strip()


def check_folder(folder: Path) -> None:
    """Raise a FolderError if a node of the running Ray on which trials may run lacks a folder.

    Nodes that do not answer within `FOLDER_SECONDS`, as all of their cores and memory may be taken, are not judged.
    """
    import ray

    here = ray.get_runtime_context().get_node_id()
    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU") and node["NodeID"] != here]
    asked = {_ask(node["NodeID"], str(folder)): node.get("NodeManagerAddress", "") for node in nodes}
    answers, _ = ray.wait(list(asked), num_returns=len(asked), timeout=FOLDER_SECONDS) if asked else ([], [])
    lacking = []
    for answer in answers:
        try:
            if not ray.get(answer):
                lacking.append(asked[answer])
        except ray.exceptions.RayError:
            continue  # the node is gone
    if lacking:
        raise FolderError(
            f"--dir {str(folder.parent)!r}: {len(lacking)} of {len(nodes)} other nodes of the cluster do not have this folder "
            f"({min(lacking)}); give a storage that all reach, as in --dir s3://bucket/experiments, or --address local"
        )


def _ask(node: str, folder: str) -> Any:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    @ray.remote(num_cpus=0, max_retries=0)
    def has(folder: str) -> bool:
        return Path(folder).is_dir()

    on_node = NodeAffinitySchedulingStrategy(node, soft=False)
    return has.options(scheduling_strategy=on_node).remote(folder)


def only_joined() -> None:
    """Let `auto` be a cluster that `ray start` made this machine a node of; Ray also takes what a search runs for itself."""
    from ray._private import services

    @cache  # Ray clears it
    def addresses() -> frozenset[str]:
        commands = (process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"]))
        texts = [" ".join(words) for words in commands if any(word.startswith(_GCS) for word in words)]
        arguments = (text.partition(_GCS)[2].split() for text in texts if not _PRIVATE.search(text))
        return frozenset(words[0] for words in arguments if words)

    cast(Any, services).find_gcs_addresses = addresses


def main() -> None:
    """Try the address that is the first argument, and print the answer."""
    from ray import _raylet
    from ray._private.authentication import authentication_token_setup as authentication
    from ray._private.services import canonicalize_bootstrap_address
    from ray.exceptions import AuthenticationError, RayError

    only_joined()
    try:
        head = canonicalize_bootstrap_address(sys.argv[1])
    except (ConnectionError, ValueError) as error:
        print(_line(error) if isinstance(error, ValueError) else NO_NODE)
        return
    try:
        # Quicker than Ray, which tries again and again.
        host, _, port = (head or "").rpartition(":")
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
        # First without a token: a cluster that needs none is not sent one.
        given = os.environ.get(MODE)
        _set_mode("disabled")
        try:
            cast(Any, _raylet).GcsClient(address=head)
            print(OPEN)
            return
        except AuthenticationError:
            pass
        finally:
            _set_mode(given)
        # As in `ray.init`.
        if sys.argv[1] == "auto":
            authentication.maybe_enable_token_auth_if_token_available(warn_if_disabled=False)
        authentication.ensure_token_if_auth_enabled(create_token_if_missing=False)
        cast(Any, _raylet).GcsClient(address=head)
        print(GUARDED)
    except AuthenticationError:
        # One text, whatever is missing, so that the token is never printed.
        print(f"the cluster at {head} needs a token that it accepts: {GIVE_TOKEN}")
    except OSError as error:
        print(f"nothing answers at {head}: {error.strerror or error}")
    except RayError as error:
        print(f"no Ray cluster answers at {head}: {_line(error)}")


def _set_mode(mode: str | None) -> None:
    """Set how Ray authenticates in this process, also what it has read of it when it was imported."""
    from ray import _raylet

    set_variables({MODE: mode})
    cast(Any, _raylet).Config.initialize("")


def set_variables(values: Mapping[str, str | None]) -> None:
    """Set environment variables, or remove them (None)."""
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _give_up() -> None:
    print(f"no Ray cluster answers there within {float(sys.argv[2]):g} s", flush=True)
    os._exit(0)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


if __name__ == "__main__":
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    import ray  # noqa: F401 - which may take longer than an answer

    limit = threading.Timer(float(sys.argv[2]), _give_up)
    limit.daemon = True
    limit.start()
    main()
