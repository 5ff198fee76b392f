"""An examination of this machine: facts first, then real updates of each algorithm."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from common.texts import printable
from tuning.algorithms.registry import algorithm
from tuning.cli.console import say, terminal
from tuning.diagnosis.checks import Finding, Status, check
from tuning.diagnosis.facts import gather
from tuning.diagnosis.settings import DoctorSettings
from tuning.diagnosis.trials import STEPS, Outcome, algorithms, compare_devices, try_algorithm, try_switches
from tuning.experiment.settings import Settings, check_gpu_memory, splits_in
from tuning.memory.calibration import Calibration
from tuning.memory.machine import this_machine
from tuning.memory.planner import CPU, Planner
from tuning.memory.scenario_sizes import sizes_of

LABELS: dict[Status, str] = {"ok": "[green]ok   [/]", "note": "[yellow]note [/]", "wrong": "[red]wrong[/]"}


def examine(settings: DoctorSettings, console: Console | None = None) -> list[Finding]:
    """Check this machine, then let each algorithm take real updates.

    Args:
        settings: of the examination.
        console: findings are printed as they come; by default the terminal or notebook.

    Returns:
        All findings, in the order of the checks.

    Raises:
        UserError: for settings that are not valid.
    """
    check_gpu_memory(settings.gpu_memory)
    console = console or terminal()
    findings: list[Finding] = []
    of_trials = Settings(
        scenario=settings.scenario, steps=STEPS, gpu_memory=settings.gpu_memory, trust_scenario=settings.trust_scenario,
        **asdict(splits_in(settings)),
    )  # fmt: skip
    site, backend = of_trials.task.site, of_trials.task.stepped_by
    of_trials = replace(of_trials, backend=backend)
    facts = gather(Path(settings.dir))
    usable = bool(facts.torch and facts.torch.sees_card)
    with console.status(Text(printable(f"preparing {site.title}"))):
        sizes = sizes_of(site, backend)

    def planner(algo: str, device: str) -> Planner:
        budget, name = this_machine(device, settings.gpu_memory)
        return Planner(replace(of_trials, algo=algo), sizes, budget, name, Calibration())

    def tell(new: list[Finding]) -> None:
        findings.extend(new)
        for finding in new:
            _print(console, finding)

    default = planner("ppo", CPU).prediction(algorithm("ppo").space.complete({}, {"steps": float(STEPS)}))
    tell(check(facts, default.ram, settings.gpu_memory))
    for algo in algorithms(settings.algo):
        own = planner(algo, "auto" if usable else CPU)
        with console.status(f"{algo}: a few real updates"):
            outcome = try_algorithm(algo, own, backend)
        tell([outcome.finding()])
        if outcome.row is None or not (usable or settings.switches):
            continue
        with console.status(f"{algo}: speed with each switch"):
            tell(try_switches(algo, outcome, partial(_with_switches, algo, own, backend)))
            if usable:
                tell([compare_devices(algo, outcome, try_algorithm(algo, planner(algo, CPU), backend))])
    return findings


def _with_switches(algo: str, planner: Planner, backend: str, given: dict[str, Any]) -> Outcome:
    return try_algorithm(algo, planner, backend, **given)


def _print(console: Console, finding: Finding) -> None:
    console.print(f"{LABELS[finding.status]} ", end="")
    say(console, f"{finding.name}: {finding.text}")
    if finding.remedy:
        say(console, f"      -> {finding.remedy}")
