"""Generated scenarios `iquitos` and `iquitos-38`: a mall in Iquitos with PV, a battery and charging sockets.

A year is a pure function of the site's parameters and the year number. `site` holds the parameters,
`calendar`, `weather`, `solar`, `load` and `vehicles` make the series, `files` writes them as a
CityLearn scenario.
"""

from envs.iquitos.calendar import HOURS
from envs.iquitos.files import FORMAT_VERSION, write_year
from envs.iquitos.site import SITES, Site

__all__ = ["FORMAT_VERSION", "HOURS", "SITES", "Site", "write_year"]
