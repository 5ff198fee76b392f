"""The files of an exported policy, all or none of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from envs.citylearn_backend.pool import SIMULATORS
from envs.environments.year_cache import observation_layout
from envs.observation import PEAK_NAMES, ObservationLayout
from envs.scenarios.scenario import Scenario, scenario
from envs.scenarios.tariff import DemandCharge
from results import load
from tuning.experiment.errors import UsageError
from tuning.experiment.folder import Experiment
from tuning.exporting.judged import given_judgement, own_judgement
from tuning.exporting.model_card import card, hyperparameters_toml
from tuning.exporting.onnx_policy import SitePolicy, write_onnx
from tuning.trial.policy import trained
from tuning.trial.records import TrialRecords

EXAMPLE = Path(__file__).with_name("controller.py")  # written as it is


def export(experiment: Experiment, number: int, to: Path, judgement: Path | None = None) -> list[Path]:
    """Write a trial's policy.

    Args:
        experiment: that it belongs to.
        number: of the trial.
        to: folder for the files, which is not there yet.
        judgement: folder of a judgement that the trial took part in; by default the one that the experiment is in.

    Returns:
        The files.

    Raises:
        UsageError: if the trial has no checkpoint any more or took no part in the judgement, if the site does not observe what
            the example needs, or the folder cannot be created.
    """
    judged, contender = given_judgement(experiment, number, judgement) if judgement else own_judgement(experiment)
    site = scenario(experiment.settings.scenario)
    layout = observation_layout(site)
    _check_peaks(site, layout)
    # Last, the folder: whoever is refused before it finds nothing created.
    with trained(experiment, number) as found, _beside(to) as new:
        write_onnx(SitePolicy(layout, found.view, found.network, *_action_range(site)), new / "policy.onnx")
        about = _about(experiment, number, site, found.steps)
        rows = load(experiment.paths.folder).evaluations
        rows = rows[(rows["trial"] == number) & (rows["steps"] == found.steps)]
        texts = {
            "policy.json": _interface(site, layout),
            "hyperparameters.toml": hyperparameters_toml(TrialRecords(experiment).assignment(number), experiment.settings),
            "README.md": card(about, rows, judged, contender),
        }
        for name, text in texts.items():
            (new / name).write_text(text, encoding="utf-8")
        shutil.copyfile(EXAMPLE, new / EXAMPLE.name)
        new.rename(to)
    return sorted(to.iterdir())


def _check_peaks(site: Scenario, layout: ObservationLayout) -> None:
    """Check that whoever controls the site from its observations can reckon the month's peaks that the policy sees.

    Raises:
        UsageError: if it needs what is not observed.
    """
    missing = [name for name in ("month", "hour") if name not in layout.names]
    if missing and PEAK_NAMES[0] in layout.names:
        raise UsageError(
            f"{site.title} has a demand charge, whose peaks the policy sees, but does not observe {' and '.join(missing)}, by "
            "which they are counted: such a policy cannot be exported"
        )


@contextmanager
def _beside(to: Path) -> Iterator[Path]:
    """A new folder on the same disk as another one and of its name, gone at the end if it was not renamed.

    Raises:
        UsageError: if it cannot be created.
    """
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        scratch = TemporaryDirectory(prefix=f".{to.name}.", dir=to.parent)
    except OSError as error:
        raise UsageError(f"--to {to}: cannot create {error.filename}: {error.strerror}") from error
    with scratch as name:
        # One within, as the outer one is for its owner alone.
        new = Path(name) / to.name
        new.mkdir()
        yield new


def _action_range(site: Scenario) -> tuple[np.ndarray, np.ndarray]:
    """Least and greatest value of each action of CityLearn, each of shape (actions,)."""
    simulator = SIMULATORS.take(site.schema_path(site.years("train")[0]))
    found = simulator.action_low, simulator.action_high
    SIMULATORS.give_back(simulator)
    return found


def _about(experiment: Experiment, number: int, site: Scenario, steps: int) -> dict[str, str]:
    """Facts of a policy that was trained for so many steps, by name."""
    settings, row = experiment.settings, TrialRecords(experiment).measured(number)
    return {
        "policy": f"{settings.name}, trial {number}", "algorithm": settings.algo, "scenario": site.title,
        "reward": settings.reward, "trained for": f"{steps:,} steps with seed {row['seed']}",
        "versions": ", ".join(f"{name} {value}" for name, value in json.loads(row["versions"]).items()),
        "commit": row["git_commit"] or "not known",
    }  # fmt: skip


def _interface(site: Scenario, layout: ObservationLayout) -> str:
    """What goes in and comes out, in its order, and the hours of the demand charge's peaks, as JSON."""
    tariff = DemandCharge.of(site.schema_path(site.years("train")[0]))
    hours = list(tariff.peak_hours) if tariff else []
    return json.dumps({"observations": layout.names, "actions": layout.actions, "peak_hours": hours}, indent=1)
