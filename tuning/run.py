"""Command line of the search: `python -m tuning.run --algo ppo`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from common.command_line import refuse
from envs.batch_backend import compiling
from tuning.cli.command import command
from tuning.cli.help import OF_SEARCH
from tuning.cli.search_options import SearchOptions, as_continued, as_file, with_file
from tuning.experiment.option_values import ALL
from tuning.experiment.settings import Settings

if TYPE_CHECKING:
    from rich.console import Console

    from results import Results
    from tuning.search.tune import SearchStoppedError

PROGRAM = "python -m tuning.run"
STOPPED = NONE_COMPLETE = 1  # exit status


def main(arguments: list[str] | None = None) -> int:
    """Run or continue a search.

    Returns:
        Exit status: 0 if at least one trial (of each algorithm) is complete, or frozen with a score; 1 if there is none, or the
        search had to stop; else see `command`.
    """
    given = sys.argv[1:] if arguments is None else arguments

    def answer(options: SearchOptions) -> int:
        return _print(options.settings, given) if options.print_config else _run(options.settings, given)

    return command(SearchOptions, given, PROGRAM, answer, OF_SEARCH, with_file)


def _print(settings: Settings, arguments: list[str]) -> int:
    from tuning.search.run.opening import check

    parts = _parts(settings)
    checked = [check(part, as_continued(arguments, PROGRAM)).settings for part in parts]
    print("# Without the name, which would continue the experiment that has it.")
    print(as_file(replace(checked[0], algo=ALL) if len(parts) > 1 else checked[0]))
    return 0


def _parts(settings: Settings) -> list[Settings]:
    from tuning.search.tune import each_algorithm

    return each_algorithm(settings) if settings.algo == ALL and not settings.resume else [settings]


def _run(settings: Settings, arguments: list[str]) -> int:
    if not (settings.env or settings.resume or settings.backend == "citylearn"):
        compiling.ahead()  # what follows imports for many seconds
    from tuning.cli.console import terminal
    from tuning.search.tune import draw_report_so_far, open_all, searched

    console = terminal()
    opened = open_all(_parts(settings), console, as_continued(arguments, PROGRAM))
    statuses = list[int]()
    try:
        for outcome in searched(opened, console):
            statuses.append(_status(outcome, console, opened[len(statuses)].experiment.again))
    except KeyboardInterrupt:
        draw_report_so_far(opened[len(statuses)].experiment.place, console)
        raise
    if len(opened) > 1:
        from results import load
        from tuning.cli.summary import print_comparison

        print_comparison([load(each.experiment.place) for each in opened], console, settings.aim)
    return max(statuses)


def _status(outcome: Results | SearchStoppedError, console: Console, again: Mapping[str, Any]) -> int:
    """Print what came of a search, which a command continues with `again`; its exit status."""
    from common.storage.location import StorageError
    from tuning.search.tune import SearchStoppedError, draw_report_so_far

    if isinstance(outcome, SearchStoppedError):
        refuse(*outcome.reason.splitlines(), f"then continue with: {outcome.command}")
        # A storage that is lost takes no report either, which would be told once more, a minute later.
        if not isinstance(outcome.__cause__, StorageError):
            draw_report_so_far(outcome.folder, console)
        return STOPPED
    from envs.objective.reward import reference_lines
    from tuning.cli.console import draw_report, say
    from tuning.cli.summary import checkpoint_lines, print_summary, unpaid_lines
    from tuning.storage.stored_experiment import checkpoint_sizes, publish, run_in
    from tuning.trial.checkpoint import Checkpoints

    experiment = run_in(outcome.folder).trusting(bool(again.get("trust_scenario")))
    settings = experiment.settings
    off = [] if settings.env else reference_lines(settings.site_task.site)
    print_summary(outcome, console, settings.aim, settings.words_of("validation"), settings.teacher, off, again)
    for line in unpaid_lines(settings, outcome):
        say(console, line)
    if experiment.storage and not experiment.is_local:
        sizes = checkpoint_sizes(outcome.folder, outcome.trials["trial"])
    else:
        sizes = [Checkpoints(experiment.paths.checkpoints(number)).nbytes for number in outcome.trials["trial"]]
    for line in checkpoint_lines(sizes, settings.keep_checkpoints):
        say(console, line)
    draw_report([outcome.folder], console, publish)
    return 0 if not outcome.scored.empty else NONE_COMPLETE


if __name__ == "__main__":
    sys.exit(main())
