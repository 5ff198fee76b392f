"""To use the experiment of another person runs no code of theirs, in no command.

The folder holds what an attacker could plant: pickles that call a command, where earlier versions and Ray Tune have pickles,
and Python files with names that are imported elsewhere. Python's audit hooks say what each command did with them.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.audit import Audited, audited
from tests.tuning.release import unpack
from tuning.upgrade import main as upgrade


class Planted:
    """Calls a command when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (f"echo planted > {self.file}",)


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a site, an experiment and a judgement, and what was planted among them."""
    folder = tmp_path_factory.mktemp("stranger")
    unpack("0.1.0", folder)
    assert upgrade([str(folder)]) == 0
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


def test_loading_runs_no_code_of_the_folder(stranger: Path) -> None:
    experiment = stranger / "experiments" / "ppo"
    done = checked(stranger, "-c", f"from results import load; print(len(load({str(experiment)!r}).reports))")
    assert int(done.out) > 0


def test_a_checkpoint_of_version_1_runs_no_code_even_where_it_is_upgraded(stranger: Path, tmp_path: Path) -> None:
    unpack("0.1.0", tmp_path)
    for path in tmp_path.rglob("state.pickle"):
        path.write_bytes(pickle.dumps(Planted(tmp_path / "ran")))
    done = checked(tmp_path, "-m", "tuning.upgrade", tmp_path)
    assert "is damaged and stays unused" in done.out
    assert not list(tmp_path.rglob("state.json"))


COMMANDS: dict[str, Callable[[Path, Path], list[object]]] = {
    "resume": lambda folder, to: ["tuning.run", "--resume", folder / "experiments" / "ppo"],
    "extend": lambda folder, to: ["tuning.run", "--resume", folder / "experiments" / "sac", "--extend", "--steps", 768],
    "rollout": lambda folder, to: ["tuning.rollout", folder / "experiments" / "ppo", "--trial", 0, "--to", to / "out"],
    "export": lambda folder, to: ["tuning.export", folder / "experiments" / "sac", "--to", to / "exported"],
    "judge": lambda folder, to: [
        "tuning.judge", folder / "experiments" / "ppo", "--top", 1, "--seeds", 2, "--judged-by", "batch", "--mpc", "none",
        "--dir", to,
    ],
    "judge again": lambda folder, to: [
        "tuning.judge", folder / "experiments" / "ppo", "--top", 1, "--seeds", 2, "--judged-by", "batch",
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
