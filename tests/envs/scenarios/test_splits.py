"""Ranges that a user types, and years of a generated site."""

import pytest

from common.errors import ScenarioError
from envs.scenarios.splits import DEFAULT, Splits, numbers, years_of

YEARS = {"train": (1, 4, 5), "validation": (2,), "test": (3, 6, 7)}  # of the default


def test_a_range_has_both_ends() -> None:
    assert numbers("train", "0-239", "days") == (0, 239)
    assert numbers("train", "7", "days") == (7, 7)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "--train : it takes days"),
        ("-5", "--train -5: it takes days"),
        ("3-2", "it ends before it begins; write 2-3"),
        ("01-12", "--train 01-12: it takes days; write 1-12 if these are numbers"),
        ("9999999", "it takes days"),
    ],
)
def test_what_is_no_range_is_refused(text: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        numbers("train", text, "days")


def test_years_that_are_not_stated_are_the_default() -> None:
    assert years_of(DEFAULT, "iquitos") == YEARS
    assert years_of(Splits(train=("8-10", "12")), "iquitos") == {**YEARS, "train": (8, 9, 10, 12)}


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        (Splits(train=("2",)), r"--validation and --train share year 2 \(the default of --validation\)"),
        (Splits(train=("8",), test=("7-9",)), "--test and --train share year 8; name"),
        (Splits(test=("8", "8")), "--test: year 8 stands there twice"),
        (Splits(test=("0-100",)), "at most 100 years"),
        (Splits(test=("0-98", "200-201")), "at most 100 years"),
        (Splits(train=("01-01..08-28",)), "it takes numbers of years of iquitos"),
        (Splits(test_buildings=("mall",)), "--test-buildings: iquitos has one building"),
    ],
)
def test_years_that_cannot_be_are_refused(splits: Splits, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        years_of(splits, "iquitos")


def test_buildings_of_training_hold_for_all_splits_that_state_none() -> None:
    splits = Splits(train_buildings=("a",), test_buildings=("b",))
    assert [splits.buildings(split) for split in ("train", "validation", "test")] == [("a",), ("a",), ("b",)]  # type: ignore[arg-type]


def test_a_title_says_what_was_stated() -> None:
    splits = Splits(train=("0-9", "20-29"), test=("05-01..05-31",), train_buildings=tuple("abcde"), test_buildings=("x", "y"))
    assert splits.words("train", "days") == "days 0-9, 20-29 of 5 buildings"
    assert splits.words("test", "days") == "05-01..05-31 of x, y"
    assert splits.words("validation", "days") == ""
