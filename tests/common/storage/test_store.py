from pathlib import Path

from common.storage.store import length, pieces


def test_bytes_and_a_file_that_holds_them_are_the_same_content(tmp_path: Path) -> None:
    path = tmp_path / "content"
    path.write_bytes(b"abcdefgh")
    for content in (b"abcdefgh", path):
        assert length(content) == 8
        assert list(pieces(content, 3)) == [b"abc", b"def", b"gh"]
    assert list(pieces(b"", 3)) == []
