"""Pictures of a generated year."""

import sys
from pathlib import Path

import matplotlib
import pytest

from envs.preview import main


def test_both_pictures_are_drawn_where_they_are_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    matplotlib.use("Agg")
    folder = tmp_path / "pictures"
    monkeypatch.setattr(sys, "argv", ["preview", "--scenario", "iquitos-38", "--to", str(folder)])
    main()
    shown = capsys.readouterr().out.split()
    assert shown == [str(folder / name) for name in ("week.png", "year.png")]
    for path in shown:
        assert Path(path).read_bytes().startswith(b"\x89PNG")
