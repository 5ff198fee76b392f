"""What steps a site is compiled once, by one process, before a site is known."""

import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from filelock import FileLock

from envs.batch_backend import compiling, kernel
from envs.batch_backend.simulator import BatchSimulator
from envs.batch_backend.tables import Tables, Year


def test_what_is_compiled_before_a_site_is_known_steps_each(small_tables: Tables) -> None:
    compiling.call_for_nothing()
    before = [list(one.signatures) for one in (kernel.begin, kernel.step)]
    simulator = BatchSimulator({0: Year(small_tables, small_tables.rows["template"])}, 2)
    simulator.begin(0, 0, 0, 24, seed=0)
    simulator.step(np.zeros((2, simulator.actions)))
    assert [list(one.signatures) for one in (kernel.begin, kernel.step)] == before


@pytest.fixture
def nothing_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Numba's folder, without what steps a site."""
    monkeypatch.setattr(kernel, "step", SimpleNamespace(stats=SimpleNamespace(cache_path=str(tmp_path))))
    return tmp_path


def test_one_process_compiles_while_others_wait(nothing_compiled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called = threading.Event()
    monkeypatch.setattr(compiling, "call_for_nothing", called.set)
    lock = FileLock(nothing_compiled / "compiling.lock")
    with lock:
        waiting = threading.Thread(target=compiling.ready.__wrapped__)
        waiting.start()
        assert not called.wait(0.3)
    waiting.join(10.0)
    assert called.is_set()


def test_what_is_compiled_is_neither_locked_nor_compiled_ahead(nothing_compiled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = list[Any]()
    monkeypatch.setattr(subprocess, "Popen", lambda words, **options: begun.append(words[1:]))
    monkeypatch.setattr(compiling, "__file__", str(nothing_compiled / "compiling.py"))
    compiling.ahead()
    assert begun == [["-m", "envs.batch_backend.compiling"]]
    (nothing_compiled / "__pycache__").mkdir()
    for folder in (nothing_compiled, nothing_compiled / "__pycache__"):
        (folder / "kernel.step-1290.py311.nbi").touch()
    compiling.ahead()
    with FileLock(nothing_compiled / "compiling.lock"):
        compiling.ready.__wrapped__()
    assert len(begun) == 1
