"""A real browser shows the page: no error, no request, nothing wider than its place, on a phone and on a desk."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from results.analysis.judged import Verdict
from results.report.charts import Section
from results.report.figures.ranking import ranking
from results.report.page import page
from results.report.sections import Sources, read_sources, sections
from tests.results import made
from tests.results.report.browser import CHROMIUM, browser
from tests.results.report.made import rolled

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]


def named() -> pd.DataFrame:
    """A judgement of controllers with long names, which a phone has to show whole."""
    policy = "ppo default with one policy for all buildings, 600,000 steps"
    rules = ["rule: PV first, battery in peak hours", "CityLearn: BasicElectricVehicleRBC_ReferenceController"]
    facts = {"contender": [policy, policy, *rules], "kind": ["contender", "contender", "rule", "rule"], "seed": [1, 2, -1, -1]}
    ends = {"low": [0.2, 0.2, np.nan, np.nan], "high": [0.4, 0.4, np.nan, np.nan]}
    return pd.DataFrame({**facts, "score": [0.29, 0.31, 0.2, -0.1], **ends})


def test_a_page_is_whole_at_each_width_light_and_dark(tmp_path: Path) -> None:
    policies = read_sources([rolled(tmp_path / "rolled.parquet", 62)]).policies
    both = tuple(
        made.search(tmp_path / name, count, noise=0.01) for name, count in (("a-name-that-is-quite-long" * 3, 30), ("b", 2))
    )
    judged = ranking(named(), Verdict(pd.DataFrame({"contender": [], "comparable": []})))
    shown = [*sections(Sources(both, (), policies)), Section("Judgement", "judgement", {}, (judged,))]
    charts = sum(len(figure.panels) for section in shown for figure in section.figures)
    path = tmp_path / "report.html"
    path.write_bytes(page(shown[0].title, shown))
    with browser(tmp_path / "profile") as chromium:
        for width, scheme, media in (
            (390, "light", ""),
            (390, "dark", ""),
            (1280, "light", ""),
            (1280, "dark", ""),
            (800, "dark", "print"),
        ):
            view = chromium.view(path, width, scheme, media)
            assert (view.errors, view.requests, view.cut) == ([], [], []), (width, scheme)
            assert view.drawn == charts
            assert view.page_width <= width
            assert view.explains == bool(media)
