"""Command line: `python -m tuning.doctor`."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tuning.cli.command import command
from tuning.experiment.settings import Algo, Settings

if TYPE_CHECKING:
    from rich.console import Console

    from tuning.diagnosis.checks import Finding
    from tuning.diagnosis.trials import Outcome
    from tuning.memory.planner import Planner

MARKS = {"ok": "[green]ok   [/]", "note": "[yellow]note [/]", "wrong": "[red]wrong[/]"}


@dataclass(frozen=True)
class Examination:
    """Check that this machine can do the work, by doing a little of it."""

    algo: Algo | Literal["all"] = "all"
    """Which algorithms take a real update."""
    scenario: str = "iquitos"
    """Site that they learn on."""
    gpu_memory: float = 0.0
    """GPU memory that trials are to have, GiB; 0 for the smaller of 8 and what the card has."""
    dir: str = "experiments"
    """Folder that is to hold the experiments."""
    switches: bool = False
    """Measure TF32, bfloat16, torch.compile, CUDA graphs and pinned memory without a card too; takes some minutes."""


def main(arguments: list[str] | None = None) -> int:
    """Examine the machine.

    Args:
        arguments: of the command line; those of this process by default.

    Returns:
        Exit status: 0 if nothing is wrong, 1 if something is, 2 for a command that cannot be carried out.
    """
    return command(Examination, arguments, "python -m tuning.doctor", examine)


def examine(asked: Examination) -> int:
    """Look at the machine, then let each algorithm take real updates; prints what was found.

    Returns:
        Exit status.
    """
    from rich.console import Console

    from envs.environments.backend import choose_backend
    from envs.scenarios.scenario import scenario
    from search_spaces import SPACES
    from tuning.diagnosis.checks import check
    from tuning.diagnosis.facts import gather
    from tuning.diagnosis.trials import STEPS, algorithms, compare_devices, try_algorithm, try_switches
    from tuning.memory.calibration import Calibration
    from tuning.memory.machine import this_machine
    from tuning.memory.planner import CPU, Planner
    from tuning.memory.scenario_sizes import sizes_of

    console = Console()
    findings: list[Finding] = []
    site = scenario(asked.scenario)
    backend = choose_backend(site, "auto")
    facts = gather(Path(asked.dir))
    usable = bool(facts.torch and facts.torch.sees_card)
    with console.status(f"looking at {site.title}"):
        sizes = sizes_of(site, backend)
    settings = Settings(scenario=asked.scenario, backend=backend, steps=STEPS, gpu_memory=asked.gpu_memory)

    def planner(algo: Algo, device: str) -> Planner:
        budget, name = this_machine(device, asked.gpu_memory)
        return Planner(replace(settings, algo=algo), sizes, budget, name, Calibration())

    def tell(new: list[Finding]) -> None:
        findings.extend(new)
        for finding in new:
            _print(console, finding)

    usual = planner("ppo", CPU).prediction(SPACES["ppo"].complete({}, {"steps": float(STEPS)}))
    tell(check(facts, usual.ram, asked.gpu_memory))
    for algo in algorithms(asked.algo):
        own = planner(algo, "auto" if usable else CPU)
        with console.status(f"{algo}: a few real updates"):
            found = try_algorithm(algo, own, backend)
        tell([found.finding()])
        if found.row is None or not (usable or asked.switches):
            continue
        with console.status(f"{algo}: what switches are worth"):
            tell(try_switches(algo, found, partial(_with_switches, algo, own, backend)))
            if usable:
                tell([compare_devices(algo, found, try_algorithm(algo, planner(algo, CPU), backend))])
    wrong = [finding.name for finding in findings if finding.status == "wrong"]
    console.print(f"to be mended: {', '.join(wrong)}" if wrong else "ready", highlight=False, soft_wrap=True)
    return 1 if wrong else 0


def _with_switches(algo: Algo, planner: Planner, backend: str, given: dict[str, Any]) -> Outcome:
    from tuning.diagnosis.trials import try_algorithm

    return try_algorithm(algo, planner, backend, **given)


def _print(console: Console, finding: Finding) -> None:
    console.print(f"{MARKS[finding.status]} ", end="")
    console.print(f"{finding.name}: {finding.text}", highlight=False, markup=False, soft_wrap=True)
    if finding.remedy:
        console.print(f"      -> {finding.remedy}", highlight=False, markup=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
