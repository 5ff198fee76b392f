"""What an earlier release wrote, as a user finds it after a move to another machine."""

import zipfile
from pathlib import Path

ASSETS = Path(__file__).parents[1] / "assets"
WRITTEN_AT = "/home/engineer"  # the folder that its JSON files name


def unpack(version: str, folder: Path) -> Path:
    """Write what a release wrote into a folder: `site`, `experiments`, `judgements`, `exported` and `expected`."""
    with zipfile.ZipFile(ASSETS / f"release-{version}.zip") as file:
        file.extractall(folder)
    for path in folder.rglob("*.json"):
        path.write_text(path.read_text(encoding="utf-8").replace(WRITTEN_AT, folder.as_posix()), encoding="utf-8")
    return folder
