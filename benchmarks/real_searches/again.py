"""A winner trained anew with a fresh seed, by its own library and with exactly its hyperparameters, and rated.

On a site the last policy is rated. In an environment the one counts that was best in `EVALUATIONS` evaluations of the training,
by the validation episodes, the zoo's by its own: there policies fall from the greatest return to an eighth of it between two
evaluations, and whoever trains keeps the best.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np

from benchmarks.real_searches.ours import EPISODES
from benchmarks.real_searches.records import Winner
from benchmarks.real_searches.sites import environment_of
from envs.gym.episodes import seeds_of
from envs.gym.task import MOST_EPISODES
from envs.scenarios.scenario import Split

TEST: Final = "test"
EVALUATIONS = 5  # of the most steps of a trial, in environments
_KEY = 0x5EA8C4  # apart from the seeds of searches


class Best:
    """Test score of the policy that validation rated best so far; of equal ones the later."""

    def __init__(self) -> None:
        self._validation, self.test = -math.inf, math.nan

    def add(self, validation: float, test: Callable[[], float]) -> None:
        """An evaluation; `test` rates its policy on the test."""
        if validation >= self._validation:
            self._validation, self.test = validation, test()


def fresh_seed(search_seed: int, run: int) -> int:
    """Seed of a training of the judgement: the same for all methods, and different from all seeds of searches.

    Args:
        search_seed: of the search that found the winner.
        run: number of the training.
    """
    return int(np.random.SeedSequence([_KEY, search_seed, run]).generate_state(1)[0] >> 1)


def score_again(scenario_name: str, winner: Winner, seed: int, split: Split = "test", weeks: int = 0) -> float:
    """Train a winner anew for the steps that it had, and rate it.

    Args:
        scenario_name: of the site.
        winner: of a search.
        seed: of the training.
        split: that rates it.
        weeks: of the split; 0 for all.

    Returns:
        Mean reward an hour.
    """
    if winner.library == "rl-zoo3":
        from benchmarks.real_searches.zoo_search import trained_and_rated

        return trained_and_rated(environment_of(scenario_name), winner, seed, seeds_of(split, MOST_EPISODES), EVALUATIONS)
    rating = _of_sb3 if winner.library == "stable-baselines3" else _of_ours
    return rating(scenario_name, winner, seed, split, weeks)


def _of_ours(scenario_name: str, winner: Winner, seed: int, split: Split, weeks: int) -> float:
    from envs.objective.evaluate import score
    from envs.scenarios.scenario import sample_weeks
    from tuning.algorithms.registry import algorithm
    from tuning.experiment.settings import Settings
    from tuning.trial.evaluations import evaluations_due
    from tuning.trial.policy import acting_in, trial_setup

    # Schedules end at the most steps of the search, also where the winner had fewer.
    env = environment_of(scenario_name)
    of_env = Settings(env=env, num_envs=8, episodes=MOST_EPISODES, steps=winner.most_steps, trust_scenario=True)
    settings = of_env if env else Settings(scenario=scenario_name, backend="batch", steps=winner.most_steps)
    assignment: dict[str, Any] = winner.hyperparameters
    trainer = algorithm(settings.algo).build(trial_setup(settings, seed, assignment))

    def rated(split: Split) -> float:
        task = replace(settings.env_task, episodes=EPISODES) if split == "validation" else settings.env_task
        return float(np.mean([row["score"] for row in task.rows(trainer.policy(), split)]))  # type: ignore[arg-type]

    try:
        steps, done, best = 0, 0, Best()
        while steps < winner.steps:
            steps = trainer.update().steps
            if env and evaluations_due(steps, winner.most_steps, EVALUATIONS) > done:
                done = evaluations_due(steps, winner.most_steps, EVALUATIONS)
                best.add(rated("validation"), lambda: rated(TEST))
        if env:
            return best.test
        task = settings.site_task.seeing(assignment)
        windows = sample_weeks(task.site.windows(split), weeks)
        return score(task.rate(acting_in(trainer, task, split).policy, windows, trainer.shares))
    finally:
        trainer.stop()


def _of_sb3(scenario_name: str, winner: Winner, seed: int, split: Split, weeks: int) -> float:
    from benchmarks.real_searches.sb3_training import Evaluated, Evaluations, rated, rating_env, trained

    test = rating_env(scenario_name, split, weeks, MOST_EPISODES)
    if not environment_of(scenario_name):
        return rated(trained(scenario_name, winner.hyperparameters, seed, winner.steps), test)
    best = Best()

    def on_evaluated(evaluated: Evaluated) -> bool:
        best.add(evaluated.score, lambda: rated(callback.model, test))  # type: ignore[arg-type]
        return True

    validation = rating_env(scenario_name, "validation", weeks)
    callback = Evaluations(validation, winner.most_steps, EVALUATIONS, on_evaluated, lambda: False)
    trained(scenario_name, winner.hyperparameters, seed, winner.steps, callback)
    return best.test
