"""Load of the mall."""

from __future__ import annotations

import numpy as np

from envs.scenarios.iquitos.calendar import Calendar, autoregressive, by_day, stream, table
from envs.scenarios.iquitos.site import DAYS

DAY_SIGMA = 0.072  # coefficient of variation of a day's energy around its month and day type
DAY_LAG_1 = 0.40


def mall_load(year: int, cal: Calendar) -> np.ndarray:
    """Load of a year [kW], shape (ROWS,): month-by-hour mean x day type's profile x the day's deviation."""
    columns = table("mall_day_type_kw")  # all days, weekday, Saturday, Sunday
    day_type = np.select([cal.weekday == 5, cal.weekday == 6], [2, 3], default=1)
    profile = columns[cal.hour, day_type] / columns[cal.hour, 0]
    # Log-normal with mean 1 and the wanted coefficient of variation.
    sigma = np.sqrt(np.log(1.0 + DAY_SIGMA**2))
    deviation = sigma * autoregressive(stream(year, "load"), DAYS, DAY_LAG_1)
    return table("mall_load_kw")[cal.hour, cal.month] * profile * by_day(np.exp(deviation - sigma**2 / 2.0))
