"""How the episodes of an environment come out, beside policies that learned nothing."""

from pathlib import Path
from typing import Any

import pytest

from results import load
from results.report.figures import saved
from results.report.figures.episodes import figure
from results.report.sections import read_sources, sections
from results.report.subjects import Search
from results.table_files import judged_path, write_file
from tests.tuning.trial.small_trials import completed, in_environment
from tuning.experiment.folder import Experiment
from tuning.trial.protocol import Report
from tuning.trial.records import TrialRecords


@pytest.fixture
def searched(tmp_path: Path) -> Experiment:
    return search(tmp_path / "one")


def search(folder: Path, **others: Any) -> Experiment:
    of = completed(in_environment(folder, "examples.pump:make", "ppo", **others), (-2.0, {}), (-4.0, {}))

    def rows_of(scores: list[float], **whose: Any) -> list[dict[str, Any]]:
        return [
            {**same, **whose, "year": year, "score": score, "length": 168, **({"info:bill": -10.0 * score} if others else {})}
            for year, score in enumerate(scores)
        ]

    task, same = of.settings.env_task, {"steps": 960, "scenario": of.scenario, "split": "validation", "backend": "gymnasium"}
    for number, scores in enumerate(([-1.0, -3.0], [-3.0, -5.0])):
        TrialRecords(of).add(number, Report(960, evaluations=rows_of(scores, trial=number)))
        TrialRecords(of).update(number, kept_steps=960)
    random = rows_of([-50.0, -50.0], contender="random actions")
    write_file(judged_path(of.paths.folder, "baselines", "gymnasium"), random, measures=task.columns)
    return of


def test_each_episode_is_a_mark_and_the_mean_has_its_interval(searched: Experiment) -> None:
    shown = figure(Search(load(searched.paths.folder)))
    assert shown
    # Student's interval of -1 and -3: 2 -+ 12.7.
    assert shown.answer == ("Trial 0 has a mean return of -2.0000 in 2 episodes; its 95% interval is -14.7 to +10.7.")
    (panel,) = shown.panels
    drawn = [(row["name"], row["value"]) for row in panel.spec["layer"][0]["data"]["values"]]
    assert drawn == [("trial 0", -1), ("trial 0", -3), ("random actions", -50), ("random actions", -50)]


def test_where_something_else_is_aimed_at_episodes_are_shown_by_it(tmp_path: Path) -> None:
    of = search(tmp_path / "bill", objective="info:bill", minimize=True)
    shown = figure(Search(load(of.paths.folder)))
    assert shown
    assert shown.answer == "Trial 0 has a mean bill of 20.0 in 2 episodes; its 95% interval is -107 to 147."
    assert shown.table["bill"].tolist() == [10, 30, 500, 500]
    (section,) = sections(read_sources([of.paths.folder]))
    assert "the rating is the objective info:bill, turned so that more is better. " in f"{section.intro} "


def test_its_report_says_nothing_of_sites(searched: Experiment) -> None:
    results = load(searched.paths.folder)
    assert saved.figure(Search(results)) is None
    (section,) = sections(read_sources([searched.paths.folder]))
    assert section.facts["environment"] == "examples.pump:make"
    told = " ".join([section.intro, *section.facts, *(figure.answer + figure.note for figure in section.figures)])
    assert "episodes" in [figure.name for figure in section.figures]
    for word in ("site", "hours", "uncontrolled", "CO2", "vehicle"):
        assert word not in told, word
    assert "--trust-scenario" in told, "its code is named by the folder"
