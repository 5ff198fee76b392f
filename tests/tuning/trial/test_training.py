"""A trial that was interrupted is, from there on, the trial that was not."""

import gc
import importlib
import math
import runpy
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from common.units import GIB
from envs.environments.vector_env import Start
from envs.objective.aim import Outcome
from envs.scenarios.scenario import Window
from envs.task import SiteTask
from envs.yardsticks.lessons import teach
from results import load
from tests.tuning.killed_search import numbers
from tests.tuning.trial.small_trials import EVALUATIONS, STEPS_OF_A_TRIAL, experiment, hyperparameters, in_environment
from tuning.algorithms.registry import algorithm_of, names
from tuning.algorithms.trainer import Acting
from tuning.experiment.folder import Experiment, ExperimentPaths
from tuning.experiment.settings import Settings
from tuning.memory.placement import ANYWHERE
from tuning.memory.planner import FALLBACKS
from tuning.trial.checkpoint import Checkpoints
from tuning.trial.device import Device
from tuning.trial.policy import trained
from tuning.trial.protocol import Ending, Evaluated, Proposal, Report
from tuning.trial.records import TrialRecords
from tuning.trial.training import Training, _without_collection

pytestmark = pytest.mark.usefixtures("small_ray", "every_update_is_reported")

SLOW = pytest.mark.slow


@contextmanager
def training(
    of: Experiment, assignment: dict[str, Any], goes_on: Callable[[], bool] = lambda: True, fallback: int = 0
) -> Iterator[Training]:
    handout = TrialRecords(of).hand_out(Proposal(0, assignment))
    handout = replace(handout, place=replace(handout.place, fallback=FALLBACKS[fallback]))
    with Training(of, handout, goes_on) as trial:
        yield trial


def told(of: Experiment, trial: Training) -> Iterator[Report]:
    """What a trial tells, which is written into the results."""
    records = TrialRecords(of)
    for report in trial.updates():
        records.take(0, report)
        yield report


def train(of: Experiment, assignment: dict[str, Any]) -> list[Report]:
    """Everything that a trial tells until it ends."""
    with training(of, assignment) as trial:
        return list(told(of, trial))


def evaluations_in(said: list[Report]) -> list[Evaluated]:
    return [report.evaluated for report in said if report.evaluated]


def train_in_pieces(of: Experiment, assignment: dict[str, Any]) -> int:
    """Train a trial, cut off after each evaluation; where the cut comes after a checkpoint, updates are done twice."""
    pieces, ended = 0, False
    while not ended:
        with training(of, assignment) as trial:
            pieces, done = pieces + 1, trial.evaluations
            ended = True
            for said in told(of, trial):
                if said.evaluated and done < said.evaluated.number < EVALUATIONS:
                    ended = False
                    # Some updates after the checkpoint, which are lost.
                    for _, _ in zip(range(4), trial.updates(), strict=False):
                        pass
                    break
    return pieces


def same_tables(one: Experiment, other: Experiment, exact: bool = True) -> None:
    for table in ("reports", "evaluations"):
        frames = (numbers(getattr(load(of.paths.folder), table)) for of in (one, other))
        pd.testing.assert_frame_equal(*frames, check_exact=exact)


@pytest.mark.parametrize(
    ("algo", "backend", "others"),
    [
        (
            "ppo", "batch",
            {
                "normalize_rewards": True, "learn_charging": True, "target_kl": 0.01,
                "learning_rate_schedule": "linear", "learning_rate_final": 0.1,
            },
        ),
        ("ppo", "citylearn", {"n_steps": 32}),
        ("a2c", "batch", {"normalize_rewards": True}),
        ("sac", "batch", {"n_step": 3, "normalize_rewards": True, "learning_rate_schedule": "linear", "max_grad_norm": 1.0}),
        pytest.param("sac", "batch", {"learn_charging": True, "ent_coef": 0.1}, marks=SLOW),
        pytest.param("sac", "citylearn", {"normalize_rewards": True, "learning_starts": 50}, marks=SLOW),
        # With a policy for single buildings.
        ("ppo", "batch", {"shared_policy": True, "normalize_rewards": True}),
        pytest.param("a2c", "citylearn", {"shared_policy": True, "learn_charging": True, "n_steps": 32}, marks=SLOW),
        pytest.param("sac", "batch", {"shared_policy": True, "n_step": 2}, marks=SLOW),
    ],
)  # fmt: skip
def test_an_interrupted_trial_reports_what_one_that_was_not_does(
    small_schema: Path, four_buildings: Path, tmp_path: Path, algo: str, backend: str, others: dict[str, Any]
) -> None:
    schema = four_buildings if "shared_policy" in others else small_schema
    check_interrupted(schema, tmp_path, algo, backend, others)


@pytest.mark.usefixtures("a_plan")
@pytest.mark.parametrize("shared", [True, pytest.param(False, marks=SLOW)])
def test_so_does_one_that_sees_a_plan(four_buildings: Path, tmp_path: Path, shared: bool) -> None:
    check_interrupted(four_buildings, tmp_path, "ppo", "batch", {"shared_policy": shared, "plan": "yesterday"})
    assert load(tmp_path / "cut").trials["used_plan"].tolist() == ["yesterday"]


@pytest.mark.parametrize(("keep", "kept"), [("best", [320, 640, 640]), ("last", [320, 640, 960])])
def test_a_trial_is_rated_by_the_evaluation_that_counts_and_keeps_its_policy(
    small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: Any, kept: list[int]
) -> None:
    scores, outcomes = (0.1, 0.3, -0.2), dict[int, Outcome]()

    def given(self: Training, evaluations: Any) -> Outcome:
        return outcomes.setdefault(self.state.steps, Outcome(scores[len(outcomes) % len(scores)]))

    monkeypatch.setattr(Training, "_outcome_of", given)
    of, assignment = experiment(tmp_path / "one", small_schema, "ppo", keep=keep), hyperparameters("ppo")
    said = evaluations_in(train(of, assignment))
    assert [evaluated.steps for evaluated in said] == [*outcomes]
    places = [[*outcomes].index(min(steps for steps in outcomes if steps >= due)) for due in kept]
    rated = [[*outcomes.values()][place] for place in places]
    assert [evaluated.outcome for evaluated in said] == rated
    row = TrialRecords(of).row(0)
    assert (row["score"], row["kept_steps"]) == (rated[-1].score, [*outcomes][places[-1]])
    assert row["plan_score"] is None, "it has no plan"
    reports = load(of.paths.folder).reports
    assert reports["score"].dropna().tolist() == [0.1, 0.3, -0.2], "each as it came out"
    for which, steps in (("best", row["kept_steps"]), ("last", said[-1].steps)):
        with trained(of, 0, keep=which) as policy:
            assert policy.steps == steps
    evaluations = load(of.paths.folder).rated_evaluations
    assert set(evaluations["steps"]) == {row["kept_steps"]}


@pytest.mark.usefixtures("a_plan")
@pytest.mark.parametrize("shared", [True, pytest.param(False, marks=SLOW)])
def test_a_policy_that_changes_nothing_of_its_plan_scores_what_its_plan_alone_does(
    four_buildings: Path, tmp_path: Path, shared: bool
) -> None:
    scores = {}
    for deviation in (-3.0, 1.5):
        of = experiment(tmp_path / f"by{deviation}", four_buildings, "ppo")
        others = {"log_std_init": -3.0, "learning_rate": 1e-9 if deviation < 0.0 else 0.3}
        train(of, hyperparameters("ppo", shared_policy=shared, plan="yesterday", **others))
        row = TrialRecords(of).row(0)
        scores[deviation] = row["score"], row["plan_score"]
    # Small changes change nothing; the plan alone is the same, whatever a policy learned.
    assert scores[-3.0][0] == scores[-3.0][1] == scores[1.5][1] != scores[1.5][0]


def check_interrupted(schema: Path, folder: Path, algo: str, backend: str, others: dict[str, Any]) -> None:
    # CityLearn takes far longer over a step.
    steps = STEPS_OF_A_TRIAL // 2 if backend == "citylearn" else STEPS_OF_A_TRIAL
    whole, cut = (experiment(folder / name, schema, algo, backend, steps) for name in ("whole", "cut"))
    check_alike(whole, cut, hyperparameters(algo, **others))


def check_alike(whole: Experiment, cut: Experiment, assignment: dict[str, Any]) -> None:
    """Train one of them in one piece, the other cut off after each evaluation: both tell the same and end with the same."""
    train(whole, assignment)
    assert train_in_pieces(cut, assignment) == EVALUATIONS
    same_tables(whole, cut)
    assert load(whole.paths.folder).reports["gradient_norm"].notna().any()
    used = [load(of.paths.folder).trials.filter(like="used_") for of in (whole, cut)]
    pd.testing.assert_frame_equal(used[0], used[1], check_exact=True)
    weights = []
    for of in (whole, cut):
        with training(of, assignment) as trial:
            weights.append(trial.trainer.get_state()["algorithm"]["learner_group"]["learner"]["rl_module"]["default_policy"])
    assert weights[0].keys() == weights[1].keys()
    for name, values in weights[0].items():
        np.testing.assert_array_equal(values, weights[1][name], err_msg=name)


@pytest.mark.parametrize(
    ("algo", "env"),
    [
        ("ppo", "CartPole-v1"),
        ("a2c", "tests.tuning.trial.chooser:Chooser"),
        ("ppo", "examples.pump:make"),
        ("sac", "Pendulum-v1"),
    ],
)
def test_so_does_one_in_an_environment_whose_state_cannot_be_saved(tmp_path: Path, algo: str, env: str) -> None:
    whole, cut = (in_environment(tmp_path / name, env, algo) for name in ("whole", "cut"))
    check_alike(whole, cut, hyperparameters(algo, algorithm_of(whole.settings).space))
    rows = load(whole.paths.folder).evaluations
    assert rows.groupby("steps")["year"].apply(list).tolist() == [[0, 1]] * EVALUATIONS
    assert rows[["length", "score"]].notna().all(axis=None)
    assert rows["hours"].isna().all()


def test_a_stop_between_evaluations_goes_back_to_the_last_one(tmp_path: Path) -> None:
    whole, stopped = (in_environment(tmp_path / name, "CartPole-v1", "ppo") for name in ("whole", "stopped"))
    assignment = hyperparameters("ppo", algorithm_of(whole.settings).space)
    train(whole, assignment)
    running = stopped.paths.running("this")
    running.touch()
    with training(stopped, assignment, running.exists) as trial:
        for said in told(stopped, trial):
            if said.steps > 400 and not said.evaluated:
                running.unlink(missing_ok=True)
    assert said.ending is Ending.STOPPED
    assert not said.saved
    train(stopped, assignment)
    same_tables(whole, stopped)


@pytest.mark.parametrize(
    ("env", "doubted"),
    [("CartPole-v1", False), ("tests.tuning.trial.chooser:Fickle", True), ("tests.tuning.trial.chooser:Remembering", True)],
)
def test_episodes_that_do_not_follow_from_their_seeds_are_told_once(tmp_path: Path, env: str, doubted: bool) -> None:
    of = in_environment(tmp_path / "one", env, "ppo")
    said = [report.message for report in train(of, hyperparameters("ppo", algorithm_of(of.settings).space)) if report.message]
    assert len(said) == doubted
    assert all("seeds alone" in line for line in said)


@pytest.mark.parametrize("algo", ["ppo", "sac"])
def test_no_assignment_learns_otherwise_where_rewards_have_another_scale(tmp_path: Path, algo: str) -> None:
    """By a power of two, so that rounding is the same."""
    tables = {}
    for power in (0, 13):
        of = in_environment(
            tmp_path / f"by{power}", "tests.tuning.trial.chooser:Scaled", algo, env_config=f'{{"power": {power}}}'
        )
        train(of, hyperparameters(algo, algorithm_of(of.settings).space))
        rows = load(of.paths.folder).evaluations
        tables[power] = rows["score"].to_numpy() / 2.0**power, rows["length"].to_numpy()
    np.testing.assert_array_equal(tables[13], tables[0])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no card")
@pytest.mark.parametrize("graphs", [True, False])
@pytest.mark.parametrize("algo", names())
def test_so_does_one_on_a_card(
    small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, algo: str, graphs: bool
) -> None:
    begin, card = Training.__init__, Device.take_card(0, 4 * GIB, GIB)
    monkeypatch.setattr(Training, "__init__", lambda *given: begin(*given, device=card))
    check_interrupted(small_schema, tmp_path, algo, "batch", {"cuda_graphs": graphs})


def test_a_trial_with_an_aim_of_its_own_reports_it_and_goes_on_where_it_was(small_schema: Path, tmp_path: Path) -> None:
    aim = {"weights": ("co2=0.5", "peak=0.5"), "objective": "peak_kw", "require": ("ev_served>=0.5", "peak_kw<=1.0")}
    of = experiment(tmp_path / "one", small_schema, "a2c", **aim)
    last = evaluations_in(train(of, hyperparameters("a2c")))[-1].outcome
    (row,), found = load(of.paths.folder).trials.to_dict("records"), load(of.paths.folder).evaluations.iloc[-1]
    assert row["objective"] == found["peak_kw"] == last.objective
    assert row["shortfall"] == pytest.approx(found["peak_kw"] - 1.0) == pytest.approx(last.shortfall)
    assert row["rating"] < -1e15
    assert found["term_cost"] == 0.0
    assert found["score"] == pytest.approx(found["term_co2"] + found["term_peak"])
    # From its checkpoint it tells the same.
    assert evaluations_in(train(of, hyperparameters("a2c")))[0].outcome == last


def test_what_a_trial_missed_at_first_says_nothing_once_it_is_met(
    small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = dict[int, Outcome]()

    def given(self: Training, evaluations: Any) -> Outcome:
        return outcomes.setdefault(self.state.steps, Outcome(0.1, shortfall=None if outcomes else 0.2))

    monkeypatch.setattr(Training, "_outcome_of", given)
    of = experiment(tmp_path / "one", small_schema, "a2c")
    train(of, hyperparameters("a2c"))
    row = TrialRecords(of).row(0)
    assert (row["score"], row["shortfall"], row["rating"]) == (0.1, None, None)
    reports = load(of.paths.folder).reports.dropna(subset="score")
    assert reports["rating"].notna().tolist() == [True] + [False] * (len(outcomes) - 1)


def test_an_objective_without_a_value_is_told_as_none_and_ends_no_trial(
    small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = experiment(tmp_path / "one", small_schema, "a2c")
    of = replace(of, settings=replace(of.settings, objective="self_consumption"))
    nothing = Outcome(0.1, math.nan)
    monkeypatch.setattr("envs.objective.aim.Aim.outcome", lambda self, rows: nothing)
    assignment = hyperparameters("a2c")
    said = evaluations_in(train(of, assignment))
    # From its checkpoint it tells the same.
    said += evaluations_in(train(of, assignment))
    assert len(said) == EVALUATIONS + 1
    for evaluated in said:
        assert evaluated.outcome.score == 0.1
        assert math.isnan(evaluated.outcome.objective)  # type: ignore[arg-type]
    (row,) = load(of.paths.folder).trials.to_dict("records")
    assert math.isnan(row["objective"])
    assert row["rating"] == -math.inf


def test_a_trial_that_is_told_to_stop_goes_on_where_it_was(small_schema: Path, tmp_path: Path) -> None:
    assignment = hyperparameters("a2c")
    whole, stopped = (experiment(tmp_path / name, small_schema, "a2c") for name in ("whole", "stopped"))
    train(whole, assignment)
    running = tmp_path / "running"
    running.touch()
    with training(stopped, assignment, running.exists) as trial:
        said = []
        for report in told(stopped, trial):
            said.append(report)
            if len(said) == 8:
                running.unlink()
        assert said[-1].ending is Ending.STOPPED
        assert len(said) == 9
        # Between two evaluations.
        assert said[-2].evaluated is None
        assert Checkpoints(stopped.paths.checkpoints(0)).steps == said[-2].steps == said[-1].steps
    running.touch()
    # What it tells first was rated before the checkpoint that it goes on from.
    (evaluated,) = evaluations_in(said)
    begun, first = train(stopped, assignment)[:2]
    assert begun.restored
    assert (first.steps, first.evaluated) == (said[-2].steps, evaluated)
    same_tables(whole, stopped)


def test_a_damaged_checkpoint_is_named_and_the_one_before_is_used(small_schema: Path, tmp_path: Path) -> None:
    assignment = hyperparameters("a2c")
    of = experiment(tmp_path / "one", small_schema, "a2c")
    train(of, assignment)
    whole = replace(of, paths=ExperimentPaths(shutil.copytree(of.paths.folder, tmp_path / "whole")))
    newest = max(of.paths.checkpoints(0).glob("[0-9]*"))
    before = Checkpoints(of.paths.checkpoints(0)).steps
    (newest / "arrays.npz").write_bytes(b"")
    said = train(of, assignment)
    assert "trial 0: checkpoint" in said[0].message
    assert "arrays.npz has changed since it was written" in said[0].message
    assert said[0].steps < before
    same_tables(whole, of)


def test_a_long_way_to_the_next_evaluation_has_checkpoints(
    small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuning.trial.training.CHECKPOINT_SECONDS", 0.0)
    of = experiment(tmp_path / "one", small_schema, "a2c")
    with training(of, hyperparameters("a2c")) as trial:
        for report in told(of, trial):
            assert Checkpoints(of.paths.checkpoints(0)).steps == report.steps
    reports = load(of.paths.folder).reports
    assert reports["update"].tolist() == list(range(1, len(reports) + 1))


def test_a_larger_budget_moves_the_evaluations_that_are_left(small_schema: Path, tmp_path: Path) -> None:
    of = experiment(tmp_path / "one", small_schema, "a2c")
    train(of, hyperparameters("a2c"))
    larger = replace(of, settings=replace(of.settings, steps=2 * STEPS_OF_A_TRIAL))
    said = train(larger, hyperparameters("a2c"))
    # At 640, 1,280 and 1,920 steps; the first was passed with 960 behind it.
    assert [evaluated.number for evaluated in evaluations_in(said)] == [1, 2, 3]
    steps = load(of.paths.folder).evaluations["steps"].tolist()
    assert [320 <= steps[0] < 400, 640 <= steps[1] < 720, 960 <= steps[2] < 1040] == [True] * 3
    assert [1280 <= steps[3] < 1360, 1920 <= steps[4] < 2000] == [True] * 2


@pytest.mark.parametrize("algo", ["ppo", pytest.param("a2c", marks=SLOW), "sac"])
def test_a_trial_that_saves_memory_goes_on_with_the_same_mathematics(algo: str, small_schema: Path, tmp_path: Path) -> None:
    finals = []
    for name, fallback in (("whole", 0), ("saving", 1)):
        of = experiment(tmp_path / name, small_schema, algo)
        for rung, steps in ((0, STEPS_OF_A_TRIAL // 2), (fallback, STEPS_OF_A_TRIAL)):
            with training(of, hyperparameters(algo), fallback=rung) as trial:
                for _ in told(of, trial):
                    if trial.state.evaluated_steps and trial.state.steps >= steps:
                        break
        finals.append(load(of.paths.folder).trials.iloc[0])
    assert finals[1]["score"] == pytest.approx(finals[0]["score"], abs=1e-4)
    assert finals[0]["steps"] == finals[1]["steps"]


@pytest.mark.filterwarnings("ignore:.*found in sys.modules")
def test_processes_that_train_at_once_have_environments_of_their_own() -> None:
    module = "tuning.algorithms.rllib_trainer"
    # As another process runs it.
    assert runpy.run_module(module)["ENVIRONMENT"] != importlib.import_module(module).ENVIRONMENT


@pytest.mark.parametrize("shares", [False, True])
def test_policies_for_single_buildings_validate_under_the_bounds_of_the_homes(
    small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shares: bool
) -> None:
    found: list[bool] = []
    evaluator = SimpleNamespace(rows=lambda policy: [])
    task = SimpleNamespace(evaluator=lambda own_layout: found.append(own_layout) or evaluator)
    monkeypatch.setattr("tuning.trial.training.acting_in", lambda *given: Acting(np.zeros_like))
    measured = SimpleNamespace(evaluation=SimpleNamespace(running=nullcontext))
    of = SimpleNamespace(
        _measurements=measured, _evaluator=None, trainer=SimpleNamespace(shares=shares), _task=task
    )  # fmt: skip
    Training._evaluate(of)  # type: ignore[arg-type]
    assert found == [shares]


@pytest.mark.parametrize(
    ("algo", "others"),
    [
        ("ppo", {"normalize_rewards": True}),
        pytest.param("a2c", {}, marks=SLOW),
        pytest.param("sac", {}, marks=SLOW),
    ],
)
def test_a_taught_trial_goes_on_as_if_it_had_never_stopped(
    small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, algo: str, others: dict[str, Any]
) -> None:
    made: list[str] = []
    starts = [
        Start(window, charge) for window in (Window(0, 0, 24), Window(0, 72, 24), Window(0, 120, 24)) for charge in (0.2, 0.8)
    ]
    monkeypatch.setattr("envs.yardsticks.lessons.METHOD", "yesterday")
    short = teach(SiteTask(str(small_schema)), starts)
    monkeypatch.setattr("tuning.trial.training.lessons", lambda task: made.append(task.scenario) or short)
    assignment = hyperparameters(algo, **others)
    whole, cut = (experiment(tmp_path / name, small_schema, algo, teacher="mpc") for name in ("whole", "cut"))
    said = train(whole, assignment)
    copied = said[1]
    assert copied.steps == 0
    assert "the copy of mpc scores" in copied.message
    # Stopped before the first checkpoint: the copy is made again.
    with training(cut, assignment) as trial:
        for _, _ in zip(range(2), told(cut, trial), strict=False):
            pass
    made.clear()
    assert train_in_pieces(cut, assignment) == EVALUATIONS
    assert made == [str(small_schema)]
    same_tables(whole, cut, exact=False)
    evaluations = load(whole.paths.folder).evaluations
    assert evaluations["steps"].min() == 0
    assert f"{evaluations['score'][evaluations['steps'] == 0].iloc[0]:+.4f}" in copied.message
    assert len(evaluations) == EVALUATIONS + 1


def test_with_two_objectives_the_environment_gives_the_share_and_reports_have_both_gains(
    small_schema: Path, tmp_path: Path
) -> None:
    of = experiment(tmp_path / "two", small_schema, "ppo", objective="co2 bill")
    found = evaluations_in(train(of, {**hyperparameters("ppo"), "reward_share": 0.25}))[-1].outcome
    results = load(of.paths.folder)
    row, last = results.trials.iloc[0], results.reports.dropna(subset=["score"]).iloc[-1]
    assert (row["hp_reward_share"], row["used_reward_share"]) == (0.25, pytest.approx(0.25))
    for name in ("objective", "objective_2", "gain", "gain_2"):
        assert math.isfinite(row[name])
        assert row[name] == last[name] == getattr(found, name)
    assert row["rating"] == (row["gain"] + row["gain_2"]) / 2.0 == of.settings.aim.goal(found)
    # A trial that goes on tells its last evaluation again, with both gains.
    with training(of, {**hyperparameters("ppo"), "reward_share": 0.25}) as trial:
        again = list(told(of, trial))
        assert evaluations_in(again)[0].outcome == found


def test_a_trainer_is_stopped_whatever_fails_at_its_end() -> None:
    stopped: list[str] = []

    def stop() -> None:
        stopped.append("stop")
        raise RuntimeError("stop")

    trial: Any = object.__new__(Training)
    trial.trainer = SimpleNamespace(stop=stop)
    trial._evaluator = SimpleNamespace(close=lambda: stopped.append("environment"))
    with pytest.raises(RuntimeError, match="stop"):
        trial.__exit__(None, None, None)
    assert stopped == ["stop", "environment"]


def test_a_trainer_is_stopped_that_cannot_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = Experiment(Settings(backend="batch"), ExperimentPaths(tmp_path))
    stopped: list[bool] = []

    def fails() -> None:
        raise ValueError("no values")

    trainer = SimpleNamespace(stop=lambda: stopped.append(True), watch=lambda *given: None, used=fails)
    handout: Any = SimpleNamespace(number=0, hyperparameters={"plan": "none"}, seed=1, checkpoint=0, place=ANYWHERE)
    monkeypatch.setattr("tuning.trial.training.algorithm", lambda name: SimpleNamespace(build=lambda setup: trainer))
    monkeypatch.setattr("tuning.trial.training.trial_setup", lambda *given: None)
    with pytest.raises(ValueError, match="no values"):
        Training(of, handout, tmp_path.exists)
    assert stopped == [True]


def test_garbage_is_looked_for_again_also_where_a_trainer_cannot_be_built() -> None:
    def build() -> None:
        assert not gc.isenabled()
        raise ValueError("no trainer")

    with pytest.raises(ValueError, match="no trainer"), _without_collection():
        build()
    assert gc.isenabled()
