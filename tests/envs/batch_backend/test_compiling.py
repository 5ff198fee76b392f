"""What steps a site is compiled once, by one process, before a site is known."""

import os
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from filelock import FileLock
from numba import typeof

from envs.batch_backend import compiling, kernel
from envs.batch_backend.simulator import BatchSimulator
from envs.batch_backend.tables import Tables, Year


def test_what_is_compiled_before_a_site_is_known_steps_each(small_tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    called: dict[str, list[Any]] = {"begin": [], "step": []}

    def recording(name: str) -> Any:
        compiled = getattr(kernel, name)

        def call(*given: Any) -> None:
            called[name].append(tuple(map(typeof, given)))
            compiled(*given)

        return call

    for name in called:
        monkeypatch.setattr(kernel, name, recording(name))
    compiling.call_for_nothing()
    simulator = BatchSimulator({0: Year(small_tables, small_tables.rows["template"])}, 2)
    simulator.begin(0, 0, 0, 24, seed=0)
    simulator.step(np.zeros((2, simulator.actions)))
    for before, then in called.values():
        assert before == then


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
    code = nothing_compiled / "batch_backend"
    monkeypatch.setattr(subprocess, "Popen", lambda words, **options: begun.append(words[1:]))
    monkeypatch.setattr(compiling, "__file__", str(code / "compiling.py"))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(kernel, "step", SimpleNamespace(stats=SimpleNamespace(cache_path=str(code / "__pycache__"))))
    (code / "__pycache__").mkdir(parents=True)
    (code / "kernel.py").touch()
    index = code / "__pycache__" / compiling._KEPT.replace("*", "1")
    index.touch()
    os.utime(index, (1.0, 1.0))  # of an older version
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("NUMBA_CACHE_DIR", str(code))
        compiling.ahead()
        assert begun == []
    compiling.ahead()
    assert begun == [["-m", "envs.batch_backend.compiling"]]
    monkeypatch.setattr(compiling, "call_for_nothing", lambda: None)  # as where Numba has kept it
    compiling.ready.__wrapped__()
    compiling.ahead()
    with FileLock(code / "__pycache__" / "compiling.lock"):
        compiling.ready.__wrapped__()
    assert len(begun) == 1
