"""Draw the next trial of a study. Everything here is a function of the trials before it; nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import optuna
from optuna.trial import FrozenTrial, TrialState

from search_spaces import Assignment, SearchSpace
from tuning.experiment.settings import Settings
from tuning.search.pruners import PRUNERS
from tuning.search.sampler_view import as_seen
from tuning.search.samplers import SAMPLERS

# User attributes of a trial.
HYPERPARAMETERS = "hyperparameters"  # the full assignment
REFUSED = "refused"  # why it does not fit into memory and was not started
SAME_AS = "same_as"  # number of an earlier trial with the same assignment; both have the same outcome

# Name of a constraint: missing bytes, below 0 if some are free.
PREDICTED = "predicted memory"

# Bytes that an assignment lacks to fit into memory, below 0 if it fits, and why.
Excess = Callable[[Assignment], tuple[int, str]]


@dataclass(frozen=True)
class Drawing:
    """How trials of an experiment are drawn.

    Attributes:
        settings: of the experiment: sampler, pruner, seed and budget.
        space: of its algorithm.
        fixed: values that are not searched.
        limits: what conditions of the space may name beside hyperparameters.
        starts: full assignments of the first trials.
        excess: of an assignment; None where memory does not matter.
    """

    settings: Settings
    space: SearchSpace
    fixed: Assignment
    limits: Mapping[str, float]
    starts: Sequence[Assignment] = ()
    excess: Excess | None = None

    def draw(self, known: Sequence[FrozenTrial], study_name: str, values: Mapping[int, float] | None = None) -> FrozenTrial:
        """The next trial, running, with its assignment.

        Args:
            known: all trials before it, by number.
            study_name: name of their study; Hyperband assigns trials to its brackets by it.
            values: see `tuning.search.sampler_view.as_seen`.
        """
        number = len(known)
        # A new sampler for each trial. So a draw depends on the experiment's seed, the trial's number and the trials before
        # it, and not on earlier draws of this process.
        seed = int(np.random.SeedSequence([self.settings.seed, number]).generate_state(1)[0])
        copy = optuna.create_study(
            study_name=study_name,
            direction="maximize",
            sampler=SAMPLERS[self.settings.sampler](seed),
            pruner=PRUNERS[self.settings.scheduler](self.settings.steps, self.settings.reports),
        )
        copy.add_trials(as_seen(known, values or {}))
        fixed = self.fixed
        if number < len(self.starts):
            # The sampler learns from the values within the search; the others hold for this trial alone.
            within, outside = self.space.inner(self.starts[number])
            copy.enqueue_trial(within)
            fixed = {**outside, **fixed}
        trial = copy.ask()
        assignment = self.space.suggest(trial, fixed, self.limits)
        trial.set_user_attr(HYPERPARAMETERS, assignment)
        if self.excess:
            excess, why = self.excess(assignment)
            trial.set_constraint(PREDICTED, excess)
            if excess > 0:
                trial.set_user_attr(REFUSED, why)
        return copy.get_trials()[number]


def already_tried(drawn: FrozenTrial, known: Sequence[FrozenTrial]) -> FrozenTrial | None:
    """The first ended trial with the same assignment that did not fail; None if the space has nothing to search.

    Args:
        drawn: the trial that may repeat it.
        known: all trials before it, by number.
    """
    if not drawn.params:
        return None
    ended = (trial for trial in known if trial.state in (TrialState.COMPLETE, TrialState.PRUNED))
    # An assignment that was refused may fit now: on another card, or by a better prediction.
    tried = (trial for trial in ended if REFUSED not in trial.user_attrs)
    same = (trial for trial in tried if trial.user_attrs[HYPERPARAMETERS] == drawn.user_attrs[HYPERPARAMETERS])
    return next(same, None)
