"""Judge experiments in one call: contenders, race, report."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import chain
from typing import TYPE_CHECKING

from rich.console import Console

from common.errors import UsageError
from common.paths import fit_name, missing_folders, user_path
from common.texts import option_words, python_command
from tuning.cli.console import draw_report, say, terminal
from tuning.experiment.folder import check_name, discard, first_free
from tuning.experiment.lock import experiment_lock
from tuning.experiment.reading import open_to_read
from tuning.judging.settings import JudgeSettings
from tuning.runtime.cluster import check_address
from tuning.runtime.processes import Interrupted, stop_signals_as_interrupts
from tuning.runtime.ray_session import set_environment

if TYPE_CHECKING:
    from envs.task import Task
    from tuning.judging.report import Comparison


def compare(settings: JudgeSettings, console: Console | None = None) -> Comparison:
    """Train the best trials of experiments again, and judge them on the test split.

    Results go to the judgement's folder. A judgement that was stopped continues where it was. Progress, tables and verdict go
    to the console, by default the terminal or notebook.

    Raises:
        UserError: if the judgement cannot be carried out as asked.
        ValidityError: if a result is physically impossible.
        BoundError: if the solver finds no bound.
        KeyboardInterrupt: after Ctrl-C or SIGTERM, with the folder in order.
    """
    # Ray reads some of the environment when it is imported, so this comes first.
    set_environment()
    from tuning.judging.contenders import contenders, judged_aim
    from tuning.judging.folder import RaceSettings, create_or_open
    from tuning.judging.race import Race
    from tuning.judging.report import conclude

    console = console or terminal()
    settings.check()
    experiments = [open_to_read(place).trusting(settings.trust_scenario) for place in settings.experiments]
    chosen = contenders(experiments, settings.top, settings.objective, settings.keep)
    aim = judged_aim(experiments[0], settings.objective)
    # Of two objectives the one that is judged; the contenders are trained by the settings of their experiments.
    task = replace(experiments[0].settings, objective=aim.names).task
    _check_task(settings, task)
    notes = check_address(settings.address)
    parent = user_path(settings.dir).resolve()
    stem = fit_name(task.title).lstrip("._-") or "site"
    name = settings.name or first_free(stem, lambda name: (parent / name).exists())
    check_name(name)
    folder = parent / name
    created = missing_folders(folder)
    try:
        # Of two objectives the one that is judged, by its own name.
        judged_by = aim.names if experiments[0].settings.aim.second else ""
        judgement, existed = create_or_open(folder, RaceSettings(task.key, settings.seeds, settings.seed, judged_by), chosen)
        with stop_signals_as_interrupts(), experiment_lock(judgement.paths.locked):
            say(console, f"judgement {folder}{', continued' if existed else ''}")
            say(console, f"contenders: {'; '.join(contender.name for contender in chosen)}")
            for note in notes:
                say(console, note)
            race = Race(judgement, task, settings, console)
            race.run()
            comparison = conclude(race, console, experiments)
            draw_report([folder, *(experiment.paths.folder for experiment in experiments)], console)
    except KeyboardInterrupt:
        if discard(folder, created):
            say(console, f"stopped before the first run; {folder} is removed again")
        else:
            say(console, f"stopped; continue with: {_command(settings, name)}")
        raise Interrupted from None
    except BaseException:
        discard(folder, created)
        raise
    return comparison


def _check_task(settings: JudgeSettings, task: Task) -> None:
    """Raise a UserError for a task that cannot be judged so, or an option that is of the other kind of task."""
    from envs.gym.task import EnvTask, own_rows
    from envs.objective.reward import check_reward

    kind, others = ("a site", ("backend", "mpc")) if isinstance(task, EnvTask) else ("an environment", ("baseline",))
    for name in others:
        if getattr(settings, name) != getattr(JudgeSettings, name):
            raise UsageError(f"--{name}: it is an option of {kind}, which these experiments are not of; leave it out")
    if isinstance(task, EnvTask):
        task.check_trust()  # before Ray begins
        if settings.baseline:
            own_rows(replace(task, episodes=1), "test", settings.baseline)  # before anything is trained
        return
    check_reward(task.site, task.reward)
    if settings.backend == "batch" and (reason := task.why_not_batch()):
        raise UsageError(f"--backend batch: {reason}; leave it to citylearn")


def _command(settings: JudgeSettings, name: str) -> str:
    named, default = replace(settings, name=name), JudgeSettings(settings.experiments)
    given = {entry.name: getattr(named, entry.name) for entry in fields(named)}
    options = (option_words(option, value) for option, value in given.items() if value != getattr(default, option))
    return python_command("tuning.judge", *settings.experiments, *chain(*options))
