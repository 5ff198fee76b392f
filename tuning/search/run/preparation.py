"""What comes between the start of Ray and the first trial.

Files of the years and uncontrolled runs that the cache lacks are made in parallel, and a search that cannot work is refused.
"""

from collections.abc import Sequence
from functools import partial

from rich.console import Console

from common.errors import UsageError
from envs.environments.seen_year import forecasts_to_make, has_shadow, models_to_train, shadow
from envs.environments.year_cache import is_prepared, prepare_year, rooms_astray
from envs.environments.year_forecasts import learned_model, learned_table
from envs.planning.mpc import horizon_steps
from envs.scenarios.splits import Split
from envs.seen import Seen
from envs.task import SiteTask
from envs.yardsticks.lessons import has_part, lesson_part, lesson_windows, parts_of, prepare_teacher
from tuning.cli.console import busy, say
from tuning.experiment.settings import Settings
from tuning.memory.machine import Look, machine
from tuning.memory.placement import Placement
from tuning.memory.planner import Calibration, Planner
from tuning.memory.prediction import sizes_of
from tuning.runtime.jobs import Job, run_jobs
from tuning.search.proposals.plan import Plan, limits

SPLITS: tuple[Split, ...] = ("train", "validation")  # that a search sees


def prepare(
    task: SiteTask,
    console: Console,
    splits: Sequence[Split] = SPLITS,
    seens: Sequence[Seen] = (Seen(),),
) -> None:
    """Prepare the years of some splits, one Ray task a year.

    Then what policies see beside their observations, likewise.

    Raises:
        ScenarioError: if the scenario's data are not valid.
        CacheError: if the cache cannot be read or written.
    """
    scenario = task.site
    of_splits = {year for split in splits for year in scenario.years(split)}
    day_peak = seens[0].day_peak
    years = sorted(year for year in of_splits if not is_prepared(scenario, year, day_peak))
    if years:
        *others, last = map(str, years)
        which = f"years {', '.join(others)} and {last}" if others else f"year {last}"
        say(console, f"{scenario.title}: preparing {which}, this once: series, tables, the uncontrolled site")
        _run("years", [Job(partial(prepare_year, scenario, year, day_peak=day_peak), True) for year in years], console)
    parts = list(dict.fromkeys(seen for seen in seens if not seen.is_plain))
    lacking = [(year, part) for year in sorted(of_splits) for part in parts if not has_shadow(scenario, year, part)]
    if lacking:
        plans = ", ".join(f"the plan (forecasts: {part.plan})" for part in parts)
        say(console, f"{scenario.title}: preparing what policies see, this once: {plans}")
        if any(part.plan == "learned" for _, part in lacking):
            # The other splits are forecast by models of the train split.
            models = models_to_train(scenario)
            _run("models of forecasts", [Job(partial(learned_model, scenario, *model)) for model in models], console)
            # A year's plans are made hour after hour, by one core. Its forecasts are no part of that.
            years = list(dict.fromkeys(year for year, part in lacking if part.plan == "learned"))
            jobs = [
                Job(partial(learned_table, scenario, year, kind, horizon_steps(scenario), crossed=True))
                for year, kind in forecasts_to_make(scenario, years)
            ]
            _run("forecasts", jobs, console)
        _run("plans", [Job(partial(shadow, scenario, year, part), True) for year, part in lacking], console)
    if scenario.schema:
        # What other nodes of a cluster have prepared is not looked at.
        for line in rooms_astray(scenario, [year for year in sorted(of_splits) if is_prepared(scenario, year, day_peak)]):
            say(console, line)


def prepare_lessons(task: SiteTask, console: Console) -> None:
    """Make the lessons of model predictive control that the cache lacks, one Ray task a part."""
    site = task.site
    parts = [part for part in range(parts_of(site)) if not has_part(task, part)]
    if not parts:
        return
    hours = sum(window.hours for window in lesson_windows(site))
    say(console, f"{site.title}: the teacher plans {hours:,} hours of the train split, this once")
    _run("forecasts", [Job(partial(prepare_teacher, site))], console)
    _run("lessons", [Job(partial(lesson_part, task, part), True) for part in parts], console)


def _run(made: str, jobs: Sequence[Job], console: Console) -> None:
    """Run jobs in parallel, and show how far they are together; `made` is what they make, for people."""
    with busy(console, f"  {made}", at_once=False) as tell:

        def show(done: Sequence[float]) -> bool:
            tell(f"{sum(done) / len(done):.0%}")
            return True

        run_jobs(jobs, show)


def plan_resources(settings: Settings, console: Console, look: Look) -> Planner:
    """Predictions and limits of memory for trials on the running Ray; prints a line if they learn without a card."""
    kinds, line = machine(settings.gpu_memory, look, tell=partial(say, console), device=settings.device)
    if line:
        say(console, line)
    sizes = sizes_of(settings.task)
    return Planner.of(settings, sizes, kinds, Calibration())


def refuse_nothing_to_learn(plan: Plan, planner: Planner) -> None:
    """Refuse a search in which trials might have no action to learn.

    Raises a UsageError if all actions of the site are chargers' and the plan does not fix `learn_charging` to true.
    """
    if "learn_charging" not in plan.space:
        return  # all actions are learned
    sizes, learned = planner.sizes, plan.space["learn_charging"]
    is_open = learned.search is not None and "learn_charging" not in plan.fixed
    if sizes.chargers == sizes.actions and (is_open or not plan.fixed.get("learn_charging", learned.default)):
        raise UsageError("all actions of this site are chargers', so policies have to learn these: --set learn_charging=true")


def refuse_what_cannot_fit(plan: Plan, planner: Planner) -> None:
    """Refuse a search if the trials that the user named do not fit into the machine's memory.

    Raises a UsageError for a start assignment that does not fit; without any, for the default with the fixed values.
    """
    placement = Placement(planner)
    assignments = plan.starts or (plan.space.complete(plan.fixed, limits(planner.settings.steps)),)
    for assignment in assignments:
        excess, why = placement.excess(assignment)
        if excess > 0:
            raise UsageError(f"a trial with these settings {why}")
