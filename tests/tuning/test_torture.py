"""A search ends with the same results although its processes are killed at random moments."""

import contextlib
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from results import load
from tests.tuning.killed_search import (
    DRIVER,
    RAYLET,
    WORKER,
    Torturer,
    check,
    command,
    compare,
    compare_trials,
    covered,
    known_checkpoints,
    say,
    torture,
    undisturbed,
)
from tuning.experiment.folder import ExperimentPaths, open_experiment
from tuning.search.record.study import read_trials
from tuning.search.record.trials import Key, state_of
from tuning.trial.checkpoint import Checkpoints

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="its raylet and workers are found by their POSIX names")


@dataclass
class InAFolder(Torturer):
    """Tortures a search in a local folder, with a Ray of its own.

    Attributes:
        folder: of the experiment.
        schema: of its scenario.
        concurrency: trials at once.
        steps: of a trial.
        confirm: part of the budget that trains the best again.
        frozen: rows that a checkpoint covers, by the file that they are in: they stay as they are.
    """

    folder: Path
    schema: Path
    concurrency: int
    steps: int
    confirm: float = 0.0
    frozen: dict[Path, list[str]] = field(default_factory=dict)

    @contextlib.contextmanager
    def started(self, budget: int) -> Iterator[subprocess.Popen[bytes]]:
        """See `Torturer`."""
        above, name = self.folder.parent, self.folder.name
        arguments = command(above, name, self.schema, budget, self.concurrency, self.steps, self.confirm)
        with self._log.open("a") as file, subprocess.Popen(arguments, stdout=file, stderr=file) as driver:
            yield driver

    def known(self) -> int:
        """Number of evaluations in the study's journal."""
        journal = ExperimentPaths(self.folder).study
        return journal.read_bytes().count(b'"intermediate_value"') if journal.is_file() else 0

    def told(self) -> str:
        """What all runs printed."""
        return self._log.read_text(encoding="utf-8")

    @property
    def _log(self) -> Path:
        return self.folder.parent / f"{self.folder.name}.log"

    def look(self) -> None:
        """See that nothing that a checkpoint covers was changed, and that no file is damaged."""
        if not (self.folder / "experiment.json").is_file():
            return
        paths = ExperimentPaths(self.folder)
        assert load(self.folder).skipped == ()
        trials = read_trials(open_experiment(self.folder))
        for number, steps in known_checkpoints(self.folder).items():
            newest, damage = Checkpoints(paths.checkpoints(number)).newest()
            assert damage == []
            # What was trained again to its end needs none any more.
            is_kept = Key.CONFIRMS not in trials[number].user_attrs or state_of(trials[number]) in ("running", "frozen")
            assert not is_kept or (newest.trial.steps if newest else 0) >= steps, number
            for table in ("reports", "evaluations"):
                if (path := paths.part(table, number)).exists():
                    covered(self.frozen, path, path, steps)


@pytest.mark.slow
def test_a_search_that_is_killed_a_few_times_is_the_same_search(small_schema: Path, tmp_path: Path) -> None:
    # Of a raylet's death Ray learns only after half a minute.
    torturer = InAFolder(random.Random(3), 5.0, (DRIVER, WORKER), tmp_path / "killed", small_schema, 1, 2048)
    budgets = torture(torturer, 2, 2048)
    check(tmp_path / "killed", budgets, 2048, confirms=False)
    undisturbed(tmp_path / "whole", small_schema, budgets, 2048, confirm=0.0)
    compare(tmp_path / "killed", tmp_path / "whole")


@pytest.mark.torture
@pytest.mark.parametrize(("concurrency", "seed"), [(1, 1), (2, 2)])
def test_a_search_that_is_killed_all_the_time(small_schema: Path, tmp_path: Path, concurrency: int, seed: int) -> None:
    drawn = random.Random(seed)
    victims = drawn.sample((DRIVER,) * 8 + (WORKER,) * 14 + (RAYLET,) * 3, k=25)
    steps, confirm = 2048, 0.34
    torturer = InAFolder(drawn, 5.0, tuple(victims), tmp_path / "killed", small_schema, concurrency, steps, confirm)
    say(f"seed {seed}, {concurrency} at once: {victims}")
    budgets = torture(torturer, 12, steps)
    say(f"{dict(torturer.kills)}, budgets of {budgets} steps")
    assert torturer.kills == {DRIVER: 8, WORKER: 14, RAYLET: 3}
    check(tmp_path / "killed", budgets, steps, confirms=True)
    assert load(tmp_path / "killed").confirmations["state"].eq("complete").all()
    assert len(load(tmp_path / "killed").confirmations) >= 4
    if concurrency == 1:
        undisturbed(tmp_path / "whole", small_schema, budgets, steps, confirm)
        compare(tmp_path / "killed", tmp_path / "whole")
    else:
        compare_trials(tmp_path / "killed", tmp_path / "alone")
    torturer.see_all_gone()
