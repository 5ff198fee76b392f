"""An examination of this machine: checks first, then real updates of each algorithm."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from common.json_values import described
from common.texts import raised
from search_spaces import Assignment
from tuning.algorithms.memory import PLACE_NAMES, PLACES, Place
from tuning.algorithms.registry import algorithm, names
from tuning.cli.console import busy, say, terminal
from tuning.diagnosis.checks import Finding, Status, check, gather
from tuning.diagnosis.settings import DoctorSettings
from tuning.experiment.folder import create
from tuning.experiment.option_values import ALL
from tuning.experiment.settings import Settings, check_gpu_memory, check_types
from tuning.memory.machine import this_machine
from tuning.memory.planner import CPU, PEAKS, Calibration, Planner
from tuning.memory.prediction import size, sizes_of
from tuning.runtime.ray_session import ENVIRONMENT, ray_session
from tuning.search.proposals.plan import limits
from tuning.trial.device import CPU as HOST
from tuning.trial.device import Device
from tuning.trial.monitor import Monitor
from tuning.trial.protocol import Proposal
from tuning.trial.records import TrialRecords
from tuning.trial.training import Training

STEPS = 4096  # of a trial: some updates of each algorithm
FAR_OFF = 0.25  # part by which a prediction may miss before it is worth a note
PAYS = 1.05  # times as fast, from which on a switch is called worth it
# Hyperparameters of the run, not of the search, and what each needs.
SWITCHES: dict[str, dict[str, Any]] = {
    "TF32": {"tf32": True},
    "bfloat16": {"bf16": True},
    "torch.compile": {"torch_compile": True},
    "no CUDA graphs": {"cuda_graphs": False},
    "pinned memory": {"pin_memory": True},
}


@dataclass(frozen=True)
class Outcome:
    """What a real update of an algorithm took."""

    algo: str
    row: dict[str, Any] | None  # of its trial; None where it failed
    predicted: dict[Place, int]  # memory by place, bytes
    error: str = ""  # the last line of what went wrong; empty where nothing did

    @property
    def learner_steps_per_second(self) -> float:
        """Environment steps over seconds in gradient steps."""
        return float(self.row["steps"] / self.row["learner_seconds"]) if self.row else 0.0

    def finding(self) -> Finding:
        """What to tell of it."""
        if self.row is None:
            return Finding(self.algo, "wrong", f"one update failed: {self.error}", "mend that, and run this again")
        row, seconds = self.row, self.row["seconds"]
        parts = ", ".join(f"{name} {row[f'{name}_seconds'] / seconds:.0%}" for name in ("environment", "learner", "evaluation"))
        measured = [place for place in PLACES if self.predicted[place] and row[PEAKS[place]]]
        memory = ", ".join(
            f"{PLACE_NAMES[place]} {size(row[PEAKS[place]])} (predicted {size(self.predicted[place])})" for place in measured
        )
        text = f"{row['steps']:,} steps in {seconds:.1f} s on {row['device']} ({parts}); {memory}"
        off = [abs(row[PEAKS[place]] / self.predicted[place] - 1.0) for place in measured]
        if max(off, default=0.0) > FAR_OFF:
            return Finding(self.algo, "note", text, "predictions are corrected once some trials have run here")
        return Finding(self.algo, "ok", text)


def run_train(hyperparameters: Assignment, planner: Planner) -> dict[str, Any]:
    """Train a little in a process of its own. Raises `RuntimeError`, with the last line of what went wrong."""
    granted = planner.grant(hyperparameters)
    vram = granted.vram_bytes, granted.context_bytes
    given = {"settings": asdict(planner.settings), "hyperparameters": hyperparameters, "vram": vram}
    done = subprocess.run(
        [sys.executable, "-m", "tuning.diagnosis.examination", json.dumps(given)],
        capture_output=True, text=True, check=False, env={**os.environ, **ENVIRONMENT},
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(raised(done.stderr) or f"exit status {done.returncode}")
    return json.loads(done.stdout.strip().rpartition("\n")[2])


def try_algorithm(planner: Planner, **given: Any) -> Outcome:
    """One real update of the planner's algorithm with its default hyperparameters."""
    algo, h = planner.settings.algo, planner.spec.space.complete(given, limits(STEPS))
    prediction = planner.prediction(h)
    predicted = {place: prediction.nbytes(place) for place in PLACES}
    try:
        return Outcome(algo, run_train(h, planner), predicted)
    except RuntimeError as error:
        return Outcome(algo, None, predicted, str(error))


def try_switches(usual: Outcome, attempt: Callable[..., Outcome]) -> Iterator[Finding]:
    """What each GPU switch is worth beside the usual run, one after the other: to compile networks takes a minute."""
    algo = usual.algo
    for name, given in SWITCHES.items():
        if any(switch not in algorithm(algo).space for switch in given):
            continue
        if "cuda_graphs" in given and usual.row and usual.row["device"] == CPU:
            continue  # there is nothing to do without
        outcome = attempt(**given)
        if outcome.row is None:
            yield Finding(f"{algo}, {name}", "note", f"does not run here: {outcome.error}")
            continue
        times = outcome.learner_steps_per_second / usual.learner_steps_per_second
        options = " ".join(f"{key}={str(value).lower()}" for key, value in given.items())
        verdict = f"pays: --set {options}" if times >= PAYS else "does not pay"
        yield Finding(f"{algo}, {name}", "ok", f"{times:.2f} times as fast in gradient steps: {verdict}")


def compare_devices(on_card: Outcome, on_host: Outcome) -> Finding:
    """Whether the card is worth it for an algorithm's default networks."""
    name = f"{on_card.algo}, card or CPU"
    if on_host.row is None or on_card.row is None:
        return Finding(name, "note", "not compared, as one of them failed")
    times = on_card.row["steps"] / on_card.row["seconds"] * on_host.row["seconds"] / on_host.row["steps"]
    text = f"the card is {times:.2f} times as fast as a core of the CPU with the default networks"
    if times < 1.0:
        text += ": the CPU wins, and runs a trial on each core (--device cpu)"
    return Finding(name, "ok", text)


STYLES: dict[Status, str] = {"ok": "green", "note": "yellow", "wrong": "red"}


def examine(settings: DoctorSettings, console: Console | None = None) -> list[Finding]:
    """Check this machine, then let each algorithm take real updates. Raises `UserError` for settings that are not valid."""
    check_types(settings)
    check_gpu_memory(settings.gpu_memory)
    console = console or terminal()
    findings: list[Finding] = []
    of_trials = Settings(
        scenario=settings.scenario, steps=STEPS, gpu_memory=settings.gpu_memory, trust_scenario=settings.trust_scenario,
        **asdict(settings.splits),
    )  # fmt: skip
    task = of_trials.site_task
    of_trials = replace(of_trials, backend=task.stepped_by)
    facts = gather(Path(settings.dir))
    usable = bool(facts.torch and facts.torch.sees_card)
    with busy(console, f"preparing {task.site.title}"):
        sizes = sizes_of(task)

    def planner(algo: str, device: str) -> Planner:
        budget, name = this_machine(device, settings.gpu_memory)
        return Planner(replace(of_trials, algo=algo), sizes, budget, name, Calibration())

    def tell(new: Iterable[Finding]) -> None:
        for finding in new:
            findings.append(finding)
            _print(console, finding)

    default = planner("ppo", CPU).prediction(algorithm("ppo").space.complete({}, limits(STEPS)))
    tell(check(facts, default.ram, settings.gpu_memory))
    for algo in names() if settings.algo == ALL else (settings.algo,):
        algo_planner = planner(algo, "auto" if usable else CPU)
        with busy(console, f"{algo}: a few real updates"):
            outcome = try_algorithm(algo_planner)
        tell([outcome.finding()])
        if outcome.row is None or not (usable or settings.switches):
            continue
        with busy(console, f"{algo}: speed with each switch"):
            tell(try_switches(outcome, partial(try_algorithm, algo_planner)))
            if usable:
                tell([compare_devices(outcome, try_algorithm(planner(algo, CPU)))])
    return findings


def _print(console: Console, finding: Finding) -> None:
    say(console, f"{finding.status:5} {finding.name}: {finding.text}", STYLES[finding.status])
    if finding.remedy:
        say(console, f"      -> {finding.remedy}")


def train(given: dict[str, Any]) -> dict[str, Any]:
    """One real update with an evaluation, and what it took.

    `given` has settings, hyperparameters, and the GPU memory that it may take, with that of CUDA's context.
    """
    with tempfile.TemporaryDirectory() as folder, ray_session(num_cpus=1):
        overrides = {"name": "doctor", "dir": folder, "evaluations": 1, "validation_weeks": 1}
        experiment = create(described(Settings, given["settings"] | overrides, "settings"))
        records, running = TrialRecords(experiment), experiment.paths.running("doctor")
        running.touch()
        handout = records.hand_out(Proposal(0, given["hyperparameters"]))
        vram_limit, context = given["vram"]
        device = Device.take_card(0, vram_limit, context) if vram_limit else HOST
        marker = Path(folder) / "marker"
        with (
            Monitor(0, marker, device.card, seconds=0.1) as monitor,
            Training(experiment, handout, running.exists, device, monitor) as trial,
        ):
            for report in trial.updates():
                records.take(0, report)
        return {name: value for name, value in records.row(0).items() if isinstance(value, int | float | str)}


if __name__ == "__main__":
    # In a process of its own, as only a fresh process tells how much memory this training takes at most.
    print(json.dumps(train(json.loads(sys.argv[1]))))
