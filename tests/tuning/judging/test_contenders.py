"""The best trials of each experiment are judged, and the default of each algorithm, once."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from common.errors import UsageError
from results import load
from tests.tuning.trial.small_trials import completed
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import Experiment, create, save
from tuning.experiment.settings import Settings
from tuning.judging import contenders as module
from tuning.judging.contenders import best_trials, contenders, experiment_of, fresh_seed, judged_aim, run_settings, train
from tuning.judging.folder import Contender, JudgementPaths
from tuning.judging.settings import JudgeSettings
from tuning.search.proposals.plan import limits, plan
from tuning.trial.protocol import Proposal
from tuning.trial.records import TrialRecords, trial_seed

STEPS = 100_000
JUDGE = JudgeSettings((), seed=3)


def experiment(folder: Path, name: str, scores: dict[float, dict[str, Any]], **given: Any) -> Experiment:
    """With a complete trial for each score, of the default with a change."""
    settings = Settings(name=name, dir=str(folder), backend="batch", trials=len(scores), steps=STEPS, **given)
    return completed(create(settings), *scores.items())


def test_the_best_of_each_and_each_default(tmp_path: Path) -> None:
    ppo = experiment(tmp_path, "p", {0.05: {"gamma": 0.9}, 0.07: {"gamma": 0.95}, 0.06: {"gamma": 0.98}})
    a2c = experiment(tmp_path, "a", {0.04: {"gamma": 0.95}}, algo="a2c")
    found = contenders([ppo, a2c], top=2)
    assert [own.name for own in found] == ["p 1", "p 2", "ppo default, 100,000 steps", "a 0", "a2c default, 100,000 steps"]
    assert found[0].hyperparameters["gamma"] == 0.95
    assert len({own.slug for own in found}) == len(found)


def test_a_contender_is_trained_as_far_as_it_was_rated_and_by_the_same_rule(tmp_path: Path) -> None:
    of = experiment(tmp_path, "p", {0.05: {"gamma": 0.9}, 0.07: {"gamma": 0.95}}, evaluations=10, keep="last")
    for number, steps in enumerate((STEPS, 30_100)):
        TrialRecords(of).update(number, steps=steps)
    found = contenders([of], top=2)
    assert [own.evaluations for own in found] == [3, 10, 0]
    settings = run_settings(found[0], of.settings, tmp_path, JUDGE)
    assert (settings.steps, settings.evaluations, settings.ending_evaluation, settings.keep) == (STEPS, 10, 3, "last")
    other = contenders([of], top=2, keep="best")
    assert [run_settings(own, of.settings, tmp_path, JUDGE).keep for own in other] == ["best"] * 3


def test_no_assignment_takes_part_twice(tmp_path: Path) -> None:
    first = experiment(tmp_path, "p", {0.07: {}, 0.06: {"gamma": 0.9}})
    second = experiment(tmp_path, "q", {0.05: {"gamma": 0.95}})
    TrialRecords(first).update(1, same_as=0)
    names = [own.name for own in contenders([first, second], top=3)]
    # The best trial was the default itself, and the other was never run.
    assert names == ["ppo default, 100,000 steps", "q 0"]


def test_an_assignment_that_ran_twice_at_once_takes_one_place(tmp_path: Path) -> None:
    of = experiment(tmp_path, "p", {0.05: {"gamma": 0.95}, 0.07: {"gamma": 0.9}, 0.06: {"gamma": 0.9}, 0.04: {"gamma": 0.98}})
    assert best_trials(load(of.paths.folder), 3) == [1, 0, 3]


def test_the_control_learns_charging_where_all_trials_were_told_to(tmp_path: Path) -> None:
    given = experiment(tmp_path, "p", {0.05: {"gamma": 0.9, "learn_charging": True}}, set=(("learn_charging=true",),))
    control = contenders([given], top=1)[-1]
    assert control.name == "ppo default with learned charging, 100,000 steps"
    assert control.hyperparameters == algorithm("ppo").space.complete({"learn_charging": True}, limits(STEPS))


def test_what_does_not_go_together_is_refused(tmp_path: Path) -> None:
    first, second = (experiment(tmp_path, name, {0.05: {}}, scenario=name) for name in ("iquitos", "iquitos-38"))
    with pytest.raises(UsageError, match="--scenario"):
        contenders([first, second], top=1)
    stated = experiment(tmp_path, "stated", {0.05: {}}, train=("8", "9"))
    with pytest.raises(UsageError, match=r"--train of .*stated is 8 9, that of .*iquitos is not given: exp"):
        contenders([first, stated], top=1)
    pump = experiment(tmp_path, "pump", {0.05: {}}, scenario="iquitos-38", env="examples.pump:make")
    with pytest.raises(UsageError, match=r"--env of .*pump is examples.pump:make, .*iquitos is not given: .*apart"):
        contenders([first, pump], top=1)
    with pytest.raises(UsageError, match="two experiments are called iquitos"):
        contenders([first, first], top=1)
    with pytest.raises(UsageError, match="nothing to judge; --resume continues"):
        contenders([experiment(tmp_path, "none", {})], top=1)


@pytest.mark.parametrize(
    ("aim", "option"), [({"weights": ("co2=1.0",)}, "weights"), ({"objective": "bill"}, "objective"),
                        ({"require": ("peak_kw<=2.0",)}, "require")],
)  # fmt: skip
def test_experiments_of_different_aims_are_not_judged_together(tmp_path: Path, aim: dict[str, Any], option: str) -> None:
    first, second = experiment(tmp_path, "one", {0.05: {}}), experiment(tmp_path, "two", {0.05: {}}, **aim)
    with pytest.raises(UsageError, match=f"--{option} of .*two is .*, that of .*one is"):
        contenders([first, second], top=1)


def test_a_contender_is_trained_as_its_experiment_was(tmp_path: Path) -> None:
    aim = {"weights": ("co2=0.5", "peak=0.5"), "objective": "bill", "require": ("peak_kw<=2.0",)}
    of = experiment(tmp_path, "one", {0.05: {"gamma": 0.9}}, train=("8", "9"), test=("20-22",), teacher="mpc", **aim)
    for contender in contenders([of], top=1):
        run = run_settings(contender, of.settings, tmp_path / "runs", JUDGE)
        assert (run.splits, run.aim, run.teacher) == (of.settings.splits, of.settings.aim, of.settings.teacher)


@pytest.mark.parametrize("names", [("a_b", "a-b"), ("mall", "Mall")])
def test_contenders_that_would_share_a_folder_are_refused(tmp_path: Path, names: tuple[str, str]) -> None:
    both = [experiment(tmp_path / str(i), name, {0.05: {"gamma": 0.9}}) for i, name in enumerate(names)]
    with pytest.raises(UsageError, match=f"{names[0]} 0 and {names[1]} 0 would share the folder"):
        contenders(both, top=1)


@pytest.mark.parametrize("algo", ["ppo", "a2c", "sac"])
def test_a_run_trains_the_very_assignment_with_a_seed_that_no_search_had(tmp_path: Path, algo: str) -> None:
    change = {"gamma": 1.0 - 0.012345678901234567, "learning_rate": 1.23e-5, "clip_obs": None}
    (contender, control) = contenders([experiment(tmp_path, "e", {0.05: change}, algo=algo)], top=1)
    of = Settings(algo=algo, backend="batch", steps=STEPS, seed=0)  # type: ignore[arg-type]
    for own in (contender, control):
        settings = run_settings(own, of, tmp_path / "runs", replace(JUDGE, seed=0))
        settings.check()
        assert plan(settings, None).fixed == own.hyperparameters
        assert settings.seed != of.seed
    assert control.hyperparameters == algorithm(algo).preset("default", limits=limits(STEPS))


def test_a_control_says_how_it_began_so_both_controls_take_part(tmp_path: Path) -> None:
    plain = experiment(tmp_path, "one", {0.05: {"gamma": 0.9}})
    taught = experiment(tmp_path, "two", {0.05: {"gamma": 0.9}}, teacher="mpc")
    assert [own.name for own in contenders([plain, taught], top=1)] == [
        "one 0", "ppo default, 100,000 steps", "two 0", "ppo default taught by mpc, 100,000 steps",
    ]  # fmt: skip


def of_two(folder: Path, **given: Any) -> Experiment:
    """With two objectives: both ends of its front, its middle, and two trials that are not on it."""
    of = experiment(folder, "two", {k / 100: {"gamma": 0.9 + k / 100} for k in range(5)}, objective="co2_kg bill", **given)
    records = TrialRecords(of)
    for number, gains in enumerate([(0.1, 0.9), (0.9, 0.1), (0.6, 0.6), (0.5, 0.5), (2.0, 2.0)]):
        records.update(number, gain=gains[0], gain_2=gains[1], rating=sum(gains) / 2, shortfall=float(number == 4))
    return of


@pytest.mark.filterwarnings("ignore:.*lack")
@pytest.mark.parametrize(("objective", "best"), [("co2", ["two 1", "two 2"]), ("bill", ["two 0", "two 2"])])
def test_of_two_objectives_the_best_of_the_front_in_the_named_one_are_judged(
    tmp_path: Path, objective: str, best: list[str]
) -> None:
    of = of_two(tmp_path)
    found = contenders([of], 2, objective)
    assert [own.name for own in found[:-1]] == best
    assert found[-1].hyperparameters["reward_share"] == pytest.approx(0.5 / 0.65)
    assert judged_aim(of, objective).second is None
    # Each is trained for its own share.
    settings = run_settings(found[0], of.settings, tmp_path / "runs", JUDGE)
    assert plan(settings, None).fixed == found[0].hyperparameters


@pytest.mark.filterwarnings("ignore:.*lack")
@pytest.mark.parametrize("objective", ["", "score"])
def test_without_one_of_the_two_the_front_is_named(tmp_path: Path, objective: str) -> None:
    with pytest.raises(UsageError, match=r"--objective co2_kg, or bill \(trials on its front: 1, 2, 0\)"):
        contenders([of_two(tmp_path)], 2, objective)


def test_one_objective_is_judged_by_itself_alone(tmp_path: Path) -> None:
    of = experiment(tmp_path, "p", {0.05: {"gamma": 0.9}})
    with pytest.raises(UsageError, match="p was searched for score; leave it out"):
        contenders([of], 1, "bill")
    assert judged_aim(of, "") == of.settings.aim


def test_a_given_site_is_known_by_its_data_and_not_by_its_path(tmp_path: Path) -> None:
    one, two, other = (
        replace(of, settings=replace(of.settings, scenario=f"/{of.settings.name}/schema.json"), compatibility={"scenario": key})
        for of, key in (
            (experiment(tmp_path, name, {0.05: {"gamma": 0.9}}), key) for name, key in (("p", "a"), ("q", "a"), ("r", "b"))
        )
    )
    assert len(contenders([one, two], top=1)) == 3
    with pytest.raises(UsageError, match="--scenario"):
        contenders([one, other], top=1)


@pytest.fixture
def contender(tmp_path: Path) -> Contender:
    of = create(Settings(backend="batch", name="of", dir=str(tmp_path), steps=100_000))
    return Contender("of 0", str(of.paths.folder), algorithm("ppo").preset("default"))


@pytest.fixture
def paths(tmp_path: Path) -> JudgementPaths:
    own = JudgementPaths(tmp_path / "judgement")
    own.runs.mkdir(parents=True)
    return own


def ends(of: Experiment, states: dict[int, str]) -> None:
    """Write rows of trials that ended."""
    records = TrialRecords(of)
    for number, state in states.items():
        records.begin(Proposal(number, algorithm("ppo").preset("default")))
        records.end(number, state)


def test_seeds_are_those_of_no_search_with_the_same_number() -> None:
    for seed in range(5):
        searched = {trial_seed(seed, number) for number in range(20)}
        assert not searched & {trial_seed(fresh_seed(seed), number) for number in range(20)}
    assert fresh_seed(3) == fresh_seed(3) != fresh_seed(4)


def test_an_experiment_is_created_once_and_keeps_its_seed(contender: Contender, paths: JudgementPaths) -> None:
    first = experiment_of(contender, paths, JUDGE)
    again = experiment_of(contender, paths, replace(JUDGE, gpu_memory=2.0, address="auto"))
    assert first.paths == again.paths
    assert (again.settings.gpu_memory, again.settings.address) == (2.0, "auto")
    assert replace(again.settings, gpu_memory=0.0, address="") == first.settings
    assert first.settings.seed == fresh_seed(3)


@pytest.mark.parametrize(
    ("others", "why"),
    [
        ({"seed": 4}, "--seed was 4, now "),
        ({"steps": 50_000}, "--steps was 50000, now 100000"),
        ({"scenario": "iquitos-38"}, "--scenario was iquitos-38, now iquitos"),
    ],
)
def test_runs_of_something_else_are_refused(
    contender: Contender, paths: JudgementPaths, others: dict[str, Any], why: str
) -> None:
    run = experiment_of(contender, paths, JUDGE)
    save(replace(run, settings=replace(run.settings, trials=4, **others)))
    with pytest.raises(UsageError, match=f"holds runs of something else than of 0 .{why}") as refused:
        experiment_of(contender, paths, JUDGE)
    assert "\n" not in str(refused.value)


def test_trust_is_that_of_this_run(contender: Contender, paths: JudgementPaths) -> None:
    assert experiment_of(contender, paths, replace(JUDGE, trust_scenario=True)).settings.trust_scenario
    assert not experiment_of(contender, paths, JUDGE).settings.trust_scenario
    assert experiment_of(contender, paths, replace(JUDGE, trust_scenario=True)).settings.trust_scenario


def test_only_missing_runs_are_trained(contender: Contender, paths: JudgementPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    of = experiment_of(contender, paths, JUDGE)
    wanted: list[int] = []

    def search(experiment: Experiment, *_: Any) -> None:
        wanted.append(experiment.settings.trials)
        ends(experiment, dict.fromkeys(range(experiment.settings.trials), "complete"))

    monkeypatch.setattr(module, "search", search)
    console = Console(quiet=True)
    assert train(of, 2, console) == [0, 1]
    assert train(of, 2, console) == [0, 1]
    assert wanted == [2]
    assert train(of, 3, console) == [0, 1, 2]
    assert wanted == [2, 3]


def test_runs_that_failed_do_not_count_and_a_search_that_had_to_stop_is_an_error(
    contender: Contender, paths: JudgementPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = experiment_of(contender, paths, JUDGE)
    ends(of, {0: "complete", 1: "failed"})
    console = Console(quiet=True)
    assert train(of, 2, console) == [0]
    assert len(load(of.paths.folder).trials) == 2
    monkeypatch.setattr(module, "search", lambda *_: "the disk is full")
    with pytest.raises(UsageError, match="the disk is full"):
        train(of, 3, console)


def test_a_judgement_goes_on_where_its_site_has_another_path(
    small_schema: Path, paths: JudgementPaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a copy from a storage has on another machine."""
    of = create(
        Settings(scenario=str(small_schema), backend="batch", name="site", dir=str(tmp_path), steps=100_000),
        {"scenario": "small-1"},
    )
    contender = Contender("site 0", "s3://bucket/site", algorithm("ppo").preset("default"))
    key = ["small-1"]

    def there(place: str) -> Experiment:
        settings = replace(of.settings, scenario=f"/{machine}/storage/small/schema.json")
        return replace(of, settings=settings, begun_with=str(small_schema), compatibility={"scenario": key[0]})

    monkeypatch.setattr(module, "open_to_read", there)
    machine = "one"
    assert experiment_of(contender, paths, JUDGE).settings.scenario == "/one/storage/small/schema.json"
    machine = "two"
    again = experiment_of(contender, paths, JUDGE)
    assert again.settings.scenario == "/two/storage/small/schema.json"
    save(again)
    assert experiment_of(contender, paths, JUDGE) == again
    key[0], machine = "small-2", "three"
    with pytest.raises(UsageError, match="holds runs of something else"):
        experiment_of(contender, paths, JUDGE)
