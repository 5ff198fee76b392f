"""Compare real searches with equal wall time or steps: ours, the default alone, stock Ray Tune, Stable-Baselines3 with Optuna.

Run: `uv run --group benchmarks python -m benchmarks.real_searches --data DATASETS --work FOLDER`. The same command goes on
where it was stopped. A search that was killed begins anew. The table is printed, and written to `table.md` in the work folder.
"""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import tyro
from filelock import FileLock, Timeout

from benchmarks.real_searches import methods, pool, tables
from benchmarks.real_searches.again import fresh_seed
from benchmarks.real_searches.job import BOUND, PREPARE, judge_task, search_task
from benchmarks.real_searches.records import Cell, RealSearchError, Records, Terms, Winner, missing
from benchmarks.real_searches.sites import check_site, environment_of, link_cache, scenario_name
from common.errors import UserError
from tuning.experiment.option_values import Budget
from tuning.runtime.processes import stop_signals_as_interrupts

SITES = ("citylearn_challenge_2022_phase_1", "iquitos-38", "citylearn_challenge_2020_climate_zone_1")
STUCK_FACTOR, STUCK_SECONDS = 1.5, 900.0  # a search is stuck after so many times its budget and so many seconds more
DAY_SECONDS = 86_400.0  # after which any other job is stuck


@dataclass(frozen=True)
class Options:
    """What to compare."""

    sites: tuple[str, ...] = SITES
    """Folders of --data, paths of schemas, or generated sites."""
    methods: tuple[str, ...] = methods.METHODS
    """ours, default, ray-tune, sb3; in environments also ray-sb3 and zoo.

    Fixed hyperparameters follow a colon, as in ours:plan=none."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Seeds of the searches; the units of the intervals."""
    budget: str = "20m"
    """Wall time of a search, or environment steps of all its trials."""
    steps: int = 250_000
    """Most environment steps of one trial, for all methods."""
    evaluations: int = 10
    """Evaluations of a whole trial, for all methods."""
    validation_weeks: int = 52
    """Weeks that an evaluation runs through, for all methods; 0 for all of the split."""
    cores: int = 2
    """Cores of a search, and its trials at once."""
    at_once: int = 1
    """Searches at once, each with cores of its own."""
    runs: int = 3
    """Fresh trainings of each winner; 0 for none yet."""
    data: Path | None = None
    """Folder with a data set in each folder."""
    work: Path = Path("real-searches")
    """Folder of caches, of what runs, and of the table."""
    rows: Path | None = None
    """Folder of the rows of finished searches and trainings, to which several machines can add; by default that of --work."""

    @property
    def terms(self) -> Terms:
        """What is the same for all searches.

        Raises:
            UserError: if the budget is none.
        """
        budget = Budget.parse(self.budget)
        seconds, total = (budget.amount, 0) if budget.is_time else (0.0, int(budget.amount))
        return Terms(seconds, self.steps, self.evaluations, self.validation_weeks, self.cores, total)

    @property
    def cells(self) -> list[Cell]:
        """All searches: one of each kind before a second one of any."""
        return [Cell(site, method, seed) for seed in self.seeds for site in self.sites for method in self.methods]

    def check(self) -> None:
        """Check the numbers.

        Raises:
            UserError: for the first that is not valid.
        """
        from tuning.experiment.settings import Settings

        for name in ("sites", "methods", "seeds"):
            given = getattr(self, name)
            if not given or len(set(given)) < len(given):
                raise RealSearchError(f"--{name} {' '.join(map(str, given))}: name at least one, and each once")
        for name, least in (("cores", 1), ("at_once", 1), ("runs", 0)):
            if getattr(self, name) < least:
                raise RealSearchError(f"--{name.replace('_', '-')} {getattr(self, name)}: it is at least {least}")
        for seed in self.seeds:
            Settings(
                seed=seed,
                steps=self.steps,
                evaluations=self.evaluations,
                validation_weeks=self.validation_weeks,
                budget=self.budget,
            ).check()


class Comparison:
    """A work folder, and what is still missing in it.

    Args:
        options: checked.
        scenarios: names for the tuner, by site.
    """

    def __init__(self, options: Options, scenarios: Mapping[str, str]) -> None:
        self._options, self._scenarios = options, scenarios
        self.records = Records(options.rows or options.work)

    def run(self) -> list[str]:
        """Prepare, search, train again; returns a line for each job that failed."""
        options = self._options
        searching, judging = pool.slots(options.cores, options.at_once), pool.slots(1, options.cores * options.at_once)
        self.records.check_terms(options.terms)
        if failed := pool.run(self._preparing(), searching, _say):
            return failed
        failed = pool.run([self._search(cell) for cell in missing(options.cells, self.records.rows("cells"))], searching, _say)
        return failed + pool.run(self._judging(), judging, _say) if options.runs else failed

    def table(self) -> str:
        """The comparison so far, of the sites and methods of the options, in Markdown."""
        options, records = self._options, self.records
        wanted = set(options.cells)
        cells, judged = (
            [row for row in records.rows(name) if Cell(row["site"], row["method"], row["seed"]) in wanted]
            for name in ("cells", "judged")
        )
        order = [*options.sites], [*options.methods]
        judged.sort(key=lambda row: (order[0].index(row["site"]), order[1].index(row["method"])))
        return tables.markdown(tables.lines(cells, judged, records.rows("bounds"), options.runs))

    def _cache(self, site: str) -> Path:
        return self._options.work / "cache" / _slug(site)

    def _folder(self, *parts: object) -> Path:
        return self._options.work / "jobs" / "-".join(_slug(str(part)) for part in parts)

    def _preparing(self) -> list[pool.Job]:
        """A job for each site that is to be prepared. A cache gets its name when it is whole."""
        found = []
        for site in self._options.sites:
            if self._cache(site).exists():
                continue
            new = self._cache(site).with_name(f"{_slug(site)}.new")
            task = {"kind": PREPARE, "scenario": self._scenarios[site], "cores": self._options.cores}

            def keep(_: dict[str, Any], new: Path = new, site: str = site) -> None:
                new.replace(self._cache(site))

            found.append(pool.Job(f"{site}: preparing", self._folder(site, PREPARE), task, new, False, DAY_SECONDS, keep))
        return found

    def _search(self, cell: Cell) -> pool.Job:
        terms = self._options.terms
        task = search_task(self._scenarios[cell.site], cell.method, cell.seed, terms)

        def add(found: dict[str, Any]) -> None:
            self.records.add("cells", {**_columns(cell), **found})

        title = f"{cell.site}, {cell.method}, seed {cell.seed}"
        most = STUCK_FACTOR * terms.seconds + STUCK_SECONDS if terms.seconds else DAY_SECONDS
        return pool.Job(title, self._folder(cell.site, cell.method, cell.seed), task, self._cache(cell.site), True, most, add)

    def _judging(self) -> list[pool.Job]:
        """Fresh trainings of winners, and bounds, that have no row yet."""
        options, found = self._options, []
        bounded = {row["site"] for row in self.records.rows("bounds")}
        done = {(Cell(row["site"], row["method"], row["seed"]), row["run"]) for row in self.records.rows("judged")}
        for site in options.sites:
            # What a winner sees is prepared once for all of its trainings, and not for later searches.
            if not (own := self._judging_cache(site)).exists():
                link_cache(self._cache(site), own)
            if site not in bounded:
                task = {"kind": BOUND, "scenario": self._scenarios[site]}

                def add_bound(row: dict[str, Any], site: str = site) -> None:
                    self.records.add("bounds", {"site": site, **row})

                found.append(
                    pool.Job(f"{site}: bound", self._folder(site, BOUND), task, own, False, DAY_SECONDS, add_bound)
                )  # fmt: skip
        for row in self.records.rows("cells"):
            cell = Cell(row["site"], row["method"], row["seed"])
            if cell in options.cells:
                found += [self._judge(cell, row, run) for run in range(options.runs) if (cell, run) not in done]
        return found

    def _judging_cache(self, site: str) -> Path:
        return self._options.work / "cache" / f"{_slug(site)}.judging"

    def _judge(self, cell: Cell, row: Mapping[str, Any], run: int) -> pool.Job:
        def add(found: dict[str, Any]) -> None:
            self.records.add("judged", {**_columns(cell), "run": run, **found})

        task = judge_task(self._scenarios[cell.site], Winner.from_row(row), fresh_seed(cell.seed, run))
        title = f"{cell.site}, {cell.method}, seed {cell.seed}: fresh training {run + 1}"
        folder = self._folder(cell.site, cell.method, cell.seed, "run", run)
        return pool.Job(title, folder, task, self._judging_cache(cell.site), False, DAY_SECONDS, add)


def _columns(cell: Cell) -> dict[str, Any]:
    return {"site": cell.site, "method": cell.method, "seed": cell.seed}


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.]+", "-", text).strip("-.")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(options: Options) -> int:
    """Compare; returns the exit status.

    Raises:
        UserError: if something cannot be compared as asked; nothing is created then.
    """
    from envs.scenarios.scenario import scenario

    options.check()
    _ = options.terms
    for method in options.methods:
        methods.check(method)
    pool.slots(options.cores, options.at_once)
    options = replace(options, work=options.work.resolve())
    scenarios = {site: scenario_name(site, options.data) for site in options.sites}
    for site, name in scenarios.items():
        if not environment_of(site):
            check_site(site, scenario(name))
    options.work.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(options.work / "lock", timeout=0), stop_signals_as_interrupts():
            comparison = Comparison(options, scenarios)
            failed = comparison.run()
            if options.runs:
                table = comparison.table()
                (options.work / "table.md").write_text(table, encoding="utf-8")
                print(table)
    except Timeout:
        raise RealSearchError(
            f"--work {options.work}: another comparison works in it; wait for it, or choose another"
        ) from None
    for line in failed:
        _say(f"failed: {line}")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(tyro.cli(Options, prog="python -m benchmarks.real_searches", description=__doc__)))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)
        sys.exit(130)
