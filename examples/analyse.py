"""Results as pandas DataFrames; this imports neither Ray nor torch."""

import sys
from pathlib import Path

import tyro

from common.errors import UserError
from results import ResultsError, load


def main(experiment: tyro.conf.Positional[Path]) -> None:
    """Print the trials with their errors, their speed, and what the best policy changes.

    Args:
        experiment: folder of the experiment.
    """
    results = load(experiment)
    hyperparameters = [name for name in results.trials if name.startswith("hp_")]
    varied = [name for name in hyperparameters if results.trials[name].nunique() > 1]
    columns = ["trial", "state", "score", *varied]
    if results.trials["error"].notna().any():
        # The last line of a traceback says most.
        results.trials["error"] = results.trials["error"].str.strip().str.rpartition("\n")[2]
        columns.append("error")
    print(results.trials.sort_values("score", ascending=False)[columns].to_string(index=False))
    print(results.reports.groupby("trial")["steps_per_second"].median().round())
    try:
        best = results.best
    except ResultsError as error:
        print(error)
        return
    rated = results.rated_evaluations[results.rated_evaluations["trial"] == best["trial"]]
    print(f"score: {best['score']:,.4g}")
    # Of an environment none of these.
    for kpi in [kpi for kpi in ("co2_kg", "bill", "peak_kw", "ev_served") if kpi in results.measures]:
        now, before = (results.measures[kpi].value(rated, site) for site in ("", "uncontrolled_"))
        print(f"{kpi}: {now:,.4g}, without control {before:,.4g}")


if __name__ == "__main__":
    try:
        tyro.cli(main)
    except UserError as error:
        sys.exit(f"error: {error}")
