"""What was learned from is in the experiment's own folder, and is noticed where it is not as it was written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from common.errors import OtherFormatError, UsageError
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import LEARNED, Experiment, create
from tuning.experiment.settings import Settings
from tuning.search.proposals.learned import LearnedExperiment, LearnedTrial, digest, read_learned, text_of

SPACE = algorithm("ppo").space
FULL = SPACE.complete({}, {"steps": 4096.0})
LEARNT = (LearnedExperiment("elsewhere", "2 of 3 trials", (LearnedTrial(0, 2.0, FULL), LearnedTrial(2, 1.0, FULL))),)


def experiment(folder: Path, text: str) -> Experiment:
    settings = Settings(name="one", dir=str(folder), backend="batch", learn_from=("elsewhere",))
    return create(settings, {LEARNED: digest(text)}, text)


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert read_learned(experiment(tmp_path, text_of(LEARNT)), SPACE) == LEARNT


def test_an_experiment_that_learns_from_none_has_no_file(tmp_path: Path) -> None:
    own = create(Settings(name="one", dir=str(tmp_path), backend="batch"))
    assert not own.paths.learned.exists()
    assert read_learned(own, SPACE) == ()


def test_a_file_that_is_missing_or_changed_is_one_line(tmp_path: Path) -> None:
    own = experiment(tmp_path, text_of(LEARNT))
    text = own.paths.learned.read_text(encoding="utf-8")
    own.paths.learned.write_text(text.replace('"rank": 2.0', '"rank": 1.0'), encoding="utf-8")
    with pytest.raises(UsageError, match=r"learned\.json is damaged \(its content has changed .*restore it from a copy$"):
        read_learned(own, SPACE)
    own.paths.learned.unlink()
    with pytest.raises(UsageError, match=r"learned\.json cannot be read .*restore it from a copy$"):
        read_learned(own, SPACE)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"experiments": [{"folder": "a", "summary": "b", "trials": [{"trial": 0, "rank": 1.0}]}]}, "lacks hyperparameters"),
        ({"experiments": [{"folder": "a", "trials": []}]}, "lacks summary"),
        ({"experiments": None}, "experiments is null"),
        (
            {"experiments": [{"folder": "a", "summary": "b", "trials": [
                {"trial": 0, "rank": 1.0, "hyperparameters": {**FULL, "gamma": 2.0}}]}]},
            "gamma=2.0",
        ),
    ],
)  # fmt: skip
def test_content_of_another_form_is_one_line(tmp_path: Path, change: dict[str, object], message: str) -> None:
    own = experiment(tmp_path, json.dumps({**json.loads(text_of(LEARNT)), **change}))
    with pytest.raises(UsageError, match=message) as error:
        read_learned(own, SPACE)
    assert len(str(error.value).splitlines()) == 1


def test_a_later_format_is_not_read(tmp_path: Path) -> None:
    own = experiment(tmp_path, json.dumps({**json.loads(text_of(LEARNT)), "format": 2}))
    with pytest.raises(OtherFormatError, match="use the version that wrote it"):
        read_learned(own, SPACE)
