"""Options of a site and its splits, for commands that name one without a search."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SiteSettings:
    """A site and its splits, with the options and the words of a search."""

    scenario: str = "iquitos"
    """Site: iquitos, iquitos-38, or the path of a CityLearn schema.json."""
    train: tuple[str, ...] = ()
    """What trains; see python -m tuning.run, as for the next five."""
    validation: tuple[str, ...] = ()
    """What validates."""
    test: tuple[str, ...] = ()
    """What only the judge sees."""
    train_buildings: tuple[str, ...] = ()
    """Buildings that train."""
    validation_buildings: tuple[str, ...] = ()
    """Buildings that validate."""
    test_buildings: tuple[str, ...] = ()
    """Buildings of the test."""
