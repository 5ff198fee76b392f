"""The small site's schema, to be broken."""

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def schema(small_schema: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(small_schema.read_text(encoding="utf-8"))
    return content
