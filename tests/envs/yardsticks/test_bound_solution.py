"""A solution is read as its hours have it, or it is an error."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from envs.environments.vector_env import WindowsEnv
from envs.planning.linear_programme import LinearProgramme
from envs.scenarios.scenario import Window, scenario
from envs.yardsticks.bound_programme import Variables, constrain, set_objective
from envs.yardsticks.bound_site import BoundSite
from envs.yardsticks.bound_solution import BoundError, read_solution

WINDOW = Window(0, 24, 72)


@pytest.fixture(scope="module")
def solved(small_schema: Path) -> tuple[BoundSite, Variables, np.ndarray]:
    env = WindowsEnv(scenario(str(small_schema)), [WINDOW])
    site, programme = BoundSite(env.simulator, WINDOW), LinearProgramme()
    variables = constrain(programme, site)
    set_objective(programme, site, variables, "score")
    return site, variables, linprog(**programme.arguments(), method="highs").x


def test_the_score_is_what_the_programme_won_over_the_uncontrolled_site(
    solved: tuple[BoundSite, Variables, np.ndarray],
) -> None:
    found = read_solution(*solved, "score")
    assert 0.0 < found.score < 0.2
    assert found.lent_kwh == pytest.approx(0.0, abs=1e-2)
    site, variables, values = solved
    assert found.import_kwh == pytest.approx(values[variables.drawn].sum(), rel=1e-6)
    assert found.co2_kg == pytest.approx((values[variables.drawn] * site.carbon).sum(), rel=1e-6)


@pytest.mark.parametrize(("quantity", "message"), [("drawn", "emission"), ("peak", "cost"), ("fed", "PV on site")])
def test_a_programme_that_differs_from_its_hours_is_an_error(
    solved: tuple[BoundSite, Variables, np.ndarray], quantity: str, message: str
) -> None:
    site, variables, values = solved
    wrong = values.copy()
    if quantity == "peak":
        wrong[variables.peak] *= 1.1
    else:
        # Import and export at once leave net import as it is.
        wrong[variables.drawn] += 50.0 * (quantity == "drawn")
        wrong[variables.fed] += 50.0
    if quantity == "fed":
        wrong[variables.drawn] += 50.0
        site_carbon, site_price = site.carbon, site.price
        site.carbon, site.price = np.zeros_like(site_carbon), np.zeros_like(site_price)
    try:
        with pytest.raises(BoundError, match=message):
            read_solution(site, variables, wrong, "score")
    finally:
        if quantity == "fed":
            site.carbon, site.price = site_carbon, site_price
