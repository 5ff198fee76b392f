"""The journal of an experiment that is read and not changed; one at a URI is fetched into a folder of this reader alone."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from common.uris import stand_for, uri_of
from results.places import PATIENCE
from tuning.experiment.folder import Experiment, ExperimentPaths
from tuning.storage.journal_chunks import fetch_journal


@contextmanager
def with_journal(experiment: Experiment) -> Iterator[Experiment]:
    """An experiment with its study's journal, as long as it is entered.

    Other readers share the working copy of an experiment at a URI. So the journal, which is in pieces there, is put together
    elsewhere, beside the rows of trials that were fetched before it.

    Args:
        experiment: of `tuning.experiment.reading.open_to_read`.

    Raises:
        StorageError: if storage cannot be read.
    """
    uri = uri_of(experiment.paths.folder)
    if not uri:
        yield experiment
        return
    from common.storage.location import location
    from common.storage.objects import Objects

    objects = Objects(location(uri), PATIENCE)
    with TemporaryDirectory(prefix="journal-", dir=experiment.paths.folder.parent) as folder:
        stand_for(Path(folder), uri)
        paths = ExperimentPaths(Path(folder))
        rows, own = (of.part("trials", 0).parent for of in (experiment.paths, paths))
        if rows.is_dir():
            shutil.copytree(rows, own)
        fetch_journal(objects, paths.study)
        if not paths.study.exists():
            # A folder that was copied there by hand has it in one piece.
            with suppress(FileNotFoundError):
                objects.fetch(paths.study.name, paths.study)
        yield replace(experiment, paths=paths)
