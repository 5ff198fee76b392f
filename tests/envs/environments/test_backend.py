"""Which backend steps a scenario."""

from pathlib import Path

import pytest

from envs.environments.backend import beyond_batch, choose_backend
from envs.errors import ScenarioError
from envs.scenarios.scenario import scenario
from tests.envs.batch_backend.test_unsupported import changed


def test_auto_falls_back_to_citylearn_and_batch_refuses(small_schema: Path, tmp_path: Path) -> None:
    sound = scenario(str(small_schema))
    assert [choose_backend(sound, choice) for choice in ("auto", "batch", "citylearn")] == ["batch", "batch", "citylearn"]
    beyond = scenario(str(changed(small_schema, tmp_path, "random_seed", value=None)))
    assert choose_backend(beyond, "auto") == "citylearn"
    with pytest.raises(ScenarioError, match=r"--backend batch cannot step .*random_seed null"):
        choose_backend(beyond, "batch")


def test_generated_scenarios_are_not_opened_to_see_that_they_are_supported(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("a year was generated")

    monkeypatch.setattr("envs.scenarios.scenario.write_year", refuse)
    assert beyond_batch(scenario("iquitos")) == []
    assert choose_backend(scenario("iquitos"), "batch") == "batch"
