"""What a report is made from: folders of experiments and judgements, and files of rollouts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from common.uris import is_uri
from results.loader import Results, load
from results.places import EXPERIMENT, JUDGEMENT, TABLES, local_folder
from results.report.hours import Hours, read
from results.schema import FOLDER
from results.table_files import ResultsError

ROLLOUTS, ROLLOUT = "rollouts", ".parquet"  # in an experiment's folder; end of a rollout's file


@dataclass(frozen=True)
class Sources:
    """All that a report is about, in the order in which it was given."""

    experiments: tuple[Results, ...] = ()
    judgements: tuple[Results, ...] = ()
    policies: tuple[Hours, ...] = ()


def read_sources(places: Sequence[str | Path]) -> Sources:
    """Read all that a report is about.

    Raises:
        ResultsError: if nothing is given, or a place holds none of these.
        StorageError: if a URI cannot be read.
    """
    if not places:
        raise ResultsError("a report is of something: give the folder of an experiment, such as experiments/ppo-iquitos-1")
    experiments: list[Results] = []
    judgements: list[Results] = []
    policies: list[Hours] = []
    # A place that is given twice counts once, also by another path.
    once: dict[Path, Path] = {}
    for given in places:
        place = _local(given)
        once.setdefault(place.resolve(), place)
    for place in once.values():
        if place.is_file():
            policies.append(read(place))
        elif (place / JUDGEMENT).is_file():
            judgements.append(load(place))
        elif (place / EXPERIMENT).is_file() or (place / FOLDER).is_dir():
            experiments.append(load(place))
            policies += [read(path) for path in shown_rollouts(experiments[-1])]
        elif rollouts := rollouts_in(place):
            policies += [read(path) for path in rollouts]
        else:
            raise ResultsError(
                f"no results in {place}: give the folder of an experiment, such as experiments/ppo-iquitos-1, "
                "that of a judgement, or a file of python -m tuning.rollout"
            )
    return Sources(tuple(experiments), tuple(judgements), tuple(policies))


def _local(given: str | Path) -> Path:
    """Path of a place; of a URI that of its copy."""
    if is_uri(given) and str(given).endswith(ROLLOUT):
        above, _, name = str(given).rpartition("/")
        return local_folder(above, [name]) / name
    if is_uri(given) and str(given).rstrip("/").endswith(f"/{ROLLOUTS}"):
        return local_folder(given, [""])
    return local_folder(given, [*TABLES, f"{ROLLOUTS}/"])


def rollouts_in(folder: Path) -> tuple[Path, ...]:
    """Files of rollouts in a folder, by name.

    Raises:
        ResultsError: if it cannot be read.
    """
    try:
        return tuple(sorted(folder.glob("trial-*-year-*.parquet")))
    except OSError as error:
        raise ResultsError(f"{folder}: {error.strerror}; restore this folder, or make it readable") from error


def shown_rollouts(results: Results) -> tuple[Path, ...]:
    """The rollout of an experiment that its report shows: of the best trial, else the last by name; none without any."""
    every = rollouts_in(results.folder / ROLLOUTS)
    if results.scored.empty:
        return every[-1:]
    best = f"trial-{int(results.best['trial']):05d}-"
    return (tuple(path for path in every if path.name.startswith(best)) or every)[-1:]
