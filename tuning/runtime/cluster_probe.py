"""Run as a process of its own: does a Ray cluster answer at an address? Prints what does, or why nothing does.

A process of its own, because Ray warns for minutes where nothing answers, and cannot be stopped.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
from typing import Any, cast

READY = "ready"  # printed first, when Ray is imported
OPEN, GUARDED = "open", "guarded"  # a cluster without tokens, and one that accepts the token of this process
CONNECT_SECONDS = 5.0
MODE = "RAY_AUTH_MODE"
GIVE_TOKEN = "give its token in the file that RAY_AUTH_TOKEN_PATH names, or in RAY_AUTH_TOKEN, beside RAY_AUTH_MODE=token"


def main() -> None:
    """Try the address that is the first argument."""
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    from ray import _raylet
    from ray._private.authentication import authentication_token_setup as authentication
    from ray._private.services import canonicalize_bootstrap_address
    from ray.exceptions import AuthenticationError, RayError

    print(READY, flush=True)
    try:
        found = canonicalize_bootstrap_address(sys.argv[1])
    except (ConnectionError, ValueError) as error:
        print("no Ray cluster runs on this machine" if isinstance(error, ConnectionError) else _line(error))
        return
    try:
        # Quicker than Ray, which tries again and again.
        host, _, port = (found or "").rpartition(":")
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
        # First without a token: a cluster that needs none is not sent one.
        given = os.environ.get(MODE)
        _set_mode("disabled")
        try:
            cast(Any, _raylet).GcsClient(address=found)
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
        cast(Any, _raylet).GcsClient(address=found)
        print(GUARDED)
    except AuthenticationError:
        print(_why_refused(str(found)))
    except OSError as error:
        print(f"nothing answers at {found}: {error.strerror or error}")
    except RayError as error:
        print(f"no Ray cluster answers at {found}: {_line(error)}")


def _set_mode(mode: str | None) -> None:
    """Set how Ray authenticates in this process, also what it has read of it when it was imported."""
    from ray import _raylet

    if mode is None:
        os.environ.pop(MODE, None)
    else:
        os.environ[MODE] = mode
    cast(Any, _raylet).Config.initialize("")


def _why_refused(found: str) -> str:
    """Why a cluster that needs a token does not let this process join; never says the token."""
    from ray import _raylet
    from ray.exceptions import AuthenticationError

    loader = cast(Any, _raylet).AuthenticationTokenLoader.instance()
    path = os.environ.get("RAY_AUTH_TOKEN_PATH", "")
    given = "RAY_AUTH_TOKEN" if os.environ.get("RAY_AUTH_TOKEN") else path or "~/.ray/auth_token"
    try:
        has_token = bool(loader.has_token(ignore_auth_mode=True))
    except AuthenticationError:
        return f"the cluster at {found} needs a token, and RAY_AUTH_TOKEN_PATH names {path!r}, which cannot be read or is empty"
    if not has_token:
        return f"the cluster at {found} needs a token: {GIVE_TOKEN}"
    if os.environ.get(MODE, "").lower() != "token":
        return f"the cluster at {found} needs a token: set RAY_AUTH_MODE=token, and Ray sends it the one in {given}"
    return f"the cluster at {found} does not accept the token in {given}: {GIVE_TOKEN}"


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


if __name__ == "__main__":
    main()
