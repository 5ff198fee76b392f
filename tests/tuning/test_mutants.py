"""Damaged folders: whatever happened to a file of an experiment or a judgement, it is named, gone around or refused.

Small folders are made by the code that makes the real ones, without Ray and without training. Each mutant is one of their files
that was dropped, cut, flipped, emptied, swapped or replaced. The rule for everything that opens the folder:

- it works, and has the same numbers as before;
- or it names what it skips or misses, in a warning;
- or it refuses with a `UserError` of one line.

Any other exception, a number that changed without a word, or a file that a refusal changed, is a fault.
"""

import json
import random
import shutil
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from common.errors import UserError
from envs.objective.aim import Outcome
from envs.objective.columns import evaluation_columns
from envs.scenarios.scenario import scenario
from results import load
from results.judgement import per_run
from results.table_files import write_file
from search_spaces import Assignment
from tests.tuning.made_up import evaluated
from tests.tuning.roomy import roomy
from tuning.experiment.folder import open_experiment
from tuning.experiment.lock import experiment_lock
from tuning.experiment.settings import Settings
from tuning.exporting.model_card import given_judgement
from tuning.judging.contenders import contenders, experiment_of
from tuning.judging.folder import RaceSettings, create_or_open
from tuning.judging.race import Race
from tuning.judging.report import check_amounts, check_scores, conclude
from tuning.judging.settings import JudgeSettings
from tuning.search.record.record import check_study
from tuning.search.run.driver import Parts
from tuning.search.run.opening import check, open_checked
from tuning.storage.search_files import SearchFiles
from tuning.trial.policy import trial_number
from tuning.trial.protocol import Report
from tuning.trial.records import TrialRecords

EVERY_DAY, SLOW = 20, 400  # mutants of all folders together
STEPS = 1000
JUDGE = JudgeSettings((), seed=1)
RUNNING = 2  # number of the trial that has not ended
# Checkpoints have a format and a test of their own. Ray Tune's files and locks are read by nothing.
NOT_OURS = ("trials", "tune", "experiment.lock", "site", "exported", "expected")


# Folders


def searched(folder: Path, name: str, seed: int) -> Path:
    """An experiment with a complete trial, a pruned one and one that runs, and an own search space."""
    space = folder / f"{name}.toml"
    space.write_text("[gamma]\nlow = 0.9\nhigh = 0.99\n", encoding="utf-8")
    settings = Settings(
        scenario="iquitos-38", steps=STEPS, trials=6, evaluations=2, seed=seed, space=str(space), name=name, dir=str(folder),
        set=(("n_epochs=1", "plan=none"),),
    )  # fmt: skip
    opened = open_checked(check(settings))
    of, plan = opened.experiment, opened.plan
    parts = Parts.of(of, plan, roomy(of), Console(quiet=True), SearchFiles())
    record, draws = parts.record, parts.choosing.draws
    for number, state in enumerate(("complete", "pruned", "running")):
        record.begin(record.study.add(draws.draw()), {})
        last = 0.0
        for evaluation in (1, 2)[: 1 if state in ("pruned", "running") else 2]:
            due = evaluation * STEPS // 2
            last = 0.01 * seed + 0.001 * number + due * 1e-5
            record.take(number, report(number, evaluation, due, last))
        if state == "complete":
            record.complete(number, Outcome(last))
        elif state == "pruned":
            record.prune(number, Outcome(last))
    return of.paths.folder


def report(number: int, evaluation: int, due: int, score: float) -> Report:
    """What a trial tells of an evaluation, with all columns."""
    told = evaluated(number, evaluation, due, score)
    of_year = {"hours": 168, "split": "validation", "backend": "batch"}
    return replace(told, evaluations=[{**dict.fromkeys(evaluation_columns(), 1.5), **told.evaluations[0], **of_year}])


def judged(folder: Path, experiment: Path) -> Path:
    """A judgement of an experiment, with the experiments of its contenders, their evaluations, the table and the report."""
    of = open_experiment(experiment)
    own = contenders([of], 1)
    made, _ = create_or_open(folder / "judged", RaceSettings(scenario("iquitos-38").key, 2, 1), own)
    for place, contender in enumerate(own):
        experiment_of(contender, made.paths, JUDGE)
        for number in range(2):
            evaluate(made.paths.part(f"{contender.slug}-{number:03d}", "batch"), contender.name, 0.05 + 0.01 * place, number)
    for name, score in (("uncontrolled", 0.0), ("rules", 0.02)):
        evaluate(made.paths.part("baselines" if name == "rules" else "more", "batch"), name, score)
    console = Console(quiet=True)
    conclude(Race(made, of.settings.task, JUDGE, console), console)
    return made.paths.folder


def evaluate(part: Path, name: str, score: float, number: int | None = None) -> None:
    kpis = dict.fromkeys(evaluation_columns(), 2.0)
    kpis |= {"ev_required_kwh": 10.0, "ev_missing_kwh": 1.0, "discomfort": 0.1, "uncontrolled_discomfort": 0.1}
    rows = [{**kpis, "contender": name, "year": year, "hours": 100, "score": score, "backend": "batch"} for year in (3, 6)]
    if number is not None:
        rows = [{**row, "trial": number, "seed": 7 + number, "algorithm": "ppo", "steps": STEPS} for row in rows]
    write_file(part, rows, measures=evaluation_columns())


@dataclass(frozen=True)
class Folders:
    """What mutants are made of.

    Attributes:
        whole: folder with everything; it is copied, and never changed.
        experiment: path of the experiment in it.
        judgement: of the judgement in it.
        other: of another experiment with the same files.
    """

    whole: Path
    experiment: Path
    judgement: Path
    other: Path


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    whole = tmp_path_factory.mktemp("whole")
    experiment, other = searched(whole, "one", 0), searched(whole, "other", 1)
    return Folders(whole, experiment.relative_to(whole), judged(whole, experiment).relative_to(whole), other.relative_to(whole))


# Mutations


def dropped(path: Path, dice: random.Random, other: Path) -> None:
    path.unlink()


def emptied(path: Path, dice: random.Random, other: Path) -> None:
    path.write_bytes(b"")


def cut(path: Path, dice: random.Random, other: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: dice.randrange(len(content))])


def cut_at_a_line(path: Path, dice: random.Random, other: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: dice.randrange(len(lines))]))


def flipped(path: Path, dice: random.Random, other: Path) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(dice.choice((1, 1, 1, 8))):
        content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
    path.write_bytes(content)


def garbled(path: Path, dice: random.Random, other: Path) -> None:
    path.write_bytes(dice.randbytes(dice.choice((1, 100, 5000))))


def made_a_folder(path: Path, dice: random.Random, other: Path) -> None:
    content = path.read_bytes()
    path.unlink()
    path.mkdir()
    if dice.random() < 0.5:
        (path / path.name).write_bytes(content)


def of_another(path: Path, dice: random.Random, other: Path) -> None:
    shutil.copyfile(other, path)


def with_another_value(path: Path, dice: random.Random, other: Path) -> None:
    """A value of a JSON file, or of a line of the journal, becomes another one."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.suffix == ".journal" else [path.read_text(encoding="utf-8")]
    index = dice.randrange(len(lines))
    with suppress(ValueError):
        content = json.loads(lines[index])
        place, key = dice.choice(list(places(content)))
        value = dice.choice((None, True, -1, 0, 10**30, 1.5, float("nan"), "", "text", "../x", [], [[1]], {}, {"a": 1}, DROP))
        if value is DROP:
            del place[key]
        else:
            place[key] = value
        lines[index] = json.dumps(content)
    path.write_text("\n".join(lines) + "\n" * (path.suffix == ".journal"), encoding="utf-8")


def nested(path: Path, dice: random.Random, other: Path) -> None:
    path.write_bytes(dice.choice((b"[", b'{"a":', b"a = [")) * 50_000)


def in_another_order(path: Path, dice: random.Random, other: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    dice.shuffle(lines)
    path.write_bytes(b"".join(lines))


DROP = object()
ANY = (dropped, emptied, cut, flipped, flipped, garbled, made_a_folder, of_another)
TEXT = (*ANY, with_another_value, with_another_value, with_another_value, nested, in_another_order, cut_at_a_line)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """All places in a JSON value, each as its container and key."""
    for key in value if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list) and value[key]:
            yield from places(value[key])


# What opens a folder


def resumed(folders: Folders, root: Path) -> Any:
    """What a search continues with; the study and the next proposal decide all that follows."""
    folder = root / folders.experiment
    before = open_experiment(folder)
    with experiment_lock(before.paths):
        given = replace(before.settings, space="", set=(), resume=str(folder))
        opened = open_checked(check(given))
        of, plan = opened.experiment, opened.plan
        check_study(of)
        parts = Parts.of(of, plan, roomy(of), Console(quiet=True), SearchFiles())
        trials = parts.record.study.trials()
        told = [(t.state, t.values, t.params, t.intermediate_values, t.user_attrs) for t in trials]
        return [of.settings, told, parts.choosing.draws.draw().user_attrs]


def loaded(folders: Folders, root: Path) -> Any:
    results = load(root / folders.experiment)
    frames = [results.trials, results.reports, results.evaluations]
    return [[frame.to_csv(index=False, columns=sorted(frame)) for frame in frames], int(results.best["trial"])]


def judged_anew(folders: Folders, root: Path) -> Any:
    found: list[tuple[str, Assignment]] = []
    for contender in contenders([open_experiment(root / folders.experiment)], 2):
        found.append((contender.name, contender.hyperparameters))
    return found


def reported(folders: Folders, root: Path) -> Any:
    results = load(root / folders.judgement)
    evaluations = results.evaluations
    check_scores(evaluations)
    check_amounts(evaluations)
    return per_run(evaluations, results.measures).to_csv()


def rolled_out(folders: Folders, root: Path) -> Any:
    """Which trial a rollout and an export take, and with what; the policy is its checkpoint's."""
    of = open_experiment(root / folders.experiment)
    number = trial_number(load(of.paths.folder), "best")
    return number, TrialRecords(of).assignment(number), of.settings.reward, of.settings.stepped_by


def matched(folders: Folders, root: Path) -> Any:
    """The judgement's row of a trial, for its model card."""
    of = open_experiment(root / folders.experiment)
    table, name = given_judgement(of, trial_number(load(of.paths.folder), "best"), root / folders.judgement)
    return table.to_csv(), name


Reader = Callable[[Folders, Path], Any]
OF_EXPERIMENT: tuple[Reader, ...] = (loaded, judged_anew, rolled_out, matched, resumed)
OF_JUDGEMENT: tuple[Reader, ...] = (reported, matched)


def outcome(read: Reader, folders: Folders, root: Path) -> tuple[str, Any]:
    """`worked` with what was read, `named` with warnings, or `refused`; any other exception goes through."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = read(folders, root)
        except UserError as error:
            return ("refused" if is_line(str(error)) else "told in several lines"), str(error)
    said = [str(warning.message) for warning in caught if warning.category is UserWarning]
    return ("named", said) if said else ("worked", found)


def is_line(text: str) -> bool:
    return "\n" not in text and len(text) < 1000


def mutants(folders: Folders, count: int, seed: int, root: Path) -> Counter[str]:
    """Make mutants one after the other, and open each in every way.

    Returns:
        How often each outcome came.
    """
    dice, counted = random.Random(seed), Counter[str]()
    own = folders.experiment, folders.judgement
    files = sorted(
        path.relative_to(folders.whole) for folder in own for path in (folders.whole / folder).rglob("*")
        if path.is_file() and not set(path.relative_to(folders.whole / folder).parts) & set(NOT_OURS)
    )  # fmt: skip
    shutil.copytree(folders.whole, root, dirs_exist_ok=True)
    expected = {read: repr(outcome(read, folders, root)) for read in {*OF_JUDGEMENT, *OF_EXPERIMENT}}
    assert all(text.startswith("('worked'") for text in expected.values()), expected
    for _ in range(count):
        restored(folders, root)
        path = dice.choice(files)
        mutate = dice.choice(TEXT if path.suffix in (".json", ".toml", ".journal") else ANY)
        source = of_the_same_kind(folders, path, dice)
        mutate(root / path, dice, source)
        if (root / path).is_file() and (root / path).read_bytes() == (folders.whole / path).read_bytes():
            continue
        content = {file: file.read_bytes() for file in (root / folders.experiment).rglob("*") if file.is_file()}
        for read in OF_EXPERIMENT if path.is_relative_to(folders.experiment) else OF_JUDGEMENT:
            label = f"{mutate.__name__} {path} read by {read.__name__} (seed {seed})"
            try:
                kind, found = outcome(read, folders, root)
            except Exception as error:
                raise AssertionError(f"{label}: {error!r}") from error
            counted[kind] += 1
            assert kind in ("worked", "named", "refused"), f"{label}: {kind}: {found}"
            if kind == "worked" and checks_numbers(folders, path, mutate):
                assert repr((kind, found)) == expected[read], f"{label}: other numbers without a word"
            if kind == "refused" and read is resumed:
                now = {file: file.read_bytes() for file in content if file.is_file()}
                assert now == content, f"{label}: the refusal changed a file"
    return counted


def checks_numbers(folders: Folders, path: Path, mutate: Callable[..., None]) -> bool:
    """Whether a change of numbers must be noticed here.

    A whole, valid file of another experiment has no mark of its own. That a judgement lacks its last run is noticed when the
    judge continues it, not when it is loaded. A trial that runs may lack what a kill took. The journal has no checksums.
    """
    may_lack = path.is_relative_to(folders.judgement) or path.stem == f"{RUNNING:05d}"
    return mutate is not of_another and path.suffix != ".journal" and not (mutate is dropped and may_lack)


def of_the_same_kind(folders: Folders, path: Path, dice: random.Random) -> Path:
    """The file of the other experiment with this name, or else another one of the same folder."""
    with suppress(ValueError):
        twin = folders.whole / folders.other / path.relative_to(folders.experiment)
        if twin.is_file():
            return twin
    beside = sorted(other for other in (folders.whole / path).parent.iterdir() if other.is_file())
    return dice.choice(beside)


def restored(folders: Folders, root: Path) -> None:
    """Make the copy whole again; only what a mutant or a reader changed is written."""
    for part in (folders.experiment, folders.judgement):
        for path in sorted((root / part).rglob("*"), reverse=True):
            if path.is_dir() and not (folders.whole / path.relative_to(root)).is_dir():
                shutil.rmtree(path)
            elif path.is_file() and not (folders.whole / path.relative_to(root)).is_file():
                path.unlink()
        for path in (folders.whole / part).rglob("*"):
            copy = root / path.relative_to(folders.whole)
            if path.is_file() and not (copy.is_file() and copy.read_bytes() == path.read_bytes()):
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)


@pytest.mark.parametrize(
    ("seed", "count"), [(1, EVERY_DAY), *(pytest.param(seed, SLOW, marks=pytest.mark.slow) for seed in range(2, 12))]
)
def test_a_damaged_folder_is_named_gone_around_or_refused(whole: Folders, seed: int, count: int, tmp_path: Path) -> None:
    counted = mutants(whole, count, seed, tmp_path / "copy")
    print(seed, dict(counted))
    assert min(counted["refused"], counted["named"]) > 0, counted
