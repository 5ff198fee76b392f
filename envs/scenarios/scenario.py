"""Scenarios by name or path, their years, and how these are split."""

import hashlib
import json
import math
import os
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from common.errors import ScenarioError
from common.paths import is_share, shortened, user_path
from common.texts import hint, number_or_nan
from common.units import DAY, WEEK, YEAR
from envs.cache import cached_folder
from envs.scenarios import schema_file, trust
from envs.scenarios.iquitos import CURRENCY, FORMAT_VERSION, SITES, Site
from envs.scenarios.schema_shape import steps_per_hour
from envs.scenarios.segments import Segment, segment_schema, segments_of
from envs.scenarios.splits import DEFAULT, GENERATED_YEARS, SPLITS, Split, Splits, years_of
from envs.scenarios.tariff import currency

__all__ = ["DEFAULT", "SPLITS", "Scenario", "Split", "Splits", "Window", "sample_weeks", "scenario", "training_starts"]

# Blocks of each five that belong to a split, where one year serves all three.
BLOCKS: dict[Split, tuple[int, ...]] = {"train": (0, 1, 3), "validation": (2,), "test": (4,)}


@dataclass(frozen=True)
class Window:
    """Consecutive steps of a scenario year: `start` to `start + hours - 1`. They are hours where an hour has one step."""

    year: int
    start: int
    hours: int  # steps
    per_hour: int = 1  # steps of an hour

    @property
    def rows(self) -> slice:
        """Its steps among those of the year."""
        return slice(self.start, self.start + self.hours)

    @property
    def lasts(self) -> int:
        """Whole hours that it lasts."""
        return self.hours // self.per_hour


@dataclass(frozen=True)
class Scenario:
    """A site with its data."""

    name: str  # as the user gave it; equal names give equal scenarios on one machine
    key: str  # name of the scenario's folder in the cache; any change of its numbers changes it
    site: Site | None = None  # parameters of a generated scenario
    schema: Path | None = None  # path of a given scenario's `schema.json`. One of `site` and `schema` is set.
    trusted: bool = False  # whether the schema may name classes and pickles of its own; see `envs.scenarios.trust`
    splits: Splits = DEFAULT  # as the user stated them
    # of a given scenario with stated splits. Each counts as a year of its own, and its number is its index.
    segments: tuple[Segment, ...] = ()

    @property
    def title(self) -> str:
        """Short name for people."""
        return self.schema.parent.name if self.schema else self.name

    @property
    def currency(self) -> str:
        """Money of its prices; empty where nothing says it."""
        return currency(self.schema) if self.schema else CURRENCY

    @cached_property
    def steps_per_hour(self) -> int:
        """Steps of an hour; a year has a row for each."""
        return steps_per_hour(schema_file.read_schema(self.schema)) if self.schema else 1

    def years(self, split: Split) -> tuple[int, ...]:
        """Year numbers of a split; a given scenario has the one year 0, or a year for each segment."""
        if self.segments:
            return tuple(index for index, segment in enumerate(self.segments) if segment.split == split)
        return years_of(self.splits, self.name)[split] if self.site else (0,)

    @property
    def longest_segment(self) -> int:
        """Number of the segment with most rows and buildings among those that train or validate."""
        numbers = [*self.years("train"), *self.years("validation")]
        return max(numbers, key=lambda number: self.segments[number].length * len(self.segments[number].buildings))

    def split_of(self, year: int) -> Split:
        """Split that a segment belongs to; `train` where a year is no segment, as all of them have the same buildings."""
        return self.segments[year].split if self.segments else "train"

    def same_buildings(self, split: Split) -> bool:
        """Whether a split simulates the buildings that training does."""
        buildings = {segment.split: segment.buildings for segment in self.segments}
        return not buildings or buildings[split] == buildings["train"]

    def described(self, split: Split) -> str:
        """A split for titles: its name, and what it consists of where the user stated it."""
        words = self.words(split)
        return f"{split} ({words})" if words else split

    def words(self, split: Split) -> str:
        """What a split consists of where the user stated it, such as `days 0-99 of Home_1`; else empty."""
        return self.splits.words(split, "years" if self.site else "days")

    def title_of(self, split: Split) -> str:
        """Short name of the scenario, with a split where the user stated it."""
        described = self.described(split)
        return self.title if described == split else f"{self.title}, {described}"

    def schema_path(self, year: int) -> Path:
        """Path of a year's `schema.json`, generated where the cache lacks it."""
        if self.site is None:
            assert self.schema is not None
            if not self.segments:
                return self.schema
            # It names the folder of the series, which a copy has elsewhere.
            place = _digest(str(self.schema.absolute()))
            return segment_schema(self.schema, self.segments[year], f"{self.key}/segment-{year}-{place}")
        site = self.site

        def write(folder: Path) -> None:
            # Imported here: pandas, scipy and pvlib take four seconds, and most years come from the cache.
            from envs.scenarios.iquitos.files import write_year

            write_year(site, year, folder)

        # Its files depend on no split.
        return cached_folder(f"{_generated_key(self.name, DEFAULT)}/year-{year}", write) / "schema.json"

    def windows(self, split: Split) -> tuple[Window, ...]:
        """All hours of a split, as few windows as possible, each of whole hours.

        A given scenario has one year for all three splits, cut into weeks, or days where it has less than twenty weeks; of
        every five, three train, one validates and one tests. Stated splits of it are segments, each with rows of its own.
        """
        if self.segments:
            segments, one = ((year, self.segments[year]) for year in self.years(split)), self.steps_per_hour
            return tuple(Window(year, segment.history, (segment.rows - 1) // one * one, one) for year, segment in segments)
        if self.schema:
            return _interleaved(schema_file.count_steps(self.schema), self.steps_per_hour, split, self.name)
        return tuple(Window(year, 0, YEAR) for year in self.years(split))


# Its pins and those of RLlib have no version of gymnasium in common, so it is no dependency that pip could resolve.
INSTALL = "pip install --no-deps citylearn==3.0.2"


def scenario(name: str, trusted: bool = False, splits: Splits = DEFAULT) -> Scenario:
    """Scenario of a name (`iquitos`, `iquitos:pv_kwp=4162`) or of a path to a CityLearn `schema.json`.

    `trusted` lets a schema name classes and pickles of its own, and files elsewhere. A `ScenarioError` if there is none, its
    file is no sound schema, it needs trust, or it has no such splits.
    """
    if find_spec("citylearn") is None:
        raise ScenarioError(f"the package citylearn is missing: {INSTALL}, or uv sync in a checkout")
    if not trusted:
        # The name may come from the folder of another person's experiment, and Windows logs in where it looks.
        _refuse_share(name)
    path = user_path(name)
    if path.suffix == ".json" or path.is_dir():
        return _given(name, path / "schema.json" if path.is_dir() else path, trusted, splits)
    base, _, option = name.partition(":")
    if base not in SITES:
        others = (
            f"there are {', '.join(SITES)}, or give the path of a CityLearn schema.json; "
            "a search takes other environments by --env"
        )
        raise ScenarioError(f"no scenario '{name}': {hint(base, SITES, others)}")
    site = SITES[base]
    if option:
        site = replace(site, pv=replace(site.pv, kwp=_pv_kwp(name, option)))
    return Scenario(name, _generated_key(name, splits), site=site, splits=splits)


def _generated_key(name: str, splits: Splits) -> str:
    """Key of a generated scenario; with other training years than the default it has a place of its own in the cache."""
    key = f"{name.replace(':', '-').replace('=', '-')}-v{FORMAT_VERSION}"
    years = years_of(splits, name)
    return key if years == GENERATED_YEARS else f"{key}-{_digest(years)}"


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:8]


def _pv_kwp(name: str, option: str) -> float:
    key, _, value = option.partition("=")
    kwp = number_or_nan(value)
    if key != "pv_kwp" or not 0.0 < kwp < math.inf:
        raise ScenarioError(f"'{name}': the one option is pv_kwp=KILOWATTS with a number above 0, as in iquitos:pv_kwp=4162")
    return kwp


def _given(name: str, path: Path, trusted: bool, splits: Splits) -> Scenario:
    if not path.is_file():
        raise ScenarioError(f"no file {path}: --scenario takes {', '.join(SITES)} or the path of a CityLearn schema.json")
    path = _in_full(path)
    if not trusted:
        _refuse_share(str(path))  # it would be refused where an experiment is continued
    try:
        folder_name = path.parent.name.encode()
    except UnicodeEncodeError as error:
        raise ScenarioError(f"{path}: the name of its folder is no text in UTF-8; rename the folder") from error
    schema = schema_file.read_schema(path)
    if not trusted:
        # Before anything that the schema names is looked at.
        trust.check(path, schema)
    schema_file.check(path)
    digest = schema_file.digest(path, trust.own_code(path, schema) if trusted else ())
    # Most systems allow 255 bytes in a name.
    folder = folder_name[: 230 if splits.stated else 240].decode(errors="ignore")
    if not splits.stated:
        return Scenario(name, f"{folder}-{digest}", schema=path, trusted=trusted)
    segments = segments_of(path, schema, splits)
    key = f"{folder}-{digest}-{_digest([asdict(segment) for segment in segments])}"
    return Scenario(name, key, schema=path, trusted=trusted, splits=splits, segments=segments)


def _refuse_share(name: str) -> None:
    if os.name == "nt" and is_share(name):
        raise ScenarioError(
            f"'{shortened(name)}' is on a share, and a look at it would connect to another machine; give the share a drive "
            f"letter, or, if you trust this scenario as your own code, {trust.OPTION}"
        )


def _in_full(path: Path) -> Path:
    """A path that is the same in every folder; on Windows with its drive's letter, not with the share behind it."""
    real = path.resolve()
    if os.name != "nt" or not is_share(str(real)):
        return real
    return type(path)(os.path.abspath(path))  # noqa: PTH100 - resolve is what replaces the letter


def _interleaved(steps: int, per_hour: int, split: Split, name: str) -> tuple[Window, ...]:
    block = per_hour * (WEEK if steps >= 20 * WEEK * per_hour else DAY)
    if steps < 5 * block:
        raise ScenarioError(
            f"{name} has {steps} steps, one fewer than rows; "
            f"to train, validate and test on it takes at least {5 * block + 1} rows"
        )
    windows: list[Window] = []
    for i in range(steps // block):
        if i % 5 not in BLOCKS[split]:
            continue
        if windows and windows[-1].start + windows[-1].hours == i * block:
            windows[-1] = replace(windows[-1], hours=windows[-1].hours + block)
        else:
            windows.append(Window(0, i * block, block, per_hour))
    return tuple(windows)


def training_starts(windows: tuple[Window, ...], hours: int) -> list[Window]:
    """Training episodes: windows of at most `hours` hours that begin at each midnight of a split's windows."""
    return [
        replace(whole, start=start, hours=length)
        for whole in windows
        for length in (min(hours * whole.per_hour, whole.hours),)
        for start in range(whole.start, whole.start + whole.hours - length + 1, DAY * whole.per_hour)
    ]


def sample_weeks(windows: tuple[Window, ...], weeks: int) -> tuple[Window, ...]:
    """`weeks` windows of at most a week, spread evenly over a split; the whole split for 0.

    What remains after the last whole week of a year or a stated range is left out; a shorter range is a window by itself.
    """
    if weeks == 0:
        return windows
    blocks = weeks_of(windows)
    longest = {whole.year: max(block.hours for block in blocks if block.year == whole.year) for whole in windows}
    # The last week of a stated range has a step less, as there is one step less than rows.
    blocks = [block for block in blocks if block.hours >= longest[block.year] - 1]
    return evenly(blocks, weeks)


def weeks_of(windows: tuple[Window, ...]) -> list[Window]:
    """Weeks of windows, and what remains of each window after its whole weeks."""
    return [
        replace(whole, start=start, hours=min(WEEK * whole.per_hour, whole.start + whole.hours - start))
        for whole in windows
        for start in range(whole.start, whole.start + whole.hours, WEEK * whole.per_hour)
    ]


def evenly(windows: list[Window], most: int) -> tuple[Window, ...]:
    """At most so many windows, spread evenly over all."""
    count = min(most, len(windows))
    return tuple(windows[(2 * i + 1) * len(windows) // (2 * count)] for i in range(count))
