"""The published protocol of the CityLearn Challenge 2022, on CityLearn 3.0.2: policies, and MPC in the same simulator.

Run: `uv run python benchmarks/published_protocol.py DATA --to FOLDER`. DATA is the folder of the dataset
`citylearn_challenge_2022_phase_all`. The same command continues what was stopped: finished phases are kept in FOLDER.

Each phase trains policies outside the days that are judged, one for each seed, by `tuning.tune`. The last checkpoint of each is
judged. The first week of the training range validates, and chooses nothing: there is one assignment, and no pruner. MPC is
judged in the same simulator, with the policies' weights and with the default ones; the better one is the rival.

Score: `citylearn_2022_peaks_score`, each of its terms a ratio to no control; less is better. Days are counted from 0, both ends
included. Hours are stepped by the batch backend.
"""

import argparse
import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np

from common.errors import UsageError, UserError
from common.files import write_whole
from envs.scenarios.splits import Splits
from results.statistics import Interval, paired_mean
from tuning.cli.command import parse
from tuning.experiment.settings import Settings

PROGRAM = "benchmarks/published_protocol.py"
FIVE = tuple(range(1, 6))
TEN = tuple(number for number in range(6, 18) if number not in (12, 15))
SCORE = "citylearn_2022_peaks_score"  # that of the published table; not the challenge's official one
POLICY = "policy"  # rows that have a run for each seed; others have one
EXACT = "MPC: exact future"  # no rival: no controller knows the future
METHODS = ("yesterday", "seven-days", "learned", "exact")
COLUMNS = ("cost", "emissions", "grid", "score")
DEFAULT_WEIGHTS = ", default weights"  # ending of the names of MPC that plans for them
REPETITIONS = 2000  # of a bootstrap
# Options of a search that this command states itself.
OWN = (
    "scenario", *(entry.name for entry in fields(Splits)), "steps", "seed", "preset", "trials", "scheduler", "name", "dir",
    "resume", "extend", "keep_checkpoints", "start_from", "space",
)  # fmt: skip


@dataclass(frozen=True)
class Phase:
    """One phase of the protocol.

    Attributes:
        name: of it.
        weight: in the weighted score; 0 for a phase that is not part of it.
        train: first and last day that a policy may learn from.
        judged: first and last day that are judged.
        homes: numbers of the buildings that train.
        judged_homes: of the buildings that are judged.
    """

    name: str
    weight: float
    train: tuple[int, int]
    judged: tuple[int, int]
    homes: tuple[int, ...]
    judged_homes: tuple[int, ...]

    @property
    def title(self) -> str:
        """What it is, in one line."""
        days, homes = "{}-{}".format(*self.judged), len(self.judged_homes)
        unseen = "" if self.homes == self.judged_homes else f" of the {len(self.homes)} homes of phases 1 and 2"
        return f"phase {self.name}: days {days} of {homes} homes, trained on days {self.train[0]}-{self.train[1]}{unseen}"

    @property
    def splits(self) -> Splits:
        """Its days and homes as splits; the first week of the training range validates."""
        first, last = self.train
        return Splits(
            train=(f"{first + 7}-{last}",),
            validation=(f"{first}-{first + 6}",),
            test=("{}-{}".format(*self.judged),),
            train_buildings=names(self.homes),
            test_buildings=() if self.homes == self.judged_homes else names(self.judged_homes),
        )


def names(homes: Sequence[int]) -> tuple[str, ...]:
    return tuple(f"Building_{home}" for home in homes)


PHASES = (
    Phase("1", 0.2, (120, 364), (0, 119), FIVE, FIVE),
    Phase("2", 0.3, (0, 119), (120, 239), FIVE, FIVE),
    Phase("3", 0.5, (0, 239), (240, 364), TEN, TEN),
    Phase("3-unseen", 0.0, (0, 239), (240, 364), FIVE, TEN),
)
# Figures of a row, `COLUMNS` of each of its runs.
Rows = dict[str, list[dict[str, float]]]


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog=PROGRAM, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of citylearn_challenge_2022_phase_all")
    parser.add_argument("--to", type=Path, required=True, help="folder for experiments and figures; it is continued")
    every = [phase.name for phase in PHASES]
    parser.add_argument("--phases", nargs="+", default=every, choices=every, help="all of them by default")
    parser.add_argument("--seeds", type=int, default=3, help="policies of each phase")
    parser.add_argument("--seed", type=int, default=0, help="seed of the experiments")
    parser.add_argument("--steps", type=int, default=600_000, help="hours that a policy learns from")
    parser.add_argument("--preset", default="several-buildings", help="of tuning.run")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="of tuning.run")
    parser.add_argument("--run-options", default="", help="further options of tuning.run, in quotes")
    parser.add_argument("--mpc", nargs="+", default=list(METHODS), choices=METHODS, help="forecasts of MPC")
    options = parser.parse_args(given)
    if options.seeds < 2:
        parser.error("--seeds: intervals take at least 2")
    return options


def settings_of(phase: Phase, options: argparse.Namespace) -> Settings:
    """The experiment of a phase: one assignment, once for each seed.

    Raises:
        UsageError: if `--run-options` states what this command does.
    """
    base = Settings(
        scenario=str((options.data / "schema.json").resolve()),
        **asdict(phase.splits),
        weights=("co2=0.35", "cost=0.35", "ramping=0.1", "peak=0.2"),
        objective=SCORE,
        preset=options.preset,
        set=(tuple(options.set),) if options.set else (),
        trials=options.seeds,
        steps=options.steps,
        seed=options.seed,
        scheduler="none",
        keep_checkpoints="all",
        name=f"phase-{phase.name}",
        dir=str((options.to / "experiments").resolve()),
    )
    settings = parse(Settings, shlex.split(options.run_options), base, "--run-options")
    for name in OWN:
        if getattr(settings, name) != getattr(base, name):
            raise UsageError(f"--run-options --{name.replace('_', '-')}: {PROGRAM} states it itself; leave it out")
    settings.check()
    return settings


def figures(evaluation: Any) -> dict[str, float]:
    """`COLUMNS` of an evaluation."""
    of = evaluation.citylearn
    cost, emissions = of["citylearn_cost_total"], of["citylearn_carbon_emissions_total"]
    score = of[SCORE]
    return {"cost": cost, "emissions": emissions, "grid": 3.0 * score - cost - emissions, "score": score}


def policies(settings: Settings) -> tuple[list[dict[str, float]], float]:
    """Figures of the policy of each seed, and the seconds that training one took.

    Raises:
        UsageError: if a run did not complete.
    """
    from tuning import tune
    from tuning.experiment.folder import open_experiment
    from tuning.runtime.ray_session import ray_session
    from tuning.trial.policy import trained

    results = tune(settings)
    complete = int((results.trials["state"] == "complete").sum())
    if complete < settings.trials:
        raise UsageError(f"{results.folder}: {complete} of {settings.trials} runs are complete; see the others' errors there")
    experiment, found = open_experiment(results.folder), []
    with ray_session(num_cpus=1):
        for number in range(settings.trials):
            with trained(experiment, number, split="test") as policy:
                (evaluation,) = policy.task.rate(policy.policy, policy.task.site.windows("test"), policy.shares)
            found.append(figures(evaluation))
            print(f"policy of seed {number}: {found[-1]['score']:.4f}", flush=True)
    return found, float(results.trials["seconds"].mean())


def controllers(settings: Settings, methods: Sequence[Any]) -> Rows:
    """Figures of MPC, with the policies' weights and with the default ones."""
    from envs.objective.weights import DEFAULT
    from envs.yardsticks.mpc_runs import NAMES, mpc

    task, rows = settings.task, {}
    for ending, weights in {"": settings.aim.weights, DEFAULT_WEIGHTS: DEFAULT}.items():
        for method in methods:
            if ending == "" or weights != settings.aim.weights:
                (evaluation,) = mpc(task.rewarding(weights), task.site.windows("test"), method)
                rows[NAMES[method] + ending] = [figures(evaluation)]
                print(f"{NAMES[method]}{ending}: {rows[NAMES[method] + ending][0]['score']:.4f}", flush=True)
    return rows


def opened(options: argparse.Namespace) -> None:
    """Create the folder, or check that it was made by the same command.

    Raises:
        UsageError: if it is of another command.
    """
    kept = ("seeds", "seed", "steps", "preset", "set", "run_options", "mpc")
    now = {"data": str(options.data.resolve()), **{name: getattr(options, name) for name in kept}}
    path = options.to / "protocol.json"
    if not path.exists():
        options.to.mkdir(parents=True, exist_ok=True)
        write_whole(path, lambda file: file.write(json.dumps(now, indent=1).encode()))
    before = json.loads(path.read_text(encoding="utf-8"))
    differ = [name for name in now if before.get(name) != now[name]]
    if differ:
        name = differ[0]
        option = f"--{name.replace('_', '-')}"
        raise UsageError(f"--to {options.to}: it has {option} {before.get(name)}, not {now[name]}; name another folder")


def run(phase: Phase, options: argparse.Namespace) -> dict[str, Any]:
    """What a phase gave, from its file where it is finished."""
    path = options.to / f"phase-{phase.name}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    settings = settings_of(phase, options)

    def keep() -> None:
        write_whole(path, lambda file: file.write(json.dumps(found, indent=1).encode()))

    print(f"\n{phase.title}", flush=True)
    if "rows" not in found:
        runs, seconds = policies(settings)
        found = {"rows": {POLICY: runs}, "seconds": seconds}
        keep()
    if len(found["rows"]) == 1:
        found["rows"] |= controllers(settings, options.mpc)
        keep()
    return found


def scores(rows: Mapping[str, Rows], row: str) -> np.ndarray:
    """Scores of a row in several phases, shape (runs, phases)."""
    return np.array([[one["score"] for one in own[row]] for own in rows.values()]).T


def interval(values: np.ndarray, weights: Sequence[float]) -> Interval:
    """Weighted mean over phases with the percentile interval of a bootstrap over seeds.

    Args:
        values: shape (runs, phases); runs of different phases are independent, so each phase draws its own.
        weights: of the phases, shape (phases,).
    """
    random = np.random.default_rng(0)
    drawn = (np.take_along_axis(values, random.integers(len(values), size=values.shape), axis=0) for _ in range(REPETITIONS))
    means = [float(np.average(sample.mean(axis=0), weights=weights)) for sample in drawn]
    low, high = np.quantile(means, [0.025, 0.975])
    return Interval(float(low), float(np.average(values.mean(axis=0), weights=weights)), float(high))


def best_of(rows: Mapping[str, Rows], weights: Sequence[float], exact: bool) -> tuple[str, float] | None:
    """Best MPC over phases, its name and weighted score: with the exact future, or with forecasts; None without any."""
    every = [row for row in next(iter(rows.values())) if row != POLICY and row.startswith(EXACT) == exact]
    ranked = sorted((float(np.average(scores(rows, row)[0], weights=weights)), row) for row in every)
    return (ranked[0][1], ranked[0][0]) if ranked else None


def verdict(rows: Mapping[str, Rows], weights: Sequence[float]) -> list[str]:
    """Paired differences of the policies to MPC, and how far they are on the way to the exact future."""
    rival, exact = best_of(rows, weights, False), best_of(rows, weights, True)
    lines = []
    own = scores(rows, POLICY)
    for name, score in filter(None, (rival, exact)):
        difference = interval(own - score, weights)
        each = np.average(own, axis=1, weights=weights)
        student = paired_mean(each, np.full(len(each), score))
        if not difference.low <= 0.0 <= difference.high:
            says = f"the policy is {'better' if difference.value < 0.0 else 'worse'}, the interval is without zero"
        else:
            says = "no difference is shown, the interval has zero in it"
        lines.append(f"policy less {name}: {difference}; Student's interval {student.low:+.4f} to {student.high:+.4f}; {says}")
    if rival and exact and rival[1] != exact[1]:
        part = (rival[1] - interval(own, weights).value) / (rival[1] - exact[1])
        lines.append(f"of the way from {rival[0]} to {exact[0]}: {part:.0%}")
    return lines


def phase_table(phase: Phase, rows: Rows) -> str:
    """A phase's rows, the best first, in Markdown."""
    means = {row: {name: float(np.mean([one[name] for one in own])) for name in COLUMNS} for row, own in rows.items()}
    lines = [f"| {phase.title} | {' | '.join(COLUMNS)} |", f"|---|{'---|' * len(COLUMNS)}"]
    for row in sorted(rows, key=lambda row: means[row]["score"]):
        cells = [f"{means[row][name]:.4f}" for name in COLUMNS]
        if row == POLICY:
            of = interval(scores({"": rows}, row), [1.0])
            cells[-1] += f" ({of.low:.4f} to {of.high:.4f})"
            each = ", ".join(f"{one['score']:.4f}" for one in rows[row])
            lines.append(f"| {row}, {len(rows[row])} seeds: {each} | {' | '.join(cells)} |")
        else:
            lines.append(f"| {row} | {' | '.join(cells)} |")
    lines.append(f"| no control |{' 1 |' * len(COLUMNS)}")
    return "\n".join([*lines, "", *verdict({"": rows}, [1.0])])


def weighted_table(rows: Mapping[str, Rows]) -> str:
    """The weighted scores over phases, the best first, in Markdown."""
    of = [phase for phase in PHASES if phase.name in rows]
    weights = [phase.weight for phase in of]
    means = {row: scores(rows, row).mean(axis=0) for row in next(iter(rows.values()))}
    weighted = {row: float(np.average(own, weights=weights)) for row, own in means.items()}
    heads = " | ".join(f"phase {phase.name}, {phase.weight:g}" for phase in of)
    lines = [f"| score, weights of phases | {heads} | weighted |", f"|---|{'---|' * (len(of) + 1)}"]
    for row in sorted(means, key=lambda row: weighted[row]):
        cell = f"{weighted[row]:.4f}"
        if row == POLICY:
            total = interval(scores(rows, row), weights)
            cell += f" ({total.low:.4f} to {total.high:.4f})"
        lines.append(f"| {row} | {' | '.join(f'{value:.4f}' for value in means[row])} | {cell} |")
    return "\n".join([*lines, "", *verdict(rows, weights)])


def report(found: Mapping[str, Mapping[str, Any]]) -> str:
    """All tables of what phases gave, by their names."""
    parts = []
    for phase in (phase for phase in PHASES if phase.name in found):
        own = found[phase.name]
        parts.append(f"{phase_table(phase, own['rows'])}\ntraining of a policy took {own['seconds']:,.0f} s on average")
    weighed = {phase.name: found[phase.name]["rows"] for phase in PHASES if phase.weight and phase.name in found}
    if len(weighed) == sum(phase.weight > 0.0 for phase in PHASES):
        parts.append(weighted_table(weighed))
    return "\n\n".join(parts)


def main(given: Sequence[str] | None = None) -> int:
    options = arguments(given)
    try:
        chosen = [phase for phase in PHASES if phase.name in options.phases]
        for phase in chosen:
            settings_of(phase, options)
        opened(options)
        found = {phase.name: run(phase, options) for phase in chosen}
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    text = report(found)
    write_whole(options.to / "report.md", lambda file: file.write(f"{text}\n".encode()))
    print(f"\n{text}\n\n{options.to / 'report.md'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
