"""What a search writes of itself is what another process reads."""

import json
from pathlib import Path

import pytest

from results.live import OWNER_FILE, PROGRESS_FILE, LiveSearch, Owner
from tests.results.searches import SEARCH, search


@pytest.mark.parametrize("written", [SEARCH, search(trials=(), curve=(), left=None, steps_per_second=None, machine=())])
def test_what_is_read_is_what_was_written(tmp_path: Path, written: LiveSearch) -> None:
    written.write(tmp_path)
    assert LiveSearch.read(tmp_path) == written
    assert [path.name for path in tmp_path.iterdir()] == [PROGRESS_FILE]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("format", 2), ("phase", "dancing"), ("trials", [{"number": 1}]), ("trials", 3), ("curve", [[1.0]]),
        ("curve", [["a", 1.0]]), ("left", "soon"), ("new", 1),
    ],
)  # fmt: skip
def test_a_file_that_is_not_of_a_search_is_refused(tmp_path: Path, name: str, value: object) -> None:
    SEARCH.write(tmp_path)
    path = tmp_path / PROGRESS_FILE
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), name: value}), encoding="utf-8")
    with pytest.raises(ValueError, match=r"is|unknown key|lacks"):
        LiveSearch.read(tmp_path)


@pytest.mark.parametrize(
    "changed",
    [{"process": -5}, {"process": 0}, {"process": True}, {"process": "x"}, {"since": "yesterday"}, {"since": ""}, {"new": 1}],
)
def test_an_owner_that_no_run_wrote_is_none(tmp_path: Path, changed: dict[str, object]) -> None:
    assert Owner.read(tmp_path) is None
    whole = {"process": 7, "host": "a", "since": "2026-01-01T00:00:00+00:00"}
    (tmp_path / OWNER_FILE).write_text(json.dumps(whole), encoding="utf-8")
    owner = Owner.read(tmp_path)
    assert owner
    assert owner.shown == "process 7 on a since 2026-01-01T00:00:00+00:00"
    (tmp_path / OWNER_FILE).write_text(json.dumps(whole | changed), encoding="utf-8")
    assert Owner.read(tmp_path) is None
