"""Hour by hour what a run does, and the week in which that matters most."""

from collections.abc import Callable, Sequence

import numpy as np

from envs.objective.evaluate import Episode
from envs.objective.reference import Reference
from envs.objective.series import export_kwh, import_kwh
from envs.scenarios.scenario import Window, weeks_of


def hours_of(episode: Episode) -> dict[str, np.ndarray]:
    """Columns of `results.rollout` from a run through a window, each of shape (hours,): sums and means of an hour."""
    window, reference, run = episode.window, episode.reference, episode.run
    part = window.rows
    exogenous, net = reference.exogenous, run.net_kwh
    load, pv = exogenous.load_kwh[:, part], exogenous.pv_kwh[:, part]
    of_steps = {
        "step": np.arange(window.start, window.start + window.hours),
        "month": exogenous.month[part],
        "hour": exogenous.hour[part],
        "load_kwh": load.sum(axis=0),
        "pv_kwh": pv.sum(axis=0),
        "battery_kwh": run.battery_kwh.sum(axis=0),
        "charging_kwh": run.charging_kwh.sum(axis=0),
        "other_kwh": (net - load + pv - run.battery_kwh - run.charging_kwh).sum(axis=0),
        "net_kwh": net.sum(axis=0),
        "import_kwh": import_kwh(net).sum(axis=0),
        "export_kwh": export_kwh(net).sum(axis=0),
        "price": exogenous.price[:, part].mean(axis=0),
        "carbon": exogenous.carbon[:, part].mean(axis=0),
        "uncontrolled_net_kwh": reference.run.net_kwh[:, part].sum(axis=0),
    }
    one = exogenous.steps_per_hour
    of_hours = {name: values.reshape(-1, one) for name, values in of_steps.items()}
    first = {name: of_hours[name][:, 0] for name in ("month", "hour")} | {"step": of_hours["step"][:, 0] // one}
    means = {name: of_hours[name].mean(axis=1) for name in ("price", "carbon")}
    return {name: values.sum(axis=1) for name, values in of_hours.items()} | first | means


def hardest_week(windows: Sequence[Window], reference: Callable[[int], Reference]) -> Window:
    """The week of some windows with the hour in which the uncontrolled site imports most.

    Args:
        windows: at least one.
        reference: the uncontrolled run of a year.
    """

    def peak(week: Window) -> float:
        return float(reference(week.year).run.net_kwh[:, week.rows].sum(axis=0).max())

    return max(weeks_of(tuple(windows)), key=lambda week: (week.hours, peak(week)))
