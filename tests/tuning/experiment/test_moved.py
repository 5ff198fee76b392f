"""A folder says where its experiment went."""

from pathlib import Path

import pytest

from common.errors import UsageError
from tuning.experiment.folder import ExperimentPaths
from tuning.experiment.moved import TOKEN, Move, move_of, note_move, refuse_moved


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
