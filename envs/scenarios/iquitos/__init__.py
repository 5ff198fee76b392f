"""Generated scenarios `iquitos` and `iquitos-38`: a mall in Iquitos with PV, a battery and charging sockets.

A year is a pure function of the site's parameters and the year number.
"""

from envs.scenarios.iquitos.site import CURRENCY, FORMAT_VERSION, SITES, Site

__all__ = ["CURRENCY", "FORMAT_VERSION", "SITES", "Site"]
