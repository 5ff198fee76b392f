"""One run works on an experiment, one process on a trial; who dies lets go."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from common.errors import UsageError
from tuning.experiment import lock
from tuning.experiment.folder import ExperimentPaths
from tuning.experiment.lock import TOKEN, Move, experiment_lock, move_of, note_move, refuse_moved, trial_lock

HOLD = """
import sys, time
from pathlib import Path
from tuning.experiment.folder import ExperimentPaths
from tuning.experiment.lock import experiment_lock, trial_lock
folder = Path(sys.argv[1])
with experiment_lock(ExperimentPaths(folder)), trial_lock(folder / "trials" / "00000.lock"):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path: Path):  # type: ignore[no-untyped-def]
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_run_and_a_trial_are_refused_until_the_process_that_holds_them_is_killed(
    holder: subprocess.Popen[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "TRIAL_WAIT_SECONDS", 0.2)
    paths, first = ExperimentPaths(tmp_path), f"process {holder.pid} on "
    with pytest.raises(UsageError, match=f"in use by {first}.* since 20"), experiment_lock(paths):
        pass
    with pytest.raises(TimeoutError, match="another process still trains this trial"), trial_lock(paths.trial_lock(0)):
        pass
    holder.kill()
    holder.wait()
    with trial_lock(paths.trial_lock(0)), experiment_lock(paths) as before:
        assert before.startswith(first)
    with experiment_lock(paths) as before:
        assert before is None


def test_a_run_that_ends_in_an_error_has_ended(tmp_path: Path) -> None:
    with pytest.raises(KeyError), experiment_lock(ExperimentPaths(tmp_path)):
        raise KeyError
    with experiment_lock(ExperimentPaths(tmp_path)) as before:
        assert before is None


@pytest.mark.parametrize("name", ["experiment.lock", "owner.json"])
def test_a_folder_that_cannot_be_locked_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "within").touch()
    with pytest.raises(UsageError, match=rf"cannot (lock|write) .*{name}: "), experiment_lock(ExperimentPaths(tmp_path)):
        pass
    shutil.rmtree(tmp_path / name)
    with experiment_lock(ExperimentPaths(tmp_path)):
        pass


@pytest.mark.parametrize("content", [b"\xff", b"[]", b'{"process": []}', b"[" * 100_000])
def test_an_owner_that_cannot_be_read_is_no_owner(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "owner.json").write_bytes(content)
    with experiment_lock(ExperimentPaths(tmp_path)) as before:
        assert before is None


def test_a_folder_that_was_moved_says_where_its_experiment_goes_on(tmp_path: Path) -> None:
    paths = ExperimentPaths(tmp_path)
    assert move_of(paths) is None
    refuse_moved(paths)
    move = Move("s3://bucket/experiments/one", "token")
    note_move(paths, move)
    assert move_of(paths) == move
    with pytest.raises(
        UsageError, match=rf"may have moved to {move.uri}, .*: repeat it, with --resume {tmp_path} --storage s3:"
    ):
        refuse_moved(paths)
    note_move(paths, Move(move.uri, "token", is_over=True))
    with pytest.raises(UsageError, match=rf"{tmp_path} has moved to {move.uri}: continue it there, with --resume {move.uri}$"):
        refuse_moved(paths)


def test_a_copy_of_what_is_in_a_storage_does_not_go_on_beside_it(tmp_path: Path) -> None:
    (tmp_path / TOKEN).write_text("token")
    with pytest.raises(
        UsageError, match=rf"{tmp_path} is a copy of an experiment that has moved .* holds {TOKEN}: continue it"
    ):
        refuse_moved(ExperimentPaths(tmp_path))


@pytest.mark.parametrize("text", ["", "[]", '{"uri": "s3://b/x"}', '{"uri": 1, "token": "x"}'])
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    paths = ExperimentPaths(tmp_path)
    paths.moved.write_text(text)
    with pytest.raises(UsageError, match=r"moved\.json is damaged \(.*\): restore it from a copy, or delete it"):
        refuse_moved(paths)


def test_no_message_has_a_strangers_control_characters_or_credentials(tmp_path: Path) -> None:
    paths = ExperimentPaths(tmp_path)
    note_move(paths, Move("s3://key:secret@bucket/\x1b[2Jone", "token", is_over=True))
    with pytest.raises(UsageError) as told:
        refuse_moved(paths)
    assert "secret" not in str(told.value)
    assert "\x1b" not in str(told.value)
