"""What an earlier release wrote, as a user finds it after a move to another machine."""

import re
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

ASSETS = Path(__file__).parents[1] / "assets"
WRITTEN_AT = "/home/engineer"  # the folder that its JSON files name


def unpack(version: str, folder: Path) -> Path:
    """Write what a release wrote into a folder: `site`, `experiments`, `judgements`, `exported` and `expected`."""
    with zipfile.ZipFile(ASSETS / f"release-{version}.zip") as file:
        file.extractall(folder)
    for path in folder.rglob("*.json"):
        path.write_text(path.read_text(encoding="utf-8").replace(WRITTEN_AT, folder.as_posix()), encoding="utf-8")
    # It had a file for each evaluation.
    parts: dict[Path, list[Path]] = {}
    for path in sorted(folder.rglob("*.parquet")):
        if re.fullmatch(r"\d{5,}-\d{12,}", path.stem):
            parts.setdefault(path.with_stem(path.stem.partition("-")[0]), []).append(path)
    for path, own in parts.items():
        pq.write_table(pa.concat_tables([pq.read_table(part, partitioning=None) for part in own]), path)
        for part in own:
            part.unlink()
    return folder
