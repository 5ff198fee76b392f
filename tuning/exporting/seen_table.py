"""What an exported policy sees beside CityLearn's observations, as a table by the rows of its site's data."""

from __future__ import annotations

import numpy as np

from envs.environments.seen_year import seen_rows
from envs.scenarios.scenario import Scenario, Split
from envs.scenarios.schema_file import count_steps, read_schema
from envs.scenarios.schema_shape import FIRST
from envs.seen import Seen


def seen_table(site: Scenario, split: Split, seen: Seen) -> np.ndarray:
    """What a policy sees further in each row that the site's schema runs.

    Where splits are stated, it has the rows of one of them, as each is simulated, forecast and planned by itself. A row that
    only is history of the split does not belong to it.

    Returns:
        Shape (rows, observations), float32; NaN in rows of other splits.
    """
    if not site.segments:
        return seen_rows(site, site.years("test")[0], seen)
    assert site.schema is not None
    own = {year: seen_rows(site, year, seen) for year in site.years(split)}
    width = next(iter(own.values())).shape[1]
    table = np.full((count_steps(site.schema) + 1, width), np.nan, dtype=np.float32)
    for year, rows in own.items():
        segment = site.segments[year]
        table[segment.first : segment.end] = rows[segment.history :]
    return table


def first_row(site: Scenario) -> int:
    """Row of the site's series that the first row of its table belongs to."""
    return int(read_schema(site.schema or site.schema_path(site.years("test")[0]))[FIRST])
