"""Checkpoints that were changed by chance or on purpose: each is used as it was, gone around, or refused in words.

Some mutants keep their old checksums: these must never be used. Others get checksums that fit, as from a person who means it.
These may be used, since they are checkpoints, but never end in anything else than a refusal.
"""

import json
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.tuning.test_mutants import cut, dropped, emptied, flipped, made_a_folder, places
from tests.tuning.trial.small_trials import experiment, hyperparameters
from tests.tuning.trial.test_checkpoint_files import sign
from tuning.algorithms.registry import algorithm
from tuning.algorithms.rllib_trainer import RLlibTrainer
from tuning.algorithms.trainer import Trainer
from tuning.trial.checkpoint import Checkpoint, Checkpoints
from tuning.trial.checkpoint_files import FormatError, TrialState, fingerprint
from tuning.trial.packed_state import read_arrays, unpack
from tuning.trial.policy import trial_setup

DAILY, ALL = 60, 3000  # mutants of each trainer
VALUES = (
    None, True, False, 0, 1, -1, 2**31, 2**63, 10**30, 0.5, -1.0, 1e300, "", "text", "nan", [], [1], {}, {"dict": []},
    {"tuple": []}, {"tuple": [1, 2]}, {"array": ["float32", 0, [1]]}, {"array": ["int64", 0, [10**12]]}, {"float": "nan"},
    {"float": "inf"}, {"scalar": ["float64", 1.0]}, {"scalar": ["int64", -1]}, {"dict": [["a", 1]]}, {"dict": [[1, []]]},
)  # fmt: skip


@pytest.fixture(scope="module", params=["a2c", "sac"])
def trained(
    small_ray: None, request: pytest.FixtureRequest, small_schema: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Trainer, Path]]:
    """A trainer on a site, and the folder of its checkpoints."""
    folder = tmp_path_factory.mktemp(request.param)
    settings = experiment(folder / "experiment", small_schema, request.param).settings
    trainer = algorithm(request.param).build(trial_setup(settings, 0, hyperparameters(request.param)))
    checkpoints = Checkpoints(folder / "trial")
    for steps in (1, 2):
        for _ in range(3):
            trainer.update()
        checkpoints.save(trainer, TrialState(steps=steps))
    yield trainer, folder / "trial"
    trainer.stop()


def change_value(content: dict[str, Any], draw: random.Random) -> None:
    """Put another value at a place of what a checkpoint says, or remove what is there."""
    owner, key = draw.choice(list(places(content)))
    if draw.random() < 0.2:
        del owner[key]
    else:
        owner[key] = draw.choice(VALUES)


def lengthened(path: Path, draw: random.Random, other: Path) -> None:
    path.write_bytes(path.read_bytes() + draw.randbytes(9))


def damage(path: Path, draw: random.Random) -> None:
    draw.choice((flipped, cut, lengthened, emptied, dropped, made_a_folder))(path, draw, path)


def signed(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Give a checkpoint checksums that fit what it holds."""

    def fitted(content: dict[str, Any]) -> None:
        for name in content["files"]:
            file = (folder if name == "arrays.npz" else folder.parent) / name
            if file.is_file():
                content["files"][name] = fingerprint(file)
        change(content)

    sign(folder, fitted)


def used(folder: Path) -> Checkpoint | None:
    """The checkpoint that a trial would go on from."""
    newest, told = Checkpoints(folder).newest()
    assert all("\n" not in line for line in told)
    return newest


def run(trained: tuple[Trainer, Path], tmp_path: Path, seed: int, count: int) -> Counter[str]:
    """Mutants, and what became of them."""
    trainer, original = trained
    draw, found = random.Random(seed), Counter[str]()
    whole, _ = Checkpoints(original).newest()
    assert whole
    clean = unpack(whole.trainer, read_arrays(whole.folder / "arrays.npz"))
    rows = [(first, read_arrays(path)) for first, path in whole.rows]
    before = {step: json.loads((original / f"{step:012d}" / "state.json").read_text()) for step in (1, 2)}
    for number in range(count):
        folder = tmp_path / str(number)
        shutil.copytree(original, folder)
        last = max(folder.glob("[0-9]*"))
        if number % 2:
            file = draw.choice([last / "state.json", last / "arrays.npz", *folder.glob("replay/*")])
            damage(file, draw)
            newest = used(folder)
            # The one before is used as it was. Rows that only the first needs may be damaged, or those that both need.
            became = str(newest.trial.steps) if newest else "none"
            assert became == "1" or file.parent.name == "replay", (number, file, became)
            if newest:
                assert newest.trainer == before[newest.trial.steps]["content"]["trainer"]
        else:
            if number % 4:
                signed(last, lambda content: change_value(content, draw))
            else:
                damage(last / "arrays.npz", draw)
                signed(last, lambda content: None)
            newest, became = used(folder), "around"
            if newest and newest.folder == last:
                became = "taken"
                try:
                    newest.restore(trainer)
                except FormatError:
                    became = "refused"
                trainer.set_state(clean, rows)
        found[became] += 1
        shutil.rmtree(folder)
    return found


@pytest.mark.parametrize(("seed", "count"), [(0, DAILY), pytest.param(1, ALL, marks=pytest.mark.slow)])
def test_mutants(trained: tuple[Trainer, Path], tmp_path: Path, seed: int, count: int) -> None:
    with np.errstate(all="ignore"):
        found = run(trained, tmp_path, seed, count)
    print(dict(found))
    assert sum(found.values()) == count
    assert {"1", "refused", "taken"} <= found.keys()


def test_a_checkpoint_of_other_networks_is_refused(
    trained: tuple[RLlibTrainer, Path], small_schema: Path, tmp_path: Path
) -> None:
    trainer, folder = trained
    settings = experiment(tmp_path / "other", small_schema, trainer.name).settings
    other = algorithm(trainer.name).build(trial_setup(settings, 0, hyperparameters(trainer.name, hidden_sizes="16")))
    try:
        newest, _ = Checkpoints(folder).newest()
        assert newest
        with pytest.raises(FormatError, match="is not one of this trial: "):
            newest.restore(other)
    finally:
        other.stop()
