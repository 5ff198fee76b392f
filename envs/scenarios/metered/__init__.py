"""Makes a site's folder of what people have: files of their meters, prices and charging sessions. Here are the options."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro


@dataclass(frozen=True)
class SiteOptions:
    """Make the folder of a site: schema and series for all other commands.

    Files are CSV: a line of names, then a time and numbers in each line. Rows are hours, or parts of an hour such as quarters.
    The unit of a number stands in the name of its column, as in "Home_1 (kWh)", or is said by an option.
    """

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")]
    """Folder that is made."""
    example: bool = False
    """Make a small neighbourhood instead: three homes with PV, batteries and vehicles, with the files of their meters."""
    seed: int = 0
    """Of the example."""
    load: str = ""
    """File of what each building uses, a column for each: Wh, kWh, MWh, W, kW or MW."""
    load_unit: str = ""
    """Unit of all columns of --load."""
    pv: str = ""
    """File of what PV generates, a column for each building that has some, named as in --load."""
    pv_unit: str = ""
    """Unit of all columns of --pv."""
    pv_kw: tuple[str, ...] = ()
    """Nominal power of the PV in kW: of all buildings, as 5, or of some, as Home_1=5."""
    weather: str = ""
    """EPW file of a typical year at the site, of which PV without a meter is computed; PVGIS gives one for any place."""
    pv_tilt: float = 20.0
    """Of PV by --weather: degrees from the horizontal."""
    pv_azimuth: str = ""
    """Of PV by --weather: degrees from north over east, so that 180 is south; by default it faces the equator."""
    battery_kwh: tuple[str, ...] = ()
    """What batteries hold, likewise."""
    battery_kw: tuple[str, ...] = ()
    """Power of the batteries, likewise."""
    price: str = ""
    """Price of a kWh: a number, or a file with a column such as "price (EUR/kWh)", in any money."""
    price_unit: str = ""
    """EUR/kWh or EUR/MWh, or in another money, which bills are then shown in."""
    carbon: str = ""
    """CO2 of a kWh in kg: a number, or a file with a column such as "carbon (g/kWh)"."""
    carbon_unit: str = ""
    """kg/kWh, g/kWh, kg/MWh or t/MWh."""
    sessions: str = ""
    """File of charging sessions: arrival, departure, energy_kwh (or arrival_soc and required_soc), charger, building."""
    vehicle_kwh: float = 0.0
    """What the battery of a vehicle holds; needed by --sessions."""
    charger_kw: float = 0.0
    """Power of a charger; likewise."""
    zone: str = ""
    """Time zone of local times, as Europe/Berlin; without it, times know no summer time."""
    label: Literal["begin", "end"] = "begin"
    """Whether a time is the begin or the end of what its row measures."""
    readings: bool = False
    """Whether the numbers of --load and --pv are what a meter has counted so far."""
    fill: int = 3
    """Longest gap in hours that is filled; longer ones are named, and nothing is made."""
