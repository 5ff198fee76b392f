"""JSON that a user did not mean is refused, in one line that names the file."""

import os
from pathlib import Path

import pytest

from common import files
from envs.errors import ScenarioError
from envs.scenarios.json_file import read_object


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"[1]", "holds a list"),
        (b"null", "holds null"),
        (b'{"a": \xff}', "is not JSON"),
        (b'{"a": NaN}', "NaN is no finite number"),
        (b'{"a": [-Infinity]}', "-Infinity is no finite number"),
        (b'{"a": 1e999}', "1e999 is no finite number"),
        (b'{"a": ' + b"9" * 5000 + b"}", "5000 digits"),
        (b'{"a": {"b": 1, "b": 2}}', "the name 'b' stands twice"),
        (b'{"a": "\\ud800"}', "is no Unicode"),
        (b'{"\\ud800": 1}', "is no Unicode"),
        (b'{"a": ' * 41 + b"1" + b"}" * 41, "more than 40 levels"),
        (b'{"a": ' * 100_000 + b"1" + b"}" * 100_000, "more than 40 levels"),
        (b"[" * 100_000, "more than 40 levels"),
    ],
)
def test_what_is_no_sound_object_is_one_line(tmp_path: Path, content: bytes, fault: str) -> None:
    path = tmp_path / "schema.json"
    path.write_bytes(content)
    with pytest.raises(ScenarioError) as refused:
        read_object(path)
    message = str(refused.value)
    assert message.startswith(str(path))
    assert fault in message
    assert message.isprintable()


def test_many_names_are_compared_at_once(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    pairs = ", ".join(f'"n{i}": 1' for i in [*range(100_000), 99_999])
    path.write_text(f"{{{pairs}}}", encoding="utf-8")
    with pytest.raises(ScenarioError, match="the name 'n99999' stands twice"):
        read_object(path)


def test_a_sound_object_is_read_with_a_byte_order_mark_or_without(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    for mark in (b"", b"\xef\xbb\xbf"):
        path.write_bytes(mark + b'{"a": {"b": [1, 2.5, null, true]}}')
        assert read_object(path) == {"a": {"b": [1, 2.5, None, True]}}


def test_a_file_that_cannot_be_opened_is_one_line(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "away.json"):
        with pytest.raises(ScenarioError, match="cannot be read"):
            read_object(path)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes in folders")
def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "tariff.json")
    with pytest.raises(ScenarioError, match=r"tariff\.json cannot be read: it is a pipe or a device, not a regular file; "):
        read_object(tmp_path / "tariff.json")


def test_a_huge_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_TEXT", 2**20)
    path = tmp_path / "schema.json"
    with path.open("wb") as file:
        file.truncate(2**20 + 1)
    with pytest.raises(ScenarioError, match="more than 1 MiB"):
        read_object(path)
