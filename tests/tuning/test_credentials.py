"""No credentials of the environment are in what a search writes or prints, nor in the logs of its Ray."""

import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from tuning.run import main

CREDENTIALS = (
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "RAY_AUTH_TOKEN", "WANDB_API_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS", "AZURE_STORAGE_KEY", "HF_TOKEN",
)  # fmt: skip
TINY = (
    "--algo ppo --trials 1 --steps 640 --evaluations 2 --validation-weeks 1 --concurrency 1 --num-envs 4 "
    "--track csv tensorboard --set hidden_sizes=8 n_steps=64 batch_size=32 n_epochs=1"
)  # fmt: skip


@pytest.mark.slow
def test_a_search_writes_and_prints_no_credentials(
    small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    values = {name: f"kanarienvogel-{name.lower()}-0123456789" for name in CREDENTIALS}
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    # Ray's logs stay too, in a folder with a name short enough for its sockets.
    logs = Path(tempfile.mkdtemp(prefix="r-"))
    monkeypatch.setattr("tuning.runtime.ray_session._temporary", lambda: str(logs))
    # In that module alone: Ray removes a folder of its own until it is gone.
    monkeypatch.setattr("tuning.runtime.ray_session.shutil", SimpleNamespace(rmtree=lambda *options, **more: None))
    status = main(["--scenario", str(small_schema), *TINY.split(), "--dir", str(tmp_path / "experiments"), "--name", "canary"])
    assert status == 0
    said = capfd.readouterr()
    written = [path for path in (*tmp_path.rglob("*"), *logs.rglob("*")) if path.is_file() and not path.is_symlink()]
    names = {path.name for path in written}
    assert {"experiment.json", "report.html", "progress.json", "raylet.out"} <= names
    holders = [path for path in written if b"kanarienvogel" in path.read_bytes()]
    assert holders == []
    assert "kanarienvogel" not in said.out + said.err
