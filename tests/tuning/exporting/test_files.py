"""The files of an export are there all or not at all."""

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from common.errors import UsageError
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import create
from tuning.experiment.settings import Settings
from tuning.exporting import files
from tuning.exporting.files import export, export_policy
from tuning.exporting.settings import ExportSettings
from tuning.trial.protocol import Proposal
from tuning.trial.records import TrialRecords


def test_a_target_that_exists_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "mall").mkdir()
    with pytest.raises(UsageError, match="nothing is written over it"):
        export_policy(ExportSettings(tmp_path / "no experiment", tmp_path / "mall"))


def test_a_file_that_cannot_be_written_leaves_no_folder(
    small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = create(Settings(scenario=str(small_schema), backend="batch", name="one", dir=str(tmp_path / "experiments")))
    TrialRecords(of).begin(Proposal(0, algorithm("ppo").space.complete({}, {"steps": 1e6})))
    fake = SimpleNamespace(view=None, network=None, shares=False, planned=None)
    monkeypatch.setattr(files, "trained", lambda *_: nullcontext(fake))
    monkeypatch.setattr(files, "SitePolicy", lambda *_: None)

    def fail(policy: object, path: Path) -> None:
        path.write_bytes(b"half of it")
        raise OSError("the disk is full")

    monkeypatch.setattr(files, "write_onnx", fail)
    with pytest.raises(OSError, match="the disk is full"):
        export(of, 0, tmp_path / "within" / "mall")
    assert not (tmp_path / "within").exists()
