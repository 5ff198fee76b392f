"""A judgement's folder: its files, its settings and its contenders, each an assignment that is trained again."""

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from common.errors import UsageError
from common.json_values import checked, described, read_json, write_json
from common.paths import missing_folders, refuse_links, user_path
from envs.scenarios.splits import Splits
from results.places import JUDGED, JUDGEMENT
from results.table_files import judged_path
from search_spaces import Assignment
from tuning.experiment.folder import ExperimentPaths, check_format, check_name, discard
from tuning.experiment.settings import typed

FORMAT = 1  # version of `judgement.json`
_SETTINGS = "question"  # key of the settings in the file
# Settings of a search that change a training, or which of its evaluations counts, beside the hyperparameters.
OF_TRAINING = (
    "algo", "scenario", "env", "env_config", "backend", "num_envs", "reward", "steps", "evaluations", "keep",
    "validation_weeks", "episodes", "require", "seed", *Splits.__dataclass_fields__, "weights", "teacher", "objective",
    "minimize",
)  # fmt: skip


@dataclass(frozen=True)
class Contender:
    """An assignment that is trained again."""

    name: str  # for people and in the column `contender`
    experiment: str  # folder or URI of the experiment that it comes from, with whose steps and scenario it is trained
    hyperparameters: Assignment
    evaluations: int = 0  # of its trial, that it was chosen after; 0 for all of a whole trial
    keep: Literal["", "best", "last"] = ""  # which evaluation of a run counts; empty for that of the experiment

    @property
    def slug(self) -> str:
        """The name, fit for a folder."""
        return re.sub(r"[^A-Za-z0-9.-]+", "-", self.name)


@dataclass(frozen=True)
class JudgementPaths:
    """Paths of all files of a judgement."""

    folder: Path

    @property
    def settings(self) -> Path:
        """Settings and contenders, as JSON."""
        return self.folder / JUDGEMENT

    @property
    def runs(self) -> Path:
        """Experiments of the contenders, a trial for each seed."""
        return self.folder / "runs"

    def run(self, contender: Contender) -> Path:
        """A contender's experiment."""
        return self.runs / contender.slug

    def part(self, name: str, backend: str) -> Path:
        """File of evaluations; see `results.table_files.judged_path`."""
        return judged_path(self.folder, name, backend)

    @property
    def table(self) -> Path:
        """The table, as Parquet."""
        return self.folder / JUDGED

    @property
    def report(self) -> Path:
        """The table and the verdict, in Markdown."""
        return self.folder / "judgement.md"

    @property
    def locked(self) -> ExperimentPaths:
        """Paths of the lock, which has the same names as in an experiment."""
        return ExperimentPaths(self.folder)


@dataclass(frozen=True)
class RaceSettings:
    """Settings that decide the numbers of a judgement, beside its contenders."""

    scenario: str  # key of the scenario, which changes with its data
    seeds: int  # runs of each finalist
    seed: int
    objective: str = ""  # that is judged by, of two; empty for that of the experiments


@dataclass(frozen=True)
class Judgement:
    """A judgement that exists."""

    settings: RaceSettings
    contenders: list[Contender]
    paths: JudgementPaths


def create_or_open(folder: Path, settings: RaceSettings, contenders: list[Contender]) -> tuple[Judgement, bool]:
    """Create a judgement, or open the existing one, and say which; it has to have the same settings and contenders.

    Raises a UsageError if the folder holds something else or a damaged judgement, a LinkError if there is a link in it.
    """
    paths = JudgementPaths(user_path(folder).resolve())
    check_name(paths.folder.name)
    refuse_links(paths.folder)
    judgement = Judgement(settings, contenders, paths)
    if paths.settings.exists():
        before = read_judgement(paths)
        old, new = asdict(before.settings), asdict(settings)
        differ = [f"{name} was {typed(old[name])}, now {typed(new[name])}" for name in old if old[name] != new[name]]
        if differ := differ or (["other contenders"] if before.contenders != contenders else []):
            raise UsageError(f"{paths.folder} judges something else ({'; '.join(differ)}): choose another --name")
        return judgement, True
    if paths.folder.exists():
        raise UsageError(f"{paths.folder} is there already and holds no judgement: choose another --name")
    created = missing_folders(paths.folder)
    content = {"format": FORMAT, _SETTINGS: asdict(settings), "contenders": [asdict(contender) for contender in contenders]}
    try:
        paths.runs.mkdir(parents=True)
        write_json(paths.settings, content)
    except OSError as error:
        discard(paths.folder, created)
        raise UsageError(f"cannot create {paths.folder}: {error.strerror}; choose another --dir") from error
    return judgement, False


def read_judgement(paths: JudgementPaths) -> Judgement:
    """The judgement that `create_or_open` wrote. Raises a UsageError if the file is damaged."""
    try:
        content = checked(read_json(paths.settings), dict[str, Any], "its content")
        check_format(paths.settings, content, FORMAT)
        settings = described(RaceSettings, content.get(_SETTINGS), _SETTINGS)
        contenders: list[Contender] = checked(content.get("contenders"), list[Contender], "contenders")
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{paths.settings} is damaged ({error}): restore it from a copy, or judge anew under another --name"
        ) from error
    return Judgement(settings, contenders, paths)
