"""A search in one call: it returns results, or raises what went wrong with the way to continue."""

import errno
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from common.errors import UsageError, UserError
from common.texts import python_command
from results import Results, load
from tests.tuning.cli.printing import without_drawing
from tests.tuning.search.fakes import ask
from tuning.experiment.folder import Experiment, open_experiment
from tuning.experiment.lock import experiment_lock
from tuning.experiment.option_values import names
from tuning.experiment.settings import RESUMABLE, Settings
from tuning.runtime.ray_session import NodeLostError, RayRunningError
from tuning.search.record.study import StudyMemory
from tuning.search.tune import Changes, SearchStoppedError, each_algorithm, resume, tune, tune_all
from tuning.trial.records import TrialRecords


class Search:
    """Substitute for the search that records its experiments; `then` decides how it ends."""

    def __init__(self) -> None:
        self.searched: list[Experiment] = []
        self.then: Callable[[Experiment], str | None] = lambda experiment: None
        self.leaves: set[str] = set()  # what the run that continues has to do
        self.reopens = True  # trials that had ended, as asked; False where it ends before

    def __call__(
        self, experiment: Experiment, plan: Any, console: Console, files: Any, at_end: Any, asked: set[str]
    ) -> str | None:
        assert experiment.paths.owner.exists(), "the experiment is not locked"
        self.searched.append(experiment)
        if self.reopens:
            asked.clear()
        reason = self.then(experiment)
        asked.update(self.leaves)
        if reason is None:
            at_end()
        return reason


@pytest.fixture
def search(monkeypatch: pytest.MonkeyPatch) -> Search:
    monkeypatch.delenv("UV_RUN_RECURSION_DEPTH", raising=False)  # what is printed says how these tests were started
    search = Search()
    monkeypatch.setattr("tuning.search.run.driver.search", search)
    without_drawing(monkeypatch)
    return search


def settings(folder: Path, **others: Any) -> Settings:
    return replace(Settings(name="one", dir=str(folder), scenario="iquitos-38", steps=4096), **others)


def quiet() -> Console:
    return Console(file=io.StringIO(), width=200)


def said(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def raises(error: BaseException) -> Callable[[Experiment], str | None]:
    def then(experiment: Experiment) -> str | None:
        raise error

    return then


def one_row(experiment: Experiment) -> None:
    """A trial is begun."""
    TrialRecords(experiment).begin(ask(experiment, StudyMemory.open(experiment)))


def after_one_row(then: Callable[[Experiment], str | None]) -> Callable[[Experiment], str | None]:
    def both(experiment: Experiment) -> str | None:
        one_row(experiment)
        return then(experiment)

    return both


def test_it_returns_what_was_measured(search: Search, tmp_path: Path) -> None:
    search.then = one_row
    console = quiet()
    results = tune(settings(tmp_path), console=console)
    assert isinstance(results, Results)
    assert results.folder == tmp_path / "one"
    assert results.trials["state"].tolist() == ["running"]
    folder = tmp_path / "one"
    note, *rest = said(console).splitlines()
    assert note.startswith("searched too, ")
    assert rest == [f"experiment {folder}", f"Report:  {folder / 'report.html'}"]
    assert not search.searched[0].paths.owner.exists()


def test_a_folder_is_continued_with_what_changes(search: Search, tmp_path: Path) -> None:
    first = tune(settings(tmp_path, set=(("gamma=0.9",),)), console=quiet())
    before = open_experiment(first.folder).settings
    resume(first.folder, console=quiet())
    resume(str(first.folder), extend=True, retry_failed=True, steps=8192, trials=6, console=quiet())
    asked = [(experiment.settings.extend, experiment.settings.retry_failed) for experiment in search.searched]
    assert asked == [(False, False), (False, False), (True, True)]
    assert [experiment.settings for experiment in search.searched[:2]] == [before, before]
    assert open_experiment(first.folder).settings == replace(before, steps=8192, trials=6)
    with pytest.raises(UsageError, match="no experiment in"):
        resume(tmp_path, console=quiet())


@pytest.mark.parametrize(
    ("others", "more", "says"),
    [
        ({"set": "gamma=0.9"}, {}, 'set is "gamma=0.9", not a list'),
        ({"space": {}}, {}, "space is {}, not a text"),
        ({}, {"env_config": {"volume": 3.0}}, "--env-config .*name one with --env"),
    ],
)
def test_what_is_no_setting_is_refused_beside_an_experiment_of_that_name_too(
    search: Search, tmp_path: Path, others: dict[str, Any], more: dict[str, Any], says: str
) -> None:
    tune(settings(tmp_path), console=quiet())
    with pytest.raises(UsageError, match=says):
        tune(settings(tmp_path, **others), console=quiet(), **more)
    assert len(search.searched) == 1


def test_changes_are_the_settings_that_may_change() -> None:
    assert set(Changes.__annotations__) == {*RESUMABLE, "scenario", "address", "callback", "storage", "track"}
    assert all(hasattr(Settings(), name) for name in Changes.__annotations__)


@pytest.mark.parametrize(
    ("then", "reason"),
    [
        (lambda experiment: "the first 3 trials failed alike", "the first 3 trials failed alike"),
        (raises(OSError(errno.ENOSPC, "No space left on device")), "is full (No space left on device)"),
        (raises(NodeLostError()), "Ray lost its last node"),
    ],
)
def test_a_search_that_had_to_stop_says_why_and_how_to_continue(
    search: Search, tmp_path: Path, then: Callable[[Experiment], str | None], reason: str
) -> None:
    search.then = after_one_row(then)
    with pytest.raises(SearchStoppedError) as stopped:
        tune(settings(tmp_path), console=quiet())
    assert reason in stopped.value.reason
    assert stopped.value.folder == tmp_path / "one"
    search.then = lambda experiment: None
    assert resume(stopped.value.folder, console=quiet()).folder == tmp_path / "one"


def test_trials_that_failed_alike_begin_anew_by_the_command_that_continues(search: Search, tmp_path: Path) -> None:
    search.then, search.leaves = after_one_row(lambda experiment: "the first 3 trials failed alike"), {"retry_failed"}
    with pytest.raises(SearchStoppedError, match="retry_failed=True") as stopped:
        tune(settings(tmp_path), console=quiet())
    assert stopped.value.command.endswith(" --retry-failed")


def test_a_folder_with_a_storage_names_both(search: Search, tmp_path: Path) -> None:
    (tmp_path / "share").mkdir()
    console, storage = quiet(), (tmp_path / "share").as_uri()
    tune(settings(tmp_path, storage=storage), console=console)
    assert f"experiment {tmp_path / 'one'}, and {storage}/one\n" in said(console)


@pytest.mark.parametrize("reopens", [False, True])
def test_what_was_asked_of_ended_trials_and_not_done_is_asked_again(search: Search, tmp_path: Path, reopens: bool) -> None:
    search.then = after_one_row(lambda experiment: None)
    folder, console = tune(settings(tmp_path), console=quiet()).folder, quiet()
    search.reopens, search.then = reopens, raises(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        resume(folder, extend=True, retry_failed=True, steps=8192, console=console)
    again = f"{folder}" if reopens else f"{folder} --extend --retry-failed"
    assert said(console).rstrip().endswith(f"stopped; continue with: {python_command('tuning.run')} --resume {again}")


@pytest.mark.parametrize(
    "error",
    [
        UsageError("does not fit"),
        KeyboardInterrupt(),
        OSError(errno.EACCES, "no permission"),
        RuntimeError("Ray did not start"),
    ],
)
def test_what_ends_before_a_trial_is_removed_only_if_it_is_new(search: Search, tmp_path: Path, error: BaseException) -> None:
    new = tmp_path / "a" / "b"
    search.then = raises(error)
    with pytest.raises(type(error)):
        tune(settings(new), console=quiet())
    assert list(tmp_path.iterdir()) == []
    new.mkdir(parents=True)
    with pytest.raises(type(error)):
        tune(settings(new), console=quiet())
    assert list(new.iterdir()) == []  # a folder that was there before stays
    search.then = lambda experiment: None
    tune(settings(new), console=quiet())
    search.then = raises(error)
    with pytest.raises(type(error)):
        tune(settings(new), console=quiet())
    assert (new / "one").is_dir()
    search.then = after_one_row(raises(error))
    with pytest.raises(type(error)):
        tune(settings(new, name="two"), console=quiet())
    assert (new / "two" / "results" / "trials" / "00000.parquet").is_file()


def test_a_disk_that_is_full_before_a_trial_keeps_nothing(search: Search, tmp_path: Path) -> None:
    search.then = raises(OSError(errno.ENOSPC, "No space left on device"))
    with pytest.raises(UsageError, match=r"is full.*nothing was begun, and .* is removed again"):
        tune(settings(tmp_path), console=quiet())
    assert list(tmp_path.iterdir()) == []


def test_an_experiment_that_another_run_works_on_is_refused(search: Search, tmp_path: Path) -> None:
    first = tune(settings(tmp_path), console=quiet())
    with experiment_lock(open_experiment(first.folder).paths), pytest.raises(UsageError, match="in use by process"):
        resume(first.folder, console=quiet())
    assert len(search.searched) == 1


def test_all_algorithms_have_an_experiment_each(search: Search, tmp_path: Path) -> None:
    console = quiet()
    search.then = after_one_row(lambda experiment: None)
    results = tune_all(settings(tmp_path), console=console)
    assert said(console).count("searched too, ") == 1  # what they have in common
    assert [found.folder.name for found in results] == [f"one-{algo}" for algo in names()]
    assert [of.settings.algo for of in search.searched] == list(names())
    assert {part.name for part in each_algorithm(Settings())} == {""}
    with pytest.raises(UsageError, match="tune_all"):
        tune(settings(tmp_path, algo="all"))
    with pytest.raises(UsageError, match="resume"):
        tune_all(Settings(resume=str(tmp_path / "one-ppo")))


def test_all_are_checked_before_one_is_created(search: Search, tmp_path: Path) -> None:
    # gae_lambda is none of SAC's, and the others have it.
    with pytest.raises(Exception, match="gae_lambda"):
        tune_all(settings(tmp_path, set=(("gae_lambda=0.9",),)), console=quiet())
    assert list(tmp_path.iterdir()) == []


def test_one_that_has_to_stop_does_not_keep_the_others_from_their_search(search: Search, tmp_path: Path) -> None:
    search.then = after_one_row(lambda experiment: "bad luck" if experiment.settings.algo == names()[0] else None)
    with pytest.raises(SearchStoppedError, match="bad luck") as stopped:
        tune_all(settings(tmp_path), console=quiet())
    assert stopped.value.folder.name == f"one-{names()[0]}"
    assert [of.settings.algo for of in search.searched] == list(names())


def test_an_interrupt_names_those_that_were_not_begun(search: Search, tmp_path: Path) -> None:
    search.then = after_one_row(raises(KeyboardInterrupt()))
    console = quiet()
    with pytest.raises(KeyboardInterrupt):
        tune_all(settings(tmp_path), console=console)
    assert [of.settings.algo for of in search.searched] == [names()[0]]
    assert said(console).count("not begun: python -m tuning.run --resume") == 2


@pytest.mark.parametrize("error", [KeyboardInterrupt(), UsageError("does not fit")])
def test_what_ends_before_the_first_trial_leaves_none_of_them(search: Search, tmp_path: Path, error: BaseException) -> None:
    search.then = raises(error)
    console = quiet()
    with pytest.raises(type(error)):
        tune_all(settings(tmp_path / "new"), console=console)
    assert "not begun" not in said(console)
    assert list(tmp_path.iterdir()) == []


def test_one_folder_that_cannot_be_made_leaves_none_of_them(search: Search, tmp_path: Path) -> None:
    (tmp_path / f"one-{names()[-1]}").mkdir()
    console = quiet()
    with pytest.raises(UsageError, match="holds no experiment"):
        tune_all(settings(tmp_path), console=console)
    assert said(console) == ""  # the error is the one line
    assert [path.name for path in tmp_path.iterdir()] == [f"one-{names()[-1]}"]


@pytest.mark.slow
def test_in_a_notebook_a_ray_that_runs_already_is_used_and_left_running(small_schema: Path, tmp_path: Path) -> None:
    import ray

    # Ray reads some of what it needs when it is imported; the fixtures of these tests have set it.
    ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        output = io.StringIO()
        small = Settings(
            algo="ppo", scenario=str(small_schema), name="one", dir=str(tmp_path), steps=256, trials=1, evaluations=1,
            validation_weeks=1, set=(("hidden_sizes=8", "batch_size=32", "n_steps=64"),),
        )  # fmt: skip
        results = tune(small, console=Console(file=output, force_jupyter=True))
        assert results.trials["state"].tolist() == ["complete"]
        assert ray.is_initialized()
        # Not `auto`: that may find the Ray of a test that runs at the same time.
        address = ray.get_runtime_context().gcs_address
        with pytest.raises(RayRunningError, match="leave the address out"):
            resume(results.folder, address=address, trials=2, console=quiet())
        assert ray.is_initialized()
        assert load(results.folder).trials["state"].tolist() == ["complete"]
    finally:
        ray.shutdown()


@pytest.mark.parametrize(
    ("given", "options", "arguments"),
    [
        ({}, "", ""),
        ({"storage": "s3://bucket/x"}, " --storage s3://bucket/x", ", storage='s3://bucket/x'"),
        ({"trust_scenario": True}, " --trust-scenario", ", trust_scenario=True"),
        ({"address": "10.0.0.1:6379"}, " --address 10.0.0.1:6379", ", address='10.0.0.1:6379'"),
        ({"callback": ("a.b:C",)}, " --callback a.b:C", ", callback=('a.b:C',)"),
        ({"track": ("mlflow", "wandb")}, " --track mlflow wandb", ", track=('mlflow', 'wandb')"),
    ],
)
def test_the_way_to_continue_says_again_what_nothing_stores(given: dict[str, Any], options: str, arguments: str) -> None:
    error = SearchStoppedError("the disk is full", Path("/x/one"), given)
    assert isinstance(error, UserError)
    assert str(error).splitlines() == [
        "the disk is full",
        f"then continue with: {python_command('tuning.run')} --resume /x/one{options}, or in Python: "
        f"resume('/x/one'{arguments})",
    ]
