"""Generated scenarios `iquitos` and `iquitos-38`: a mall in Iquitos with PV, a battery and charging sockets.

A year is a pure function of the site's parameters and the year number.
"""

from __future__ import annotations

from pathlib import Path

from envs.scenarios.iquitos.site import CURRENCY, FORMAT_VERSION, SITES, Site

__all__ = ["CURRENCY", "FORMAT_VERSION", "SITES", "Site", "write_year"]


def write_year(site: Site, year: int, folder: Path) -> None:
    """Write a year as a CityLearn scenario."""
    # Imported here: pandas, scipy and pvlib take four seconds, and most years come from the cache.
    from envs.scenarios.iquitos import files

    files.write_year(site, year, folder)
