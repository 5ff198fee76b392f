"""Processes of jobs: each with cores of its own, a time after which it counts as stuck, and no process that outlives it."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks.real_searches.job import DONE, ERROR, TASK
from benchmarks.real_searches.records import RealSearchError
from benchmarks.real_searches.sites import link_cache
from common.files import write_whole
from common.json_values import read_json
from common.paths import FOLDER_VARIABLE

LOG, CACHE = "log.txt", "cache"
ROOT = Path(__file__).parents[2]
LOOK_SECONDS = 0.2
END_SECONDS = 20.0  # that processes get to end when they are told to


@dataclass(frozen=True)
class Job:
    """What a process does.

    Attributes:
        title: for people.
        folder: of the job; what is there from a job that was killed is removed.
        task: see `benchmarks.real_searches.job`.
        cache: folder that the job uses as its cache.
        links: whether it gets a copy of that cache for itself instead.
        most_seconds: after which it is stuck.
        on_done: takes the columns of its row, with `seconds` of the process and when it was `finished`.
    """

    title: str
    folder: Path
    task: Mapping[str, Any]
    cache: Path
    links: bool
    most_seconds: float
    on_done: Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class _Running:
    job: Job
    process: subprocess.Popen[bytes]
    cores: tuple[int, ...]
    started: float


def slots(cores: int, at_once: int) -> list[tuple[int, ...]]:
    """Cores of each of several processes at once, none shared.

    Args:
        cores: of each.
        at_once: processes.

    Raises:
        RealSearchError: if this process has fewer cores, or they cannot be divided on this system.
    """
    own = psutil.Process()
    can_pin = hasattr(own, "cpu_affinity")
    available = own.cpu_affinity() if can_pin else list(range(os.cpu_count() or 1))
    if cores * at_once > len(available):
        raise RealSearchError(f"--cores {cores} --at-once {at_once}: this process may use {len(available)} cores; give less")
    if not can_pin and at_once > 1:
        raise RealSearchError(
            f"--at-once {at_once}: this system keeps no process to its cores, so searches would share; give 1"
        )
    return [tuple(available[i * cores : (i + 1) * cores]) for i in range(at_once)]


def run(jobs: Sequence[Job], divided: Sequence[tuple[int, ...]], say: Callable[[str], None]) -> list[str]:
    """Run jobs, each in a process of its own.

    Args:
        jobs: in the order in which they begin.
        divided: cores of each process that runs at once; see `slots`.
        say: takes a line when a job begins or ends.

    Returns:
        A line for each job that failed; the others ran all the same.
    """
    waiting, free, running = list(jobs), list(divided), list[_Running]()
    failed = []
    try:
        while waiting or running:
            while waiting and free:
                job = waiting.pop(0)
                say(f"{job.title}: begins, {len(waiting)} wait")
                running.append(_begin(job, free.pop(0)))
            time.sleep(LOOK_SECONDS)
            for one in [own for own in running if own.process.poll() is not None or _is_stuck(own)]:
                running.remove(one)
                free.append(one.cores)
                line = _end(one)
                say(f"{one.job.title}: {line or f'done after {time.monotonic() - one.started:.0f} s'}")
                failed += [f"{one.job.title}: {line}"] if line else []
    finally:
        for one in running:
            end_tree(one.process.pid)
    return failed


def _begin(job: Job, cores: tuple[int, ...]) -> _Running:
    shutil.rmtree(job.folder, ignore_errors=True)
    job.folder.mkdir(parents=True)
    write_whole(job.folder / TASK, lambda file: file.write(json.dumps(job.task, indent=1).encode()))
    cache = job.cache
    if job.links:
        cache = job.folder / CACHE
        link_cache(job.cache, cache)
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    # All methods learn on cores alone: two of them know no card.
    own = {FOLDER_VARIABLE: str(cache.resolve()), "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    with (job.folder / LOG).open("wb") as log:
        process = subprocess.Popen(
            command(job.folder), cwd=ROOT, env=os.environ | own, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )  # fmt: skip
    if hasattr(psutil.Process, "cpu_affinity"):
        with suppress(psutil.NoSuchProcess):  # it has ended already, which is told later
            psutil.Process(process.pid).cpu_affinity(list(cores))
    return _Running(job, process, cores, time.monotonic())


def command(folder: Path) -> list[str]:
    """The command that carries out the task in a folder."""
    return [sys.executable, "-m", "benchmarks.real_searches.job", str(folder.resolve())]


def _is_stuck(one: _Running) -> bool:
    return time.monotonic() - one.started > one.job.most_seconds


def _end(one: _Running) -> str:
    """Take the result of a job that has ended or is stuck; returns why it failed, in a line, or nothing."""
    job = one.job
    status = one.process.poll()
    end_tree(one.process.pid)
    if job.links:
        shutil.rmtree(job.folder / CACHE, ignore_errors=True)
    if status is None:
        return f"not done after {job.most_seconds:.0f} s, so it was ended; see {job.folder / LOG}"
    if (error := job.folder / ERROR).exists():
        return error.read_text(encoding="utf-8")
    if status != 0 or not (job.folder / DONE).exists():
        return f"its process ended with {status}; see {job.folder / LOG}"
    found = read_json(job.folder / DONE)
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    job.on_done({**found, "seconds": time.monotonic() - one.started, "finished": now})
    return ""


def end_tree(process: int) -> None:
    """End a process and all that it started; those that do not end are killed.

    Args:
        process: its number.
    """
    try:
        parent = psutil.Process(process)
        tree = [*parent.children(recursive=True), parent]
    except psutil.NoSuchProcess:
        return
    for signal in ("terminate", "kill"):
        for one in tree:
            try:
                getattr(one, signal)()
            except psutil.NoSuchProcess:
                continue
        _, tree = psutil.wait_procs(tree, END_SECONDS)
