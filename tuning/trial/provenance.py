"""Host, versions and commit with which a process runs."""

import json
import platform
import socket
import subprocess
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("ray", "torch", "citylearn", "optuna", "gymnasium", "numpy", "building-tuner")


@cache
def provenance() -> Mapping[str, str]:
    """Columns of `trials` with the host, versions and commit of this process."""
    return {
        "host": socket.gethostname(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "versions": json.dumps({name: installed_version(name) for name in PACKAGES}),
        "git_commit": _git_commit(),
    }


def version_differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Versions and commits that differ between two processes, in words."""
    old, new = (json.loads(columns.get("versions", "{}")) | {"python": columns.get("python")} for columns in (before, now))
    differences = [
        f"{name} {old[name]} is {new[name]} now" for name in sorted(old.keys() & new.keys()) if old[name] != new[name]
    ]
    if before.get("git_commit", "") != now.get("git_commit", ""):
        commits = [columns.get("git_commit", "")[:8] or "none" for columns in (before, now)]
        differences.append(f"commit {commits[0]} is {commits[1]} now")
    return differences


def installed_version(package: str) -> str | None:
    """Version of a package; None if it is not installed, as this one when it runs from its folder."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _git_commit() -> str:
    """Commit of this package's working tree; empty without git, or where it is installed in the folder of another project."""
    root = Path(__file__).resolve().parents[2]
    try:
        done = subprocess.run(
            ["git", "rev-parse", "--show-toplevel", "HEAD"], cwd=root, capture_output=True, text=True, check=False, timeout=10
        )
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return ""
    top, _, commit = done.stdout.strip().partition("\n")
    return commit if done.returncode == 0 and Path(top).resolve() == root else ""
