"""A Ray cluster of the user: does it answer?"""

from __future__ import annotations

import subprocess
import sys
import threading

from common.errors import UserError
from tuning.runtime.cluster_probe import GUARDED, OPEN, READY

ANSWER_SECONDS = 10.0
HIGHEST_PORT = 65535
OPEN_NOTE = (
    "this Ray cluster has no token: whatever reaches its ports can run code on it; start it with RAY_AUTH_MODE=token "
    "(docs/deploy.md)"
)
_answered: dict[str, str] = {}  # by address


class ClusterError(UserError):
    """The cluster of `--address` cannot be joined."""


def check_cluster(address: str, source: str = "--address") -> str:
    """Check that a Ray cluster answers and lets this process join; one that did is not tried again.

    Args:
        address: of the cluster; empty for this machine alone.
        source: what names it, for messages.

    Returns:
        What the user should know of it; empty for nothing.

    Raises:
        ClusterError: if none answers within `ANSWER_SECONDS`, or it does not accept the token of this process.
    """
    if not address:
        return ""
    if not _is_address(address):
        raise ClusterError(
            f"{source} {address!r}: it takes auto, or host:port, as in 10.0.0.1:6379, on a machine of the cluster; --address "
            "local uses this machine alone"
        )
    answer = _answer(address)
    if answer not in (OPEN, GUARDED):
        raise ClusterError(f"{source} {address!r}: {answer}")
    return OPEN_NOTE if answer == OPEN else ""


def _is_address(address: str) -> bool:
    host, _, port = address.rpartition(":")
    is_port = port.isascii() and port.isdecimal() and len(port) <= len(str(HIGHEST_PORT)) and 0 < int(port) <= HIGHEST_PORT
    return address == "auto" or (is_port and bool(host.strip()) and "/" not in host)


def _answer(address: str) -> str:
    """What `_try` found; a cluster that answered is not tried again, whatever names it."""
    if address not in _answered:
        answer = _try(address)
        if answer not in (OPEN, GUARDED):
            return answer
        _answered[address] = answer
    return _answered[address]


def _try(address: str) -> str:
    """What kind of cluster answers at an address (`OPEN`, `GUARDED`), or why none does."""
    probe = subprocess.Popen(
        [sys.executable, "-m", "tuning.runtime.cluster_probe", address],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    is_late = threading.Event()

    def end() -> None:
        is_late.set()
        probe.kill()

    limit = threading.Timer(ANSWER_SECONDS, end)
    with probe:
        assert probe.stdout
        is_ready = probe.stdout.readline().strip() == READY
        limit.start()
        try:
            answer = probe.stdout.read().strip()
            probe.wait()
        finally:
            limit.cancel()
            probe.kill()
    if is_late.is_set():
        return f"no Ray cluster answers there within {ANSWER_SECONDS:g} s"
    if not is_ready or probe.returncode:
        return "Ray ended at the attempt to reach it"
    return answer
