"""From tables to figures: which figures each experiment, judgement and policy has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path, PurePath
from pkgutil import iter_modules

from common.measure import BASIS, services
from common.texts import counted
from common.uris import is_uri
from results.analysis.searched import misses, ranks_by_score, searched
from results.analysis.times import stretches
from results.loader import Results, load, names_of
from results.places import EXPERIMENT, JUDGEMENT, ROLLOUT, ROLLOUTS, TABLES, local_folder
from results.report import figures
from results.report.charts import Figure, Section
from results.report.subjects import Hours, Judged, Search, read_rollout
from results.report.words import duration, listed, score
from results.schema import FOLDER
from results.table_files import ResultsError

_SCORE = "The score of a policy is its mean reward an hour on the validation hours, which no training used."
_RATING = "Charts show the rating, which ranks trials: without another aim it is the score. Words are explained at the end."
_BY_IMPROVEMENT = (
    f"{_SCORE} 0 is the site without control. By the default reward +0.05 means five per cent better in the mean of all aims, "
    f"such as CO2 and cost, each with its weight. {_RATING}"
)
_BY_SCHEMA = f"{_SCORE} The reward is the schema's own, by which the site without control does not score 0. {_RATING}"
_RETURN = f"The score of a policy is its mean return in the episodes that rate it, whose seeds no training had. {_RATING}"
_BY_GAINS = (
    "Here the rating is the mean of both gains: by what part {} are better than on the uncontrolled site. It names the "
    "balanced member of the front."
)
_BY_OBJECTIVE = "Here the rating is {}, turned so that more is better{}."
# Answers that stand at the top.
_OF_EXPERIMENT = ("saved", "episodes", "yardsticks", "week", "next")
_OF_JUDGEMENT, _OF_POLICY = ("ranking", "amounts", "luck"), ("savings", "week")


def sections(sources: Sources) -> tuple[Section, ...]:
    """All sections of a report: a comparison, judgements, experiments, policies."""
    judged = sources.judgements[0] if len(sources.judgements) == 1 else None
    parts = [_compared(sources.experiments)] if len(sources.experiments) > 1 else []
    parts += [_judgement(one, sources.experiments) for one in sources.judgements]
    names = names_of([one.folder for one in sources.experiments])
    parts += [_experiment(one, name, judged) for one, name in zip(sources.experiments, names, strict=True)]
    parts += [_policy(one) for one in sources.policies]
    return tuple(parts)


def drawn(kind: str, subject: object) -> tuple[Figure, ...]:
    """Figures of a section, in the order of reading: all modules of `results.report.figures` that name its kind."""
    modules = [import_module(f"{figures.__name__}.{each.name}") for each in iter_modules(figures.__path__)]
    placed = sorted((each for each in modules if kind in each.PLACES), key=lambda each: int(each.PLACES[kind]))
    return tuple(figure for each in placed if (figure := each.figure(subject)) is not None)


def _compared(experiments: tuple[Results, ...]) -> Section:
    names = names_of([one.folder for one in experiments])
    facts = {"experiments": str(len(experiments))}
    return Section(f"Comparison of {listed(names)}", "comparison", facts, drawn("comparison", experiments))


def _experiment(results: Results, name: str, judged: Results | None) -> Section:
    search = Search(results, judged)
    intro = " ".join([_score(results), *_rating(search.aims, results.of_environment), *_required(search), *_going_on(results)])
    return Section(name, "experiment", _facts(results), drawn("experiment", search), _OF_EXPERIMENT, intro)


def _rating(aims: tuple[str, ...], of_environment: bool) -> list[str]:
    """What a rating is in a search, where it is not the score."""
    if len(aims) > 1:
        return [_BY_GAINS.format(listed(aims))]
    basis = "" if of_environment else f"; amounts are of {BASIS}"
    return [_BY_OBJECTIVE.format(f"the objective {aims[0]}", basis)] if aims != ("score",) else []


def _score(results: Results) -> str:
    if results.of_environment:
        return _RETURN
    return _BY_SCHEMA if (results.trials["reward"] == "schema").any() else _BY_IMPROVEMENT


def _required(search: Search) -> list[str]:
    """How many trials missed what a search requires; nothing where it requires nothing."""
    results, trials = search.results, search.table(searched)
    if trials["shortfall"].isna().all():
        return []
    stated = [str(each) for each in results.facts.settings.get("require") or ()]
    bounds = ", ".join([*stated, *(kept.text for kept in services(results.evaluations, stated))])
    again = results.confirmations
    told = [f"Of {counted(len(trials), 'trial')} {int(misses(trials).sum()) or 'none'} missed a requirement ({bounds})"]
    if len(again):
        told[0] += f", and of {counted(len(again), 'confirmation')} {int(misses(again).sum()) or 'none'}"
    told[0] += "; what misses one has no rating, and is not drawn."
    if len(results.scored) and float(results.best["shortfall"]) > 0.0:
        told.append(f"None that ended meets all, so trial {int(results.best['trial'])} counts as the best: it misses least.")
    return told


def _going_on(results: Results) -> list[str]:
    """Which trials have a score and not ended, as they run or their search was stopped; nothing where none has."""
    trials = results.trials
    numbers = trials.loc[(trials["state"] == "running") & trials["score"].notna() & trials["confirms"].isna(), "trial"]
    if numbers.empty:
        return []
    running = listed([str(number) for number in numbers])
    return [f"The best is that of trials that have ended or are frozen; {running} had not when these results were written."]


def _facts(results: Results) -> dict[str, str]:
    trials, settings = results.trials, results.facts.settings
    if trials.empty:
        of_what = {"environment" if results.of_environment else "site": settings.get("env") or settings.get("scenario")}
        return {**{kind: site(str(name)) for kind, name in of_what.items() if name}, "trials": "none"}
    states = listed([f"{count:,} {state}" for state, count in trials["state"].value_counts().items()])
    line = stretches(results.reports)
    facts = {
        "environment" if results.of_environment else "site": site(str(trials["scenario"].iloc[0])),
        "algorithm": str(trials["algorithm"].iloc[0]),
        "trials": f"{len(trials):,} ({states})",
        "steps": f"{int(trials['steps'].fillna(0).sum()):,}",
    }
    if len(line):
        facts["first to last report"] = duration((line["end"].max() - line["begin"].min()).total_seconds())
    if not results.scored.empty:
        of_best = "best score" if ranks_by_score(results.facts) else "score of the best"
        facts[of_best] = score(float(results.best["score"]))
    if results.skipped:
        facts["files that could not be read"] = f"{len(results.skipped):,}"
    return facts


def site(scenario: str) -> str:
    """Name of a site: of a schema the folder that holds it; of an environment without the folder of its file."""
    path = PurePath(scenario.replace("\\", "/"))
    if ".py:" in path.name:
        return path.name
    return path.parent.name if path.name == "schema.json" and path.parent.name else scenario


def _judgement(judgement: Results, experiments: tuple[Results, ...]) -> Section:
    judged = Judged(judgement, experiments)
    evaluations, title = judged.evaluations, judgement.folder.resolve().name
    made = drawn("judgement", judged)
    if judged.verdict is None:
        return Section(title, "judgement", {"evaluations": "none"}, made)
    hours, parts = evaluations.groupby("year")["hours"].first().sum(), evaluations["year"].nunique()
    judged_on = f"{int(hours):,} hours of {counted(parts, 'part')} of the test split"
    facts = {
        "environment" if judgement.of_environment else "site": site(str(evaluations["scenario"].iloc[0])),
        "controllers": f"{evaluations['contender'].nunique():,}",
        "judged on": f"{parts} episodes of the test" if judgement.of_environment else judged_on,
        **judged.verdict.aim,
    }
    return Section(title, "judgement", facts, made, _OF_JUDGEMENT)


def _policy(policy: Hours) -> Section:
    about = policy.about
    title = f"Policy of trial {about['trial']}" if "trial" in about else policy.path.stem
    names = ("experiment", "trial", "steps", "scenario", "year", "backend")
    facts = {name: about[name] for name in names if name in about}
    if (steps := facts.get("steps", "")).isdigit():
        facts["steps"] = f"{int(steps):,}"
    return Section(title, "policy", facts, drawn("policy", policy), _OF_POLICY)


@dataclass(frozen=True)
class Sources:
    """All that a report is about, in the order in which it was given."""

    experiments: tuple[Results, ...] = ()
    judgements: tuple[Results, ...] = ()
    policies: tuple[Hours, ...] = ()


def read_sources(places: Sequence[str | Path]) -> Sources:
    """Read all that a report is about. A place that holds none of these raises a ResultsError."""
    if not places:
        raise ResultsError("a report is of something: give the folder of an experiment, such as experiments/ppo-iquitos-1")
    experiments: list[Results] = []
    judgements: list[Results] = []
    policies: list[Hours] = []
    # A place that is given twice counts once, also by another path.
    once: dict[Path, Path] = {}
    for given in places:
        place = _local(given)
        once.setdefault(place.resolve(), place)
    for place in once.values():
        if place.is_file():
            policies.append(read_rollout(place))
        elif (place / JUDGEMENT).is_file():
            judgements.append(load(place))
        elif (place / EXPERIMENT).is_file() or (place / FOLDER).is_dir():
            experiments.append(load(place))
            policies += [read_rollout(path) for path in shown_rollouts(experiments[-1])]
        elif rollouts := rollouts_in(place):
            policies += [read_rollout(path) for path in rollouts]
        else:
            raise ResultsError(
                f"no results in {place}: give the folder of an experiment, such as experiments/ppo-iquitos-1, "
                "that of a judgement, or a file of python -m tuning.rollout"
            )
    return Sources(tuple(experiments), tuple(judgements), tuple(policies))


def _local(given: str | Path) -> Path:
    if is_uri(given) and str(given).endswith(ROLLOUT):
        above, _, name = str(given).rpartition("/")
        return local_folder(above, [name]) / name
    if is_uri(given) and str(given).rstrip("/").endswith(f"/{ROLLOUTS}"):
        return local_folder(given, [""])
    return local_folder(given, [*TABLES, f"{ROLLOUTS}/"])


def rollouts_in(folder: Path) -> tuple[Path, ...]:
    """Files of rollouts in a folder, by name."""
    return tuple(sorted(folder.glob("trial-*-year-*.parquet")))


def shown_rollouts(results: Results) -> tuple[Path, ...]:
    """The rollout of an experiment that its report shows: of the best trial, else the last by name; none without any."""
    every = rollouts_in(results.folder / ROLLOUTS)
    if results.scored.empty:
        return every[-1:]
    best = f"trial-{int(results.best['trial']):05d}-"
    return (tuple(path for path in every if path.name.startswith(best)) or every)[-1:]
