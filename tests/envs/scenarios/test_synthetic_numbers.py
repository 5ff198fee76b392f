"""Numbers of synthetic years tell seed and index, and are those of no other year."""

from envs.scenarios import synthetic_numbers
from envs.scenarios.splits import DEFAULT, Splits, years_of
from envs.scenarios.synthetic_numbers import is_synthetic, seed_and_index, synthetic_number


def test_a_number_holds_its_seed_and_its_index() -> None:
    given = [(seed, index) for seed in (0, 1, 7, 2**63) for index in (0, 1, 5199)]
    numbers = [synthetic_number(*own) for own in given]
    assert [seed_and_index(number) for number in numbers] == given
    assert len(set(numbers)) == len(given)
    assert all(map(is_synthetic, numbers))


def test_another_version_makes_other_years(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    before = synthetic_number(3, 2)
    monkeypatch.setattr(synthetic_numbers, "VERSION", synthetic_numbers.VERSION + 1)
    assert synthetic_number(3, 2) != before
    assert seed_and_index(synthetic_number(3, 2)) == (3, 2)


def test_no_year_that_a_user_can_state_is_synthetic() -> None:
    for stated in (DEFAULT, Splits(train=("999999",))):
        years = years_of(stated, {"train": (1, 4, 5), "validation": (2,), "test": (3, 6, 7)}, "iquitos")
        assert not any(is_synthetic(year) for own in years.values() for year in own)
