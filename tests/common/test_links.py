"""A folder that leads elsewhere, or holds what is no file, is refused by the first such entry."""

import os
from pathlib import Path

import pytest

from common.links import LinkError, refuse_links


def test_files_and_folders_pass_and_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "x").write_text("")
    refuse_links(folder)
    refuse_links(tmp_path / "none")
    (tmp_path / "link").symlink_to(folder)
    refuse_links(tmp_path / "link")


@pytest.mark.parametrize("target", ["a", "x", "nowhere"])
def test_a_link_at_any_depth_is_refused_wherever_it_leads(tmp_path: Path, target: str) -> None:
    folder = tmp_path / "one"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "x").write_text("")
    link = folder / "a" / "b" / "link"
    link.symlink_to(folder / target)
    with pytest.raises(LinkError, match="is a link") as refused:
        refuse_links(folder)
    assert str(link) in str(refused.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(LinkError, match="neither a file nor a folder"):
        refuse_links(tmp_path)
