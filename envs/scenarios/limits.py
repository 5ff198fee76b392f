"""What is plausible at a site, and why: limits of series and of devices' attributes.

They are wide: every public data set and every real site lies within. What lies beyond is a wrong unit, a wrong column or a
slip, and would make a search learn from nonsense. `docs/scenarios.md` shows the table of series.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_AHEAD = ("", "_predicted_1", "_predicted_2", "_predicted_3")


@dataclass(frozen=True)
class Limit:
    """Bounds of a number.

    Attributes:
        low: least value.
        high: greatest value.
        why: reason, as the second half of a message.
        whole: whether only whole numbers are allowed.
        above: whether the least value itself is too small.
    """

    low: float
    high: float
    why: str
    whole: bool = False
    above: bool = False

    @property
    def words(self) -> str:
        """What a value has to be."""
        if self.low == self.high:
            return f"{self.low:.10g}"
        kind = "a whole number" if self.whole else "a number"
        bounds = f"above {self.low:,.10g} and at most" if self.above else f"from {self.low:,.10g} to"
        return f"{kind} {bounds} {self.high:,.10g}"

    def holds(self, values: np.ndarray | float) -> np.ndarray:
        """Whether values lie within; False for NaN."""
        array = np.asarray(values, dtype=np.float64)
        inside = (array > self.low if self.above else array >= self.low) & (array <= self.high)
        return inside & (array == np.floor(array)) if self.whole else inside


_ENERGY = "1 GWh in an hour is more than any site draws; the unit is kWh"
_TEMPERATURE = "CityLearn cuts temperatures to -90 to 57 degrees Celsius, the extremes on record"
_HUMIDITY = "relative humidity in per cent; sensors and forecasts overshoot a little"
_SUN = "the sun gives 1,361 W/m2 above the air, and clouds' edges a little more; sensors drift at night"
_PRICE = "price of a kWh in any currency, also below zero"
SERIES: dict[str, Limit] = {
    "month": Limit(1, 12, "months are 1 to 12", whole=True),
    "hour": Limit(1, 24, "hours are 1, from midnight to one o'clock, to 24", whole=True),
    "day_type": Limit(1, 8, "1 is Monday, 7 Sunday and 8 a holiday", whole=True),
    "minutes": Limit(0, 59, "minutes are 0 to 59", whole=True),
    "seconds": Limit(0, 59, "seconds are 0 to 59", whole=True),
    "daylight_savings_status": Limit(0, 1, "1 is summer time", whole=True),
    "hvac_mode": Limit(0, 3, "modes are 0 to 3", whole=True),
    "power_outage": Limit(0, 1, "1 is an outage", whole=True),
    "non_shiftable_load": Limit(0, 1e6, f"consumption is 0 or more, and PV belongs into solar_generation; {_ENERGY}"),
    "dhw_demand": Limit(0, 1e6, f"demand is 0 or more; {_ENERGY}"),
    "cooling_demand": Limit(0, 1e6, f"demand is 0 or more; {_ENERGY}"),
    "heating_demand": Limit(0, 1e6, f"demand is 0 or more; {_ENERGY}"),
    "solar_generation": Limit(
        0, 2000, "generation is 0 or more, also at night; twice the PV's nominal power is 2,000 W for each kW"
    ),
    "indoor_dry_bulb_temperature": Limit(-90, 57, _TEMPERATURE),
    "indoor_dry_bulb_temperature_cooling_set_point": Limit(-90, 100, "degrees Celsius"),
    "indoor_dry_bulb_temperature_heating_set_point": Limit(-90, 100, "degrees Celsius"),
    "average_unmet_cooling_setpoint_difference": Limit(-150, 150, "a difference of temperatures in degrees"),
    "comfort_band": Limit(0, 100, "a difference of temperatures in degrees"),
    "indoor_relative_humidity": Limit(0, 120, _HUMIDITY),
    "occupant_count": Limit(0, 1e6, "people in a building"),
    **{f"outdoor_dry_bulb_temperature{ahead}": Limit(-90, 57, _TEMPERATURE) for ahead in _AHEAD},
    **{f"outdoor_relative_humidity{ahead}": Limit(0, 120, _HUMIDITY) for ahead in _AHEAD},
    **{f"diffuse_solar_irradiance{ahead}": Limit(-50, 2000, _SUN) for ahead in _AHEAD},
    **{f"direct_solar_irradiance{ahead}": Limit(-50, 2000, _SUN) for ahead in _AHEAD},
    "carbon_intensity": Limit(-5, 5, "kg CO2 for each kWh; the worst plants emit 2, and 400 would be grams"),
    **{f"electricity_pricing{ahead}": Limit(-1e6, 1e6, _PRICE) for ahead in _AHEAD},
    "electric_vehicle_departure_time": Limit(-1, 87_600, "hours until the departure, at most ten years"),
    "electric_vehicle_estimated_arrival_time": Limit(-1, 87_600, "hours until the arrival, at most ten years"),
}
# A PV with generation_mode absolute has its own generation as a series.
ABSOLUTE_SOLAR = Limit(0, 1e6, f"generation is 0 or more, also at night; {_ENERGY}")

_POWER = "10 GW is more than any site has; the unit is kW"
CAPACITY = Limit(0, 1e7, "10 GWh is more than any storage holds; the unit is kWh", above=True)
POWER = Limit(0, 1e7, _POWER, above=True)
POWER_OR_NONE = Limit(0, 1e7, _POWER)
CHARGER_POWER = Limit(0, 1e5, "100 MW is more than any charger has; the unit is kW", above=True)
CHARGER_POWER_OR_NONE = Limit(0, 1e5, "100 MW is more than any charger has; the unit is kW")
SHARE = Limit(0, 1, "a share")
EFFICIENCY = Limit(0, 1, "more than 1 would make energy", above=True)
DEPTH = Limit(0, 1, "a share of the capacity", above=True)
SUPPLY_TEMPERATURE = Limit(-90, 200, "degrees Celsius")
FACTOR = Limit(0, 1000, "a factor of the size", above=True)
PEAK_PRICE = Limit(0, 1e9, "a price for each kW and month, not below zero")
