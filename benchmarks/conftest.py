"""What the benchmarks share."""

import os

import pytest

os.environ["OMP_NUM_THREADS"] = "1"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--scenario", default="iquitos", help="scenario to step: a name or the path of a schema.json")
