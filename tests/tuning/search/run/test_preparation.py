"""What the cache lacks is made before the first trial; an error of the scenario is told as such."""

import io

import pytest
from rich.console import Console

from envs.task import SiteTask
from tuning.search.run import preparation
from tuning.search.run.preparation import prepare


def test_where_nothing_lacks_nothing_is_said_or_started(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    monkeypatch.setattr(preparation, "is_prepared", lambda site, year, day_peak: not looked.append(year))  # type: ignore[func-returns-value]
    monkeypatch.setattr(preparation, "run_jobs", None)
    output = io.StringIO()
    task = SiteTask("iquitos-38")
    prepare(task, Console(file=output))
    assert output.getvalue() == ""
    assert sorted(looked) == sorted([*task.site.years("train"), *task.site.years("validation")])
