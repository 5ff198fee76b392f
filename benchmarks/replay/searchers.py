"""Searchers over a landscape, each in virtual time with one trial at once."""

import contextlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import optuna
from optuna.pruners import BasePruner, HyperbandPruner, MedianPruner, NopPruner, SuccessiveHalvingPruner
from optuna.samplers import BaseSampler, GPSampler, RandomSampler, TPESampler
from optuna.trial import FrozenTrial, TrialState, create_trial
from scipy.stats import rankdata

from benchmarks.replay.landscape import Landscape, within
from benchmarks.replay.surrogate import Open, Surrogate
from tuning.experiment.option_values import SAMPLERS, startup_trials
from tuning.experiment.settings import BEGUN_FOR_EACH
from tuning.search.models.curve_model import Point
from tuning.search.models.freeze_thaw import FIRST, Curve, Outlook, predicted_ends
from tuning.search.promotion.thawing import ALWAYS, MOST_PART
from tuning.search.proposals.drawing import first_affordable
from tuning.search.proposals.prior import propose
from tuning.search.proposals.transfer import Source, Transfer

RUNGS = 10  # of a whole curve; so often freeze-thaw decides on a trial
Searched = Landscape | Open


class Spent(Exception):  # noqa: N818
    """The budget does not reach for the next evaluation."""


@dataclass
class Replay:
    """One search: what it trains, and what it has at each time.

    Attributes:
        landscape: that it searches.
        budget: in steps of the default's cost.
        seed: of the replay; decides the seed that each assignment is trained with.
        time: spent so far.
        reached: evaluations so far, by assignment.
        trace: after each improvement: time, and the mean rating of what had the best observed rating.
    """

    landscape: Searched
    budget: float
    seed: int
    time: float = 0.0
    reached: dict[int, int] = field(default_factory=dict)
    trace: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ratings, self._means = self.landscape.trainings(self.seed)
        self._best = -np.inf

    @property
    def free(self) -> list[int]:
        """Assignments that have not begun."""
        return self.landscape.untried(self.reached)

    def train(self, assignment: int) -> float:
        """Train an assignment up to its next evaluation.

        Returns:
            Its rating there.

        Raises:
            Spent: if the budget ends before.
        """
        land, done = self.landscape, self.reached.get(assignment, 0)
        self.time += float(land.steps[done] - (land.steps[done - 1] if done else 0)) * float(land.costs[assignment])
        if self.time > self.budget:
            raise Spent
        self.reached[assignment] = done + 1
        rating = float(self.ratings[assignment, done])
        if rating > self._best:
            self._best = rating
            self.trace.append((self.time, float(self._means[assignment, done])))
        return rating

    def ended(self, assignment: int) -> bool:
        """Whether an assignment has been trained to the end."""
        return self.reached.get(assignment, 0) == len(self.landscape.steps)

    def regret(self, time: float) -> float:
        """Normalised regret at a time; 2 before the first evaluation."""
        found = [rating for when, rating in self.trace if when <= time]
        return self.landscape.regret(found[-1]) if found else 2.0


Searcher = Callable[[Replay], None]


def optuna_search(
    replay: Replay,
    sampler: Callable[..., BaseSampler],
    pruner: Callable[[Searched], BasePruner] = lambda land: NopPruner(),
    all_starts: bool = False,
) -> None:
    """Optuna's samplers and pruners; a proposal becomes the nearest assignment that has not begun.

    It begins with the default. With `all_starts` it begins with whatever the tuner begins with there.
    """
    land, known = replay.landscape, list[FrozenTrial]()
    starts = _starts(land, all_starts)
    while replay.free:
        study, trial = _asked(replay, known, sampler, pruner(land))
        chosen = starts[len(known)] if len(known) < len(starts) else land.nearest(trial.params, replay.free)
        reports: dict[int, float] = {}
        while not replay.ended(chosen):
            rating = replay.train(chosen)
            step = replay.reached[chosen]
            reports[step] = rating
            trial.report(rating, step)
            if not replay.ended(chosen) and trial.should_prune():
                break
        state = TrialState.COMPLETE if replay.ended(chosen) else TrialState.PRUNED
        ended = _trial(land, chosen, state, reports, None)
        ended.system_attrs = study.get_trials()[-1].system_attrs  # rungs that it completed, and its bracket
        known.append(ended)


def freeze_thaw(
    replay: Replay, costs: bool = True, prior: bool = False, sources: Sequence[Source] = (), all_starts: bool = False
) -> None:
    """The model of `tuning.search.models.freeze_thaw`; TPE proposes, as in the tuner.

    With `costs` it knows the cost of each assignment, as a formula would tell it; without, all cost the same to it.
    With `prior` some proposals are drawn around the starts and the best so far, as `tuning.search.proposals.prior` does, and
    what is too costly is drawn anew, as in `tuning.search.promotion.thawing`.
    With `sources` some come from earlier experiments, as `tuning.search.proposals.transfer` does.
    It begins with the default. With `all_starts` it begins with whatever the tuner begins with there.
    """
    starts = _starts(replay.landscape, all_starts)
    beside = Beside(Transfer(sources, replay.landscape.distributions), prior, starts)
    land, order = replay.landscape, list[int]()
    evaluations = max(1, len(land.steps) // RUNGS)  # of a rung
    most, rung = int(land.steps[-1]), int(land.steps[evaluations - 1])
    decisions = 0
    while True:
        decisions += 1
        curves = [_curve(replay, number, index, costs) for number, index in enumerate(order)]
        free = replay.free
        if not free and all(curve.state == "ended" for curve in curves):
            return
        left = replay.budget - replay.time
        chosen, candidate = None, None
        if free:
            chosen = _candidate(replay, curves, order, decisions, beside)
            candidate = Curve(len(order), land.points[chosen], (), _cost(land, chosen, costs), "frozen")
        outlook = Outlook(curves, land.distributions, most, rung, candidate)
        number = outlook.decide(curves, candidate, _seed(replay, decisions, 2), left)
        if number is None and chosen is None:
            return
        if number is None:
            assert chosen is not None
            order.append(chosen)
        index = order[-1] if number is None else order[number]
        for _ in range(evaluations):
            if not replay.ended(index):
                replay.train(index)


def _starts(land: Searched, all_of_them: bool) -> tuple[int, ...]:
    return land.starts if all_of_them else land.starts[:1]


def _seed(replay: Replay, number: int, stream: int, *more: int) -> int:
    return int(np.random.SeedSequence([replay.seed, number, stream, *more]).generate_state(1)[0])


def _cost(land: Searched, index: int, known: bool) -> float:
    return float(land.costs[index]) if known else 1.0


def _curve(replay: Replay, number: int, index: int, costs: bool) -> Curve:
    land, reached = replay.landscape, replay.reached[index]
    known = tuple((int(land.steps[i]), float(replay.ratings[index, i])) for i in range(reached))
    return Curve(number, land.points[index], known, _cost(land, index, costs), "ended" if replay.ended(index) else "frozen")


@dataclass(frozen=True)
class Beside:
    """What proposes beside the sampler.

    Attributes:
        transfer: from earlier experiments; without a source nothing.
        prior: whether draws around the starts and the best so far do.
        starts: assignments that the search begins with.
    """

    transfer: Transfer
    prior: bool
    starts: Sequence[int]

    def draw(self, replay: Replay, known: Sequence[FrozenTrial], attempt: int) -> Point | None:
        """A point for the next trial, as the tuner draws it; None where the sampler proposes."""
        land, number = replay.landscape, len(known)
        rng = np.random.default_rng([replay.seed, number, 3, *_more(attempt)])
        if (learned := self.transfer.draw(known, rng)) is not None:
            return learned
        if not self.prior:
            return None
        starts = [within(land.points[start], land.distributions) for start in self.starts]
        return propose(number, _startup(replay), known, starts, land.distributions, rng)


def _candidate(replay: Replay, curves: Sequence[Curve], order: Sequence[int], decision: int, beside: Beside) -> int:
    land = replay.landscape
    if len(order) < len(beside.starts):
        return beside.starts[len(order)]
    ends = predicted_ends(curves, land.distributions, int(land.steps[-1])) if curves else {}
    known = [_trial(land, index, TrialState.COMPLETE, {}, ends[number]) for number, index in enumerate(order)]
    for number, each in enumerate(known):
        each.number = number

    def drawn(attempt: int) -> int:
        if (point := beside.draw(replay, known, attempt)) is not None:
            return land.nearest(point, replay.free)
        tpe = lambda seed: SAMPLERS["tpe"].build(seed, _startup(replay))  # noqa: E731
        _, trial = _asked(replay, known, tpe, NopPruner(), decision, attempt)
        return land.nearest(trial.params, replay.free)

    most = max(ALWAYS, MOST_PART * replay.budget / float(land.steps[-1])) if beside.prior else np.inf
    return first_affordable(map(drawn, range(SAMPLERS["tpe"].attempts)), lambda index: float(land.costs[index]), most)


def _more(attempt: int) -> tuple[int, ...]:
    """What an attempt after the first one adds to the numbers of a random stream."""
    return (attempt,) if attempt else ()


def _startup(replay: Replay) -> int:
    """Trials before the model of the sampler, as the tuner has them with such a budget."""
    return startup_trials(round(BEGUN_FOR_EACH * replay.budget / float(replay.landscape.steps[-1])))


def _asked(
    replay: Replay,
    known: list[FrozenTrial],
    sampler: Callable[..., BaseSampler],
    pruner: BasePruner,
    number: int | None = None,
    attempt: int = 0,
) -> tuple[optuna.Study, optuna.Trial]:
    """A study of what is known, as the tuner makes one for each draw, and the trial that it proposes."""
    seed = _seed(replay, len(known) if number is None else number, 0, *_more(attempt))
    name = f"{replay.landscape.name} {replay.seed}"  # Hyperband's brackets depend on it
    study = optuna.create_study(direction="maximize", study_name=name, sampler=sampler(seed=seed), pruner=pruner)
    study.add_trials(known)
    return study, study.ask(replay.landscape.distributions)


def _trial(land: Searched, index: int, state: TrialState, reports: dict[int, float], value: float | None) -> FrozenTrial:
    params = dict(land.points[index])
    found = create_trial(
        state=state,
        value=value if value is not None else reports[max(reports)] if state is TrialState.COMPLETE else None,
        params=within(params, land.distributions),
        distributions={name: land.distributions[name] for name in land.distributions if name in params},
    )
    found.intermediate_values = reports
    return found


def _median(land: Searched) -> BasePruner:
    return MedianPruner(n_startup_trials=5)


def _hyperband(land: Searched) -> BasePruner:
    return HyperbandPruner(min_resource=1, max_resource=len(land.steps))


def _halving(land: Searched) -> BasePruner:
    return SuccessiveHalvingPruner(min_resource=1, reduction_factor=4)  # the factor of Ray's ASHAScheduler


def source(before: Replay, land: Landscape) -> Source:
    """What a replay on one landscape has to teach a search on another one, as `--learn-from` takes it.

    Args:
        before: the earlier search.
        land: that is searched now, with the same hyperparameters.
    """
    first = FIRST * float(before.landscape.steps[-1])
    order = [index for index, reached in before.reached.items() if before.landscape.steps[reached - 1] >= first]
    curves = [_curve(before, number, index, True) for number, index in enumerate(order)]
    ends = predicted_ends(curves, before.landscape.distributions, int(before.landscape.steps[-1]))
    # What the other one does not have takes the default, as in the tuner.
    default = {} if land.default is None else land.points[land.default]
    ranges = land.distributions
    taken = [within({**default, **before.landscape.points[index]}, ranges) for index in order]
    points = [within(land.points[land.nearest(point, range(len(land)))], ranges) for point in taken]
    return Source(points, rankdata([-ends[number] for number in range(len(order))]).tolist())


SEARCHERS: dict[str, Searcher] = {
    "random": partial(optuna_search, sampler=RandomSampler),
    "tpe+median": partial(optuna_search, sampler=TPESampler, pruner=_median),
    "tpe+hyperband": partial(optuna_search, sampler=TPESampler, pruner=_hyperband),
    "asha": partial(optuna_search, sampler=RandomSampler, pruner=_halving),
    "tpe+asha": partial(optuna_search, sampler=TPESampler, pruner=_halving),
    "gp": partial(optuna_search, sampler=partial(GPSampler, warn_independent_sampling=False)),
    "freeze-thaw": freeze_thaw,
    "freeze-thaw, prior": partial(freeze_thaw, prior=True),
    "freeze-thaw, all starts": partial(freeze_thaw, prior=True, all_starts=True),
    "tpe+median, all starts": partial(optuna_search, sampler=TPESampler, pruner=_median, all_starts=True),
    "freeze-thaw, costs unknown": partial(freeze_thaw, costs=False),
}

KNOW_THEIR_BUDGET = tuple(name for name in SEARCHERS if name.startswith("freeze-thaw"))  # others search alike with any


def replayed(landscape: Landscape | Surrogate, searcher: Searcher, budget: float, seed: int) -> Replay:
    """A search over a landscape.

    Args:
        landscape: to search; a surrogate is opened anew.
        searcher: of `SEARCHERS`.
        budget: full trainings of the default's cost.
        seed: of the replay.
    """
    land = landscape.opened() if isinstance(landscape, Surrogate) else landscape
    replay = Replay(land, budget * float(landscape.steps[-1]), seed)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of experimental features, once for each study
        with contextlib.suppress(Spent):
            searcher(replay)
    return replay
