"""The site's parameters: every number of the generated scenarios."""

from dataclasses import dataclass

from common.units import DAY, YEAR
from envs.scenarios.tariff import DemandCharge

# Part of the cache key: raise it when a change of the code changes the files of a year.
FORMAT_VERSION = 2

DAYS = YEAR // DAY
# CityLearn makes T-1 steps of T rows, so a year of 8,760 steps needs one row more: the first hour
# of the next year.
ROWS = YEAR + 1

LATITUDE = -3.75  # degrees
LONGITUDE = -73.25  # degrees
ALTITUDE = 104.0  # m
TIME_ZONE = "America/Lima"

CURRENCY = "PEN"
PEAK_HOURS = (18, 19, 20, 21, 22)  # hours of the day that the tariff counts as peak
ENERGY_PRICE_PEAK = 0.45  # PEN/kWh
ENERGY_PRICE_OFF_PEAK = 0.28  # PEN/kWh
DEMAND_CHARGE = DemandCharge(
    PEAK_HOURS,
    peak_price=48.5,  # PEN per kW and month, highest import in peak hours
    off_peak_excess_price=22.8,  # PEN per kW and month, by which the import outside exceeds it
)
CARBON_INTENSITY = 0.4521  # kg CO2/kWh: a diesel grid, the same at every hour

CLOSING_HOUR = 23  # sockets are empty from here on
# Share of a socket's arrival rate by hour of the day: 0.30 at 9 and 10 h, then 0.0875 more an hour
# up to 17 h, 1.0 from 18 to 21 h.
ARRIVAL_FACTOR = {
    9: 0.30,
    10: 0.30,
    **{h: 0.30 + 0.0875 * (h - 10) for h in range(11, 18)},
    **dict.fromkeys(range(18, 22), 1.0),
}


@dataclass(frozen=True)
class Pv:
    """A PV field behind one inverter."""

    # DC size [kW]. The default is the size that yields 8.29 GWh a year at the inverter with the performance ratio below;
    # `iquitos:pv_kwp=4162` overrides it.
    kwp: float = 7140.0
    inverter_kw: float = 2887.0  # AC limit of the inverter [kW]
    tilt: float = 10.0  # of the modules [degrees]
    azimuth: float = 0.0  # of the modules [degrees clockwise from north]
    temperature_coefficient: float = -0.0035  # of the power [1/K]
    # soiling, wiring, mismatch and inverter loss [-]; together with the modules' warming it makes the performance ratio
    # before the inverter's limit 0.80
    system_loss: float = 0.1415


@dataclass(frozen=True)
class SocketType:
    """Sockets of one kind, each serving one vehicle at a time."""

    name: str  # of the kind of vehicle; part of the charger's and the vehicle's id
    count: int  # number of sockets
    power_kw: float  # most power of one socket [kW]
    battery_kwh: float  # capacity of the vehicle's battery [kWh]
    arrival_rate: float  # arrivals per free socket and hour where the hour's factor is 1


@dataclass(frozen=True)
class Site:
    """A generated scenario. `long_stay_share` of the vehicles stay 4-8 h, the rest 1-2 h."""

    name: str
    sockets: tuple[SocketType, ...]
    long_stay_share: float
    pv: Pv = Pv()


SITES = {
    site.name: site
    for site in (
        # 360 sessions a day over 128 sockets; one rate for both kinds, found by simulating 20 years.
        Site(
            "iquitos",
            (
                SocketType("motorcycle", 112, power_kw=2.0, battery_kwh=4.6, arrival_rate=1.17),
                SocketType("mototaxi", 16, power_kw=3.0, battery_kwh=7.4, arrival_rate=1.17),
            ),
            long_stay_share=0.4,
        ),
        Site(
            "iquitos-38",
            (
                SocketType("motorcycle", 30, power_kw=7.4, battery_kwh=4.6, arrival_rate=0.980),
                SocketType("mototaxi", 8, power_kw=7.4, battery_kwh=7.4, arrival_rate=0.533),
            ),
            long_stay_share=0.0,
        ),
    )
}
