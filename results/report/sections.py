"""From tables to figures: which figures each experiment, judgement and policy has."""

from __future__ import annotations

from pathlib import PurePath

from common.measure import A_YEAR, BASIS
from results.experiment_file import Facts, read_facts
from results.loader import Results, names_of
from results.report.figure import Figure, Section
from results.report.hours import Hours
from results.report.sources import Sources
from results.report.words import counted, duration, listed, score

_SCORE = (
    "The score of a policy is its mean reward an hour on the validation hours, which no training used. 0 is the site without "
    "control. By the default reward +0.05 means five per cent better in the mean of all aims, such as CO2 and cost, each "
    "with its weight. Charts show the rating, which ranks trials: without another aim it is the score. Words are explained at "
    "the end."
)
_BY_GAINS = (
    "Here the rating is the mean of both gains: by what part {} are better than on the uncontrolled site. It names the "
    "balanced member of the front."
)
_BY_OBJECTIVE = f"Here the rating is {{}}, turned so that more is better; amounts are of {BASIS}."
_SAVED, _MATTERS, _BUDGET = "saved", "importance", "best-so-far"
# Answers that stand at the top.
_OF_JUDGEMENT, _OF_POLICY = ("ranking", "amounts", "luck"), ("savings", "duration-curve")


def sections(sources: Sources) -> tuple[Section, ...]:
    """All sections of a report: a comparison, judgements, experiments, policies.

    Args:
        sources: what the report is about.
    """
    judged = sources.judgements[0] if len(sources.judgements) == 1 else None
    parts = [_compared(sources.experiments)] if len(sources.experiments) > 1 else []
    parts += [_judgement(one, sources.experiments) for one in sources.judgements]
    names = names_of([one.folder for one in sources.experiments])
    parts += [_experiment(one, name, judged) for one, name in zip(sources.experiments, names, strict=True)]
    parts += [_policy(one) for one in sources.policies]
    return tuple(parts)


def _compared(experiments: tuple[Results, ...]) -> Section:
    import pandas as pd

    from results.analysis import best_so_far, compare
    from results.report.figures.comparison import comparison

    names = names_of([one.folder for one in experiments])
    named = [best_so_far(one).assign(experiment=name) for one, name in zip(experiments, names, strict=True)]
    lines = pd.concat(named, ignore_index=True)
    facts = {"experiments": str(len(experiments))}
    return Section(f"Comparison of {listed(names)}", "comparison", facts, (comparison(compare(experiments), lines),))


def _experiment(results: Results, name: str, judged: Results | None) -> Section:
    """All figures of a search."""
    from results import analysis
    from results.analysis.gains import gains
    from results.analysis.ped_anova import settled
    from results.analysis.policies import last_evaluation
    from results.analysis.searched import aims, misses, searched
    from results.report.figures import changes, choices, course, spending
    from results.report.figures import front as fronts
    from results.report.figures import judged as worth

    board = analysis.leaderboard(results)
    best, default = analysis.best_trial(results), analysis.default_trial(results)
    evaluated = searched(results)
    rated = int(evaluated["rating"].notna().sum())
    missed = frozenset(evaluated.loc[misses(evaluated), "trial"].tolist())
    facts = read_facts(results.folder)
    wanted = aims(facts)
    important = analysis.importance(results)
    effects = analysis.effects(results)
    order = list(important["hyperparameter"])
    last = last_evaluation(results)
    amounts = [name for name, own in results.measures.items() if own.over == A_YEAR]
    lucky, confirmed = analysis.luck(results, judged), analysis.confirmed(results)
    changed = changes.changes(analysis.default_to_best(results), rated, best, default, missed, evaluated, important)
    figures: tuple[Figure, ...] = (
        worth.leaders(board),
        *((fronts.front(*gains(results), best, amounts),) if len(wanted) > 1 else ()),
        course.best_so_far(analysis.best_so_far(results), analysis.references(results, judged), len(evaluated)),
        worth.saved(
            last[last["trial"] == best] if best is not None else last.head(0),
            results.measures,
            best,
            checked=worth.checked(lucky, confirmed),
        ),
        choices.importance(important, rated, settled(results), changed.table is not None),
        changed,
        choices.slices(effects, order),
        choices.parallel(effects, order),
        choices.coverage(analysis.coverage(results)),
        course.curves(analysis.learning_curves(results), analysis.mean_curves(results), best),
        course.rungs(analysis.rung_ranks(results)),
        worth.luck(lucky, confirmed),
        worth.terms(analysis.reward_terms(results, judged)),
        spending.cost(board),
        spending.timeline(analysis.timeline(results), analysis.time_spent(results)),
        spending.memory(analysis.memory(results)),
    )
    intro = " ".join([_SCORE, *_rating(wanted), *_required(results, facts)])
    return Section(name, "experiment", _facts(results), figures, (_MATTERS, _BUDGET, _SAVED), intro)


def _rating(aims: tuple[str, ...]) -> list[str]:
    """What a rating is in a search, where it is not the score."""
    if len(aims) > 1:
        return [_BY_GAINS.format(listed(aims))]
    return [_BY_OBJECTIVE.format(f"the objective {aims[0]}")] if aims != ("score",) else []


def _required(results: Results, facts: Facts) -> list[str]:
    """How many trials missed what a search requires; nothing where it requires nothing."""
    from results.analysis.searched import misses, searched

    own = searched(results)
    if own["shortfall"].isna().all():
        return []
    bounds = ", ".join(map(str, facts.settings.get("require") or ()))
    again = results.confirmations
    told = [
        f"Of {counted(len(own), 'trial')} {int(misses(own).sum()):,} missed a requirement{f' ({bounds})' if bounds else ''}"
    ]
    if len(again):
        told[0] += f", and of {counted(len(again), 'confirmation')} {int(misses(again).sum()):,}"
    told[0] += "; what misses one has no rating, and is not drawn."
    best = results.scored
    if len(best) and float(results.best["shortfall"]) > 0.0:
        told.append(f"None that ended meets all, so trial {int(results.best['trial'])} counts as the best: it misses least.")
    return told


def _facts(results: Results) -> dict[str, str]:
    """What is known of a search at a glance."""
    from results.analysis.times import timeline

    trials = results.trials
    if trials.empty:
        return {"trials": "none"}
    states = listed([f"{count:,} {state}" for state, count in trials["state"].value_counts().items()])
    line = timeline(results)
    facts = {
        "site": site(str(trials["scenario"].iloc[0])),
        "algorithm": str(trials["algorithm"].iloc[0]),
        "trials": f"{len(trials):,} ({states})",
        "steps": f"{int(trials['steps'].fillna(0).sum()):,}",
    }
    if len(line):
        facts["first to last report"] = duration((line["end"].max() - line["begin"].min()).total_seconds())
    if not results.scored.empty:
        facts["best score"] = score(float(results.best["score"]))
    if results.skipped:
        facts["files that could not be read"] = f"{len(results.skipped):,}"
    return facts


def site(scenario: str) -> str:
    """Name of a site: of a schema the folder that holds it.

    Args:
        scenario: as the table has it.
    """
    path = PurePath(scenario.replace("\\", "/"))
    return path.parent.name if path.name == "schema.json" and path.parent.name else scenario


def _judgement(judgement: Results, experiments: tuple[Results, ...]) -> Section:
    import pandas as pd

    from results import analysis
    from results.analysis.judged import verdict as verdict_of
    from results.report.figures import judged as worth
    from results.report.figures.ranking import ranking

    evaluations = judgement.evaluations[judgement.evaluations["contender"].notna()]
    if evaluations.empty:
        figures: tuple[Figure, ...] = (ranking(analysis.judged_runs(judgement)),)
        return Section(judgement.folder.resolve().name, "judgement", {"evaluations": "none"}, figures)
    terms = analysis.reward_terms(judgement, judgement)
    verdict = verdict_of(judgement)
    ranked = ranking(analysis.judged_runs(judgement), verdict)
    made = [ranked, worth.amounts(verdict.table), worth.terms(terms, list(verdict.table["contender"]))]
    lucky = [analysis.luck(one, judgement) for one in experiments]
    if any(len(one) for one in lucky):
        empty = analysis.confirmed(judgement)
        # Experiments of one algorithm share its default, which the judgement trained once.
        whole = pd.concat([one[one["split"] == "test"] for one in lucky], ignore_index=True)
        made.append(worth.luck(whole.drop_duplicates(["name", "split"], ignore_index=True), empty))
    years = sorted(evaluations["year"].unique())
    runs = evaluations["contender"].nunique()
    hours = int(evaluations.groupby("year")["hours"].first().sum())
    facts = {
        "site": site(str(evaluations["scenario"].iloc[0])),
        "controllers": f"{runs:,}",
        "judged on": f"{hours:,} hours of {counted(len(years), 'part')} of the test split",
        **verdict.aim,
    }
    return Section(judgement.folder.resolve().name, "judgement", facts, tuple(made), _OF_JUDGEMENT)


def _policy(policy: Hours) -> Section:
    from results.report.figures.policy import figures

    about = policy.about
    title = f"Policy of trial {about['trial']}" if "trial" in about else policy.path.stem
    names = ("experiment", "trial", "steps", "scenario", "year", "backend")
    facts = {name: _shown(name, about[name]) for name in names if name in about}
    return Section(title, "policy", facts, figures(policy.table), _OF_POLICY)


def _shown(name: str, text: str) -> str:
    return f"{int(text):,}" if name == "steps" and text.isdigit() else text
