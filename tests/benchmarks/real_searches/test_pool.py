"""Jobs run in processes of their own, and none outlives the pool."""

import itertools
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchmarks.real_searches import pool

WORKS = "import json; (folder / 'done.json').write_text(json.dumps({'at': os.environ['BUILDING_TUNER_CACHE']}))"
FAULTY = "(folder / 'error.txt').write_text('--budget: too little'); sys.exit(2)"
CRASHES = "sys.exit(3)"
# It waits for a process that it started.
STUCK = (
    "import subprocess; child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
    "(folder / 'child').write_text(str(child.pid)); child.wait()"
)
NUMBERS = itertools.count()


@pytest.fixture(autouse=True)
def _scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job's task is the script that it runs."""
    begin = "import json, os, sys; from pathlib import Path; folder = Path(sys.argv[1]);"
    run = begin + "exec(json.loads((folder / 'task.json').read_text())['script'])"
    monkeypatch.setattr(pool, "command", lambda folder: [sys.executable, "-S", "-c", run, str(folder)])
    monkeypatch.setattr(pool, "LOOK_SECONDS", 0.02)


def job(folder: Path, script: str, found: list[dict[str, Any]], most: float = 60.0, links: bool = False) -> pool.Job:
    (folder / "cache").mkdir(exist_ok=True)
    own = folder / f"job-{next(NUMBERS)}"
    return pool.Job(own.name, own, {"script": script}, folder / "cache", links, most, found.append)


def test_a_job_that_fails_leaves_the_others_running(tmp_path: Path) -> None:
    found: list[dict[str, Any]] = []
    jobs = []
    for script in (FAULTY, CRASHES, WORKS):
        jobs.append(job(tmp_path, script, found))
        jobs[-1].folder.mkdir()
        (jobs[-1].folder / "done.json").write_text("{}")  # of one that was killed: it begins anew
    failed = pool.run(jobs, pool.slots(1, 1), lambda line: None)
    assert failed[0] == f"{jobs[0].title}: --budget: too little"
    assert failed[1].startswith(f"{jobs[1].title}: its process ended with 3; see ")
    assert len(failed) == 2
    ((row),) = found
    assert row["at"] == str(tmp_path / "cache")
    assert row["seconds"] > 0


def test_a_search_has_a_cache_of_its_own_which_goes_with_it(tmp_path: Path) -> None:
    found: list[dict[str, Any]] = []
    own = job(tmp_path, WORKS, found, links=True)
    assert pool.run([own], pool.slots(1, 1), lambda line: None) == []
    assert found[0]["at"] == str(own.folder / "cache")
    assert not (own.folder / "cache").exists()


def test_a_job_that_is_stuck_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    own = job(tmp_path, STUCK, [], most=1.0)
    (line,) = pool.run([own], pool.slots(1, 1), lambda line: None)
    assert "not done after 1 s" in line
    child = int((own.folder / "child").read_text())
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE
