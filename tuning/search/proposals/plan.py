"""The plan of a search: its space, the fixed values in it, and the assignments that it starts with.

The space is fitted to the site: what is searched follows from what acts there.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from optuna.distributions import CategoricalDistribution

from common.errors import UsageError
from envs.environments.fit import can_share, can_start_from_plan, has_chargers, why_no_mpc
from envs.gym.task import EnvTask
from envs.objective.reward import serves_people
from envs.objective.weights import Weights
from envs.seen import Seen
from envs.task import SiteTask, Task
from search_spaces import Assignment, SearchSpace, SpaceError
from search_spaces.common import REWARD_SHARE, SHARES
from search_spaces.environment import DEVIATIONS
from search_spaces.overrides import override
from search_spaces.parameter import Parameter
from tuning.algorithms.registry import DEFAULT, AlgorithmSpec, algorithm, algorithm_of
from tuning.experiment.settings import Settings

CHARGING = ("learn_charging", "initial_charging")
_CHOICES = re.compile(r"CategoricalDistribution\(choices=\((.*?),?\)\)")  # in the words of a space
SHARED, PLAN = "shared_policy", "plan"
# Starts beside the default, each with the hyperparameter that is searched because of the site for it; see docs/algorithms.md.
SEVERAL = {"several-buildings": SHARED, "planned": PLAN}
ONE = {"default plan=learned": PLAN}  # other values of `planned` lose the plan on one building


@dataclass(frozen=True)
class Plan:
    """What a search varies, and what it does not."""

    space: SearchSpace  # of the algorithm
    fixed: Assignment  # values of hyperparameters that are not searched
    starts: tuple[Assignment, ...]  # full assignments of the first trials
    notes: tuple[str, ...] = ()  # what differs from the algorithm's own space because of the site, each in a line


def limits(steps: int) -> dict[str, float]:
    """Values that the conditions of a space may use beside hyperparameters."""
    return {"steps": float(steps)}


def plan(settings: Settings, space_file: Path | None, task: Task | None = None) -> Plan:
    """Plan a search, and check every name and value in it.

    Without a task it is of the algorithm's own space, as where everything is fixed. Raises a SpaceError for the first name or
    value that is not valid, or not possible with the budget of steps.
    """
    spec, budget = algorithm_of(settings), limits(settings.steps)
    space = spec.space
    if space_file:
        space = override(space, space_file)
    fixed = space.parse(settings.fixed_texts())
    space.check_fixed(fixed)  # before the site, which may take time
    notes: tuple[str, ...] = ()
    more = {}
    if isinstance(task, SiteTask) and not settings.preset:
        # What a plan does not go with is said of `--set plan=learned`; a search just leaves it out.
        may = settings.reward == "improvement" and settings.teacher == "none"
        may = may and any(preset.get(PLAN, "none") != "none" for preset in spec.presets.values())
        space, notes = fitted(space, task, may, fixed.keys())
        more = SEVERAL if can_share(task.site) else ONE
    if isinstance(task, EnvTask) and not settings.preset and task.probe.actions == "choices":
        space, notes = without(
            space, [name for name in DEVIATIONS if name not in fixed], f"{task.title} has choices for actions"
        )
    spec = replace(spec, space=space)
    fixed = {**space.own_values(), **fixed}
    space.check(fixed, budget)
    if settings.preset:
        return Plan(space, spec.preset(settings.preset, fixed, budget), ())
    names = settings.start_from
    if names == (DEFAULT,):
        names += tuple(
            text for text, open_ in more.items() if text.split()[0] in spec.presets and _is_open(space, open_, fixed)
        )
    starts = tuple(_start(name, values, spec, fixed, budget) for name, values in replace(settings, start_from=names).starts)
    is_drawn = REWARD_SHARE in space and REWARD_SHARE not in fixed and not space[REWARD_SHARE].own
    if settings.start_from == (DEFAULT,) and is_drawn:
        # Both ends of a front, which draws would come near to after many trials. A plan has the user's weights, whatever the
        # share is, so a policy that keeps it is no end.
        last = next((start for start in reversed(starts) if start.get(PLAN, "none") == "none"), starts[-1])
        starts += tuple({**last, REWARD_SHARE: share} for share in SHARES)
    return Plan(space, fixed, starts, notes)


def space_differences(described: Mapping[str, str], space: SearchSpace) -> list[str]:
    """How a space differs from the one that an experiment was begun with, each in words.

    `described` is the earlier one, see `SearchSpace.describe`.
    """
    now, differences = space.describe(), []
    for name in {**described, **now}:
        before, after = described.get(name, "absent"), now.get(name, "absent")
        (valid, _, was), (still, _, is_now) = (text.partition(f", searched as {name} in ") for text in (before, after))
        if was and is_now and valid == still:
            before, after = (_CHOICES.sub(r"\1", text) for text in (was, is_now))
        if before != after:
            differences.append(f"the space of {name} has changed ({before}; now {after})")
    return differences


def check_teacher(task: SiteTask, algo: str) -> None:
    """Check that model predictive control can teach an algorithm. Raises a UsageError if it cannot, with the reason."""
    reasons = {
        f"{algo} cannot begin as a copy": not algorithm(algo).can_be_taught,
        "its lessons are carried out by the batch backend: leave --backend out": task.stepped_by != "batch",
        "it plans for the reward improvement: leave --reward out": task.reward != "improvement",
        # A copy scored -1.33 on the 2023 challenge's data, where no control scores 0.
        "copies of it leave people too warm or too cold; start from its plan: --set plan=learned": serves_people(task.site),
    }
    reason = next((reason for reason, applies in reasons.items() if applies), "") or why_no_mpc(task.site)
    if reason:
        raise UsageError(f"--teacher mpc: {reason}")


def _start(
    name: str, texts: Mapping[str, str], spec: AlgorithmSpec, fixed: Assignment, budget: Mapping[str, float]
) -> Assignment:
    """The full assignment of a start. Raises a SpaceError if a value is not valid, or another one is fixed."""
    named = spec.space.parse(texts)
    for key, value in named.items():
        if key in fixed and fixed[key] != value:
            raise SpaceError(f"--start-from {key}={texts[key]}: the search fixes it to {fixed[key]}; leave one of them out")
    return spec.preset(name, {**named, **fixed}, budget)


def _is_open(space: SearchSpace, name: str, fixed: Assignment) -> bool:
    """Whether a search draws a hyperparameter because of its site, rather than because of the user's file."""
    return name in space and name not in fixed and space[name].search is not None and space[name].own is None


def seen_by(planned: Plan, weights: Weights) -> tuple[Seen, ...]:
    """All that policies of a search may see, each kind by itself; the first is what all of them see."""
    seens = [Seen.of(weights)]
    if PLAN in planned.space:
        parameter = planned.space[PLAN]
        drawn = parameter.search.choices if isinstance(parameter.search, CategoricalDistribution) else (parameter.default,)
        values = [planned.fixed[PLAN]] if PLAN in planned.fixed else [*drawn]
        seens += [Seen.of(weights, {PLAN: value}) for value in (*values, *(start[PLAN] for start in planned.starts))]
    return tuple(dict.fromkeys(seens))


def fitted(
    space: SearchSpace, task: SiteTask, plans: bool = False, fixed: Collection[str] = ()
) -> tuple[SearchSpace, tuple[str, ...]]:
    """The space of an experiment, without what does nothing on its site and with what decides there; a line for each change.

    What the user's file says of a hyperparameter holds. What the search may draw and does not fit into memory is refused trial
    by trial, so the machine changes nothing here. Raises a SpaceError if the user's file searches what does nothing on the
    site.

    Args:
        space: of the algorithm, with the changes of the user's file.
        task: of the experiment. The schema of its site is read, and where plans are asked for, the tables of a year.
        plans: whether to search with and without a plan of model predictive control, where the site has one.
        fixed: names of what is not searched after all; no line is about it.
    """
    notes, site = list[str](), task.site
    if not has_chargers(site):
        space, idle = without(space, CHARGING, f"{site.title} has no chargers")
        notes += idle
    if can_share(site) and SHARED in space and space[SHARED].own is None:
        space = _with(space, replace(space[SHARED], search=CategoricalDistribution((False, True))))
        if SHARED not in fixed:
            notes.append(f"searched too, as {site.title} has several buildings: {SHARED}")
    if plans and PLAN in space and space[PLAN].own is None and can_start_from_plan(site):
        space = _with(space, replace(space[PLAN], search=CategoricalDistribution(("none", "learned"))))
        if PLAN not in fixed:
            notes.append(
                f"searched too, as {site.title} has model predictive control: {PLAN}. A policy with a plan needs it "
                f"wherever it acts; --set {PLAN}=none leaves it out"
            )
    return space, tuple(notes)


def without(space: SearchSpace, names: Iterable[str], why: str) -> tuple[SearchSpace, tuple[str, ...]]:
    """A space that does not search what does nothing, and a line for each; a SpaceError where the user's file searches it."""
    notes = list[str]()
    for name in names:
        if name in space and space[name].search is not None:
            if bounds := space[name].own:
                raise SpaceError(f"{name}: {why}, so it does nothing there; remove it from {bounds.source}")
            space = _with(space, replace(space[name], search=None))
            notes.append(f"not searched, as {why}: {name}")
    return space, tuple(notes)


def _with(space: SearchSpace, parameter: Parameter) -> SearchSpace:
    return SearchSpace(tuple(parameter if each.name == parameter.name else each for each in space.parameters))
