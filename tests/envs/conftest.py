"""Fixtures of the environments: the small site's year as arrays, the site with vehicles over night, and a command."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envs.batch_backend.tables import Tables
from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.citylearn_backend.tables import read_tables
from envs.scenarios.entries import Session, charger_csv
from envs.scenarios.scenario import Scenario, scenario
from tests.envs.schema_changes import edited


@pytest.fixture(scope="session")
def site(small_schema: Path) -> Scenario:
    """The small site."""
    return scenario(str(small_schema))


@pytest.fixture(scope="session")
def small_tables(small_schema: Path) -> Tables:
    """Tables of the small site; tests that change arrays change copies."""
    return read_tables(CityLearnSimulator(small_schema, with_reward=False))


Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs the `main` of a command with arguments; gives exit status, stdout and stderr."""

    def run(main: Callable[[], int], *arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["command", *map(str, arguments)])
        status = main()
        return status, *capsys.readouterr()

    return run


ROWS, NAMES = 8761, ("motorcycle_001", "motorcycle_002", "motorcycle_003")


@pytest.fixture(scope="session")
def overnight(small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Schema of the small site whose motorcycles stay from seven to seven, take eight hours to charge, and can be emptied."""

    def change(schema: dict[str, Any]) -> None:
        mall = schema["buildings"]["mall"]
        for name in NAMES:
            mall["chargers"][name]["attributes"]["max_discharging_power"] = 2.0
            vehicle = schema["electric_vehicles_def"][name]
            vehicle["battery"]["attributes"] |= {"capacity": 30.0, "loss_coefficient": 1e-3}

    path = edited(small_schema, tmp_path_factory.mktemp("overnight"), change)
    for number, name in enumerate(NAMES):
        nights = [Session(max(0, row), min(row + 12, ROWS), 0.2 + 0.1 * number, 0.8) for row in range(-5, ROWS, 24)]
        (path.parent / f"{name}.csv").write_text(charger_csv(name, nights, ROWS), encoding="utf-8")
    return path
