"""Episodes are tallied by year."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from envs.objective.citylearn_ratios import RATIOS, SCORE_2022
from envs.objective.episodes import Episode, Policy
from envs.objective.evaluate import Evaluation, evaluate, score
from envs.objective.reference import Reference
from envs.objective.series import cut
from envs.objective.weights import DEFAULT
from envs.scenarios.scenario import Window
from tests.envs.objective.by_hand import RUN, SERIES, SESSIONS

# Load makes each hour's energy add up; see `envs.objective.validity.check_episode`.
BALANCED = replace(
    SERIES, load_kwh=np.pad(RUN.net_kwh - RUN.battery_kwh + SERIES.pv_kwh[:, :4], ((0, 0), (0, 1)), constant_values=3.0)
)
REFERENCE = Reference(RUN, BALANCED, SESSIONS, None)


class Recorded:
    """Gives episodes that were run before."""

    def __init__(self, *episodes: Episode) -> None:
        self._episodes = episodes

    def episodes(self, policy: Policy) -> Iterator[Episode]:
        yield from self._episodes

    def close(self) -> None:
        pass


def episode(year: int, start: int, hours: int, reward: float, ratios: dict[str, float] | None = None) -> Episode:
    terms = {name: reward * weight for name, weight in DEFAULT.by_term().items()}
    return Episode(Window(year, start, hours), REFERENCE, reward, terms, cut(RUN, start, hours), ratios or {})


def evaluated(*episodes: Episode) -> list[Evaluation]:
    return evaluate(Recorded(*episodes), lambda observations: observations)


def test_there_is_one_evaluation_a_year_in_the_order_of_the_windows() -> None:
    found = evaluated(episode(5, 0, 2, 1.0), episode(2, 0, 4, 8.0), episode(5, 2, 2, 3.0))
    assert [own.year for own in found] == [5, 2]
    assert [own.hours for own in found] == [4, 4]
    assert [own.score for own in found] == [1.0, 2.0]
    assert found[0].terms == pytest.approx(DEFAULT.by_term())


def test_years_count_by_their_hours() -> None:
    assert score(evaluated(episode(1, 0, 4, 4.0), episode(2, 0, 2, 14.0))) == pytest.approx((4.0 + 14.0) / 6)


def test_the_uncontrolled_site_ran_through_the_same_hours() -> None:
    (found,) = evaluated(episode(1, 0, 2, 0.0))
    assert found.kpis == pytest.approx(found.uncontrolled, nan_ok=True)
    assert found.uncontrolled["import_kwh"] == RUN.net_kwh[:, :2].clip(min=0.0).sum()


def test_what_a_policy_changes_is_summed_hour_by_hour() -> None:
    other = replace(RUN, net_kwh=RUN.net_kwh + np.array([1.0, -1.0, 0.0, 0.5]))
    (found,) = evaluated(replace(episode(1, 0, 4, 0.0), reference=Reference(other, BALANCED, SESSIONS, None)))
    assert found.changed_kwh == pytest.approx(2.5 * len(RUN.net_kwh))
    assert evaluated(episode(1, 0, 4, 0.0))[0].changed_kwh == 0.0


def test_ratios_are_means_over_the_windows_and_nan_where_one_is_missing() -> None:
    name = RATIOS["citylearn_cost_total"]
    (both,) = evaluated(episode(1, 0, 2, 0.0, {name: 1.0}), episode(1, 2, 2, 0.0, {name: 2.0}))
    assert both.citylearn["citylearn_cost_total"] == 1.5
    (one,) = evaluated(episode(1, 0, 2, 0.0, {name: 1.0}), episode(1, 2, 2, 0.0))
    assert np.isnan(one.citylearn["citylearn_cost_total"])
    assert one.citylearn.keys() == {*RATIOS, SCORE_2022}
