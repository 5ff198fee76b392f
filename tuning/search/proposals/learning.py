"""What a new search learns from other experiments: ranks of their trials. Nothing of theirs is changed.

They are read once, and written into a file of the new experiment. So nothing later depends on the other folders.
"""

import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.trial import FrozenTrial, TrialState

from common.errors import UsageError
from common.files import read_text
from common.json_values import MOST, checked, parsed
from common.paths import user_path
from common.storage.location import location
from common.uris import is_uri
from envs.objective.aim import RewardShare
from search_spaces import Assignment, SearchSpace, SpaceError
from search_spaces.common import REWARD_SHARE
from search_spaces.parameter import Value
from tuning.algorithms.registry import algorithm_of
from tuning.experiment.folder import LEARNED, Experiment, check_format
from tuning.experiment.reading import open_to_read
from tuning.experiment.settings import Settings
from tuning.search.models.freeze_thaw import FIRST, Curve, comparable, predicted_ends
from tuning.search.proposals.plan import limits
from tuning.search.proposals.transfer import LearnedExperiment, LearnedTrial
from tuning.search.record.journal import DamagedStudyError
from tuning.search.record.study import read_trials
from tuning.search.record.trials import Key, lacked_memory
from tuning.storage.journal_mirror import with_journal

LEAST = 2  # trials: one has no rank
_LARGEST = 1e100  # rating; squares of larger ones are no numbers
FORMAT = 1


def learned_from(settings: Settings) -> tuple[LearnedExperiment, ...]:
    """Trials and ranks of the experiments that settings learn from.

    Raises:
        UsageError: if one of the folders holds no experiment, a damaged one, one of another algorithm, or too few trials.
        UserError: one of its other kinds, see `open_experiment`.
    """
    by_place: dict[str, LearnedExperiment] = {}
    for text in settings.learn_from:
        place = whole_place(text)
        if place in by_place:
            raise UsageError(f"--learn-from {text}: it is given twice; leave one out")
        by_place[place] = _learned(text, place, settings)
    return tuple(by_place.values())


def whole_place(given: str) -> str:
    """A place as it names the same from all folders: an absolute path, or a URI.

    Raises:
        StorageError: if the URI is none.
        PathError: if the path is none.
    """
    return location(given).uri if is_uri(given) else str(user_path(given).resolve())


def _learned(text: str, place: str, settings: Settings) -> LearnedExperiment:
    at = f"--learn-from {text}"
    try:
        other = open_to_read(place)
    except UsageError as error:
        raise UsageError(f"{at}: {error}") from error
    if other.settings.algo != settings.algo:
        raise UsageError(f"{at}: it is an experiment of {other.settings.algo}, not of {settings.algo}; leave it out")
    try:
        with with_journal(other) as readable:
            trials = read_trials(readable)
    except DamagedStudyError as error:
        raise UsageError(f"{at}: {error.path} is damaged ({error.why}); restore it from a copy, or leave it out") from error
    used, left_out = usable(trials, other.settings, algorithm_of(settings).space, settings.reward_share)
    summary = f"{len(used)} of {len(trials)} trials" + (
        f" (not used: {', '.join(f'{count} {reason}' for reason, count in sorted(left_out.items()))})" if left_out else ""
    )
    if len(used) < LEAST:
        raise UsageError(f"{at}: ranks need at least {LEAST} trials, and it has {summary}; run it longer, or leave it out")
    # Imported here: it takes half a second, and most searches learn from no other.
    from scipy.stats import rankdata

    ends = expected_ends([trials[number] for number in used], other)
    ranks = rankdata([-ends[number] for number in used])
    ranked = tuple(LearnedTrial(number, float(rank), used[number]) for number, rank in zip(used, ranks, strict=True))
    return LearnedExperiment(place, summary, ranked)


def usable(
    trials: Sequence[FrozenTrial], settings: Settings, space: SearchSpace, share: RewardShare | None = None
) -> tuple[dict[int, Assignment], Mapping[str, int]]:
    """Trials that teach, and why others do not.

    The share of the reward that means nothing here has its default. Returns full assignments by number, and the number of
    other trials by reason.
    """
    used: dict[int, Assignment] = {}
    left_out: Counter[str] = Counter()
    for trial in trials:
        if reason := _why_not(trial, settings):
            left_out[reason] += 1
            continue
        try:
            assignment = trial.user_attrs[Key.HYPERPARAMETERS]
            assignment = _with_share_of(assignment, settings.reward_share, share)
            if unknown := sorted(assignment.keys() - space.describe().keys()):
                raise SpaceError(unknown[0])
            space.check(assignment)
        except SpaceError:
            left_out["with hyperparameters that this version does not take"] += 1
            continue
        used[trial.number] = space.whole(assignment)
    return used, left_out


def _with_share_of(assignment: Assignment, theirs: RewardShare | None, ours: RewardShare | None) -> Assignment:
    """An assignment with the share of today's two objectives, where it tells that of the same two terms; else without one."""
    rest = {name: value for name, value in assignment.items() if name != REWARD_SHARE}
    given = assignment.get(REWARD_SHARE)
    if theirs is None or ours is None or not isinstance(given, int | float):
        return rest
    if (theirs.first, theirs.second) == (ours.first, ours.second):
        return {**rest, REWARD_SHARE: float(given)}
    return {**rest, REWARD_SHARE: 1.0 - given} if (theirs.second, theirs.first) == (ours.first, ours.second) else rest


def _why_not(trial: FrozenTrial, settings: Settings) -> str:
    reported = [steps for steps, _ in _evaluations(trial)]
    reasons = {
        "that repeat another": Key.SAME_AS in trial.user_attrs,
        "that confirm another": Key.CONFIRMS in trial.user_attrs,
        "that did not fit into memory": Key.REFUSED in trial.user_attrs or lacked_memory(trial),
        "that failed": trial.state is TrialState.FAIL,
        "without hyperparameters": not isinstance(trial.user_attrs.get(Key.HYPERPARAMETERS), dict),
        # Ranks before that mislead, see `FIRST`.
        f"below {FIRST:.0%} of their steps": max(reported, default=0) < FIRST * settings.steps,
    }
    return next((reason for reason, applies in reasons.items() if applies), "")


def _evaluations(trial: FrozenTrial) -> tuple[tuple[int, float], ...]:
    """Steps and rating of each evaluation, by steps. Optuna reads whatever a journal has; what cannot be is left out."""
    return tuple(
        sorted(
            (steps, float(rating))
            for steps, rating in trial.intermediate_values.items()
            if type(steps) is int and 0 < steps <= MOST and type(rating) in (int, float) and abs(rating) <= _LARGEST
        )
    )


def expected_ends(used: Sequence[FrozenTrial], other: Experiment) -> dict[int, float]:
    """Rating that each trial is expected to have after the most steps of its experiment, by number.

    So trials that were frozen or stopped after different steps can be ranked. The model is that of freeze-thaw.
    """
    searched = algorithm_of(other.settings).space
    tried = [searched.whole(trial.user_attrs[Key.HYPERPARAMETERS]) for trial in used]
    space = _with_what_differs(searched, tried)
    distributions = space.distributions({}, limits(other.settings.steps))
    curves = []
    for trial, assignment in zip(used, tried, strict=True):
        curves.append(Curve(trial.number, space.point(assignment, distributions), _evaluations(trial), 1.0, "ended"))
    return predicted_ends(comparable(curves), distributions, other.settings.steps)


def _with_what_differs(space: SearchSpace, tried: Sequence[Assignment]) -> SearchSpace:
    """A space that searches what differs between trials, too: what was searched for the site, or by the user's file."""
    return SearchSpace(
        tuple(
            parameter
            if parameter.search
            else replace(parameter, search=_range([assignment[parameter.name] for assignment in tried]))
            for parameter in space.parameters
        )
    )


def _range(values: Sequence[Value]) -> BaseDistribution | None:
    """What spans some values of a hyperparameter; None where they are all the same."""
    different = list(dict.fromkeys(values))
    known = [value for value in different if value is not None]
    numbers = [value for value in known if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(different) < 2 or not known:
        return None
    if len(numbers) < len(known):
        return CategoricalDistribution(known)
    low, high = min(numbers), max(numbers)
    # A value that is none has no limit: it lies at the upper end, beyond the others.
    return FloatDistribution(low, high + (high - low or abs(high) or 1.0) if None in different else high)


def text_of(experiments: tuple[LearnedExperiment, ...]) -> str:
    """Content of the file."""
    return json.dumps({"format": FORMAT, "experiments": [asdict(each) for each in experiments]}, indent=1)


def digest(text: str) -> str:
    """Checksum of the content, which the experiment's own file has."""
    return hashlib.sha256(text.encode()).hexdigest()


def read_learned(experiment: Experiment, space: SearchSpace) -> tuple[LearnedExperiment, ...]:
    """What an experiment learned from others; nothing where it learned from none.

    Raises:
        UsageError: if its file is missing, or is not as it was written.
        OtherFormatError: if another version of this package wrote it.
    """
    if not experiment.settings.learn_from:
        return ()
    path = experiment.paths.learned
    try:
        text = read_text(path)
        if digest(text) != experiment.compatibility.get(LEARNED):
            raise ValueError("its content has changed since it was written")
        return _read(path, text, space)
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}): restore it from a copy") from error
    except (ValueError, SpaceError) as error:
        raise UsageError(f"{path} is damaged ({error}): restore it from a copy") from error


def _read(path: Path, text: str, space: SearchSpace) -> tuple[LearnedExperiment, ...]:
    content = checked(parsed(text), dict[str, Any], "its content")
    check_format(path, content, FORMAT)
    experiments: tuple[LearnedExperiment, ...] = checked(
        content.get("experiments"), tuple[LearnedExperiment, ...], "experiments"
    )
    for trial in itertools.chain.from_iterable(each.trials for each in experiments):
        space.check(trial.hyperparameters)
    return experiments
