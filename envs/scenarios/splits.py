"""Splits as a user states them: ranges of days, dates or years' numbers, and buildings."""

import re
from dataclasses import dataclass
from typing import Literal, get_args

from common.errors import ScenarioError
from common.paths import shortened
from common.texts import option

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
# Years of a generated site; only the difference of the numbers matters. Several train, as half a million steps would see
# each hour of a single year sixty times. Several test, as one year has twelve monthly peaks only.
GENERATED_YEARS: dict[Split, tuple[int, ...]] = {"train": (1, 4, 5), "validation": (2,), "test": (3, 6, 7)}
MOST_YEARS = 100  # of a generated site in one split
_MOST_SHOWN = 4  # buildings that a title names
_NUMBERS = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")


@dataclass(frozen=True)
class Splits:
    """What each split consists of, in the user's words; nothing stated stands for the default."""

    train: tuple[str, ...] = ()  # ranges, such as `0-239`, `01-01..08-28`, or `1 4 5` for years of a generated site
    validation: tuple[str, ...] = ()  # likewise
    test: tuple[str, ...] = ()  # likewise
    train_buildings: tuple[str, ...] = ()  # names of buildings; none for all that the schema includes
    validation_buildings: tuple[str, ...] = ()  # likewise; none for those of `train_buildings`
    test_buildings: tuple[str, ...] = ()  # likewise

    @property
    def stated(self) -> bool:
        """Whether there is anything."""
        return any(self.ranges(split) or self.own_buildings(split) for split in SPLITS)

    def ranges(self, split: Split) -> tuple[str, ...]:
        """Ranges of a split."""
        return getattr(self, split)

    def own_buildings(self, split: Split) -> tuple[str, ...]:
        """Buildings that are stated for a split itself."""
        return getattr(self, f"{split}_buildings")

    def buildings(self, split: Split) -> tuple[str, ...]:
        """Buildings of a split; none for all that the schema includes."""
        return self.own_buildings(split) or self.train_buildings

    def words(self, split: Split, unit: str) -> str:
        """A split for titles, such as `days 0-99 of Home_1`; `unit` is what numbers count. Empty where nothing is stated."""
        ranges, buildings = self.ranges(split), self.buildings(split)
        if not ranges:
            return ""
        shown = ", ".join(buildings) if len(buildings) <= _MOST_SHOWN else f"{len(buildings)} buildings"
        start = "" if ".." in ranges[0] else f"{unit} "
        return f"{start}{', '.join(ranges)}{f' of {shown}' if shown else ''}"


DEFAULT = Splits()  # nothing is stated


def numbers(split: Split, text: str, what: str) -> tuple[int, int]:
    """First and last number of a range such as `0-239` or `7`, a `ScenarioError` if it is none; `what` says what they count."""
    place = f"{option(split)} {shortened(text)}"
    match = _NUMBERS.fullmatch(text)
    if match is None:
        raise ScenarioError(f"{place}: it takes {what}")
    parts = [part for part in match.groups() if part is not None]
    if any(len(part) > 1 and part.startswith("0") for part in parts):
        plain = "-".join(str(int(part)) for part in parts)
        raise ScenarioError(f"{place}: it takes {what}; write {plain} if these are numbers")
    first, last = int(parts[0]), int(parts[-1])
    if last < first:
        raise ScenarioError(f"{place}: it ends before it begins; write {last}-{first}")
    return first, last


def years_of(splits: Splits, name: str) -> dict[Split, tuple[int, ...]]:
    """Years of each split of a generated site; a `ScenarioError` if buildings or dates are stated, or two share a year."""
    by_split: dict[Split, tuple[int, ...]] = {}
    owner: dict[int, Split] = {}
    for split in SPLITS:
        if splits.own_buildings(split):
            raise ScenarioError(f"--{split}-buildings: {name} has one building; leave the option out")
        years = list(GENERATED_YEARS[split]) if not splits.ranges(split) else []
        for text in splits.ranges(split):
            first, last = numbers(split, text, f"numbers of years of {name}, such as 1, 4 or 8-10")
            if last - first >= MOST_YEARS or len(years) + last - first >= MOST_YEARS:
                raise ScenarioError(f"{option(split)} {text}: a split has at most {MOST_YEARS} years; name fewer")
            years += range(first, last + 1)
        for year in years:
            if year in owner:
                raise ScenarioError(_shared(splits, split, owner[year], year))
            owner[year] = split
        by_split[split] = tuple(years)
    return by_split


def _shared(splits: Splits, split: Split, other: Split, year: int) -> str:
    if split == other:
        return f"{option(split)}: year {year} stands there twice; name it once"
    default = [one for one in (split, other) if not splits.ranges(one)]
    where = f" (the default of {option(default[0])})" if default else ""
    return f"{option(split)} and {option(other)} share year {year}{where}; name other years for one of them"
