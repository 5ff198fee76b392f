"""To use the experiment of another person runs no code of theirs, in no command.

The folder holds what an attacker could plant: pickles that call a command, in checkpoints and where Ray Tune has pickles, and
Python files with names that are imported elsewhere. Python's audit hooks say what each command did with them.
"""

import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.audit import Audited, audited
from tuning.judge import main as judge
from tuning.run import main as run


class Planted:
    """Calls a command when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (f"echo planted > {self.file}",)


@pytest.fixture(scope="module")
def stranger(small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a site, two experiments and a judgement, and what was planted among them."""
    folder = tmp_path_factory.mktemp("stranger")
    schema = shutil.copytree(small_schema.parent, folder / "site") / small_schema.name
    for algo, given in (("ppo", ["n_steps=128", "batch_size=64"]), ("sac", ["batch_size=64", "learning_starts=100"])):
        searched = ["--algo", algo, "--name", algo, "--dir", folder / "experiments", "--scenario", schema, "--trials", 1]
        sizes = ["--steps", 512, "--num-envs", 4, "--validation-weeks", 1, "--set", "hidden_sizes=16", *given]
        assert run([str(argument) for argument in (*searched, *sizes)]) == 0
    judged = ["--top", 1, "--seeds", 2, "--backend", "batch", "--mpc", "none", "--dir", folder / "judgements"]
    assert judge([str(argument) for argument in (folder / "experiments" / "ppo", *judged, "--name", "judged")]) == 0
    bomb = pickle.dumps(Planted(folder / "ran"))
    experiment = folder / "experiments" / "ppo"
    for checkpoint in folder.rglob("trials/*/[0-9]*"):
        (checkpoint / "state.pickle").write_bytes(bomb)
    for name in ("tuner.pkl", "trainable.pkl", "searcher-state-2026.pkl", "search_gen_state-2026.json"):
        (experiment / "tune").mkdir(exist_ok=True)
        (experiment / "tune" / name).write_bytes(bomb)
    for place in (folder, experiment, experiment / "results", folder / "site"):
        for module in ("sitecustomize", "conftest", "citylearn", "tuning", "algorithms"):
            (place / f"{module}.py").write_text(f"open({str(folder / 'ran')!r}, 'w')\n", encoding="utf-8")
    return folder


def checked(folder: Path, *arguments: object) -> Audited:
    """A command under the hook, which did nothing that is forbidden."""
    done = audited([str(argument) for argument in arguments], folder, environment={"COLUMNS": "200"})
    assert done.events == [], done.err
    assert not (folder / "ran").exists()
    return done


@pytest.mark.slow
def test_loading_runs_no_code_of_the_folder(stranger: Path) -> None:
    experiment = stranger / "experiments" / "ppo"
    done = checked(stranger, "-c", f"from results import load; print(len(load({str(experiment)!r}).reports))")
    assert int(done.out) > 0


COMMANDS: dict[str, Callable[[Path, Path], list[object]]] = {
    "resume": lambda folder, to: ["tuning.run", "--resume", folder / "experiments" / "ppo", "--trials", 2],
    "extend": lambda folder, to: ["tuning.run", "--resume", folder / "experiments" / "sac", "--extend", "--steps", 768],
    "rollout": lambda folder, to: ["tuning.rollout", folder / "experiments" / "ppo", "--trial", 0, "--to", to / "out"],
    "export": lambda folder, to: ["tuning.export", folder / "experiments" / "sac", "--to", to / "exported"],
    "judge": lambda folder, to: [
        "tuning.judge", folder / "experiments" / "ppo", "--top", 1, "--seeds", 2, "--backend", "batch", "--mpc", "none",
        "--dir", to,
    ],
    "judge again": lambda folder, to: [
        "tuning.judge", folder / "experiments" / "ppo", "--top", 1, "--seeds", 2, "--backend", "batch",
        "--mpc", "none", "--dir", folder / "judgements", "--name", "judged",
    ],
    "headroom": lambda folder, to: ["tuning.headroom", "--scenario", folder / "site" / "schema.json", "--mpc", "none"],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_runs_code_of_the_folder(stranger: Path, tmp_path: Path, name: str) -> None:
    arguments: Any = COMMANDS[name](stranger, tmp_path)
    done = checked(stranger, "-m", *arguments)
    assert done.status == 0, (done.out, done.err)
