"""What the driver takes of a processor while many trials run at once, under the real Ray Tune. Prints Markdown.

Run: `uv run python -m benchmarks.scaling.concurrent [--actors 10 25] [--hosted 10 25 100 1000] [--seconds 60]`.

`run_trials` of `tuning.search.run.driver` runs with its own tuner, so with Tune's controller and its placement groups, on a
Ray of this machine that counts more cores than there are. A trial reports every ten seconds, and each sixth report is an
evaluation. It has 20 of them, so it lasts 20 minutes. The first thousand are somewhere in the midst, so that trials end and
begin all the time.

- `--actors`: each trial is an actor, a process of about 150 MB, that sleeps between its reports.
- `--hosted`: the trials' calls are answered by two actors in place of one for each trial. The rest is as before: a placement
  group for each trial, a remote call for each report, and as many calls outstanding as trials.

What the driver's process takes is counted from the moment at which all trials run, all threads together. What this project's
own code takes of it is the time within its search and its callbacks.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil
from ray.tune import Callback

from common.units import MIB
from tests.tuning.made_up import evaluated
from tuning.runtime.ray_session import ENVIRONMENT
from tuning.trial.protocol import DriverOnly, Report

REPORT_SECONDS, OF_AN_EVALUATION = 10.0, 6  # between two reports of a trial; reports for each evaluation
REPORTS = 20  # evaluations of a trial
BEGUN = 1000  # trials that are somewhere in the midst when the search begins
HOSTS = 2
_OWN = {
    "search": ("hand_out", "take", "end"),
    "callback": ("on_step_begin", "on_step_end", "on_trial_start", "on_trial_result", "on_trial_complete", "on_trial_error"),
}


class FakeTrial:
    """Reports of one trial.

    Attributes:
        at: when the next one is due, by `time.monotonic`.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        number = config["number"]
        # The first trials are at any moment of their time, so that some end in each minute.
        self._config, self._count = config, number * 37 % (REPORTS * OF_AN_EVALUATION) if number < BEGUN else 0
        self.at = time.monotonic() + REPORT_SECONDS * (number * 61 % 997 / 997 + 0.1)

    @property
    def is_over(self) -> bool:
        """Whether the last report was that of its end."""
        return self._count >= REPORTS * OF_AN_EVALUATION

    def report(self) -> dict[str, Any]:
        """The next report, as `tuning.trial.training` makes them."""
        self._count += 1
        self.at = max(self.at + REPORT_SECONDS, time.monotonic())
        evaluation, rest = divmod(self._count, OF_AN_EVALUATION)
        number, steps = self._config["number"], 25_000 * evaluation + 4_000 * rest
        score = 0.1 + number % 97 / 1000 + 0.01 * evaluation
        return (Report(steps) if rest else evaluated(number, evaluation, steps, score)).for_tune()


def trainable(config: dict[str, Any]) -> None:
    """A trial in a process of its own."""
    from ray import tune

    trial = FakeTrial(config)
    while not trial.is_over:
        time.sleep(max(0.0, trial.at - time.monotonic()))
        tune.report(trial.report())


class Host:
    """An actor that answers for many trials what an actor of each would."""

    def __init__(self) -> None:
        self._trials: dict[int, FakeTrial] = {}

    async def call(self, key: int, method: str, config: dict[str, Any] | None) -> Any:
        """A call of a trial's actor."""
        if config is not None:
            self._trials[key] = FakeTrial(config)
        if method != "train":
            return True
        trial = self._trials[key]
        await asyncio.sleep(max(0.0, trial.at - time.monotonic()))
        known = {"time_total_s": 60.0, "time_this_iter_s": REPORT_SECONDS, "training_iteration": 1, "done": False, "pid": 1}
        about = {"date": "2026-01-01_00-00-00", "timestamp": 1, "hostname": "host", "node_ip": "127.0.0.1"}
        made = trial.report()
        known["done"] = trial.is_over
        return {**made, **known, **about, "config": trial._config, "time_since_restore": 60.0, "trial_id": "x"}


class Hosted:
    """In the place of the class of trials' actors."""

    def __init__(self, hosts: list[Any]) -> None:
        self._hosts, self._keys = hosts, itertools.count()

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        import ray

        return ray.actor.ActorClass

    def options(self, **options: Any) -> Hosted:
        """Nothing is placed."""
        return self

    def remote(self, *_: Any, config: dict[str, Any], **more: Any) -> Handle:
        """A trial begins."""
        key = next(self._keys)
        return Handle(self._hosts[key % len(self._hosts)], key, config)


class Handle:
    """In the place of the handle of a trial's actor."""

    def __init__(self, host: Any, key: int, config: dict[str, Any]) -> None:
        self._host, self._key, self._config = host, key, config

    def __getattr__(self, method: str) -> Any:
        if method in ("_host", "_key", "_config", "__deepcopy__", "__reduce_ex__", "__getstate__", "__setstate__"):
            raise AttributeError(method)
        return Method(self, method)


class Method:
    """One method of a trial's actor."""

    def __init__(self, handle: Handle, name: str) -> None:
        self._of, self._name = handle, name

    def remote(self, *given: Any, **named: Any) -> Any:
        """Call it: the trial's configuration goes along at its beginning, and where another trial takes its process."""
        config = self._of._config if self._name == "__ray_ready__" else given[0] if self._name == "reset" else None
        return self._of._host.call.remote(self._of._key, self._name, config)


class Own:
    """Seconds of the processor within this project's own code.

    Attributes:
        seconds: so far.
    """

    def __init__(self) -> None:
        self.seconds, self._depth = 0.0, 0

    def of(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, measured."""

        def measured(*given: Any, **named: Any) -> Any:
            begin, self._depth = time.thread_time(), self._depth + 1
            try:
                return call(*given, **named)
            finally:
                self._depth -= 1
                if not self._depth:
                    self.seconds += time.thread_time() - begin

        return measured

    def watch(self, objects: list[Any], kind: str) -> None:
        """Measure methods of some objects."""
        for kind_of in {type(each) for each in objects}:
            for name in _OWN[kind]:
                if hasattr(kind_of, name):
                    setattr(kind_of, name, self.of(getattr(kind_of, name)))


class Window(DriverOnly, Callback):
    """Counts from the moment at which all trials run, prints a row of the table, and ends this process."""

    def __init__(self, count: int, kind: str, seconds: float, own: Own) -> None:
        self._count, self._kind, self._seconds, self._own = count, kind, seconds, own
        self._process = psutil.Process()
        children = self._process.children(recursive=True)
        self._servers = [each for each in children if each.name() in ("raylet", "gcs_server")]
        self._running = self._reports = self._begun = 0
        self._first: tuple[float, ...] | None = None

    def _now(self) -> tuple[float, ...]:
        taken = [sum(each.cpu_times()[:2]) for each in (self._process, *self._servers)]
        return time.monotonic(), taken[0], sum(taken[1:]), self._own.seconds, self._reports, self._begun

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Count it."""
        self._running, self._begun = self._running + 1, self._begun + 1

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Count it."""
        self._running -= 1

    def on_trial_result(self, iteration: int, trials: list[Any], trial: Any, result: Any, **info: Any) -> None:
        """Count it."""
        self._reports += 1

    def on_step_end(self, iteration: int, trials: list[Any], **info: Any) -> None:
        """See whether the window begins or ends."""
        if self._first is None:
            if self._running >= self._count:
                self._first = self._now()
        elif time.monotonic() > self._first[0] + self._seconds:
            self._print(self._first)

    def _print(self, first: tuple[float, ...]) -> None:
        import ray

        passed, driver, servers, own, reports, begun = (now - then for now, then in zip(self._now(), first, strict=True))
        each, rate = 1e3 * driver / reports, self._count / REPORT_SECONDS
        print(
            f"| {self._kind} | {self._count:,} | {reports / passed:.1f} of {rate:.1f} | {begun:.0f} | {each:.2f} "
            f"| {1e3 * own / reports:.2f} | {1e3 * servers / reports:.2f} | {self._process.memory_info().rss / MIB:.0f} "
            f"| {each * rate / 1e3:.2f} |",
            flush=True,
        )
        ray.shutdown()
        os._exit(0)


def measure(count: int, is_hosted: bool, seconds: float) -> None:
    """Print a row of the table, and end this process."""
    import ray
    from rich.console import Console

    from benchmarks.scaling.made import SPACE, experiment
    from tests.tuning.roomy import planner
    from tuning.runtime.ray_session import OPTIONS, _start
    from tuning.search.proposals.plan import Plan
    from tuning.search.run import driver

    folder = Path(tempfile.mkdtemp(prefix="many-"))
    cores = 2 * count + 10
    _start({**OPTIONS, "num_cpus": cores, "_memory": cores * 2**31, "_temp_dir": str(folder / "ray")})
    made = experiment(folder, sampler="tpe", scheduler="none", trials=100_000, concurrency=count, backend="batch")
    of_all = planner(made.settings, folder, ram_bytes=2**40, cores=cores)
    own = Own()
    window = Window(count, "hosted" if is_hosted else "actors", seconds, own)
    tuner = driver.tuner

    def watched(paths: Any, trainable: Any, search: Any, callbacks: list[Any]) -> Any:
        own.watch([search], "search")
        own.watch(callbacks, "callback")
        return tuner(paths, trainable, search, [*callbacks, window])

    with ExitStack() as stack:
        stack.enter_context(patch("tuning.search.run.driver.tuner", watched))
        if is_hosted:
            hosts = [ray.remote(Host).options(max_concurrency=4000, num_cpus=0).remote() for _ in range(HOSTS)]
            hosted = Hosted(hosts)
            stack.enter_context(patch("ray.tune.execution.tune_controller._ActorClassCache.get", lambda self, cls: hosted))
        driver.run_trials(made, Plan(SPACE, {}, ()), of_all, Console(file=io.StringIO()), trainable)


def main() -> None:
    """Measure each in a process of its own."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--actors", type=int, nargs="*", default=[10, 25])
    parser.add_argument("--hosted", type=int, nargs="*", default=[10, 25, 100, 300, 1000])
    parser.add_argument("--seconds", type=float, default=60.0, help="that are counted")
    options = parser.parse_args()
    titles = "trials are|at once|reports a second|begun meanwhile|driver, ms a report|own code|Ray's servers|MiB|cores"
    print(f"| {titles.replace('|', ' | ')} |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    for is_hosted, counts in ((False, options.actors), (True, options.hosted)):
        for count in counts:
            code = f"from benchmarks.scaling.concurrent import measure; measure({count}, {is_hosted}, {options.seconds})"
            # By itself Ray starts a process for each core that it counts.
            quiet = {"RAY_prestart_worker_first_driver": "0", "RAY_enable_worker_prestart": "0"}
            subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, **ENVIRONMENT, **quiet})


if __name__ == "__main__":
    main()
