"""Settings of exports and rollouts; the command lines are generated from them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import tyro


@dataclass(frozen=True)
class PolicySettings:
    """A trial's policy, and the site that it acts on."""

    experiment: Annotated[str | Path, tyro.conf.Positional, tyro.conf.arg(metavar="EXPERIMENT")]
    """Folder or URI of the experiment, or folder of a contender in a judgement (judgements/NAME/runs/CONTENDER)."""
    trial: str = "best"
    """Number of the trial, or best."""
    keep: Literal["best", "last"] = "best"
    """Policy of the trial: that of the evaluation that it is rated by, or that of its newest checkpoint."""
    scenario: str = ""
    """Another site that a policy with shared_policy=true is to act on: a name or a schema.json; by default the one it was
    trained on."""
    trust_scenario: bool = False
    """See python -m tuning.run."""


@dataclass(frozen=True)
class ExportSettings(PolicySettings):
    """Write a trial's policy as files that control its site or environment without Ray, torch or this package."""

    to: Path = field(kw_only=True)
    """Folder for the files; it must not exist."""
    judgement: Path | None = None
    """Folder of a judgement in which the trial took part, for the model card; by default the one that
    contains the experiment."""
    split: Literal["train", "validation", "test"] = "train"
    """Split with the buildings that the policy is to act for, where the experiment's splits have buildings of their own."""


@dataclass(frozen=True)
class RolloutSettings(PolicySettings):
    """Run a trial's policy through a year; write its hours as Parquet and a picture of a week."""

    year: int | None = None
    """Scenario year; by default the first of the test split."""
    backend: Literal["auto", "citylearn", "batch"] = "auto"
    """What steps the site: the batch backend, which has CityLearn's numbers, or CityLearn itself, hundreds of times slower. By
    default the batch backend where it supports all that the scenario uses."""
    week: int | None = None
    """Week of the picture, from 0; by default 34, or the last of a shorter year."""
    to: Path | None = None
    """Folder for the files; by default rollouts in the experiment's folder. Of a URI, it is rollouts/NAME in this folder, with
    the experiment's name."""
