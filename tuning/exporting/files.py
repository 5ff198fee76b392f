"""The files of an exported policy, all or none of them."""

from pathlib import Path
from typing import Any

import numpy as np

from common.errors import UsageError
from common.paths import user_path
from envs.environments.fit import check_seen, why_no_mpc
from envs.environments.seen_year import first_row, planned_site, seen_table
from envs.environments.year_cache import action_range, year_tables
from envs.objective.reward import check_reward, serves_people
from envs.observation import DAY_PEAK_NAME, PEAK_NAMES, ObservationLayout
from envs.planning.live import FILE as LIVE
from envs.planning.live import LiveController
from envs.scenarios.schema_file import building_names
from envs.scenarios.splits import SPLITS, Split
from envs.scenarios.tariff import DemandCharge
from envs.task import SiteTask
from results import load
from tuning.cli.console import busy, terminal
from tuning.experiment.reading import open_to_read, with_checkpoints
from tuning.experiment.settings import check_types
from tuning.exporting.environment import export_environment
from tuning.exporting.model_card import given_judgement, own_judgement
from tuning.exporting.onnx_policy import SitePolicy, write_onnx
from tuning.exporting.places import about_policy, beside, write_facts
from tuning.exporting.settings import ExportSettings
from tuning.trial.policy import trained, trial_number
from tuning.trial.records import TrialRecords

SEEN = "seen.npy"  # see `envs.environments.seen_year.seen_table`


def export_policy(settings: ExportSettings) -> list[Path]:
    """Write a trial's policy as files that control its site or environment without Ray, torch or this package; their paths.

    Raises a UsageError if the folder exists, if the trial has no checkpoint any more, or took no part in the judgement, or if
    the site does not observe what the example controller needs.
    """
    check_types(settings)
    to, elsewhere, split = user_path(settings.to), settings.scenario, settings.split
    if to.exists():
        raise UsageError(f"--to {to}: it is there already, and nothing is written over it; give another folder")
    experiment = open_to_read(settings.experiment).trusting(settings.trust_scenario)
    number = trial_number(load(experiment.paths.folder), settings.trial)
    if elsewhere and split != "train":
        raise UsageError(f"--split {split}: it is of the site that trained; leave it out, or --scenario {elsewhere}")
    judged = given_judgement(experiment, number, settings.judgement) if settings.judgement else own_judgement(experiment)
    if experiment.settings.env:
        if elsewhere or split != "train":
            raise UsageError("--scenario and --split are of sites: an environment has one policy, which acts in it")
        return export_environment(experiment, number, to, judged, settings.keep)
    trained_on = experiment.settings.site_task
    task = (trained_on.elsewhere(elsewhere) if elsewhere else trained_on).seeing(TrialRecords(experiment).assignment(number))
    site, seen = task.site, task.seen
    check_reward(site, task.reward)
    if elsewhere:
        check_seen(site, seen)
    year = site.years(split)[0]
    _check_peaks(task, task.layout(year))
    with (
        beside(to) as new,  # first, so that a disk that takes no files is named at once
        busy(terminal(stderr=True), f"exporting the policy of trial {number}, with what it sees"),
        trained(with_checkpoints(experiment, number), number, task if elsewhere else None, split, settings.keep) as policy,
    ):
        # A policy for single buildings knows those of a split by bounds of their own.
        layout = task.layout(year, own_layout=policy.shares)
        exported = SitePolicy(layout, policy.view, policy.network, *action_range(site, year), policy.changes)
        write_onnx(exported, new / "policy.onnx")
        about = about_policy(experiment, number, {"scenario": trained_on.title, **_splits(trained_on)}, policy.steps)
        if elsewhere:
            about["acts on"] = site.title
        elif not site.same_buildings(split):
            about["acts on"] = site.title_of(split)
        if not seen.is_plain:
            about["sees further"] = _seen_words(task, split)
        write_facts(new, experiment, number, policy.steps, about, _interface(task, layout, year), judged)
        if not seen.is_plain:
            np.save(new / SEEN, seen_table(site, split, seen))
        # What a room's temperature will be without control, and what its controller would ask for, a caller cannot say.
        if not why_no_mpc(site) and not serves_people(site):
            LiveController.of(year_tables(site, year), planned_site(site, year, task.aim.weights)).save(new / LIVE)
    return sorted(to.iterdir())


def _seen_words(task: SiteTask, split: Split) -> str:
    """Where a controller has from what the policy sees beside the site's own observations."""
    site, seen = task.site, task.seen
    where = site.title_of(split) if site.segments else site.title
    year = "" if site.schema else f", year {site.years('test')[0]}"
    return f"plan={seen.plan}; {SEEN} has it for each row of {where}{year}, and fits no other data"


def _check_peaks(task: SiteTask, layout: ObservationLayout) -> None:
    """Raise a UsageError if a controller cannot compute the peaks that the policy sees from the site's observations."""
    site = task.site
    if DAY_PEAK_NAME in layout.names and "hour" not in layout.names:
        raise UsageError(
            f"the policy sees the day's highest import so far, but {site.title} does not observe hour, which knowing the day "
            "needs: such a policy cannot be exported"
        )
    missing = [name for name in ("month", "hour") if name not in layout.names]
    if missing and PEAK_NAMES[0] in layout.names:
        raise UsageError(
            f"{site.title} has a demand charge and its policy sees the month's peaks, but the site does not observe "
            f"{' and '.join(missing)}, which counting them needs: such a policy cannot be exported"
        )


def _splits(task: SiteTask) -> dict[str, str]:
    words = {split: task.site.words(split) for split in SPLITS}
    return {f"{split} split": text for split, text in words.items() if text}


def _interface(task: SiteTask, layout: ObservationLayout, year: int) -> dict[str, Any]:
    """Names of inputs, outputs and buildings in their order, the peak hours of the demand charge, and where a table begins.

    Where the policy sees the day's highest import so far, its name is the last of the observations.
    """
    site = task.site
    tariff = DemandCharge.of(site.schema_path(site.years("train")[0]))
    hours = list(tariff.peak_hours) if tariff else []
    table = {} if task.seen.is_plain else {"first_seen_row": first_row(site)}
    names = {"observations": layout.names, "actions": layout.actions, "buildings": building_names(site.schema_path(year))}
    return {**names, "peak_hours": hours, **table}
