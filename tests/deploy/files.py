"""What is in `deploy/`, read for the tests."""

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file())


def text(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


def loaded(name: str) -> Any:
    """Content of a YAML file, with its anchors filled in."""
    return yaml.safe_load(text(name))
