"""The audit of a stranger's files sees what they would have to do to run code."""

import pickle
from collections import OrderedDict
from pathlib import Path

import pytest

from tests.audit import audited


def test_a_pickle_with_a_class_is_seen_and_one_of_plain_values_is_not(tmp_path: Path) -> None:
    path = tmp_path / "model.pkl"
    program = f"import pickle; pickle.loads(open({str(path)!r}, 'rb').read())"
    path.write_bytes(pickle.dumps({"a": [1.0, "text", None]}))
    assert audited(["-c", program], tmp_path).events == []
    path.write_bytes(pickle.dumps(OrderedDict()))
    (event,) = audited(["-c", program], tmp_path).events
    assert (event.name, event.detail, event.caller) == ("pickle.find_class", "collections.OrderedDict", "__main__")


@pytest.mark.parametrize(
    "program",
    [
        "import sys; sys.path.insert(0, {folder!r}); import own",
        "import runpy; runpy.run_path({folder!r} + '/own.py')",
        "exec(compile(open({folder!r} + '/own.py').read(), {folder!r} + '/own.py', 'exec'))",
    ],
)
def test_code_in_the_folder_is_seen_even_if_its_caller_is_allowed(tmp_path: Path, program: str) -> None:
    (tmp_path / "own.py").write_text("", encoding="utf-8")
    done = audited(["-c", program.format(folder=str(tmp_path))], tmp_path, allowed=["__main__"])
    assert done.status == 0
    assert done.events
    assert {event.detail.startswith(str(tmp_path)) for event in done.events} == {True}


def test_code_that_is_written_into_the_folder_is_no_event(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    assert audited(["-c", f"open({str(path)!r}, 'w').write('1')"], tmp_path).events == []
    assert audited(["-c", f"open({str(path)!r}).read()"], tmp_path).events


def test_a_process_is_seen_and_so_is_what_runs_in_it(tmp_path: Path) -> None:
    inner = "import os; os.system('')"
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    names = [event.name for event in audited(["-c", program], tmp_path).events]
    assert names[0] == "subprocess.Popen"
    assert "os.system" in names


def test_what_is_allowed_is_passed_over_and_the_rest_is_not(tmp_path: Path) -> None:
    program = "import os; os.system('')"
    assert audited(["-c", program], tmp_path, allowed=["__main__"]).events == []
    assert audited(["-c", program], tmp_path, allowed=["__main"]).events
    assert audited(["-c", "raise SystemExit(3)"], tmp_path).status == 3
