"""Experiments that a command reads and does not change: in a folder, or at a URI, of which what is read is copied first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from common.files import write_whole
from common.uris import is_uri, uri_of, with_uris
from results.places import TABLES, local_folder
from tuning.experiment.errors import UsageError
from tuning.experiment.folder import Experiment, ExperimentPaths, open_experiment

READ = ("experiment.json", "space.toml", "learned.json", *TABLES[1:])
SITE = "site"  # folder in storage with the files of a given site
PIECES = "study"  # folder in storage with the journal in pieces: 00000000.journal is the first


def open_to_read(given: str | Path) -> Experiment:
    """Open an experiment whose settings and results are read.

    Args:
        given: its folder or URI. Checkpoints and journal of one at a URI are fetched by `with_checkpoints` and `with_journal`.

    Raises:
        UsageError: if there is no experiment, or a damaged one.
        StorageError: if the URI is none, or storage cannot be read.
        LinkError: if there is a link in the folder.
        NewerFormatError: if a later version of this package wrote it.
    """
    if not is_uri(given):
        return open_experiment(given)
    experiment = open_experiment(local_folder(given, READ))
    schema = experiment.settings.scenario
    if not schema.endswith(".json") or Path(schema).is_file():
        return experiment
    # Begun elsewhere, with a site that is in storage too; its path is one of that machine, whatever its system.
    folder = local_folder(given, [f"{SITE}/"])
    found = sorted((folder / SITE).glob(f"*/{schema.replace(chr(92), '/').rpartition('/')[2]}"))
    if not found:
        raise UsageError(f"{given} has no copy of its site {schema}: put it under that path on this machine")
    return replace(experiment, settings=replace(experiment.settings, scenario=str(found[0])))


def place_of(experiment: Experiment) -> str:
    """What an experiment is called by, here and on other machines: its URI, or its folder."""
    return with_uris(str(experiment.paths.folder))


def with_checkpoints(experiment: Experiment, number: int) -> Experiment:
    """An experiment with the checkpoints of a trial: those at a URI are fetched.

    Args:
        experiment: of `open_to_read`.
        number: of the trial.

    Raises:
        StorageError: if storage cannot be read.
    """
    paths = experiment.paths
    if uri := uri_of(paths.folder):
        local_folder(uri, [f"{paths.checkpoints(number).relative_to(paths.folder).as_posix()}/"])
    return experiment


def with_journal(experiment: Experiment) -> Experiment:
    """An experiment with its study's journal: one at a URI is fetched, where it may be in pieces.

    Args:
        experiment: of `open_to_read`.

    Raises:
        StorageError: if storage cannot be read.
    """
    paths = experiment.paths
    if uri := uri_of(paths.folder):
        seal = paths.study.with_suffix(".seal").name
        # The seal first: a journal that grows meanwhile may be longer than it says, and not shorter.
        local_folder(uri, [seal])
        local_folder(uri, [paths.study.name, f"{PIECES}/"])
        _join(paths)
    return experiment


def _join(paths: ExperimentPaths) -> None:
    """Write the journal from its pieces, as far as none is missing."""
    pieces: list[Path] = []
    while (piece := paths.folder / PIECES / f"{len(pieces):08d}.journal").is_file():
        pieces.append(piece)
    if pieces:
        write_whole(paths.study, lambda file: [file.write(piece.read_bytes()) for piece in pieces])
