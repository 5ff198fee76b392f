"""Errors of scenarios are errors that a user can correct."""

from common.errors import UserError
from envs.errors import ScenarioError


def test_a_scenario_error_is_reported_in_a_line_and_caught_as_a_value_error() -> None:
    assert issubclass(ScenarioError, UserError)
    assert issubclass(ScenarioError, ValueError)
