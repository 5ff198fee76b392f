"""Which figures there are, for searches of any size."""

import json
import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import numpy as np
import pandas as pd
import pytest

from results import Results
from results.analysis import compare, confirmed, leaderboard, references
from results.judgement import Ranking, judgement, write_table
from results.loader import load
from results.report import figures
from results.report.page import page
from results.report.sections import Sources, drawn, read_sources, rollouts_in, sections, shown_rollouts, site
from results.report.subjects import Hours, Judged
from results.table_files import ResultsError
from tests.results import made
from tests.results.report.made import hours, rolled

HUGE = r"e[+]1|(?<![\d.])\d{10}|\d{3},\d{3},\d{3},\d{3}"  # what the rank of a missed requirement looks like


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_trials_give_a_page_without_the_questions_that_they_leave_open(tmp_path: Path, count: int) -> None:
    (section,) = sections(Sources((made.search(tmp_path, count),)))
    found = {figure.name: figure.answer for figure in section.figures}
    assert "leaders" in found
    assert not {"best-so-far", "importance", "luck"} & set(found)
    assert not any(answer.startswith("It cannot be said:") for answer in found.values())
    assert b"</html>" in page(section.title, [section])


def test_a_search_in_which_all_trials_failed_gives_a_page(tmp_path: Path) -> None:
    made.settle(tmp_path)
    failed = [made.row(number, None, "failed", error="no luck", seconds=None) for number in range(2)]
    (section,) = sections(Sources((made.tables(tmp_path, failed),)))
    assert section.facts["trials"] == "2 (2 failed)"
    assert section.figures[0].answer == "None: of 2 trials none was rated (2 failed)."
    assert b"</html>" in page(section.title, [section])


@pytest.mark.parametrize("trials", [0, 1])
def test_an_environment_is_told_before_a_trial_was_evaluated(tmp_path: Path, trials: int) -> None:
    made.settle(tmp_path, env="pumps.py:make", scenario="iquitos")
    failed = [made.row(number, None, "failed", error="no luck", scenario="pumps.py:make") for number in range(trials)]
    (section,) = sections(Sources((made.tables(tmp_path, failed),)))
    assert section.facts["environment"] == "pumps.py:make"
    assert "site" not in section.facts
    assert section.intro.startswith("The score of a policy is its mean return")


def test_trials_that_have_not_ended_are_named_beside_the_best_of_the_others(tmp_path: Path) -> None:
    for states, told in ((("complete", "complete"), False), (("complete", "running"), True)):
        trials = [made.row(number, 0.1 * (1 + number), state) for number, state in enumerate(states)]
        made.settle(tmp_path / states[1])
        (section,) = sections(Sources((made.tables(tmp_path / states[1], trials),)))
        assert ("frozen; 1 had not when these results were written." in section.intro) is told


@pytest.mark.parametrize("folders", [("a", "b"), ("x/a", "y/a")])
def test_several_experiments_are_compared_first_and_those_of_one_name_stand_apart(
    tmp_path: Path, folders: tuple[str, str]
) -> None:
    both = tuple(made.search(tmp_path / folder, count) for folder, count in zip(folders, (3, 6), strict=True))
    names = [str((tmp_path / folder).resolve()) if "/" in folder else folder for folder in folders]
    first, *others = sections(Sources(both))
    title = f"Comparison of {names[0]} and {names[1]}"
    assert (first.kind, first.title, [one.title for one in others]) == ("comparison", title, names)
    assert first.figures[0].name == "comparison"


def test_a_site_is_named_without_its_path() -> None:
    assert [site(name) for name in ("iquitos-38", "/data/home/schema.json", "C:\\data\\mall\\schema.json", "schema.json")] == [
        "iquitos-38", "home", "mall", "schema.json"
    ]  # fmt: skip


def required(folder: Path, missed: set[int]) -> Results:
    """A search of 12 trials with a requirement that some of them miss, from the first evaluation on."""
    found = made.search(folder, 12)
    made.settle(folder, require=["ev_served>=0.95"])
    for name in ("trials", "reports"):
        table = getattr(found, name)
        short = table["trial"].isin(missed).to_numpy()
        table["shortfall"] = np.where(short, 0.5, 0.0)
        table["rating"] = np.where(short, -1.5e15, table["score"])
    return found


@pytest.mark.parametrize("missed", [set(), {0}, {0, 3, 7}, set(range(12))])
def test_what_misses_a_requirement_has_no_rating_and_is_counted(tmp_path: Path, missed: set[int]) -> None:
    results = required(tmp_path, missed)
    (section,) = sections(Sources((results,)))
    assert f"Of 12 trials {len(missed) or 'none'} missed a requirement (ev_served>=0.95)" in section.intro
    assert ("None that ended meets all" in section.intro) is (len(missed) == 12)
    assert ("importance" in {figure.name for figure in section.figures}) is (len(missed) < 12)
    for figure in section.figures:
        shown = [figure.answer, figure.note, str(figure.table.to_dict()) if figure.table is not None else ""]
        drawn = json.dumps([panel.spec for panel in figure.panels])
        for text in (*shown, drawn):
            assert not re.search(HUGE, text), (figure.name, text[:200])
    table = compare([results])
    assert bool(table["best_rating"].isna().iloc[0]) is (len(missed) == 12)
    assert leaderboard(results)["rating"].isna().sum() == len(missed)
    assert bool(references(results).set_index("kind")["score"].isna()["default"]) is (0 in missed)


def test_a_confirmation_that_misses_leaves_its_assignment_without_a_mean(tmp_path: Path) -> None:
    made.settle(tmp_path, require=["ev_served>=0.95"])
    met: dict[str, Any] = {"shortfall": 0.0}
    missed: dict[str, Any] = {"shortfall": 0.5, "rating": -1.5e15}
    again = [
        made.row(2 + run, 0.3, confirms=1, confirm_run=run, confirm_role="best", **(missed if run else met)) for run in (0, 1)
    ]
    results = made.tables(tmp_path, [made.row(0, 0.1, **met), made.row(1, 0.4, **met), *again])
    assert confirmed(results)["mean"].isna().all()
    (section,) = sections(Sources((results,)))
    assert "and of 2 confirmations 1;" in section.intro


def test_two_aims_have_their_front_and_a_rating_that_is_a_mean_of_gains(tmp_path: Path) -> None:
    made.settle(tmp_path, objective="co2_kg bill")
    trials = [made.row(number, 0.1, gain=0.1 * number, gain_2=0.3 - 0.1 * number, rating=0.15) for number in range(3)]
    (section,) = sections(Sources((made.tables(tmp_path, trials),)))
    assert "the rating is the mean of both gains: by what part co2_kg and bill" in section.intro
    (figure,) = [one for one in section.figures if one.name == "front"]
    assert figure.question == "Which trials are best in one aim without losing in the other?"
    assert figure.answer.startswith("3 trials of 3, from trial 2 (co2_kg +20.0 %, bill +10.0 %)")
    assert figure.table is not None
    assert {"co2_kg, kg, a year of 8,760 h", "bill, a year of 8,760 h"} < set(figure.table)  # as beside the yardsticks
    one = tmp_path / "one"
    made.settle(one, objective="bill")
    (section,) = sections(Sources((made.tables(one, [made.row(0, 0.1, rating=-800.0)]),)))
    assert "the rating is the objective bill, turned so that more is better" in section.intro
    assert "front" not in {figure.name for figure in section.figures}


def test_a_judgement_with_a_verdict_is_ranked_by_its_aim(tmp_path: Path) -> None:
    def run(contender: str, score: float, bill: float, **columns: object) -> dict[str, object]:
        return made.evaluation(0, 1, score, contender=contender, bill=bill, uncontrolled_bill=100.0, **columns) | {
            "split": "test"
        }

    rows = [run("a 1", 0.2, 90.0, algorithm="ppo", seed=1), run("a 2", 0.1, 50.0, algorithm="ppo", seed=1)]
    results = made.tables(tmp_path, [], [], rows)
    (section,) = sections(Sources(judgements=(results,)))
    assert section.figures[0].answer == "a 1 has +0.2000."
    assert section.facts["verdict"] == "none yet, as the judgement has not ended; until then by score"
    ranking = Ranking(results.measures["bill"], lambda years: (years[0]["bill"], -years[0]["bill"], 0.0), "")
    table = judgement(results.evaluations, results.measures, ranking)
    write_table(tmp_path / "judgement.parquet", table, {"scenario": "made", "objective": "bill (less is better)"})
    (section,) = sections(Sources(judgements=(results,)))
    assert section.figures[0].answer == "a 2 has 50.0 of bill (less is better)."
    assert section.facts["objective"] == "bill (less is better)"
    assert "verdict" not in section.facts
    (tmp_path / "judgement.parquet").write_bytes(b"no table")
    with pytest.raises(ResultsError, match=f"the judge writes it anew with --name {tmp_path.name}"):
        sections(Sources(judgements=(results,)))


def test_the_default_that_experiments_share_is_told_once(tmp_path: Path) -> None:
    both = tuple(made.search(tmp_path / name, 3) for name in ("a", "b"))
    row = made.evaluation(0, 1, 0.1, contender="ppo default, 4,000 steps", algorithm="ppo", seed=1) | {"split": "test"}
    judged = made.tables(tmp_path / "j", [], [], [row])
    found = Judged(judged, both).lucky
    assert found is not None
    assert found["name"].tolist() == ["ppo default, 4,000 steps"]


@pytest.mark.parametrize("count", [1, 30, 24 * 40])
def test_any_number_of_hours_gives_all_figures(count: int, tmp_path: Path) -> None:
    (section,) = sections(Sources(policies=(Hours(tmp_path / "a.parquet", {}, hours(40).head(count)),)))
    assert [figure.name for figure in section.figures] == ["savings", "week"]
    assert all(figure.answer.endswith(".") for figure in section.figures)
    assert all(isinstance(figure.table, pd.DataFrame) for figure in section.figures if figure.panels)


def test_a_figure_is_a_module_and_goes_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = Hours(tmp_path / "a.parquet", {}, hours(2))
    whole = drawn("policy", policy)
    every = list(iter_modules(figures.__path__))
    places = [place for each in every for place in import_module(f"{figures.__name__}.{each.name}").PLACES.items()]
    assert len(set(places)) == len(places)  # the order is told
    monkeypatch.setattr("results.report.sections.iter_modules", lambda _: [each for each in every if each.name != "week"])
    left = drawn("policy", policy)
    assert [one.name for one in left] == [one.name for one in whole if one.name != "week"]


def test_an_experiment_brings_the_rollout_of_its_best_trial(experiment: Path) -> None:
    for number in (0, 1, 2):
        rolled(experiment / "rollouts" / f"trial-{number:05d}-000000000200-year-0.parquet")
    assert [path.name[:11] for path in shown_rollouts(load(experiment))] == ["trial-00001"]
    sources = read_sources([experiment])
    assert (len(sources.experiments), len(sources.policies), len(sources.judgements)) == (1, 1, 0)


def test_rollouts_are_taken_as_files_and_as_a_folder(tmp_path: Path) -> None:
    paths = [rolled(tmp_path / f"trial-0000{number}-000000000200-year-0.parquet") for number in (1, 2)]
    assert [one.path for one in read_sources([tmp_path]).policies] == paths
    assert [one.path for one in read_sources([paths[1]]).policies] == paths[1:]
    assert rollouts_in(tmp_path / "none") == ()


def test_a_folder_with_judgement_json_is_a_judgement(experiment: Path) -> None:
    (experiment / "judgement.json").write_text("{}")
    assert len(read_sources([experiment]).judgements) == 1


def test_a_judgement_that_was_stopped_before_its_first_evaluation_has_a_page(tmp_path: Path) -> None:
    (tmp_path / "judgement.json").write_text("{}")
    (section,) = sections(read_sources([tmp_path]))
    assert section.facts == {"evaluations": "none"}


def test_a_place_without_results_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match=r"no results in .*: give the folder of an experiment"):
        read_sources([tmp_path])
    with pytest.raises(ResultsError, match="a report is of something"):
        read_sources([])


def test_a_place_that_is_given_twice_counts_once(experiment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(experiment)
    sources = read_sources([experiment, ".", experiment.parent / "." / experiment.name])
    assert [one.folder for one in sources.experiments] == [experiment]
    assert sections(read_sources(["."]))[0].title == experiment.name
