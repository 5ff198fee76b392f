"""Run as a process of its own: does a Ray cluster answer at an address? Prints why not; nothing, if one does.

A process of its own, because Ray warns for minutes where nothing answers, and cannot be stopped.
"""

from __future__ import annotations

import logging
import socket
import sys
from typing import Any, cast

READY = "ready"  # printed first, when Ray is imported
CONNECT_SECONDS = 5.0


def main() -> None:
    """Try the address that is the first argument."""
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    from ray import _raylet
    from ray._private.authentication import authentication_token_setup as authentication
    from ray._private.services import canonicalize_bootstrap_address
    from ray.exceptions import RayError

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
        # As in `ray.init`.
        if sys.argv[1] == "auto":
            authentication.maybe_enable_token_auth_if_token_available(warn_if_disabled=False)
        authentication.ensure_token_if_auth_enabled(create_token_if_missing=False)
        cast(Any, _raylet).GcsClient(address=found)
    except OSError as error:
        print(f"nothing answers at {found}: {error.strerror or error}")
    except RayError as error:
        print(f"no Ray cluster answers at {found}: {_line(error)}")


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


if __name__ == "__main__":
    main()
