"""Places that readers are given: folders on this machine, and URIs of storage, of which what is read is copied first."""

import glob
import os
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from common.paths import fit_name, name_fault, user_path
from common.texts import printable
from common.uris import is_uri, stand_for
from results.schema import FOLDER
from results.table_files import ResultsError

ROLE: Final = "read"  # of the working copies
EXPERIMENT, JUDGEMENT = "experiment.json", "judgement.json"  # files that tell the kinds apart
JUDGED = "judgement.parquet"  # in a judgement's folder, once it has its verdict
ROLLOUTS, ROLLOUT = "rollouts", ".parquet"  # in an experiment's folder; end of a rollout's file
WEEK_OF_BEST = f"hardest-week{ROLLOUT}"  # among them, of the winner of a search
TABLES: Final = (EXPERIMENT, JUDGEMENT, JUDGED, f"{FOLDER}/")  # what `results.load` and analysis read
PATIENCE: Final = 30.0  # seconds of attempts, until storage counts as lost: a person waits
_ROWS: Final = f"{FOLDER}/trials/"
_MAGIC = re.compile(r"[*\[]")  # a question mark begins a query


def local_folder(given: str | Path, wanted: Sequence[str] = TABLES, role: str = ROLE) -> Path:
    """A folder with what a reader wants of a place. What storage cannot give raises a StorageError.

    Args:
        given: path of a folder, which is taken as it is, or URI.
        wanted: of a URI: names of files, and folders, which end with `/`. What is gone there is removed from the copy.
        role: of the copy; readers of one role share it.
    """
    if not is_uri(given):
        return user_path(given)
    from common.storage.location import location
    from common.storage.objects import Objects
    from common.storage.working_copy import WorkingCopy, working_folder

    place = location(str(given))
    # The last part is the experiment's name, by which it is called.
    name = fit_name(place.name) if name_fault(place.name) else place.name
    folder = working_folder(place, role) / name
    stand_for(folder, str(place))
    copy = WorkingCopy(folder, Objects(place, PATIENCE))
    if f"{FOLDER}/" in wanted:
        # Rows of trials first: each was put after the parts that it counts, so a run that goes on seems to have lost none.
        copy.pull([_ROWS])
        copy.pull(wanted, but=[_ROWS])
    else:
        copy.pull(wanted)
    if (folder / EXPERIMENT).is_file():
        # Storage knows no empty folders.
        (folder / FOLDER).mkdir(exist_ok=True)
    return folder


def is_pattern(given: str | Path) -> bool:
    """Whether a path, or a URI, names several places by `*` or `[...]`."""
    if is_uri(given):
        return _MAGIC.search(str(given)) is not None
    # Windows raises for a pattern where `Path` looks at it.
    return glob.has_magic(str(given)) and not os.path.isdir(os.path.expanduser(given))  # noqa: PTH111, PTH112


def matching(pattern: str) -> list[str]:
    """URIs of the experiments and judgements that a pattern such as `s3://bucket/ppo-*` names; a ResultsError without any."""
    from common.storage.location import location
    from common.storage.objects import Objects, at_once

    parts = pattern.rstrip("/").split("/")
    first = next(place for place, part in enumerate(parts) if _MAGIC.search(part))
    if first < 3:
        raise ResultsError(f"{printable(pattern)}: a pattern stands after the bucket, as in s3://bucket/experiments/ppo-*")
    place = location("/".join(parts[:first]))
    objects = Objects(place, PATIENCE)
    names = [""]
    for part in parts[first:]:
        names = [
            f"{above}/{name}".lstrip("/")
            for above in names
            for name in (objects.folders(f"{above}/" if above else "") if _MAGIC.search(part) else [part])
            if fnmatchcase(name, part)
        ]
    held = at_once(lambda name: any(objects.has(f"{name}/{file}") for file in (EXPERIMENT, JUDGEMENT)), names)
    uris = sorted(f"{place.uri}/{name}" for name, holds in zip(names, held, strict=True) if holds)
    if not uris:
        raise ResultsError(f"{printable(pattern)}: no experiment there has such a name")
    return uris
