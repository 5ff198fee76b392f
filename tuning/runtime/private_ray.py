"""A Ray that this process starts for itself: on the loopback address, with a token and a folder of its own."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from common.errors import UserError

# Addresses of sockets have at most 107 bytes. Ray's sockets take up to 83 of them below the folder for temporary files, as in
# ray-abcdefgh/ray/session_2026-01-31_23-59-59_123456_1234567/sockets/plasma_store.1.
LONGEST_TEMPORARY = 24
LOGS = Path("session_latest") / "logs"  # of Ray, in its folder


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
    folder = Path(tempfile.mkdtemp(prefix="ray-", dir=_temporary()))
    is_needed = False
    try:
        values = {"RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
        # The runtime environment of a cluster's job names packages that only the cluster has.
        with _environment({**values, "RAY_JOB_CONFIG_JSON_ENV_VAR": None}):
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
    _set(values)
    ray_constants.ENABLE_RAY_CLUSTER = False
    loader.reset_cache()
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = is_cluster
        _set(before)
        loader.reset_cache()


def _set(values: dict[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
