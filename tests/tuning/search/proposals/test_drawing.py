"""The next trial follows from the trials before it, and from nothing else."""

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.trial import FrozenTrial, TrialState

from common.errors import UsageError
from results import load
from search_spaces import Assignment, Kind, SearchSpace
from search_spaces.parameter import Parameter
from tests.tuning.search.fakes import changed, draw_some, draws_of
from tuning.algorithms import registry
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import Experiment, create
from tuning.experiment.option_values import SAMPLERS
from tuning.experiment.settings import Settings
from tuning.search.proposals.drawing import Drawing, Draws, already_tried
from tuning.search.proposals.sampler_view import as_seen, point_in
from tuning.search.proposals.transfer import LearnedExperiment, LearnedTrial
from tuning.search.record.study import StudyMemory, pace
from tuning.search.record.trials import Affordable, Key
from tuning.search.run.opening import check, open_checked
from tuning.trial.protocol import Proposal
from tuning.trial.records import TrialRecords

LIMITS = {"steps": 1e6}
BUT_TWO = {own.name: own.default for own in algorithm("ppo").space.parameters if own.name not in ("gamma", "clip_range")}
SPACE = algorithm("ppo").space
NONE_SEARCHED = {parameter.name: parameter.default for parameter in SPACE.parameters}


def drawing(**others: Any) -> Drawing:
    settings = Settings(**others.pop("settings", {}))
    return Drawing(settings, algorithm("ppo").space, others.pop("fixed", {"gamma": 0.9}), LIMITS, **others)


@pytest.mark.parametrize("sampler", list(SAMPLERS))
def test_the_same_trials_before_it_and_the_same_seed_give_the_same_trial(sampler: str) -> None:
    of, other = (drawing(settings={"sampler": sampler, "trials": 8, "seed": seed}) for seed in (0, 1))
    known = draw_some(of, 5)  # a model begins after two
    again = draw_some(of, 5)
    assert [trial.params for trial in known] == [trial.params for trial in again]
    # A second draw in the same process changes nothing.
    assert of.draw(known, "one").params == of.draw(known, "one").params
    assert len({str(trial.params) for trial in known}) == 5
    assert other.draw([], "one").params != known[0].params


def test_it_is_running_and_has_its_number_and_full_assignment() -> None:
    known = draw_some(drawing(), 3)
    trial = drawing().draw(known, "one")
    assert (trial.number, trial.state) == (3, TrialState.RUNNING)
    assert set(trial.user_attrs[Key.HYPERPARAMETERS]) == {parameter.name for parameter in algorithm("ppo").space.parameters}
    assert trial.user_attrs[Key.HYPERPARAMETERS]["gamma"] == 0.9
    assert trial.constraints == {}


def test_first_trials_are_the_given_starts_with_the_fixed_values() -> None:
    start = algorithm("ppo").space.complete({"n_epochs": 7}, LIMITS)
    first, second = draw_some(drawing(starts=[start]), 2)
    assert first.user_attrs[Key.HYPERPARAMETERS] == {**start, "gamma": 0.9}
    assert second.user_attrs[Key.HYPERPARAMETERS] != first.user_attrs[Key.HYPERPARAMETERS]


@pytest.mark.parametrize(("excess", "refused"), [(5, "too big"), (0, None), (-5, None)])
def test_missing_memory_is_a_violated_constraint_and_refuses_the_trial(excess: int, refused: str | None) -> None:
    trial = drawing(excess=lambda assignment: (excess, "too big")).draw([], "one")
    # What is free is not in the study: it differs from hour to hour.
    assert trial.constraints == {Key.PREDICTED: max(excess, 0)}
    assert trial.user_attrs.get(Key.REFUSED) == refused


def trial_of(assignment: Any, state: TrialState, **attributes: Any) -> FrozenTrial:
    return optuna.trial.create_trial(
        state=state, value=0.0 if state is TrialState.COMPLETE else None, params={"x": 0.5},
        distributions={"x": optuna.distributions.FloatDistribution(0.0, 1.0)},
        user_attrs={Key.HYPERPARAMETERS: assignment, **attributes},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("state", "attributes", "repeated"),
    [
        (TrialState.COMPLETE, {}, True),
        (TrialState.PRUNED, {}, True),
        (TrialState.FAIL, {}, False),  # it may have been bad luck
        (TrialState.RUNNING, {}, False),  # its outcome is not known
        (TrialState.PRUNED, {Key.REFUSED: "too big"}, False),  # it may fit now
        (TrialState.COMPLETE, {Key.CONFIRMS: 0}, False),  # its seed is not to choose anything
    ],
)
def test_only_a_known_outcome_is_repeated(state: TrialState, attributes: dict[str, str], repeated: bool) -> None:
    known = [trial_of({"gamma": 0.8}, TrialState.COMPLETE), trial_of({"gamma": 0.9}, state, **attributes)]
    same = already_tried(trial_of({"gamma": 0.9}, TrialState.RUNNING), known)
    assert same is (known[1] if repeated else None)


def test_without_anything_to_search_trials_are_repeated_on_purpose() -> None:
    known = [trial_of({"gamma": 0.9}, TrialState.COMPLETE)]
    drawn = optuna.trial.create_trial(state=TrialState.RUNNING, user_attrs={Key.HYPERPARAMETERS: {"gamma": 0.9}})
    assert already_tried(drawn, known) is None


def test_a_start_outside_of_the_search_leaves_every_hyperparameter_in_the_joint_model() -> None:
    """`ent_coef` 0 lies below its range, the rollout is no power of two, and gradients are not cut: none drops out."""
    spec = algorithm("ppo")
    starts = [spec.preset(name, {}, LIMITS) for name in ("default", "rllib")]
    known = draw_some(drawing(starts=starts, fixed={}, settings={"trials": 16}), 4)
    assert [trial.user_attrs[Key.HYPERPARAMETERS]["ent_coef"] for trial in known[:2]] == [0.0, 0.0]
    assert [trial.params["ent_coef"] for trial in known[:2]] == [1e-7, 1e-7]
    assert known[1].user_attrs[Key.HYPERPARAMETERS]["max_grad_norm"] is None
    assert (known[1].user_attrs[Key.HYPERPARAMETERS]["n_steps"], known[1].params["log2_n_steps"]) == (4000, 12)
    searched = {own.inner_name for own in spec.space.parameters if own.search}
    assert all(trial.distributions.keys() == searched for trial in known)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0, n_startup_trials=2))
    study.add_trials(known)
    assert set(study.ask(known[0].distributions).relative_params) == searched


def test_a_larger_budget_leaves_the_trials_before_it_in_the_joint_model() -> None:
    space = algorithm("sac").space
    small, large = (Drawing(Settings(algo="sac", trials=8), space, {}, {"steps": steps}) for steps in (1e5, 1e6))
    known = draw_some(small, 4)
    drawn = large.draw(known, "one")
    assert known[0].distributions["log2_buffer_size"] != drawn.distributions["log2_buffer_size"]
    seen = as_seen(known, partial(point_in, space=space, distributions=drawn.distributions), drawn.distributions)
    assert all(trial.distributions == drawn.distributions for trial in seen)


def test_values_of_trials_that_have_not_ended_count_where_they_are_given() -> None:
    of = drawing(settings={"trials": 8, "sampler": "gp", "seed": 3}, fixed=BUT_TWO)
    known = [of.draw([], "one")]
    known += [of.draw(known, "one")]
    known += [of.draw(known, "one")]
    known[2].state = known[1].state = known[0].state = TrialState.RUNNING
    drawn = [of.draw(known, "one", values).params for values in ({}, {0: 1.0, 1: 0.0, 2: 0.0}, {0: 0.0, 1: 0.0, 2: 1.0})]
    assert drawn[0] != drawn[1] != drawn[2]


def test_what_other_experiments_found_good_is_drawn_and_nothing_else_changes_without_them() -> None:
    space = algorithm("ppo").space
    good = {**space.complete({}, LIMITS), "learning_rate": 1e-3, "gamma": 0.97}
    others = [{**good, "learning_rate": rate, "gamma": 0.9} for rate in (3e-4, 1e-4, 5e-5)]
    trials = tuple(LearnedTrial(number, number + 1.0, own) for number, own in enumerate([good, *others]))
    learned = (LearnedExperiment("elsewhere", "4 of 4 trials", trials),)
    drawn = [drawing(settings={"seed": seed}, fixed={}, learned=learned).draw([], "one").user_attrs for seed in range(10)]
    rates = [own[Key.HYPERPARAMETERS]["learning_rate"] for own in drawn]
    assert rates.count(pytest.approx(1e-3)) >= 6
    assert drawing(fixed={"gamma": 0.99}, learned=learned).draw([], "one").user_attrs[Key.HYPERPARAMETERS]["gamma"] == 0.99
    known = draw_some(drawing(fixed={}, learned=learned, settings={"trials": 16}), 8)
    # The good one is drawn once as it is; others may lie around it.
    assert sum(trial.params == known[0].params for trial in known) == 1
    assert [trial.params for trial in draw_some(drawing(learned=()), 4)] == [trial.params for trial in draw_some(drawing(), 4)]


def epochs(assignment: Assignment) -> float:
    """A cost that a draw can have."""
    value = assignment["n_epochs"]
    assert isinstance(value, int)
    return float(value)


def test_while_plans_wait_what_is_drawn_has_none_and_a_start_is_as_it_was_named() -> None:
    searched = replace(SPACE["plan"], search=CategoricalDistribution(("none", "learned")))
    space = SearchSpace(tuple(searched if each.name == "plan" else each for each in SPACE.parameters))
    start = space.complete({"plan": "learned"}, LIMITS)
    for without, plans in ((False, {"none", "learned"}), (True, {"none"})):
        of = Drawing(Settings(sampler="random"), space, {}, LIMITS, starts=[start])
        known = list[FrozenTrial]()
        for _ in range(12):
            known.append(of.draw(known, "one", without_plan=without))
        assigned = [trial.user_attrs[Key.HYPERPARAMETERS] for trial in known]
        assert assigned[0] == start
        assert {assignment["plan"] for assignment in assigned[1:]} == plans
        for trial, assignment in zip(known, assigned, strict=True):
            assert space.assignment(trial.params, {}, LIMITS)["plan"] == assignment["plan"]


def test_what_costs_more_than_it_may_is_drawn_anew() -> None:
    of, known = drawing(), draw_some(drawing(), 3)
    costs = [epochs(of.draw(known[:count], "one").user_attrs[Key.HYPERPARAMETERS]) for count in range(4)]
    dear = max(range(4), key=costs.__getitem__)
    cheaper = [of.draw(known[:dear], "one", affordable=Affordable(epochs, costs[dear] - 1)) for _ in range(2)]
    assert epochs(cheaper[0].user_attrs[Key.HYPERPARAMETERS]) < costs[dear]
    assert cheaper[0].params == cheaper[1].params
    as_it_was = of.draw(known[:dear], "one", affordable=Affordable(epochs, costs[dear]))
    assert epochs(as_it_was.user_attrs[Key.HYPERPARAMETERS]) == costs[dear]


def test_where_all_draws_cost_too_much_the_cheapest_one_is_taken() -> None:
    costs: list[float] = []

    def cost(assignment: Assignment) -> float:
        costs.append(epochs(assignment))
        return costs[-1]

    drawn = drawing().draw([], "one", affordable=Affordable(cost, 0.0))
    assert len(costs) == SAMPLERS["tpe"].attempts
    assert epochs(drawn.user_attrs[Key.HYPERPARAMETERS]) == min(costs) < max(costs)


def test_random_draws_cost_what_they_cost() -> None:
    of = drawing(settings={"sampler": "random"})
    known = draw_some(of, 6)
    for count, plain in enumerate(known):
        assert of.draw(known[:count], "one", affordable=Affordable(epochs, 0.0)).params == plain.params


def test_a_start_costs_what_it_costs() -> None:
    start = algorithm("ppo").space.complete({"n_epochs": 10}, LIMITS)
    drawn = drawing(starts=[start]).draw([], "one", affordable=Affordable(epochs, 0.0))
    assert drawn.user_attrs[Key.HYPERPARAMETERS]["n_epochs"] == 10


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    return create(Settings(name="one", dir=str(tmp_path)))


def draws(experiment: Experiment, **given: Any) -> Draws:
    return draws_of(experiment, StudyMemory.open(experiment), 1e6, **{"fixed": {"gamma": 0.9}, **given})


def ask(of: Draws) -> Proposal:
    return of.memory.add(of.draw())


def test_the_pace_reaches_the_draw(experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    of, told = draws(changed(experiment, budget="20m", steps=100_000)), []
    monkeypatch.setattr("tuning.search.proposals.drawing.propose", lambda number, startup, *others: told.append(startup))
    ask(of)
    of.memory.seconds = 1.0
    assert math.isnan(pace(of.memory))
    of.memory.report(0, 25_000, 0.1)
    of.memory.seconds = 50.0
    assert pace(of.memory) == 500.0
    ask(of)
    assert told == [4, 6]


def small(experiment: Experiment) -> Draws:
    """Draws so few assignments that they soon come again."""
    either = optuna.distributions.CategoricalDistribution([False, True])
    space = SearchSpace(tuple(replace(own, search=either) if own.name == "shared_layers" else own for own in SPACE.parameters))
    fixed = {name: value for name, value in NONE_SEARCHED.items() if name != "shared_layers"}
    return draws(experiment, space=space, fixed=fixed)


def test_an_assignment_that_was_tried_is_not_run_again(experiment: Experiment) -> None:
    of, run = small(experiment), []
    for _ in range(12):
        proposal = ask(of)
        if proposal.same_as is None:
            run.append(proposal)
            if len(run) == 1:
                of.memory.report(proposal.number, 10, 0.25)
                of.memory.complete(proposal.number, 0.5)
            else:
                of.memory.stop(proposal.number, TrialState.PRUNED, "too big", {Key.MEASURED: 1})
    assert len(run) == 2
    trials = small(experiment).memory.trials()
    first, second = (proposal.number for proposal in run)
    for trial in trials:
        same = first if trial.params == trials[first].params else second
        assert trial.state is (TrialState.COMPLETE if same == first else TrialState.PRUNED)
        assert trial.value == (0.5 if same == first else None)
        assert bool(trial.constraints) == (same == second)
        assert trial.user_attrs.get(Key.SAME_AS) == (None if trial.number in (first, second) else same)


def test_a_training_that_confirms_is_no_new_trial_to_try(experiment: Experiment) -> None:
    of = draws(experiment, excess=lambda assignment: (5, "does not fit"))
    for _ in range(3):
        ask(of)
    drawn = of.draw()
    drawn.state, drawn.datetime_complete = TrialState.RUNNING, None
    drawn.user_attrs = {"hyperparameters": drawn.user_attrs["hyperparameters"], Key.CONFIRMS: 0}
    of.memory.add(drawn)
    assert (of.in_vain, of.searched) == (3, 3)


def test_a_new_hyperparameter_is_one_entry_of_its_space(
    small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As docs/architecture.md says: beside the trainer, which uses it, no other file is touched."""
    toy = Parameter("toy_rate", Kind.NUMBER, 0.5, "a toy", low=0.0, high=1.0, search=FloatDistribution(0.25, 0.75))
    ppo = algorithm("ppo")
    monkeypatch.setattr(registry, "algorithm", lambda name: replace(ppo, space=SearchSpace((*ppo.space.parameters, toy))))
    new = Settings(scenario=str(small_schema), name="one", dir=str(tmp_path), steps=1000, set=(("gamma=0.9",),))
    opened = open_checked(check(new))
    of = draws(opened.experiment, space=opened.plan.space, fixed=opened.plan.fixed)
    records = TrialRecords(opened.experiment)
    drawn = []
    for number in range(3):
        records.begin(ask(of))
        drawn.append(records.assignment(number)["toy_rate"])
    assert len(set(drawn)) > 1
    assert load(opened.experiment.paths.folder).trials["hp_toy_rate"].tolist() == drawn
    # The search goes on with it, and refuses to go on without it.
    again = replace(new, resume=str(opened.experiment.paths.folder))
    assert check(again).before is not None
    monkeypatch.setattr(registry, "algorithm", lambda name: ppo)
    with pytest.raises(UsageError, match="the space of toy_rate has changed"):
        check(again)
