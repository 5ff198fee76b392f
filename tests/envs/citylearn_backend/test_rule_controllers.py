"""Which of CityLearn's controllers are read, and in what form."""

from pathlib import Path

import pytest

from common.units import DAY
from envs.citylearn_backend.rule_controllers import CLASSES, read_rules
from envs.citylearn_backend.simulator import CityLearnSimulator


def test_each_controller_has_an_action_for_each_device_and_hour(small_schema: Path) -> None:
    simulator = CityLearnSimulator(small_schema, with_reward=False)
    found = read_rules(simulator)
    assert set(found) <= set(CLASSES)
    for table in found.values():
        assert [len(row) for row in table] == [len(simulator.action_low)] * DAY


def test_a_controller_that_lacks_a_device_is_left_out(small_schema: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from citylearn.agents import rbc

    class Lacking:
        def __init__(self, env: object) -> None:
            raise ValueError("Unknown action name: toaster")

    monkeypatch.setattr(rbc, "BasicRBC", Lacking)
    found = read_rules(CityLearnSimulator(small_schema, with_reward=False))
    assert "BasicRBC" not in found
    assert found


def test_any_other_error_of_a_controller_is_not_hidden(small_schema: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from citylearn.agents import rbc

    class Broken:
        def __init__(self, env: object) -> None:
            raise ValueError("no such column")

    monkeypatch.setattr(rbc, "BasicRBC", Broken)
    with pytest.raises(ValueError, match="no such column"):
        read_rules(CityLearnSimulator(small_schema, with_reward=False))
