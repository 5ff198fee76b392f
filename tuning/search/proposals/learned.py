"""What an experiment learned from others: a file of their trials and ranks in its own folder.

It is written once, when the experiment is created. So nothing later depends on the other folders.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from common.errors import UsageError
from common.files import read_text
from common.json_values import checked, described, parsed
from search_spaces import SpaceError
from search_spaces.parameter import Assignment, Value
from search_spaces.space import SearchSpace
from tuning.experiment.folder import LEARNED, Experiment, check_format

FORMAT = 1


@dataclass(frozen=True)
class LearnedTrial:
    """A trial of another experiment.

    Attributes:
        trial: its number there.
        rank: among the trials of that experiment that are used, from 1 for the best; equal ones share a rank.
        hyperparameters: full assignment, by the names of the version that wrote the file.
    """

    trial: int
    rank: float
    hyperparameters: dict[str, Value]


@dataclass(frozen=True)
class LearnedExperiment:
    """Another experiment that is learned from.

    Attributes:
        folder: where it was: a path or a URI.
        summary: how many of its trials are used, and why the others are not.
        trials: those that are used.
    """

    folder: str
    summary: str
    trials: tuple[LearnedTrial, ...]


def text_of(experiments: tuple[LearnedExperiment, ...]) -> str:
    """Content of the file."""
    return json.dumps({"format": FORMAT, "experiments": [asdict(each) for each in experiments]}, indent=1)


def digest(text: str) -> str:
    """Checksum of the content, which the experiment's own file has."""
    return hashlib.sha256(text.encode()).hexdigest()


def read_learned(experiment: Experiment, space: SearchSpace) -> tuple[LearnedExperiment, ...]:
    """What an experiment learned from others.

    Args:
        experiment: that learned.
        space: of its algorithm.

    Returns:
        Nothing where it learned from none.

    Raises:
        UsageError: if its file is missing, or is not as it was written.
        OtherFormatError: if another version of this package wrote it.
    """
    if not experiment.settings.learn_from:
        return ()
    path = experiment.paths.learned
    try:
        text = read_text(path)
        if digest(text) != experiment.compatibility.get(LEARNED):
            raise ValueError("its content has changed since it was written")
        return _read(path, text, space)
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}): restore it from a copy") from error
    except (ValueError, SpaceError) as error:
        raise UsageError(f"{path} is damaged ({error}): restore it from a copy") from error


def _read(path: Path, text: str, space: SearchSpace) -> tuple[LearnedExperiment, ...]:
    content = checked(parsed(text), dict[str, Any], "its content")
    check_format(path, content, FORMAT)
    found = []
    for place, each in enumerate(checked(content.get("experiments"), list[dict[str, Any]], "experiments")):
        trials = checked(each.get("trials"), list[dict[str, Any]], f"experiments[{place}].trials")
        own = tuple(described(LearnedTrial, trial, f"experiments[{place}].trials[{row}]") for row, trial in enumerate(trials))
        for trial in own:
            space.check(trial.hyperparameters)
        found.append(described(LearnedExperiment, {**each, "trials": []}, f"experiments[{place}]"))
        found[-1] = LearnedExperiment(found[-1].folder, found[-1].summary, own)
    return tuple(found)


def assignments(experiment: LearnedExperiment) -> list[Assignment]:
    """Assignments of the trials."""
    return [dict(trial.hyperparameters) for trial in experiment.trials]
