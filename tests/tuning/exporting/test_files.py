"""The files of an export are there all or not at all."""

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from common.errors import UsageError
from tests.tuning.trial.small_trials import completed
from tuning.experiment.folder import create
from tuning.experiment.settings import Settings
from tuning.exporting import files
from tuning.exporting.files import export_policy
from tuning.exporting.settings import ExportSettings


def test_a_target_that_exists_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "mall").mkdir()
    with pytest.raises(UsageError, match="nothing is written over it"):
        export_policy(ExportSettings(tmp_path / "no experiment", to=tmp_path / "mall"))


@pytest.fixture
def trained_one(small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of an experiment whose trial has a policy that is none."""
    of = create(Settings(scenario=str(small_schema), backend="batch", name="one", dir=str(tmp_path / "experiments")))
    fake = SimpleNamespace(view=None, network=None, shares=False, changes=None)
    monkeypatch.setattr(files, "trained", lambda *_: nullcontext(fake))
    monkeypatch.setattr(files, "SitePolicy", lambda *_: None)
    return completed(of, (0.1, {})).paths.folder


@pytest.mark.parametrize("error", [OSError("the disk is full"), KeyboardInterrupt()])
def test_an_export_that_is_cut_off_leaves_no_folder_and_is_never_half_there(
    trained_one: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fail(policy: object, path: Path) -> None:
        path.write_bytes(b"half of it")
        # On the target's disk, so that it can be renamed, and under another name.
        assert path.is_relative_to(tmp_path / "within")
        assert not (tmp_path / "within" / "mall").exists()
        raise error

    monkeypatch.setattr(files, "write_onnx", fail)
    with pytest.raises(type(error)):
        export_policy(ExportSettings(trained_one, to=tmp_path / "within" / "mall"))
    assert not (tmp_path / "within").exists()


def test_a_target_that_cannot_be_created_is_one_line(trained_one: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"--to .*mall: cannot create files in .*file"):
        export_policy(ExportSettings(trained_one, to=tmp_path / "file" / "mall"))
