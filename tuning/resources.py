"""What a trial will take: `python -m tuning.resources --algo sac --set batch_size=1024 buffer_size=1000000`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from tuning.cli.command import command
from tuning.experiment.settings import Algo, Settings
from tuning.memory.prediction import PLACES, Place, Prediction, size

if TYPE_CHECKING:
    from rich.console import Console

    from tuning.memory.planner import Planner

PLACE_NAMES: dict[Place, str] = {"vram": "GPU memory", "ram": "Host memory"}


@dataclass(frozen=True)
class Question:
    """What a trial takes of GPU memory and host memory, term by term, and how many of it run at once."""

    algo: Algo = "ppo"
    """Learning algorithm."""
    scenario: str = "iquitos"
    """Site: iquitos, iquitos-38, or the path of a CityLearn schema.json."""
    backend: Literal["auto", "batch", "citylearn"] = "auto"
    """What steps it; as for a search."""
    num_envs: int = 32
    """Copies of the site at most."""
    steps: int = 250_000
    """Environment steps of a trial."""
    set: Annotated[
        tuple[tuple[str, ...], ...],
        tyro.conf.UseAppendAction,
        tyro.conf.arg(metavar="KEY=VALUE", help="Hyperparameters other than the default ones."),
    ] = ()
    preset: str = ""
    """A named assignment, such as rtx4060-after; --set goes before it."""
    device: Literal["auto", "cpu", "gpu"] = "auto"
    """Where it learns; by default on a card if there is one. gpu without a card asks about one that has --gpu-memory."""
    gpu_memory: float = 0.0
    """GPU memory that trials may take together, GiB; 0 for the smaller of 8 and what the card has."""


def main(arguments: list[str] | None = None) -> int:
    """Print the table.

    Args:
        arguments: of the command line; those of this process by default.

    Returns:
        Exit status: 0 if a trial fits, 1 if it does not, 2 for a command that cannot be carried out.
    """
    return command(Question, arguments, "python -m tuning.resources", _answer)


def _answer(question: Question) -> int:
    from rich.console import Console

    from envs.environments.backend import choose_backend
    from envs.scenarios.scenario import scenario
    from tuning.memory.allocation import concurrency, grant
    from tuning.memory.calibration import Calibration
    from tuning.memory.machine import this_machine
    from tuning.memory.planner import Planner
    from tuning.memory.scenario_sizes import sizes_of
    from tuning.search.plan import limits, plan

    site = scenario(question.scenario)
    settings = Settings(
        algo=question.algo, scenario=question.scenario, backend=choose_backend(site, question.backend), steps=question.steps,
        num_envs=question.num_envs, set=question.set, preset=question.preset, gpu_memory=question.gpu_memory,
    )  # fmt: skip
    settings.check()
    found = plan(settings, None)
    h = found.space.complete(found.fixed, limits(settings.steps))
    budget, device = this_machine(question.device, question.gpu_memory)
    planner = Planner(settings, sizes_of(site, settings.backend), budget, device, Calibration())
    prediction = planner.prediction(h)
    console = Console()
    for place in PLACES:
        if prediction.uncorrected(place):
            _print_place(console, planner, prediction, place)
    if budget.excess(prediction) > 0:
        console.print(f"It {budget.why_not(prediction)}", highlight=False, soft_wrap=True)
        return 1
    granted = grant(prediction, budget)
    card = f"{granted.gpu_share:.4f} of a card ({size(granted.vram_bytes)} of {size(budget.card_bytes)}), "
    share = card if budget.gpus else ""
    console.print(
        f"Granted: {share}{size(granted.ram_bytes)} of {size(budget.ram_bytes)} of host memory, 1 of {budget.cores} cores\n"
        f"At once: {concurrency(prediction, budget)}",
        highlight=False, soft_wrap=True,
    )  # fmt: skip
    return 0


def _print_place(console: Console, planner: Planner, prediction: Prediction, place: Place) -> None:
    from rich.table import Table

    table = Table(title=f"{PLACE_NAMES[place]} of a trial of {planner.settings.algo}", title_justify="left")
    table.add_column("term")
    table.add_column("size", justify="right")
    table.add_column("how", overflow="fold")
    for term in sorted(prediction.terms, key=lambda term: -term.nbytes):
        if term.place == place:
            table.add_row(term.name, size(term.nbytes), term.formula)
    correction = planner.corrections()[PLACES.index(place)]
    if correction.trials:
        table.add_row(
            "correction", f"x {correction.factor:.3f}", f"what {correction.trials} trials on {correction.device} took of it"
        )
    table.add_row("together", size(prediction.nbytes(place)), "", style="bold")
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
