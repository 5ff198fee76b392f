"""A judgement's folder: what is judged, by which settings, and where it all lies."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from common.files import write_whole
from results.writer import judged_path
from tuning.experiment.errors import UsageError
from tuning.experiment.folder import NAME, ExperimentPaths
from tuning.judging.contenders import Contender


@dataclass(frozen=True)
class JudgementPaths:
    """Paths of all files of a judgement.

    Attributes:
        folder: of it, absolute.
    """

    folder: Path

    @property
    def question(self) -> Path:
        """What is judged and how, as JSON."""
        return self.folder / "judgement.json"

    @property
    def runs(self) -> Path:
        """Experiments of the contenders, a trial for each seed."""
        return self.folder / "runs"

    def run(self, contender: Contender) -> Path:
        """A contender's experiment."""
        return self.runs / contender.slug

    def part(self, name: str, backend: str) -> Path:
        """Part file of the evaluations; see `results.writer.judged_path`."""
        return judged_path(self.folder, name, backend)

    @property
    def table(self) -> Path:
        """The table, as Parquet."""
        return self.folder / "judgement.parquet"

    @property
    def report(self) -> Path:
        """The table and the verdict, in Markdown."""
        return self.folder / "judgement.md"

    @property
    def locked(self) -> ExperimentPaths:
        """Names of the lock's files, which are those of an experiment."""
        return ExperimentPaths(self.folder)


@dataclass(frozen=True)
class Asked:
    """What decides the numbers of a judgement beside its contenders.

    Attributes:
        scenario: key of the scenario, which changes with its data.
        seeds: runs of each contender that stays in the race.
        seed: of the judgement.
    """

    scenario: str
    seeds: int
    seed: int


@dataclass(frozen=True)
class Judgement:
    """A judgement that exists.

    Attributes:
        question: settings that decide its numbers.
        contenders: what is judged.
        paths: of its files.
    """

    question: Asked
    contenders: list[Contender]
    paths: JudgementPaths


def create_or_open(folder: Path, question: Asked, contenders: list[Contender]) -> tuple[Judgement, bool]:
    """A new judgement, or the one that is there, if it asks the same.

    Args:
        folder: of it.
        question: settings that decide its numbers.
        contenders: what is judged.

    Returns:
        The judgement, and whether it was there.

    Raises:
        UsageError: if another one is there, or one whose file is damaged, or it is no name for a folder.
    """
    paths = JudgementPaths(folder.expanduser().resolve())
    if not NAME.fullmatch(paths.folder.name):
        raise UsageError(f"--name {paths.folder.name}: letters, digits, dots, dashes and underscores make a name")
    content = {"question": asdict(question), "contenders": [asdict(contender) for contender in contenders]}
    if paths.question.is_file():
        asked, found = recorded(paths)
        before = {"question": asked, "contenders": [asdict(contender) for contender in found]}
        # By way of JSON, as what was read came that way.
        differ = [name for name, value in json.loads(json.dumps(content)).items() if before[name] != value]
        if differ:
            raise UsageError(f"{paths.folder} judges something else (other {' and '.join(differ)}): choose another --name")
        return Judgement(question, contenders, paths), True
    if paths.folder.exists():
        raise UsageError(f"{paths.folder} is there already and holds no judgement: choose another --name")
    try:
        paths.runs.mkdir(parents=True)
    except OSError as error:
        raise UsageError(f"cannot create {paths.folder}: {error.strerror}; choose another --dir") from error
    write_whole(paths.question, lambda file: file.write(json.dumps(content, indent=1).encode()))
    return Judgement(question, contenders, paths), False


def recorded(paths: JudgementPaths) -> tuple[dict[str, Any], list[Contender]]:
    """Settings and contenders of a judgement that is there, as `create_or_open` wrote them.

    Raises:
        UsageError: if their file is damaged.
    """
    try:
        content = json.loads(paths.question.read_text(encoding="utf-8"))
        question, found = content["question"], [Contender(**entry) for entry in content["contenders"]]
        if not all(isinstance(text, str) for text in (question["scenario"], *(contender.name for contender in found))):
            raise TypeError("a name in it is no text")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{paths.question} is damaged ({error}): restore it from a copy, or judge anew under another --name"
        ) from error
    return question, found


def free_name(parent: Path, scenario: str) -> str:
    """The first free name for a judgement of a scenario, fit for a folder.

    Args:
        parent: folder of the judgements.
        scenario: its title, which may hold what no name may.
    """
    base = re.sub(r"[^A-Za-z0-9._-]+", "-", scenario).lstrip("._-") or "site"
    number = 1
    while (parent / f"{base}-{number}").exists():
        number += 1
    return f"{base}-{number}"
