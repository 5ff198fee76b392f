"""The files of an exported policy, all or none of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd

from envs.scenario import Scenario, scenario
from envs.tariff import DemandCharge
from envs.years import SIMULATORS, observation_layout
from results import load
from tuning.errors import UsageError
from tuning.experiment import Experiment
from tuning.export.card import card, hyperparameters_toml
from tuning.export.policy import SitePolicy, write_onnx
from tuning.judging.contenders import slug
from tuning.judging.folder import JudgementPaths
from tuning.policies import trained
from tuning.ray_session import ray_session
from tuning.records import TrialRecords

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
        UsageError: if the trial has no checkpoint any more, or the folder holds no judgement.
    """
    settings, records = experiment.settings, TrialRecords(experiment)
    judged, contender = _judged(experiment, number, judgement)
    site = scenario(settings.scenario)
    new = to.with_name(f".{to.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    steps = _write_policy(experiment, number, site, new / "policy.onnx")
    row = records.measured(number)
    about = {
        "policy": f"{settings.name}, trial {number}", "algorithm": settings.algo, "scenario": site.title,
        "reward": settings.reward, "trained for": f"{steps:,} steps with seed {row['seed']}",
        "versions": ", ".join(f"{name} {value}" for name, value in json.loads(row["versions"]).items()),
        "commit": row["git_commit"] or "not known",
    }  # fmt: skip
    rows = load(experiment.paths.folder).evaluations
    rows = rows[(rows["trial"] == number) & (rows["steps"] == steps)]
    texts = {
        "policy.json": _interface(site),
        "hyperparameters.toml": hyperparameters_toml(records.assignment(number), str(settings.algo)),
        "README.md": card(about, rows, judged, contender),
    }
    for name, text in texts.items():
        (new / name).write_text(text, encoding="utf-8")
    shutil.copyfile(EXAMPLE, new / EXAMPLE.name)
    new.rename(to)
    return sorted(to.iterdir())


def _write_policy(experiment: Experiment, number: int, site: Scenario, path: Path) -> int:
    """Write the network.

    Returns:
        Steps that the policy was trained for.
    """
    schema = site.schema_path(site.years("train")[0])
    simulator = SIMULATORS.take(schema)
    low, high = simulator.action_low, simulator.action_high
    SIMULATORS.give_back(simulator)
    with ray_session(num_cpus=1), trained(experiment, number) as found:
        write_onnx(SitePolicy(observation_layout(site), found.view, found.network, low, high), path)
        return found.steps


def _interface(site: Scenario) -> str:
    """What goes in and comes out, in its order, and the hours of the demand charge's peaks, as JSON."""
    layout, tariff = observation_layout(site), DemandCharge.of(site.schema_path(site.years("train")[0]))
    hours = list(tariff.peak_hours) if tariff else []
    return json.dumps({"observations": layout.names, "actions": layout.actions, "peak_hours": hours}, indent=1)


def _judged(experiment: Experiment, number: int, judgement: Path | None) -> tuple[pd.DataFrame | None, str]:
    """Table of the judgement, and the policy's name in it; none where it was not judged.

    Raises:
        UsageError: if the folder that was given holds no judgement.
    """
    folder = experiment.paths.folder
    if judgement is not None:
        table = JudgementPaths(judgement).table
        if not table.is_file():
            raise UsageError(f"--judgement {judgement}: there is no {table.name} in it")
        return pd.read_parquet(table), f"{experiment.settings.name} {number}"
    paths = JudgementPaths(folder.parent.parent)
    own = paths.table
    if folder.parent != paths.runs or not own.is_file():
        return None, ""
    names = load(own.parent).evaluations[["contender", "algorithm"]].dropna()["contender"].unique()
    return pd.read_parquet(own), next((name for name in names if slug(name) == folder.name), "")
