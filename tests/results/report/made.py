"""Hours of a policy with a known answer."""

from pathlib import Path

import numpy as np
import pandas as pd

from results.report.charts import Figure
from results.report.sections import drawn
from results.report.subjects import Hours
from results.rollout import table
from results.table_files import write_parquet


def hours(days: int = 62, factor: float = 0.5) -> pd.DataFrame:
    """A site that draws 10 kW from 18:00 to 20:00 and 2 kW else; the policy draws a part of it at 18:00 to 20:00.

    Args:
        days: from 1 January on.
        factor: of the uncontrolled import in the evening.
    """
    step = np.arange(24 * days)
    hour = step % 24
    evening = (hour >= 18) & (hour < 20)
    without = np.where(evening, 10.0, 2.0)
    own = np.where(evening, factor * without, without)
    zero = np.zeros(len(step))
    month = 1 + np.minimum(step // (24 * 31), 1)
    return pd.DataFrame(
        {
            "step": step, "month": month, "hour": hour, "load_kwh": without, "pv_kwh": zero, "battery_kwh": own - without,
            "charging_kwh": zero, "other_kwh": zero, "net_kwh": own, "import_kwh": own, "export_kwh": zero,
            "price": np.where(month == 1, 0.1, 0.2), "carbon": zero + 0.5, "uncontrolled_net_kwh": without,
        }
    )  # fmt: skip


def rolled(path: Path, days: int = 2) -> Path:
    """A file with these hours, of the policy of a trial 1."""
    frame = hours(days)
    write_parquet(path, table({name: frame[name].to_numpy() for name in frame}, {"trial": "1"}))
    return path


def figures(days: int) -> tuple[Figure, ...]:
    """All figures of these hours."""
    return drawn("policy", Hours(Path("made.parquet"), {}, hours(days)))
