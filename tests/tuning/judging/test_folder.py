"""A judgement's folder is opened as it was left; one with a damaged file is refused and stays as it is."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from common.errors import UsageError
from tuning.judging.folder import Contender, JudgementPaths, RaceSettings, create_or_open, read_judgement

ASKED = RaceSettings("iquitos-v1", 2, 1)
CONTENDERS = [Contender("e 0", "experiments/e", {"gamma": 0.9, "clip_obs": None, "hidden_sizes": "64,64"})]
QUESTION = {"scenario": "iquitos-v1", "seeds": 2, "seed": 1}
CONTENDER = {"name": "e 0", "experiment": "experiments/e", "hyperparameters": {}}


def as_json(question: Any = QUESTION, contenders: Any = (CONTENDER,)) -> bytes:
    return json.dumps({"question": question, "contenders": contenders}).encode()


# What is no JSON, or has other keys and types, is held by the tests of `common.json_values`.
DAMAGED = {
    "half": as_json()[:40],
    "no question": json.dumps({"contenders": []}).encode(),
    "a contender with something else": as_json(contenders=[{**CONTENDER, "colour": "red"}]),
}


def files_below(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def left_in(folder: Path, content: bytes) -> JudgementPaths:
    """A judgement with a run, and this content in its file."""
    paths = JudgementPaths(folder.resolve())
    paths.run(CONTENDERS[0]).mkdir(parents=True)
    (paths.run(CONTENDERS[0]) / "experiment.json").write_text("a day's work", encoding="utf-8")
    paths.settings.write_bytes(content)
    return paths


def test_a_judgement_is_opened_as_it_was_created(tmp_path: Path) -> None:
    made, was_there = create_or_open(tmp_path / "one", ASKED, CONTENDERS)
    assert not was_there
    assert create_or_open(tmp_path / "one", ASKED, CONTENDERS) == (made, True)
    assert read_judgement(made.paths) == made


@pytest.mark.parametrize(
    ("question", "contenders", "differ"),
    [
        (RaceSettings("iquitos-v1", 3, 1), CONTENDERS, "seeds was 2, now 3"),
        (ASKED, [Contender("e 0", "experiments/e", {**CONTENDERS[0].hyperparameters, "gamma": 0.8})], "other contenders"),
        (replace(ASKED, objective="bill"), [], "objective was not given, now bill"),
    ],
)
def test_another_judgement_is_refused(tmp_path: Path, question: RaceSettings, contenders: list[Contender], differ: str) -> None:
    create_or_open(tmp_path / "one", ASKED, CONTENDERS)
    before = files_below(tmp_path)
    with pytest.raises(UsageError, match=rf"judges something else \({differ}\): choose another --name"):
        create_or_open(tmp_path / "one", question, contenders)
    assert files_below(tmp_path) == before


def test_a_folder_with_something_else_and_a_name_that_is_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "else").mkdir()
    with pytest.raises(UsageError, match="holds no judgement"):
        create_or_open(tmp_path / "else", ASKED, [])
    with pytest.raises(UsageError, match="make a name"):
        create_or_open(tmp_path / "a b", ASKED, [])


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_file_is_named_in_a_line_with_what_to_do(tmp_path: Path, damage: str) -> None:
    paths = left_in(tmp_path / "one", DAMAGED[damage])
    with pytest.raises(UsageError, match=r"restore it from a copy, or judge anew under another --name$") as refused:
        read_judgement(paths)
    assert str(refused.value).startswith(f"{paths.settings} is damaged (")
    assert "\n" not in str(refused.value)
