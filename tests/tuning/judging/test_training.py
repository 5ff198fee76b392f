"""A contender's runs are trials of an experiment of its own, with seeds that no search has."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from common.errors import UsageError
from results import load
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import Experiment, create, save
from tuning.experiment.settings import Settings
from tuning.judging import training
from tuning.judging.contenders import Contender
from tuning.judging.folder import JudgementPaths
from tuning.judging.training import experiment_of, fresh_seed, seed_of, train
from tuning.trial.protocol import Proposal
from tuning.trial.records import TrialRecords, trial_seed


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
    first = experiment_of(contender, paths, 3)
    again = experiment_of(contender, paths, 3, gpu_memory=2.0, address="auto")
    assert first.paths == again.paths
    assert (again.settings.gpu_memory, again.settings.address) == (2.0, "auto")
    assert replace(again.settings, gpu_memory=0.0, address="") == first.settings
    assert seed_of(first, 2) == trial_seed(fresh_seed(3), 2)


@pytest.mark.parametrize(
    ("others", "why"),
    [
        ({"seed": 4}, "--seed is 4, not "),
        ({"steps": 50_000}, "--steps is 50000, not 100000"),
        ({"set": (("gamma=0.5",),)}, "--set is "),
        ({"scenario": "iquitos-38"}, "--scenario is iquitos-38, not iquitos"),
        ({"validation_weeks": 1}, "--validation-weeks is 1, not 52"),
    ],
)
def test_runs_of_something_else_are_refused(
    contender: Contender, paths: JudgementPaths, others: dict[str, Any], why: str
) -> None:
    run = experiment_of(contender, paths, 3)
    save(replace(run, settings=replace(run.settings, trials=4, **others)))
    with pytest.raises(UsageError, match=f"holds runs of something else than of 0 .{why}") as refused:
        experiment_of(contender, paths, 3)
    assert "\n" not in str(refused.value)


def test_trust_is_that_of_this_run(contender: Contender, paths: JudgementPaths) -> None:
    assert experiment_of(contender, paths, 3, trust_scenario=True).settings.trust_scenario
    assert not experiment_of(contender, paths, 3).settings.trust_scenario
    assert experiment_of(contender, paths, 3, trust_scenario=True).settings.trust_scenario


def test_only_missing_runs_are_trained(contender: Contender, paths: JudgementPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    of = experiment_of(contender, paths, 0)
    wanted: list[int] = []

    def search(experiment: Experiment, *_: Any) -> None:
        wanted.append(experiment.settings.trials)
        ends(experiment, dict.fromkeys(range(experiment.settings.trials), "complete"))

    monkeypatch.setattr(training, "search", search)
    console = Console(quiet=True)
    assert train(of, 2, console) == [0, 1]
    assert train(of, 2, console) == [0, 1]
    assert wanted == [2]
    assert train(of, 3, console) == [0, 1, 2]
    assert wanted == [2, 3]


def test_runs_that_failed_do_not_count_and_a_search_that_had_to_stop_is_an_error(
    contender: Contender, paths: JudgementPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = experiment_of(contender, paths, 0)
    ends(of, {0: "complete", 1: "failed"})
    console = Console(quiet=True)
    assert train(of, 2, console) == [0]
    assert len(load(of.paths.folder).trials) == 2
    monkeypatch.setattr(training, "search", lambda *_: "the disk is full")
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

    monkeypatch.setattr(training, "open_to_read", there)
    machine = "one"
    assert experiment_of(contender, paths, 3).settings.scenario == "/one/storage/small/schema.json"
    machine = "two"
    again = experiment_of(contender, paths, 3)
    assert again.settings.scenario == "/two/storage/small/schema.json"
    save(again)
    assert experiment_of(contender, paths, 3) == again
    key[0], machine = "small-2", "three"
    with pytest.raises(UsageError, match="holds runs of something else"):
        experiment_of(contender, paths, 3)
