"""Before a search: check the settings, then create the experiment or open the one that they continue."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from common.errors import ScenarioError, UsageError, UserError
from common.paths import missing_folders, name_fault, user_path
from common.storage.location import StorageError
from common.texts import duration, hint, option, quoted
from common.uris import is_uri
from envs.environments.backend import beyond_batch, choose_backend
from envs.environments.fit import check_one_layout, check_own_reward, check_people, check_seen, check_stays, steps_per_second
from envs.environments.year_cache import any_district, has_several_buildings
from envs.gym.episodes import MOST_STEPS
from envs.objective.reward import check_reward, reference_lines
from envs.objective.weights import shown_term
from envs.scenarios.doubts import doubts
from envs.scenarios.scenario import Window
from envs.scenarios.splits import SPLITS
from envs.seen import Seen
from envs.task import SiteTask
from results.places import EXPERIMENT
from search_spaces.common import REWARD_SHARE
from tuning.algorithms.registry import algorithm, algorithm_of, names
from tuning.experiment.callbacks import callbacks_named
from tuning.experiment.folder import LEARNED, Experiment, ExperimentPaths, create, discard, existing
from tuning.experiment.option_values import ALL
from tuning.experiment.settings import REOPENING, Settings, changed, check_types
from tuning.memory.gpus import cards
from tuning.runtime.cluster import check_address, cluster_address, is_ray_running
from tuning.search.proposals.learning import digest, learned_from, read_learned, text_of, whole_place
from tuning.search.proposals.plan import SHARED, Plan, check_teacher, limits, plan, seen_by, space_differences
from tuning.search.proposals.transfer import LearnedExperiment
from tuning.storage.moving import move_to_storage
from tuning.storage.stored_experiment import (
    begun_elsewhere,
    create_stored,
    experiment_at,
    is_stored,
    look_up,
    storage_of,
    withdraw,
)
from tuning.trial.provenance import provenance, version_differences
from tuning.trial.report_copies import check_trackers

LEAST_SECONDS = 60.0  # of a budget of time
DEFAULT_COPIES = 8  # of an environment
PINNED = "pin_memory"
RATED = 0.2  # of a trial's steps, at most, in its evaluations, where CityLearn itself takes them
# Gives the settings that hold from now on, from those of the existing experiment and those that named it. A command line, for
# example, need not repeat the settings that the experiment was begun with.
AsContinued = Callable[[Settings, Settings], Settings]


@dataclass(frozen=True)
class Checked:
    """Settings that are valid. Nothing has been created with them yet."""

    settings: Settings  # as they hold from now on
    plan: Plan  # of the settings
    compatibility: dict[str, Any]  # see `Experiment`
    before: Experiment | None = None  # the experiment that is continued; None for a new one
    notes: tuple[str, ...] = ()  # lines for the user
    learned: str = ""  # content of the file of what a new experiment learns from others; empty for none


@dataclass(frozen=True)
class Opened:
    """An experiment with a folder, ready to be searched."""

    # With the settings that hold from now on. For an existing one they are written when the search begins.
    experiment: Experiment
    plan: Plan  # of the experiment
    # Folders that were created just now, the experiment's first; none for an existing one. With a storage, that was
    # created too.
    made: tuple[Path, ...] = ()
    # Of `extend` and `retry_failed` what the user asked for and the search has not done yet.
    asked: set[str] = field(default_factory=set)

    @property
    def again(self) -> dict[str, Any]:
        """Settings of this run that a command which continues needs again."""
        return self.experiment.again | dict.fromkeys(sorted(self.asked), True)

    @property
    def is_there(self) -> bool:
        """Whether the experiment exists still, as far as can be told."""
        experiment = self.experiment
        if experiment.storage is None or experiment.is_local:
            return experiment.paths.folder.exists()
        with suppress(StorageError):
            return is_stored(experiment.storage)
        return True

    def withdraw(self) -> bool:
        """Remove the experiment where it was created for nothing: no trial has been begun in it; whether it was."""
        experiment = self.experiment
        if experiment.storage is None:
            return discard(experiment.paths.folder, self.made)
        if not self.made or not withdraw(experiment):
            return False
        return not experiment.is_local or discard(experiment.paths.folder, self.made)


def experiment_to_continue(settings: Settings) -> Experiment | None:
    """The experiment that settings continue: what `resume` points at or names, or an existing one with their name.

    None if they begin a new one.

    Raises:
        UsageError: if the folder holds no experiment, or a damaged one; or if it would move without `resume`.
        StorageError: if a storage that is named cannot be read.
    """
    if settings.resume:
        if is_uri(settings.resume) or is_uri(settings.dir) or user_path(settings.resume).exists():
            return experiment_at(settings.resume, settings.storage)
        if named := existing(replace(settings, name=settings.resume)):
            return experiment_at(named, settings.storage)
        folder = user_path(settings.dir)
        names = sorted(path.parent.name for path in folder.glob(f"*/{EXPERIMENT}"))
        what = hint(settings.resume, names) if names else "there is none"
        raise UsageError(f"--resume {settings.resume}: no such folder, and no experiment of that name in {folder}: {what}")
    above = storage_of(settings)
    if above and is_uri(settings.dir):
        place = None if name_fault(settings.name) else above / settings.name
        return look_up(place) if place and is_stored(place) else None
    if path := existing(settings):
        known = experiment_at(path, settings.storage)
        if known.moves_to:
            # It would leave its folder for good; a name may be one that was forgotten.
            raise UsageError(
                f"{path} is an experiment in a folder alone: leave out --storage, add --resume {path} to move it to "
                f"{known.moves_to}, or choose another --name"
            )
        return known
    return begun_elsewhere(above, settings) if above else None


def check(settings: Settings, as_continued: AsContinued | None = None) -> Checked:
    """Check settings, for a new experiment or to continue one.

    Raises a UserError, one of its subclasses, for the first thing that is not valid.
    """
    check_types(settings)
    before = experiment_to_continue(settings)
    # Who names code trusts it; what a folder names may be a stranger's.
    trusts = settings.trust_scenario or (not settings.resume and bool(settings.env) and settings.env_task.source.names_code)
    if before is None:
        return check_new(replace(settings, trust_scenario=trusts))
    now = as_continued(before.settings, settings) if as_continued else settings
    return check_continued(before, replace(now, trust_scenario=trusts))


def check_new(settings: Settings) -> Checked:
    """Check the settings of a new experiment."""
    for name in REOPENING:
        if getattr(settings, name):
            raise UsageError(f"{option(name)} continues an experiment: say which with --resume, or with its --name")
    checked = _checked(settings, user_path(settings.space) if settings.space else None)
    if not settings.env:
        check_stays(checked.settings.site_task.site, "test")  # else its winner could not be judged
    if not settings.learn_from:
        return checked
    learned = learned_from(settings)
    text = text_of(learned)
    compatibility = {**checked.compatibility, LEARNED: digest(text)}
    return replace(checked, compatibility=compatibility, notes=(*checked.notes, *_learned_notes(learned)), learned=text)


def check_continued(before: Experiment, settings: Settings) -> Checked:
    """Check the settings that continue an experiment.

    Empty `space` and `set` stand for those of before; `name` and `dir` stay. Raises a UserError, see `check`; also for settings
    that may not change.
    """
    if settings.resume and settings.name not in ("", before.settings.name):
        raise UsageError(
            f"--name {settings.name}: --resume goes on with {before.place}, which keeps its name; leave --name out, or leave "
            "--resume out for a new experiment"
        )
    if settings.algo == ALL:
        raise UsageError(f"{before.place} is an experiment of {before.settings.algo}: it is continued without --algo all")
    if settings.steps < before.settings.steps:
        raise UsageError(
            f"--steps {settings.steps}: trials of {before.place} take {before.settings.steps:,}, and can only take more; "
            "leave it out, or start a new experiment"
        )
    # A space file that is given again is compared by its content. Without one, the experiment's copy holds.
    copy = before.paths.space if before.settings.space else None
    space_file = user_path(settings.space) if settings.space else copy
    kept = {name: getattr(before.settings, name) for name in ("name", "dir", "storage", "space")}
    if not settings.set or settings.fixed_texts() == before.settings.fixed_texts():
        kept["set"] = before.settings.set
    try:
        checked = _checked(replace(settings, resume="", **kept), space_file)
    except UserError:
        # What does not fit to other settings of the experiment may not have changed in the first place.
        if settings.resume:
            given = {name: getattr(settings, name) for name in ("algo", "env", "env_config", "objective", "minimize")}
            _refuse(before, changed(before.settings, replace(before.settings, **given)))
        raise
    if settings.learn_from == before.settings.learn_from:
        # As they were stored: where the experiment was begun, these paths may mean another place or none.
        checked = replace(checked, settings=replace(checked.settings, learn_from=before.settings.learn_from))
    compatibility = checked.compatibility
    if LEARNED in before.compatibility:
        compatibility = {**compatibility, LEARNED: before.compatibility[LEARNED]}
    learns = f", which learns from this one with {quoted(['--learn-from', before.place])}"
    _refuse(before, _differences(before, checked), learns if settings.algo == before.settings.algo else "")
    notes = [*checked.notes, *_learned_notes(read_learned(before, checked.plan.space))]
    if not settings.resume:
        notes.append(f"{before.place} exists and is continued")
    machine = before.compatibility.get("machine")
    for difference in version_differences(machine, compatibility["machine"]) if machine else ():
        notes.append(f"the code has changed, so results may differ: {difference}")
    return replace(checked, compatibility=compatibility, before=before, notes=tuple(notes))


def _refuse(before: Experiment, differences: Sequence[str], learns: str = "") -> None:
    """Raise a UsageError where settings that continue an experiment differ from its own."""
    if differences:
        told = "; ".join(differences)
        raise UsageError(f"{before.place} was begun with other settings: {told}; start a new experiment{learns}")


def open_checked(checked: Checked, say: Callable[[str], None] = lambda line: None) -> Opened:
    """Create the folder of a new experiment, or take that of the existing one, which may move to a storage first.

    Raises a UserError if the folder cannot be created, or the experiment cannot be moved.
    """
    if checked.before:
        before, settings = checked.before, checked.settings
        if before.moves_to:
            from tuning.search.record.record import check_study

            move_to_storage(before, settings.scenario, check_study, say)
            before = look_up(before.moves_to)
            settings = replace(settings, name=before.settings.name, dir=before.settings.dir)
        if before.comes_to:
            before = replace(before, paths=ExperimentPaths(before.comes_to), is_local=True, comes_to=None)
        begun_with = before.begun_with if settings.scenario == before.settings.scenario else ""
        experiment = replace(before, settings=settings, compatibility=checked.compatibility, begun_with=begun_with)
        return Opened(experiment, checked.plan, asked={name for name in REOPENING if getattr(experiment.settings, name)})
    if above := storage_of(checked.settings):
        experiment = create_stored(above, checked.settings, checked.compatibility, checked.learned)
        return Opened(experiment, checked.plan, (experiment.paths.folder,))
    parents = missing_folders(user_path(checked.settings.dir).resolve())
    experiment = create(checked.settings, checked.compatibility, checked.learned)
    return Opened(experiment, checked.plan, (experiment.paths.folder, *parents))


def _learned_notes(learned: Sequence[LearnedExperiment]) -> list[str]:
    return [f"learns from {each.folder}: {each.summary}" for each in learned]


def _check_shared(task: SiteTask, planned: Plan, settings: Settings) -> None:
    """Check that no trial shares a policy among the buildings of a site that has one.

    Raises a UsageError if the plan fixes `shared_policy` to true, searches it or starts with it.
    """
    if SHARED not in planned.space or has_several_buildings(task.site):
        return
    parameter = planned.space[SHARED]
    is_open = SHARED not in planned.fixed and True in getattr(parameter.search, "choices", ())
    begins = any(start[SHARED] for start in planned.starts)
    if not (is_open or begins or planned.fixed.get(SHARED, parameter.default)):
        return
    at, remedy = "shared_policy=true", "leave it out"
    if settings.preset and SHARED not in settings.fixed_texts():
        at, remedy = f"--preset {settings.preset}", "take another preset, or add --set shared_policy=false"
    raise UsageError(f"{at}: {task.site.title} has one building, and one policy acts for it anyway; {remedy}")


def _check_policy_fits(task: SiteTask, planned: Plan, seens: Sequence[Seen]) -> None:
    """Check that the site has what policies are to see, and that a policy of the training split can act in the others.

    These may simulate other buildings.
    """
    site = task.site
    for seen in seens:
        check_seen(site, seen)
    if all(site.same_buildings(split) for split in SPLITS):
        return
    if planned.fixed.get(SHARED) is not True:
        check_one_layout(site)
        return
    from tuning.algorithms.networks.building_kinds import BuildingKinds, why_unfit

    # Where it is searched whether chargers are learned, a policy may need what is known of them.
    # What is seen further is seen of all buildings.
    day_peak = seens[0].day_peak
    kinds = BuildingKinds.of(any_district(site, day_peak), planned.fixed.get("learn_charging", True) is True)
    for split in SPLITS:
        reason = None if site.same_buildings(split) else why_unfit(kinds, any_district(site, day_peak, split))
        if reason:
            raise ScenarioError(
                f"--{split}-buildings: a policy of {site.described('train')} cannot act in {site.described(split)}: {reason}; "
                "name buildings with the same observations and devices"
            )


def _check_plans(seens: Sequence[Seen], settings: Settings) -> None:
    """Raise a UsageError where plans are for another reward, or meet what they cannot be combined with."""
    planned = next((seen.plan for seen in seens if seen.plan != "none"), "")
    if planned and settings.reward != "improvement":
        raise UsageError(
            f"plan={planned}: plans are made for the reward improvement, not for --reward {settings.reward}; leave one out"
        )
    if planned and settings.teacher != "none":
        raise UsageError(
            f"plan={planned}: a policy with a plan begins as model predictive control already, so it needs no --teacher "
            f"{settings.teacher}; leave one out"
        )


def _check_time(settings: Settings) -> None:
    """Raise a UsageError for a budget of time that is over before a first trial can have been evaluated."""
    if (limit := settings.limit) and limit.is_time and limit.amount < LEAST_SECONDS:
        raise UsageError(
            f"--budget {settings.budget}: the process of a trial alone takes some ten seconds to begin, and its first "
            f"evaluation comes after {settings.rung_steps:,} steps; give at least "
            f"--budget {LEAST_SECONDS / 60.0:.0f}m, or 10m to compare some trials"
        )


def _slowly(settings: Settings, task: SiteTask) -> tuple[Settings, list[str]]:
    """Settings of a search that CityLearn itself steps, rated on fewer weeks unless others were asked for, and what to say."""
    from tuning.trial.second_look import MOST_OF_A_SITE  # it imports Ray

    windows, lines, further = task.validation_windows, [], 0
    if settings.validation_weeks == Settings.validation_weeks:
        longest = max(window.hours for window in windows)
        fit, often = (int(steps * RATED / (1.0 - RATED)) // longest for steps in (settings.rung_steps, settings.steps))
        if fit < len(windows):
            # Chosen once, evenly over the split, so that all trials are ranked by the same ones.
            settings = replace(settings, validation_weeks=max(fit, 1), further_weeks=True)
            times = ""
            if not fit and settings.evaluations == Settings.evaluations:
                settings = replace(settings, evaluations=max(often, 1))
                times = f" ({settings.evaluations} in a trial)"
            lines.append(
                f"evaluations{times} run {max(fit, 1)} of {len(windows)} windows of the validation split, as CityLearn takes "
                "as long for them as for training, and at the end the best three trials run the others; --validation-weeks 0 "
                "runs all"
            )
            windows, further = settings.site_task.validation_windows, _hours(settings.site_task.further_windows)
    pace, limit = steps_per_second(task.site), settings.limit
    steps = settings.steps + settings.evaluations * _hours(windows)
    line = f"CityLearn makes {pace:,.0f} steps a second here, so a whole trial takes about {duration(steps / pace)}"
    if not (limit and limit.is_time):
        whole = limit.amount / settings.steps if limit else settings.most_trials
        all_steps = whole * steps + min(settings.most_trials, MOST_OF_A_SITE) * further
        line += f", and the search {duration(all_steps / pace)} where trials run one after the other"
    lines.append(line)
    return settings, lines


def _hours(windows: Sequence[Window]) -> int:
    return sum(window.hours for window in windows)


def _has_no_card(settings: Settings) -> bool:
    # A cluster's cards are known later.
    return not (is_ray_running() or cluster_address(settings.address) or cards())


def _checked(settings: Settings, space_file: Path | None) -> Checked:
    settings.check()
    _check_time(settings)
    if settings.device == "gpu" and _has_no_card(settings):
        # Before minutes of preparation.
        raise UsageError("--device gpu: there is no card here; leave it out to train on the CPU")
    planned = plan(settings, space_file, settings.task)
    drawn = planned.space[PINNED].search if PINNED in planned.space and PINNED not in planned.fixed else None
    pins = True in getattr(drawn, "choices", ()) or any(each.get(PINNED) for each in (planned.fixed, *planned.starts))
    if pins and (settings.device == "cpu" or _has_no_card(settings)):
        raise UsageError(f"{PINNED}=true: it needs a card, and here trials learn on the CPU; leave it out")
    # In one form, however they were typed: what continues an experiment is compared with it.
    settings = replace(settings, weights=settings.aim.weights.texts, require=settings.aim.require, objective=settings.aim.names)
    settings = replace(settings, learn_from=tuple(map(whole_place, settings.learn_from)))
    notes = [f"aim: {settings.aim.shown}"] if settings.aim.shown else []
    settings, key, lines = of_environment(settings) if settings.env else _of_site(settings, planned)
    ranges = {} if settings.preset else planned.space.ranges(planned.fixed, limits(settings.steps))
    compatibility = {"scenario": key, "space": planned.space.describe(), "ranges": ranges, "machine": provenance()}
    notes += [*lines, *check_address(settings.address)]
    callbacks_named(settings.callback)
    check_trackers(settings.track)
    return Checked(settings, planned, compatibility, notes=tuple(notes))


def of_environment(settings: Settings) -> tuple[Settings, str, list[str]]:
    """Settings as they hold for an environment, what has to stay the same in it, and lines for the user; a UserError."""
    task = settings.env_task
    probe, source = task.probe, task.source.found_anywhere
    task.check_reported()
    if probe.actions not in algorithm_of(settings).actions:
        others = " or ".join(name for name in names() if probe.actions in algorithm(name).actions)
        raise UsageError(
            f"--env {settings.env}: {settings.algo} does not learn actions that are {probe.actions} in environments; "
            f"take {others}"
        )
    copies = DEFAULT_COPIES if settings.num_envs == Settings.num_envs else settings.num_envs
    episodes = settings.episodes or task.episodes_for(settings.rung_steps)
    settings = replace(settings, env=source.name, env_config=source.config, num_envs=copies, episodes=episodes)
    where = "processes of their own" if task.in_processes else "the process of their trial"
    lines = [f"{task.title}, Gymnasium's checker: {finding}" for finding in probe.findings]
    if not probe.ended:
        lines.append(
            f"{task.title}: no episode of random actions ended within {probe.episode_steps:,} steps; those that rate policies "
            f"have to end within {MOST_STEPS:,}"
        )
    lines.append(
        f"{task.title}: a step takes {1e6 * probe.step_seconds:,.0f} microseconds, so copies are stepped in {where}; policies "
        f"are rated by the same {episodes} episodes"
    )
    return settings, task.key, lines


def _of_site(settings: Settings, planned: Plan) -> tuple[Settings, str, list[str]]:
    task = settings.site_task
    site = task.site
    check_reward(site, settings.reward)
    if settings.reward == "schema":
        check_own_reward(site)
    else:
        check_people(site, "validation")
    site.windows("train")
    check_stays(site, "validation")
    _check_shared(task, planned, settings)
    seens = seen_by(planned, settings.aim.weights)
    _check_policy_fits(task, planned, seens)
    _check_plans(seens, settings)
    backend = choose_backend(site, settings.backend, settings.reward)
    settings.aim.check(site, settings.reward)
    if settings.teacher != "none":
        check_teacher(task.by(backend), settings.algo)
    notes = list[str]()
    if backend == "citylearn":
        settings, notes = _slowly(settings, task)
    notes += _of_two_objectives(settings, planned)
    notes += planned.notes
    notes += doubts(site.schema) if site.schema else []
    notes += settings.aim.idle_lines(site) if settings.reward == "improvement" else reference_lines(site)
    if settings.backend == "auto" and backend == "citylearn":
        missing = ", ".join(beyond_batch(site, settings.reward))
        notes.append(f"{site.title}: stepped by CityLearn itself, because the batch backend does not support: {missing}")
    # Absolute: in another folder a relative path would name another scenario.
    name = str(site.schema) if site.schema else settings.scenario
    return replace(settings, backend=backend, scenario=name), task.key, notes


def _of_two_objectives(settings: Settings, planned: Plan) -> list[str]:
    """What a search with two objectives draws of the reward, in a line; none with one objective, or with a preset."""
    if settings.preset or not settings.aim.second:
        return []
    if why := settings.aim.why_alike(settings.reward):
        return [f"aim: all policies are rewarded alike, as {why}; so the front shows what other hyperparameters change"]
    share = settings.reward_share
    assert share
    if REWARD_SHARE in planned.fixed:
        return []
    first, second = shown_term(share.first), shown_term(share.second)
    return [
        f"searched too, as there are two objectives: {REWARD_SHARE}, the part of {first} in the {share.together:g} that "
        f"{first} and {second} weigh together; by --weights {share.default:.3g}"
    ]


def _differences(before: Experiment, checked: Checked) -> list[str]:
    old, new = before.compatibility, checked.compatibility
    same_data = old.get("scenario") == new["scenario"]
    # The same files may lie elsewhere, as on another machine.
    now = checked.settings
    known = replace(before.settings, scenario=now.scenario, env=now.env) if same_data else before.settings
    differences = changed(known, checked.settings)
    if "scenario" in old and not same_data and not differences:
        differences.append(f"the scenario's data have changed ({old['scenario']}, now {new['scenario']})")
    if "space" in old and not differences:
        differences += space_differences(old["space"], checked.plan.space)[:1]
    return differences
