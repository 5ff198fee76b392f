"""A given site in the storage, for machines that have not its files: its schema and what that names in its folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from envs.scenarios.schema_file import read_schema
from envs.scenarios.tariff import FILE_NAME
from envs.scenarios.trust import named_files, root_of
from tuning.experiment.folder import Experiment
from tuning.experiment.given_site import FOLDER, is_given, with_found_site

if TYPE_CHECKING:
    from common.storage.objects import Objects


def put_site(objects: Objects, scenario: str) -> None:
    """Put the files of a given site into the storage of an experiment; a generated one has none.

    Files that lie elsewhere are not copied: a scenario that is trusted may name some, and each machine needs them under their
    paths.

    Args:
        objects: of the experiment.
        scenario: as the settings have it.
    """
    if files := _files(scenario):
        *rest, schema = files.items()
        objects.put_all(rest)
        objects.put(*schema)


def site_keys(scenario: str) -> list[str]:
    """Keys of the objects that `put_site` writes."""
    return list(_files(scenario))


def _files(scenario: str) -> dict[str, Path]:
    """Files of a given site by their keys, the schema last; none of a generated one."""
    schema = Path(scenario)
    if not is_given(scenario):
        return {}
    content = read_schema(schema)
    root = root_of(schema, content)
    named = {root / file.relative for file in named_files(content) if file.opened}
    folder = schema.parent.resolve()
    files = sorted(path for path in {schema.parent / FILE_NAME, *named} if path.is_file() and _is_below(path, folder))
    # Under the name of its folder, by which results name the site.
    above = f"{FOLDER}{folder.name}/"
    found = {above + path.resolve().relative_to(folder).as_posix(): path for path in files}
    found.pop(above + schema.name, None)
    return {**found, above + schema.name: schema}


def with_site(experiment: Experiment, objects: Objects) -> Experiment:
    """An experiment with a site that this machine has; see `with_found_site`.

    Args:
        experiment: of a working copy.
        objects: of the experiment.

    Raises:
        UsageError: if it is neither here nor in the storage.
    """

    def copied() -> Path:
        from common.storage.working_copy import WorkingCopy, working_folder

        folder = working_folder(objects.location, "site")
        WorkingCopy(folder, objects).pull([FOLDER])
        return folder

    return with_found_site(experiment, objects.location, copied)


def _is_below(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder)
