"""Terms of the reward."""

import pandas as pd

from results.report.figures.terms import terms


def table(best: tuple[float, float], rule: tuple[float, float]) -> pd.DataFrame:
    rows = [
        {"policy": policy, "kind": kind, "split": "test", "runs": 1, "term": term, "value": value, "score": sum(values)}
        for policy, kind, values in (("best (trial 1)", "best", best), ("rule: PV first", "rule", rule))
        for term, value in zip(("co2", "ev"), values, strict=True)
    ]
    return pd.DataFrame(rows)


RULES = "What simple rules save is measured by a judgement: python -m tuning.judge EXPERIMENT."


def test_terms_are_compared_with_the_best_rule() -> None:
    assert terms(table((0.2, -0.05), (0.1, 0.0))).answer == (
        "Against rule: PV first the best is ahead most in CO2 (+0.100), and behind most in vehicles (-0.0500)."
    )
    assert terms(table((0.2, -0.05), (0.1, 0.0)).head(2)).answer == (
        f"Most comes from CO2: +0.200 of +0.150; vehicles costs it -0.0500. {RULES}"
    )
    assert terms(table((-0.2, -0.05), (0.1, 0.0)).head(2)).answer == (
        f"No term is better than on the uncontrolled site; CO2 costs most: -0.200 of -0.250. {RULES}"
    )
