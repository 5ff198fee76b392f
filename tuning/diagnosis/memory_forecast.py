"""Memory of a trial on this machine, predicted before it runs."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rich.console import Console
from rich.table import Table

from envs.environments.backend import choose_backend
from tuning.algorithms.memory import PLACE_NAMES, PLACES, Place
from tuning.cli.console import plain_table, say
from tuning.diagnosis.settings import MemorySettings
from tuning.experiment.settings import Settings
from tuning.memory.allocation import Budget, Grant, grant, room
from tuning.memory.machine import this_machine
from tuning.memory.planner import Calibration, Correction, Planner
from tuning.memory.prediction import Prediction, size, sizes_of
from tuning.search.proposals.plan import check_teacher, limits, plan
from tuning.search.run.opening import of_environment


@dataclass(frozen=True)
class MemoryForecast:
    """Predicted memory of a trial on this machine."""

    algo: str
    prediction: Prediction  # its memory, term by term, corrected by earlier trials on this machine
    corrections: Mapping[Place, Correction]  # of each kind of memory
    budget: Budget  # memory and cores of this machine
    grant: Grant | None  # what Ray reserves for the trial; None where it does not fit
    at_once: int  # trials of its kind that run at once; 0 where it does not fit


def predict_memory(settings: MemorySettings) -> MemoryForecast:
    """Predict the memory of a trial; nothing is trained. Raises `UserError` for settings that are not valid."""
    of_trial = replace(Settings(**vars(settings)), trust_scenario=settings.trust_scenario or bool(settings.env))
    of_trial.check()
    if of_trial.env:
        of_trial, _, _ = of_environment(of_trial)
    else:
        of_trial = replace(of_trial, backend=choose_backend(of_trial.site_task.site, settings.backend, of_trial.reward))
        if of_trial.teacher != "none":
            check_teacher(of_trial.site_task, of_trial.algo)
    planned = plan(of_trial, None)
    hyperparameters = planned.space.complete(planned.fixed, limits(of_trial.steps))
    budget, device = this_machine(settings.device, settings.gpu_memory)
    planner = Planner(of_trial, sizes_of(of_trial.task), budget, device, Calibration())
    prediction = planner.prediction(hyperparameters)
    fits = budget.excess(prediction) <= 0
    return MemoryForecast(
        of_trial.algo, prediction, planner.corrections(), budget, grant(prediction, budget) if fits else None,
        max(1, room(prediction, budget)) if fits else 0,
    )  # fmt: skip


def print_forecast(forecast: MemoryForecast, console: Console) -> None:
    """Print a table for each kind of memory, and what Ray reserves."""
    for place in PLACES:
        if forecast.prediction.uncorrected(place):
            # Its last column are sentences: they fold, and the table stays one on every terminal.
            console.print(_table(forecast, place), markup=False)
    budget, granted = forecast.budget, forecast.grant
    if granted is None:
        say(console, f"It {budget.why_not(forecast.prediction)}")
        return
    card = f"{granted.gpu_share:.4f} of a card ({size(granted.vram_bytes)} of {size(budget.card_bytes)}), "
    share = card if budget.gpus else ""
    say(
        console,
        f"Granted: {share}{size(granted.ram_bytes)} of {size(budget.ram_bytes)} of host memory, 1 of {budget.cores} cores",
    )
    say(console, f"At once: {forecast.at_once}")


def _table(forecast: MemoryForecast, place: Place) -> Table:
    name = PLACE_NAMES[place]
    title = f"{name[0].upper()}{name[1:]} of a trial of {forecast.algo}"
    table = plain_table(title, ("term", "size", "how"), left=("term", "how"))
    for term in sorted(forecast.prediction.terms, key=lambda term: -term.nbytes):
        if term.place == place:
            table.add_row(term.name, size(term.nbytes), term.formula)
    correction = forecast.corrections[place]
    if correction.trials:
        table.add_row(
            "correction", f"x {correction.factor:.3f}", f"what {correction.trials} trials on {correction.device} took of it"
        )
    table.add_row("together", size(forecast.prediction.nbytes(place)), "", style="bold")
    return table
