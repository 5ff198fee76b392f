"""Simulators are passed on, and never shared."""

from pathlib import Path

import pytest

from envs.citylearn_backend import pool
from envs.citylearn_backend.pool import SimulatorPool


class Opened:
    """In place of a simulator, which takes seconds to build."""

    def __init__(self, schema_path: Path, with_reward: bool, trusted: bool) -> None:
        self.schema_path, self.with_reward, self.trusted = schema_path, with_reward, trusted


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "CityLearnSimulator", Opened)


def test_a_simulator_that_is_given_back_is_taken_again() -> None:
    simulators, path = SimulatorPool(), Path("schema.json")
    first = simulators.take(path)
    assert simulators.take(path) is not first
    simulators.give_back(first)
    assert simulators.take(path) is first


def test_simulators_of_other_scenarios_rewards_and_trust_are_kept_apart() -> None:
    simulators = SimulatorPool()
    own = simulators.take(Path("a"), with_reward=False)
    simulators.give_back(own)
    assert simulators.take(Path("b")) is not own
    assert simulators.take(Path("a"), with_reward=True) is not own
    assert simulators.take(Path("a"), trusted=True) is not own
    assert simulators.take(Path("a")) is own


def test_a_loan_ends_with_its_block_and_an_error_drops_the_simulator() -> None:
    simulators, path = SimulatorPool(), Path("schema.json")
    with simulators.lend(path) as first:
        assert simulators.take(path) is not first

    def fail() -> None:
        with simulators.lend(path) as again:
            assert again is first
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert simulators.take(path) is not first
