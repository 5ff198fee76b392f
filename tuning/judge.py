"""Who is really best: `python -m tuning.judge experiments/ppo-iquitos-1 experiments/sac-iquitos-1`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from tuning.cli.command import command
from tuning.experiment.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console


NOBODY, INTERRUPTED = 1, 130  # exit status without a contender, and after Ctrl-C


@dataclass(frozen=True)
class Question:
    """Train the best trials of experiments again with fresh seeds, and judge them on years that nobody has seen.

    The defaults of their algorithms take part as a control. Contenders that fall behind are dropped early. Beside them stand
    the uncontrolled site, rules and the bound.
    """

    experiments: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Folders of the experiments, all of one scenario."""
    top: int = 2
    """Trials of each experiment, the best first."""
    seeds: int = 5
    """Runs of each contender that stays in the race."""
    seed: int = 0
    """Seed of the judgement: the same one repeats it."""
    judged_by: Literal["citylearn", "batch"] = "citylearn"
    """Whose numbers the last word is. The race is judged by the batch backend where it can step the site, and has the same
    numbers; CityLearn then judges whoever is left, a thousand times slower: some minutes a run and year with 128 sockets. It
    may do so later, by the same command."""
    gpu_memory: float = 0.0
    """See python -m tuning.run."""
    address: str = ""
    """See python -m tuning.run."""
    name: str = ""
    """Name of the judgement; by default scenario and a number. The same command with its name continues it."""
    dir: Path = Path("judgements")
    """Folder that holds the judgements."""


def main(arguments: list[str] | None = None) -> int:
    """Judge, print the table and write it.

    Args:
        arguments: of the command line; those of this process by default.

    Returns:
        Exit status: 0; 1 if a result cannot be, which is an error of this package, or if no contender is left; 2 for a command
        that cannot be carried out; 130 after Ctrl-C.
    """
    return command(Question, arguments, "python -m tuning.judge", _answer)


def _answer(question: Question) -> int:
    from rich.console import Console

    from envs.environments.backend import beyond_batch
    from envs.scenarios.scenario import scenario
    from tuning.experiment.folder import open_experiment
    from tuning.experiment.lock import experiment_lock
    from tuning.judging.contenders import contenders
    from tuning.judging.course import Course
    from tuning.judging.folder import Asked, create_or_open, free_name
    from tuning.judging.report import report

    if not question.experiments:
        raise UsageError("name the folder of at least one experiment, such as experiments/ppo-iquitos-1")
    for name, least in (("top", 1), ("seeds", 2), ("seed", 0)):
        if getattr(question, name) < least:
            raise UsageError(f"--{name} {getattr(question, name)}: it is at least {least}")
    console = Console()
    experiments = [open_experiment(folder) for folder in question.experiments]
    found = contenders(experiments, question.top)
    settings = experiments[0].settings
    site = scenario(settings.scenario)
    if question.judged_by == "batch" and (missing := beyond_batch(site)):
        raise UsageError(f"--judged-by batch: it cannot step {site.title} ({', '.join(missing)}); leave it to citylearn")
    folder = question.dir / (question.name or free_name(question.dir, site.title))
    asked = Asked(site.key, question.seeds, question.seed)
    judgement, was_there = create_or_open(folder, asked, found)
    with experiment_lock(judgement.paths.locked):
        _say(console, f"judgement {judgement.paths.folder}{', continued' if was_there else ''}")
        _say(console, f"contenders: {'; '.join(contender.name for contender in found)}")
        here = replace(settings, gpu_memory=question.gpu_memory, address=question.address)
        try:
            course = Course(judgement, site, here, console)
            with _as_interrupts():
                course.run(question.judged_by)
            report(judgement.paths, site.title, question.seeds, course.comparisons, course.failed, console)
        except KeyboardInterrupt:
            names = " ".join(str(path) for path in question.experiments)
            _say(console, f"stopped; the same command with --name {judgement.paths.folder.name} continues it: {names}")
            return INTERRUPTED
    if not course.left:
        print("error: no contender is left: each failed or does not serve its vehicles, as is said above", file=sys.stderr)
        return NOBODY
    return 0


@contextmanager
def _as_interrupts() -> Iterator[None]:
    """Take SIGTERM, which clusters send before they take a node away, as Ctrl-C, and Ctrl-C too where a shell had it ignored.

    While contenders are trained, `tuning.search.run_control` takes both.
    """
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, signal.default_int_handler) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say(console: Console, line: str) -> None:
    console.print(line, highlight=False, markup=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
