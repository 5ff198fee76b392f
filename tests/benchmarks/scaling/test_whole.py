"""Made-up searches are searches: they go on, and are read without a warning."""

import warnings
from pathlib import Path

from benchmarks.scaling.whole import whole
from results import load
from tuning.search.record.record import check_study
from tuning.trial.checkpoint import Checkpoints


def test_a_made_up_search_is_whole(tmp_path: Path) -> None:
    made = whole(tmp_path, 12)
    check_study(made)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = load(made.paths.folder)
        assert found.trials["state"].value_counts().to_dict() == {"frozen": 10, "complete": 2}
        assert len(found.evaluations) == 2 * 20 + sum(4 + number % 3 for number in range(12) if number % 10)
        assert len(found.reports) == 5 * len(found.evaluations)
    assert found.skipped == ()
    newest, damage = Checkpoints(made.paths.checkpoints(1)).newest()
    assert newest is not None
    assert damage == []
