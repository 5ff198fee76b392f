"""PV output from irradiance, through pvlib."""

from __future__ import annotations

import numpy as np
import pvlib

from envs.scenarios.iquitos.calendar import Calendar
from envs.scenarios.iquitos.site import Pv
from envs.scenarios.iquitos.weather import Weather


def irradiance_on_modules(pv: Pv, sky: Weather, cal: Calendar) -> np.ndarray:
    """Irradiance in the plane of the modules [W/m2], shape (ROWS,), after Hay and Davies (1980)."""
    parts = pvlib.irradiance.get_total_irradiance(
        pv.tilt, pv.azimuth, sky.zenith, sky.azimuth, sky.dni, sky.ghi, sky.dhi,
        dni_extra=pvlib.irradiance.get_extra_radiation(cal.middle).to_numpy(), model="haydavies",
    )  # fmt: skip
    return np.nan_to_num(np.asarray(parts["poa_global"]))


def power_before_limit(pv: Pv, sky: Weather, cal: Calendar) -> np.ndarray:
    """Power that the inverter would give if it had no limit [kW], shape (ROWS,).

    Modules after PVWatts (Dobos 2014) at the temperature of Faiman (2008).
    """
    plane = irradiance_on_modules(pv, sky, cal)
    cell = pvlib.temperature.faiman(plane, sky.temperature)
    return pvlib.pvsystem.pvwatts_dc(plane, cell, pv.kwp, pv.temperature_coefficient) * (1.0 - pv.system_loss)


def ac_power(pv: Pv, sky: Weather, cal: Calendar) -> np.ndarray:
    """Power at the inverter [kW], shape (ROWS,)."""
    return np.minimum(power_before_limit(pv, sky, cal), pv.inverter_kw)
