"""Predicted memory beside what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.analysis.searched import frame
from results.loader import Results

if TYPE_CHECKING:
    import pandas as pd

# Kind of memory: columns of what was predicted, granted and measured.
_COLUMNS = {
    "host": ("predicted_ram_bytes", "granted_ram_bytes", "peak_rss_bytes"),
    "card": ("predicted_vram_bytes", "granted_vram_bytes", "peak_process_vram_bytes"),
}


def memory(results: Results) -> pd.DataFrame:
    """Memory of each trial: predicted by the model, granted, and the most that was measured.

    Args:
        results: of one experiment; trials that repeat another one, and those without a prediction, are left out.

    Returns:
        A row for each trial and kind: `trial`, `state`, `kind` (`host` or `card`), `predicted_bytes` (B, before it was
        corrected by earlier trials), `granted_bytes` (B), `measured_bytes` (B, the most of the process; empty where it never
        ran), `ratio` (measured to predicted), `exceeded` (more than it was granted) and `out_of_memory` (how often). A trial
        without a card has no row of that kind.
    """
    rows: list[dict[str, object]] = []
    own = results.single.trials[results.trials["same_as"].isna()]
    for row in own.to_dict("records"):
        for kind, (predicted, granted, measured) in _COLUMNS.items():
            if not row[predicted] > 0:
                continue
            used = row[measured] if row[measured] > 0 else float("nan")
            rows.append(
                {"trial": row["trial"], "state": row["state"], "kind": kind, "predicted_bytes": row[predicted]}
                | {"granted_bytes": row[granted], "measured_bytes": used, "ratio": used / row[predicted]}
                | {"exceeded": bool(row[granted] > 0 and used > row[granted]), "out_of_memory": row["out_of_memory"]}
            )
    types = {"trial": "int64", "state": "object", "kind": "object"}
    types |= dict.fromkeys(("predicted_bytes", "granted_bytes", "measured_bytes", "ratio"), "float64")
    table = frame(rows, {**types, "exceeded": "bool", "out_of_memory": "float64"})
    table["out_of_memory"] = table["out_of_memory"].fillna(0).astype("int64")
    return table
