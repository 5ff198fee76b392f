"""Experiments that a command reads and does not change: in a folder, or at a URI, of which what is read is copied first."""

from __future__ import annotations

from pathlib import Path

from common.uris import is_uri, uri_of, with_uris
from results.places import TABLES, local_folder
from tuning.experiment.folder import Experiment, open_experiment
from tuning.experiment.given_site import FOLDER, with_found_site

READ = ("experiment.json", "space.toml", "learned.json", *TABLES[1:])


def open_to_read(given: str | Path) -> Experiment:
    """Open an experiment whose settings and results are read.

    Args:
        given: its folder or URI. Checkpoints of one at a URI are fetched by `with_checkpoints`, its journal by
            `tuning.storage.journal_mirror`.

    Raises:
        UsageError: if there is no experiment, or a damaged one.
        StorageError: if the URI is none, or storage cannot be read.
        LinkError: if there is a link in the folder.
        OtherFormatError: if another version of this package wrote it.
    """
    if not is_uri(given):
        return open_experiment(given)
    experiment = open_experiment(local_folder(given, READ))
    return with_found_site(experiment, given, lambda: local_folder(given, [FOLDER]))


def place_of(experiment: Experiment) -> str:
    """What an experiment is called by, here and on other machines: its URI, or its folder."""
    return with_uris(str(experiment.paths.folder))


def with_checkpoints(experiment: Experiment, number: int) -> Experiment:
    """An experiment with the checkpoints of a trial: those at a URI are fetched.

    Raises:
        StorageError: if storage cannot be read.
    """
    paths = experiment.paths
    if uri := uri_of(paths.folder):
        local_folder(uri, [f"{paths.checkpoints(number).relative_to(paths.folder).as_posix()}/"])
    return experiment
