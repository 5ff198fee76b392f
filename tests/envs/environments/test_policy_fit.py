"""A policy with a fixed layout runs on splits with the same observations and actions alone."""

from pathlib import Path

import pytest

from envs.environments.policy_fit import check_one_layout
from envs.errors import ScenarioError
from envs.scenarios.scenario import Splits, scenario
from tests.envs.changed_rows import two_buildings

RANGES = ("0-9",), ("20-24",), ("30-39",)


def test_a_split_of_other_devices_is_refused_with_the_remedy(small_schema: Path, tmp_path: Path) -> None:
    path = two_buildings(small_schema, tmp_path / "site")
    site = scenario(str(path), splits=Splits(*RANGES, ("office",), (), ("mall",)))
    with pytest.raises(
        ScenarioError,
        match=r"--test-buildings: test \(days 30-39 of mall\) has .* name as many buildings",
    ):
        check_one_layout(site)
    check_one_layout(scenario(str(path), splits=Splits(*RANGES, ("office",))))
    check_one_layout(scenario(str(path)))
