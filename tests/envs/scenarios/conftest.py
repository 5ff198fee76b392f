"""The small site's schema, to be broken."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def schema(small_schema: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(small_schema.read_text(encoding="utf-8"))
    return content


@pytest.fixture
def site(small_schema: Path, tmp_path: Path) -> Path:
    """Folder of a copy of the small site, to be broken; in these tests it stands for the scenario of this name."""
    return Path(shutil.copytree(small_schema.parent, tmp_path / "site"))
