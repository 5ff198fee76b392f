"""Sites and environments by the names of the command line, what is prepared of them, and a cache for each job."""

import os
import shutil
from pathlib import Path

from benchmarks.real_searches.records import RealSearchError
from common.errors import ScenarioError
from envs.scenarios.scenario import Scenario, scenario

SCHEMA = "schema.json"
ENVIRONMENT = "env:"  # before what `--env` takes


def environment_of(scenario_name: str) -> str:
    """What `--env` takes; empty for a site."""
    return scenario_name.removeprefix(ENVIRONMENT) if scenario_name.startswith(ENVIRONMENT) else ""


def scenario_name(site: str, data: Path | None) -> str:
    """What the tuner calls a site: the path of its schema, or the name of a generated one.

    Args:
        site: a folder of `data`, a path of a schema, or a generated site.
        data: folder of data sets.

    Raises:
        RealSearchError: if there is no such site.
    """
    if environment_of(site):
        return site
    if data and (path := data / site / SCHEMA).is_file():
        return str(path.resolve())
    try:
        found = scenario(site)
    except ScenarioError as error:
        where = f"no folder of {data}" if data else "no --data names the folder of data sets"
        raise RealSearchError(f"--sites {site}: {where}, and it is no generated site ({error})") from error
    return str(found.schema) if found.schema else site


def check_site(site: str, found: Scenario) -> None:
    """Check that all methods can run on a site.

    Raises:
        RealSearchError: if the batch backend does not step it, which all methods train on.
    """
    from envs.environments.backend import beyond_batch

    if lacking := beyond_batch(found):
        raise RealSearchError(
            f"--sites {site}: the batch backend does not support {', '.join(lacking)}, and all methods train on it; "
            "leave this site out"
        )


def link_cache(base: Path, own: Path) -> None:
    """Give a job a cache of its own with all that a site's cache has. Files are shared; they are replaced, never changed.

    What a search prepares for itself is so prepared, and paid for, by each search.

    Args:
        base: the site's cache.
        own: folder that does not exist yet.
    """
    shutil.copytree(base, own, copy_function=_linked)


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        # A file system without hard links, or with a limit of them.
        shutil.copy2(source, target)
