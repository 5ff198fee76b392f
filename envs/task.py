"""What is to be solved, as one value: on a site, or in an environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from common.measure import Measure
from envs.district import District
from envs.environments.backend import Backend, BackendChoice, beyond_batch, choose_backend
from envs.environments.seen_year import seen_buildings, seen_layout
from envs.environments.year_cache import has_several_buildings
from envs.gym.task import EnvTask
from envs.objective.aim import SCORE_ALONE, Aim, Row
from envs.objective.columns import evaluation_columns, evaluation_row
from envs.objective.evaluate import TRAINING_HOURS, Evaluation, Policy, evaluate
from envs.objective.reward import RewardName, check_reward
from envs.objective.weights import Weights
from envs.observation import ObservationLayout
from envs.scenarios.scenario import DEFAULT, Scenario, Split, Splits, Window, sample_weeks, scenario, training_starts, weeks_of
from envs.seen import Seen

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv

    from envs.environments.site_env import SiteEnv
    from envs.environments.vector_env import WindowsEnv


@dataclass(frozen=True)
class SiteTask:
    """What is to be solved on a site: the one value that commands, trials, judges, exports and yardsticks take.

    Immutable and hashable; its site is read when it is first asked for, and kept.
    """

    scenario: str  # name of a generated site, or path of a `schema.json`
    trusted: bool = False  # whether that schema may name code of its own; nothing stores it
    splits: Splits = DEFAULT  # of the site's hours, as the user states them
    backend: BackendChoice = "auto"  # that steps the site; `auto` for the batch backend where it can
    reward: RewardName = "improvement"  # that policies earn
    aim: Aim = SCORE_ALONE  # weights of that reward, objectives and requirements
    validation_weeks: int = 0  # that a trial is rated on, spread evenly; 0 for the whole split
    # What policies see beside CityLearn's observations.
    seen: Seen = Seen()  # noqa: RUF009 - it cannot change

    @cached_property
    def site(self) -> Scenario:
        """The site with its data; a `ScenarioError` if there is none, or it is not valid."""
        return scenario(self.scenario, self.trusted, self.splits)

    # Whether training goes on exactly from any of its steps; else from evaluations alone.
    resumes_anywhere: ClassVar[bool] = True

    @property
    def title(self) -> str:
        """As people read it."""
        return self.site.title

    @property
    def key(self) -> str:
        """What experiments and judgements compare: it changes with the site's data."""
        return self.site.key

    @property
    def columns(self) -> Mapping[str, Measure]:
        """What stands in a row of evaluations beside the table's own columns."""
        return evaluation_columns(self.site.currency)

    @cached_property
    def stepped_by(self) -> Backend:
        """What steps the site; `check` says whether it can."""
        return choose_backend(self.site, "auto", self.reward) if self.backend == "auto" else self.backend

    def check(self) -> None:
        """Check that reward and aim fit the site and what steps it; a `UserError` for the first that does not."""
        check_reward(self.site, self.reward)
        choose_backend(self.site, self.backend, self.reward)
        self.aim.check(self.site, self.reward)

    def _but(self, **values: Any) -> SiteTask:
        other = replace(self, **values)
        vars(other)["site"] = self.site
        return other

    def by(self, backend: BackendChoice) -> SiteTask:
        """The task as another backend steps it."""
        return self._but(backend=backend)

    @property
    def judged(self) -> SiteTask:
        """The task as a judge steps it: by the batch backend, a thousand times faster, unless only CityLearn can."""
        return self.by("citylearn" if self.why_not_batch() else "batch")

    def why_not_batch(self) -> str:
        """Reason why the batch backend cannot judge; empty where it can."""
        if missing := beyond_batch(self.site, self.reward):
            return f"it cannot step {self.site.title} ({', '.join(missing)})"
        return ""

    def rewarding(self, weights: Weights) -> SiteTask:
        """The task for other weights of the reward. What is seen stays, and the plans in it."""
        return self._but(aim=replace(self.aim, weights=weights))

    def seeing(self, assignment: Mapping[str, Any]) -> SiteTask:
        """The task for a trial of these hyperparameters."""
        return self._but(seen=Seen.of(self.aim.weights, assignment))

    def elsewhere(self, scenario: str) -> SiteTask:
        """The task on another site. Splits belong to the site that they were stated for."""
        return replace(self, scenario=scenario, splits=DEFAULT, backend="auto")

    def layout(self, year: int | None = None, own_layout: bool = False) -> ObservationLayout:
        """Observations and actions of policies; see `envs.environments.year_cache.observation_layout`."""
        return seen_layout(self.site, self.seen, year, own_layout)

    def district(self) -> District | None:
        """Buildings that train; None where there is one, which has nothing to share."""
        return self.buildings() if has_several_buildings(self.site) else None

    def buildings(self, split: Split = "train") -> District:
        """Buildings of a split, with a layout of their own."""
        return seen_buildings(self.site, self.seen, split)

    def training_env(self, copies: int) -> VectorEnv[Any, Any, Any]:
        """Copies of the site that draw two-week windows from the training split."""
        windows = training_starts(self.site.windows("train"), TRAINING_HOURS)
        weights, seen = self.aim.weights, self.seen
        if self.stepped_by == "batch":
            from envs.environments.vector_env import SiteVectorEnv

            return SiteVectorEnv(self.site, windows, copies, self.reward, copy=False, weights=weights, seen=seen)
        from envs.environments.site_env import SiteEnvs

        return SiteEnvs(self.site, windows, copies, self.reward, weights, seen)

    @property
    def validation_windows(self) -> tuple[Window, ...]:
        """Windows that a trial is rated on."""
        return tuple(sample_weeks(self.site.windows("validation"), self.validation_weeks))

    @property
    def further_windows(self) -> tuple[Window, ...]:
        """All other weeks of the validation split."""
        every = self.site.windows("validation")
        return tuple(week for week in sample_weeks(every, len(weeks_of(every))) if week not in self.validation_windows)

    def evaluation_env(self, windows: Sequence[Window] | None = None, own_layout: bool = False) -> SiteEnv | WindowsEnv:
        """Runs policies through windows in order, by default those that validate; `own_layout` as of `observation_layout`."""
        windows = self.validation_windows if windows is None else windows
        weights, seen = self.aim.weights, self.seen
        if self.stepped_by == "batch":
            from envs.environments.vector_env import WindowsEnv

            return WindowsEnv(self.site, windows, self.reward, weights, own_layout, seen)
        from envs.environments.site_env import SiteEnv

        return SiteEnv(self.site, windows, "sequence", self.reward, weights=weights, own_layout=own_layout, seen=seen)

    def evaluator(self, own_layout: bool = False) -> SiteEvaluator:
        """Runs policies through the windows that validate."""
        return SiteEvaluator(self.evaluation_env(own_layout=own_layout))

    def rate(self, policy: Policy, windows: Sequence[Window] | None = None, own_layout: bool = False) -> list[Evaluation]:
        """Evaluations of a policy, one a year; arguments as of `evaluation_env`, errors as of `evaluate`."""
        env = self.evaluation_env(windows, own_layout)
        evaluations = evaluate(env, policy)
        env.close()
        return evaluations


class SiteEvaluator:
    """Runs policies through the same windows again and again."""

    def __init__(self, env: SiteEnv | WindowsEnv) -> None:
        self.env = env

    def rows(self, policy: Policy) -> list[Row]:
        """Rows of `evaluations`, one a year; errors as of `evaluate`."""
        return [evaluation_row(evaluation) for evaluation in evaluate(self.env, policy)]

    def close(self) -> None:
        """Hand back what the next environment of this process can use."""
        self.env.close()


# What a search, a trial and a judge take. Of both they ask the same, and of a site alone what is behind `isinstance`.
Task = SiteTask | EnvTask
