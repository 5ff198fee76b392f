"""What to do after a search."""

import re
from pathlib import Path

from common.measure import SITE
from common.texts import python_command
from common.uris import is_uri
from results.analysis.judged import MPC
from results.analysis.searched import searched
from results.analysis.yardsticks import better_controller
from results.report.charts import Figure
from results.report.figures.best_so_far import SURELY_NOT
from results.report.figures.best_so_far import figure as budget_of
from results.report.subjects import Search
from results.report.words import percent

PLACES = {"experiment": 7}  # in the sections of these kinds
_BUDGET = re.compile(r"([0-9.]+)([a-zA-Z]?)")


def figure(search: Search) -> Figure | None:
    results = search.results
    if search.best is None:
        return None
    said, place = list[str](), _shown(results.place)
    # Whoever reads the page knows whether that code is theirs.
    trust = ["--trust-scenario"] if ":" in str(results.facts.settings.get("env") or "") else []
    if rival := search.table(better_controller):
        name = "Model predictive control" if rival[0].startswith(MPC) else f'"{rival[0]}"'
        said.append(
            f"{name} reaches {rival[1]} without any training{_saves(search, rival[0])}: it is "
            "the better controller unless a longer search, or a judgement, says otherwise."
        )
    budget = budget_of(search)
    if budget and not budget.answer.startswith(SURELY_NOT):
        said.append(f"Search on, as more may come: `{python_command('tuning.run', '--resume', place, *_more(search), *trust)}`")
    lucky = search.lucky
    if search.judgement is None or search.best not in set(lucky.loc[lucky["split"] == "test", "trial"]):
        # A judgement names one winner.
        by = ["--objective", search.aims[0]] if len(search.aims) > 1 else []
        judge = python_command("tuning.judge", place, *by, *trust)
        unseen = "episodes" if results.of_environment else "hours"
        said.append(f"Before you trust trial {search.best}, judge it on {unseen} that nothing has seen: `{judge}`")
    else:
        # With the judgement, its intervals are in the model card.
        judged = ["--judgement", _shown(search.judgement.place)]
        export = python_command("tuning.export", place, "--to", "policy", *judged, *trust)
        said.append(f"To put its policy to work: `{export}`")
    return Figure("next", "What to do next?", "\n".join(f"{number}. {line}" for number, line in enumerate(said, 1)))


def _saves(search: Search, controller: str) -> str:
    """How much less CO2 and money a controller without training takes than the uncontrolled site, in brackets."""
    rows, measures = search.results.yardsticks, search.results.measures
    years, said = rows[rows["contender"] == controller], list[str]()
    for name in ("co2_kg", "bill"):
        measure = measures.get(name)
        if measure and SITE + name in years and (before := measure.value(years, SITE)) > 0.0:
            said.append(f"{measure.label} {percent(measure.value(years) / before - 1.0, sign=True)}")
    return f" ({', '.join(said)})" if said else ""


def _shown(place: str) -> str:
    """A place as it is typed in the folder where the page is made: within it relative, as a page is sent to others."""
    folder = Path(place).absolute()
    return folder.relative_to(Path.cwd()).as_posix() if not is_uri(place) and folder.is_relative_to(Path.cwd()) else place


def _more(search: Search) -> list[str]:
    results, settings = search.results, search.results.facts.settings
    freezes = settings.get("scheduler") == "freeze-thaw" and not settings.get("preset")
    budget = _BUDGET.fullmatch(str(settings.get("budget") or ""))
    more = []
    if settings.get("trials") or not (budget or freezes):
        more += ["--trials", str(2 * max(int(settings.get("trials") or 0), len(search.table(searched))))]
    if budget:
        more += ["--budget", f"{2.0 * float(budget[1]):.15g}{budget[2]}"]
    elif freezes:
        # By default it has the steps of four whole trials, or more, which twice as many trials may share.
        more += ["--budget", str(2 * max(int(results.trials["steps"].sum()), 4 * (results.steps or 0)))]
    return more
