"""What the best policy saves."""

from pathlib import Path

import pandas as pd

from results.report.figures.saved import figure, saved
from results.report.subjects import Search
from tests.results import made
from tests.results.made import MEASURES


def test_savings_of_the_best_are_said_and_none_too() -> None:
    last = pd.DataFrame(
        {"hours": [1000], "co2_kg": [90.0], "uncontrolled_co2_kg": [100.0], "peak_kw": [11.0], "uncontrolled_peak_kw": [10.0]}
    )
    assert saved(last, MEASURES, 3).answer == (
        "Against the same site without control (batteries idle), trial 3 lowers CO2 by 10.0 % "
        "(87.6 kg a year) and raises peak by 10.0 % (1.00 kW) on the validation hours. "
        "Expect less: these hours also chose the trial. No new hours or seeds have checked trainings of this length."
    )
    assert saved(last, MEASURES, 3, checked=True).answer.endswith(
        "What fresh seeds or new hours give is under the question of luck."
    )
    assert "Scaled from 1,000 validation hours" in saved(last, MEASURES, 3).note
    assert saved(last.assign(co2_kg=100.0, peak_kw=10.0), MEASURES, 3).answer.startswith(
        "Nothing: trial 3 is like the same site without control"
    )
    assert saved(last.assign(score=-0.2), MEASURES, 3).answer.endswith(
        " It is worse than no control, which scores 0: its score is -0.2000."
    )
    # Comfort has a sentence of its own.
    felt = last.assign(unmet_degree_hours=220.0, uncontrolled_unmet_degree_hours=4.0)
    assert saved(felt, MEASURES, 3).answer == saved(last, MEASURES, 3).answer
    assert saved(last[["hours"]], MEASURES, 3) is None
    cooled = last.assign(discomfort=0.01, uncontrolled_discomfort=0.1, occupied_hours=500.0, uncontrolled_occupied_hours=500.0)
    told = "People are too warm or too cold in 1.0 % of their hours, 10.0 % without control."
    assert told in saved(cooled, MEASURES, 3).answer


def test_a_winner_is_checked_by_its_training_again(tmp_path: Path) -> None:
    again = made.row(3, 0.1, confirms=1, confirm_run=0, confirm_role="best")
    trials = [made.row(number, 0.1 * number) for number in range(3)]
    reported = [own for each in (*trials, again) for own in made.reports(each["trial"], each["score"])]
    last = [made.evaluation(2, made.BUDGET, 0.2, co2_kg=90.0, uncontrolled_co2_kg=100.0)]
    alone = figure(Search(made.tables(tmp_path, trials, [], last)))
    assert alone.answer.endswith("No new hours or seeds have checked trainings of this length.")
    both = figure(Search(made.tables(tmp_path, [*trials, again], reported, last)))
    assert both.answer.endswith("What fresh seeds or new hours give is under the question of luck.")
