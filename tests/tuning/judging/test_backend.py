"""What judges a site is the fast backend wherever it can tell what is wanted."""

from pathlib import Path

import pytest

from envs.objective.aim import SCORE_ALONE, Aim
from envs.scenarios.scenario import scenario
from tests.envs.tanks import with_tank
from tuning.judging.backend import judging_backend, why_not_batch


def test_the_batch_backend_judges_what_it_can_step(small_schema: Path) -> None:
    site = scenario(str(small_schema))
    assert judging_backend(site, SCORE_ALONE) == judging_backend(site, Aim.parse(objective="citylearn_2022_score")) == "batch"


def test_citylearn_tells_ratios_of_a_site_with_thermal_storages(small_schema: Path, tmp_path: Path) -> None:
    site = scenario(str(with_tank(small_schema, tmp_path)))
    assert judging_backend(site, SCORE_ALONE) == "batch"
    for aim in (Aim.parse(objective="citylearn_cost_total"), Aim.parse(require=("citylearn_cost_total<=1",))):
        assert judging_backend(site, aim) == "citylearn"
        assert why_not_batch(site, aim).endswith("take, which citylearn_cost_total needs")


def test_citylearn_judges_what_the_batch_backend_cannot_step(small_schema: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuning.judging.backend.beyond_batch", lambda site: ["outages"])
    site = scenario(str(small_schema))
    assert judging_backend(site, SCORE_ALONE) == "citylearn"
    assert "cannot step" in why_not_batch(site, SCORE_ALONE)
