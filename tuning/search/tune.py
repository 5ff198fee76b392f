"""A search in one call: what `python -m tuning.run` does, for a notebook or a script.

from tuning import Settings, resume, tune
r = tune(Settings(algo="ppo", budget="10m"))
r = resume(r.folder, budget="20m")
r = tune(Settings(algo="sac"), env=make_my_environment)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from common.errors import UsageError, UserError
from common.files import is_full, told_full
from common.paths import remove_empty
from tuning.cli.console import busy, draw_report, say, terminal
from tuning.experiment.folder import continue_command
from tuning.experiment.option_values import ALL, names
from tuning.experiment.settings import Settings
from tuning.runtime.processes import Interrupted
from tuning.runtime.ray_session import NodeLostError, set_environment

if TYPE_CHECKING:
    from rich.console import Console

    from results import Results
    from tuning.search.run.opening import AsContinued, Checked, Opened
    from tuning.storage.search_files import SearchFiles


class Changes(TypedDict, total=False):
    """Settings that may change when an experiment is continued; `Settings` says what they are."""

    trials: int
    budget: str
    confirm: float
    steps: int
    concurrency: int
    address: str
    retries: int
    keep_checkpoints: str
    device: Literal["auto", "cpu", "gpu"]
    gpu_memory: float
    on_oom: Literal["retry", "adapt"]
    track: tuple[Literal["csv", "tensorboard", "mlflow", "wandb"], ...]
    callback: tuple[str, ...]
    scenario: str  # the same data in another place
    storage: str  # as it was begun with, where that was beside a local folder


def tune(
    settings: Settings | None = None,
    *,
    env: str | Callable[..., Any] = "",
    env_config: Mapping[str, Any] = MappingProxyType({}),
    console: Console | None = None,
) -> Results:
    """Search for hyperparameters until the experiment has its trials.

    An experiment that has the `name` already is continued, and so is the one in the folder `resume`. Its settings have to be
    those that it was begun with; only those of `Changes` may differ.

    Ray is started and ended here, after setting environment variables that it reads (`tuning.runtime.ray_session`). A Ray that
    runs in this process already is used, and left running. In the main thread, Ctrl-C or a notebook's "interrupt" stops the
    search once each trial has written a checkpoint.

    Args:
        settings: what to search, with one algorithm; `tune_all` searches with each. By default PPO on the example site.
        env: a Gymnasium environment in place of a site, as `--env` names it, or the function or class that makes one. Trials
            import it in other processes, so it is one of a module or of a script that is run only as `__main__`.
        env_config: its keyword arguments.
        console: shows progress; the terminal or notebook by default. `Console(quiet=True)` shows nothing.

    Returns:
        What was measured; `report.html` in the folder shows it. Trials may all have failed: see the column `state` of `trials`.

    Raises:
        UserError: one of its kinds, if the settings are not valid; nothing is created then.
        SearchStoppedError: if the search had to stop before it had its trials; it says how to continue.
        KeyboardInterrupt: after a clean stop by Ctrl-C.
    """
    set_environment()
    from tuning.storage.stored_experiment import publish

    settings = settings or Settings()
    if settings.algo == ALL:
        raise UsageError("algo='all' makes several experiments: call tune_all, which returns the results of each")
    console = console or terminal()
    if env or env_config:
        from envs.gym.source import config_of, name_of

        name = env if isinstance(env, str) else name_of(env)
        settings = replace(settings, env=name or settings.env, env_config=config_of(env_config or settings.env_config or {}))
    results = search_opened(open_all([settings], console)[0], console)
    draw_report([results.folder], console, publish)
    return results


def resume(
    folder: str | Path,
    *,
    extend: bool = False,
    retry_failed: bool = False,
    trust_scenario: bool = False,
    console: Console | None = None,
    **changes: Unpack[Changes],
) -> Results:
    """Continue an experiment that was stopped, or give it a larger budget. It returns and raises what `tune` does.

    Args:
        folder: of the experiment, or its URI.
        extend: whether trials that are complete go on too, to a larger number of `steps`, from their checkpoints.
        retry_failed: whether trials that failed begin anew.
        trust_scenario: whether the scenario may run code of its own; see `Settings`. No experiment stores it.
        console: see `tune`.
        changes: settings with new values.
    """
    set_environment()
    from tuning.storage.stored_experiment import experiment_at

    before = experiment_at(str(folder), changes.get("storage", "")).settings
    # Without these two, the experiment's own space and fixed values stay.
    of_run = replace(before, space="", set=(), storage="", resume=str(folder), trust_scenario=trust_scenario)
    return tune(replace(of_run, extend=extend, retry_failed=retry_failed, **changes), console=console)


def tune_all(settings: Settings, *, console: Console | None = None) -> list[Results]:
    """Search with each algorithm, one experiment after the other.

    Args:
        settings: of all of them; `algo` is replaced, and the algorithm is appended to `name`, as in `site-a-ppo`.
        console: see `tune`.

    Returns:
        Results of each, in the order of `tuning.experiment.option_values.names`.

    Raises:
        UserError: see `tune`; all are checked before anything is created.
        SearchStoppedError: for the first search that had to stop, after the others have ended.
        KeyboardInterrupt: see `tune`; those that were not begun are named.
    """
    set_environment()
    from tuning.storage.stored_experiment import publish

    if settings.resume:
        raise UsageError("an experiment has one algorithm: continue each with resume")
    console = console or terminal()
    results = []
    stopped: list[SearchStoppedError] = []
    for outcome in searched(open_all(each_algorithm(settings), console), console):
        if isinstance(outcome, SearchStoppedError):
            stopped.append(outcome)
        else:
            results.append(outcome)
            draw_report([outcome.folder], console, publish)
    if stopped:
        raise stopped[0]
    return results


def each_algorithm(settings: Settings) -> list[Settings]:
    """Settings of one experiment for each algorithm."""
    name = settings.name
    return [replace(settings, algo=algo, name=f"{name}-{algo}" if name else "") for algo in names()]


def open_all(settings: Sequence[Settings], console: Console, as_continued: AsContinued | None = None) -> list[Opened]:
    """Create or open experiments, once all of them were checked."""
    # Half a minute right after an installation, else two to four seconds.
    with busy(console, "loading Ray and what else a search needs", at_once=False):
        from tuning.search.run.opening import check, open_checked

    parts = [check(given, as_continued) for given in settings]
    opened: list[Opened] = []
    # Notes of new experiments once all of them are there: settings that are refused give one line.
    _say_notes((part for part in parts if part.before), console)
    try:
        for part in parts:
            opened.append(open_checked(part, partial(say, console)))
        _say_notes((part for part in parts if not part.before), console)
    except BaseException:
        # None of them is searched.
        for one in reversed(opened):
            one.withdraw()
        raise
    return opened


def _say_notes(parts: Iterable[Checked], console: Console) -> None:
    """Tell what the user should know of experiments; what several have in common once."""
    for note in dict.fromkeys(note for part in parts for note in part.notes):
        say(console, note)


def searched(opened: Sequence[Opened], console: Console) -> Iterator[Results | SearchStoppedError]:
    """Search experiments one after the other; one that has to stop does not keep the others from their search.

    Raises a KeyboardInterrupt after a clean stop by Ctrl-C; experiments that were not begun are named.

    Yields:
        Results of each, or why it had to stop.
    """
    for index, current in enumerate(opened):
        try:
            outcome: Results | SearchStoppedError = search_opened(current, console)
        except SearchStoppedError as error:
            outcome = error
        except BaseException as error:
            # After an interrupt of a search that goes on later, the others go on later too.
            is_kept = isinstance(error, KeyboardInterrupt) and current.is_there
            for rest in opened[index + 1 :]:
                if is_kept or not rest.withdraw():
                    say(console, f"not begun: {_continuing(rest)}")
            for one in opened:
                remove_empty(one.made[1:])
            raise
        yield outcome


def search_opened(opened: Opened, console: Console) -> Results:
    """Search until an experiment has its trials; see `tune`.

    A new experiment is removed again where the search ends before it begins a trial.
    """
    place = opened.experiment.place
    try:
        return _search(opened, console)
    except KeyboardInterrupt:
        if opened.withdraw():
            say(console, f"stopped before the first trial; {place} is removed again")
        else:
            say(console, f"stopped; continue with: {_continuing(opened)}")
        raise Interrupted from None
    except SearchStoppedError as error:
        if opened.withdraw():
            raise UsageError(f"{error.reason}; nothing was begun, and {place} is removed again") from error
        raise
    except BaseException:
        opened.withdraw()
        raise


def _continuing(opened: Opened) -> str:
    return continue_command(opened.experiment.place, opened.again)


def _search(opened: Opened, console: Console) -> Results:
    """Search on a held experiment; errors of the disk, of a storage and of Ray's nodes become a `SearchStoppedError`."""
    from common.storage.location import StorageError
    from tuning.storage.stored_experiment import run_files

    experiment = opened.experiment
    place, is_begun = experiment.place, False
    try:
        with run_files(experiment, lambda line: say(console, line)) as (held, files):
            is_begun = True
            return _search_held(replace(opened, experiment=held), files, console)
    except NodeLostError as error:
        where = f": see its logs in {error.logs}" if error.logs else ""
        reason = f"Ray lost its last node again and again{where}"
        raise SearchStoppedError(reason, place, opened.again) from error
    except StorageError as error:
        if not is_begun:
            raise
        raise SearchStoppedError(str(error), place, opened.again) from error
    except OSError as error:
        if not is_full(error):
            raise
        raise SearchStoppedError(told_full(experiment.paths.folder, error), place, opened.again) from error


def _search_held(opened: Opened, files: SearchFiles, console: Console) -> Results:
    from results import load
    from tuning.experiment.folder import save
    from tuning.experiment.lock import experiment_lock, refuse_moved
    from tuning.search.record.record import check_study
    from tuning.search.run.driver import search
    from tuning.search.run.yardsticks import write_week, write_yardsticks
    from tuning.trial.second_look import look_again

    experiment = opened.experiment
    with experiment_lock(experiment.paths) as killed:
        refuse_moved(experiment.paths)  # by another command, since this one looked
        copied = f", and {experiment.storage.uri}" if experiment.storage and experiment.is_local else ""
        say(console, f"experiment {experiment.place}{copied}")
        if killed:
            say(console, f"the run before was killed ({killed}); continuing from its checkpoints")
        if not opened.made:
            # Before Ray is started, and before the settings that hold now are written.
            check_study(experiment)
            save(experiment)

        def at_end() -> None:
            if not load(experiment.paths.folder).scored.empty:
                if experiment.settings.env or experiment.settings.further_weeks:
                    with busy(console, f"rating what may be the best by {experiment.settings.further_words}"):
                        look_again(experiment, files.written, partial(say, console))
                write_yardsticks(experiment, files.written, console)
                write_week(experiment, files.written, console)

        if reason := search(experiment, opened.plan, console, files, at_end, opened.asked):
            raise SearchStoppedError(reason, experiment.place, opened.again)
        return load(experiment.paths.folder)


def draw_report_so_far(place: str | Path, console: Console) -> None:
    """Draw the report of a search that was stopped, if it began a trial. Another Ctrl-C ends that too."""
    from results.table_files import table_folder
    from tuning.storage.stored_experiment import publish, stopped_at

    folder = stopped_at(place)
    if any(table_folder(folder, "trials").glob("*.parquet")):
        draw_report([folder], console, publish)


class SearchStoppedError(UserError):
    """The search had to stop: the disk is full, Ray lost its nodes, or the first trials all failed alike.

    Attributes:
        reason: in words.
        folder: of the experiment, or the URI of its storage; it holds everything that is needed to continue.
        again: settings of this run that are in no file, and so are needed again.
        command: that continues it.
    """

    def __init__(self, reason: str, folder: str | Path, again: Mapping[str, Any] = MappingProxyType({})) -> None:
        more = "".join(f", {name}={value!r}" for name, value in again.items())
        self.reason, self.folder, self.again, self.command = reason, folder, again, continue_command(folder, again)
        then = f"then continue with: {self.command}, or in Python: resume({str(folder)!r}{more})"
        super().__init__(*reason.splitlines(), then)
