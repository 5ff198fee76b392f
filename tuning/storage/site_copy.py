"""A given site in the storage, for machines that have not its files: its schema and what that names in its folder."""

from __future__ import annotations

from pathlib import Path

from common.storage.objects import Objects
from common.storage.working_copy import WorkingCopy, working_folder
from envs.scenarios.schema_file import read_schema
from envs.scenarios.tariff import FILE_NAME
from envs.scenarios.trust import named_files, root_of
from tuning.experiment.folder import Experiment
from tuning.experiment.reading import FOLDER, is_given, with_found_site


def site_files(scenario: str) -> dict[str, Path]:
    """Files of a given site by their keys, the schema last; none of a generated one.

    Files that lie elsewhere are left out: a scenario that is trusted may name some, and each machine needs them under their
    paths.
    """
    schema = Path(scenario)
    if not is_given(scenario):
        return {}
    content = read_schema(schema)
    root, folder = root_of(schema, content), schema.parent.resolve()
    named = {root / file.relative for file in named_files(content) if file.opened}
    # Under the name of its folder, by which results name the site.
    above, files = f"{FOLDER}{folder.name}/", {}
    for path in sorted({schema.parent / FILE_NAME, *named}):
        if path.is_file() and path.resolve().is_relative_to(folder):
            files[above + path.resolve().relative_to(folder).as_posix()] = path
    files.pop(above + schema.name, None)
    return {**files, above + schema.name: schema}


def with_site(experiment: Experiment, objects: Objects) -> Experiment:
    """An experiment of a working copy with a site that this machine has; see `with_found_site`."""

    def copied() -> Path:
        folder = working_folder(objects.location, "site")
        WorkingCopy(folder, objects).pull([FOLDER])
        return folder

    return with_found_site(experiment, objects.location, copied)
