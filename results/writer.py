"""Write part files: each whole, under another name first, then renamed into place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from common.files import write_whole
from common.measure import Measure
from results.schema import FINGERPRINT, FOLDER, fingerprint, schema


def table_folder(experiment: Path, table: str) -> Path:
    """Folder of a table's part files."""
    return experiment / FOLDER / table


def part_path(experiment: Path, table: str, trial: int, steps: int | None = None) -> Path:
    """Path of a part file.

    A part is named by its content, so work that is repeated after a crash replaces its first result.

    Args:
        experiment: folder of the experiment.
        table: name of the table.
        trial: number of the trial.
        steps: steps of the trial up to which the part reaches; None for `trials`, which has one row a trial.
    """
    suffix = "" if steps is None else f"-{steps:012d}"
    return table_folder(experiment, table) / f"{trial:05d}{suffix}.parquet"


def judged_path(folder: Path, name: str, backend: str) -> Path:
    """Path of the part file with the evaluations of one run of a contender, of the baselines or of the bounds.

    Args:
        folder: of the judgement.
        name: of the run, fit for a file name.
        backend: that evaluated it.
    """
    return table_folder(folder, "evaluations") / f"{name}-{backend}.parquet"


def write_part(
    path: Path,
    table: str,
    rows: Sequence[Mapping[str, Any]],
    hyperparameters: Mapping[str, type] | None = None,
    measures: Mapping[str, Measure] | None = None,
) -> None:
    """Write rows as one part file, replacing one of that name.

    Args:
        path: of the part file; see `part_path`.
        table: name of the table.
        rows: values by column; a missing column is empty.
        hyperparameters: see `results.schema.schema`.
        measures: likewise.

    Raises:
        KeyError: if a row has a column that the schema lacks.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = schema(table, hyperparameters, measures)
    unknown = {name for row in rows for name in row} - set(columns.names)
    if unknown:
        raise KeyError(f"table {table} has no column {', '.join(sorted(unknown))}")
    path.parent.mkdir(parents=True, exist_ok=True)
    content = pa.Table.from_pylist(list(rows), schema=columns)
    content = content.replace_schema_metadata({**content.schema.metadata, FINGERPRINT: fingerprint(content)})
    write_whole(path, lambda file: pq.write_table(content, file, write_page_checksum=True))


def drop_parts_after(experiment: Path, table: str, trial: int, steps: int) -> None:
    """Delete parts of a trial that reach beyond some steps, before that work is repeated."""
    last = part_path(experiment, table, trial, steps)
    for path in last.parent.glob(f"{trial:05d}-*.parquet"):
        if path.name > last.name:
            path.unlink()
