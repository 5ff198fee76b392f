"""A Ray that is started here listens on loopback alone, keeps its secrets, and leaves nothing behind."""

import ipaddress
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from common.errors import UserError
from tuning.runtime import private_ray as module
from tuning.runtime.private_ray import LOGS, private_ray
from tuning.runtime.ray_session import ray_session

ON_POSIX = pytest.mark.skipif(os.name != "posix", reason="Windows keeps files of a home folder from other users by itself")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home folder without anything in it."""
    with pytest.MonkeyPatch.context() as patched:
        folder = tmp_path_factory.mktemp("home")
        patched.setenv("HOME", str(folder))
        patched.setenv("USERPROFILE", str(folder))
        yield folder


@pytest.fixture(scope="module")
def folder(home: Path) -> Iterator[Path]:
    """Folder of a Ray that runs, with a task that has run."""
    with ray_session(num_cpus=1):
        import ray

        ray.get(ray.remote(lambda: None).remote())
        yield Path(ray.get_runtime_context().worker.node.get_temp_dir_path())


def listening() -> dict[str, str]:
    """Addresses on which this process and its children listen, with the name of the process."""
    own = psutil.Process()
    return {
        f"{at.laddr.ip} {at.laddr.port}": process.name()
        for process in [own, *own.children(recursive=True)]
        for at in process.net_connections("inet")
        if at.status == psutil.CONN_LISTEN
    }


def test_all_processes_of_a_session_listen_on_loopback_alone(folder: Path) -> None:
    found = listening()
    assert len(found) >= 5, found
    addresses = {ipaddress.ip_address(address.split()[0].removeprefix("::ffff:")) for address in found}
    assert all(address.is_loopback for address in addresses), found


@ON_POSIX
def test_sockets_and_logs_are_where_other_users_cannot_enter(folder: Path) -> None:
    assert stat.S_IMODE(folder.parent.stat().st_mode) == stat.S_IRWXU
    assert list((folder / LOGS).glob("raylet*"))
    assert list(folder.rglob("plasma_store"))


def test_no_token_is_written(folder: Path, home: Path) -> None:
    assert list(home.iterdir()) == []


def test_folder_and_environment_are_of_the_session_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", "of a cluster")
    tokens = set()
    for _ in range(2):
        with private_ray() as folder:
            tokens.add(os.environ["RAY_AUTH_TOKEN"])
            (folder / "a" / "b").mkdir(parents=True)
        assert not folder.parent.exists()
    assert len(tokens | {"of a cluster"}) == 3
    assert os.environ["RAY_AUTH_TOKEN"] == "of a cluster"
    monkeypatch.delenv("RAY_AUTH_TOKEN")
    with private_ray():
        pass
    assert "RAY_AUTH_TOKEN" not in os.environ


def test_the_runtime_environment_of_a_clusters_job_is_not_taken_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", "{}")
    with private_ray():
        assert "RAY_JOB_CONFIG_JSON_ENV_VAR" not in os.environ
    assert os.environ["RAY_JOB_CONFIG_JSON_ENV_VAR"] == "{}"


@pytest.mark.parametrize(("error", "is_kept"), [(UserError, False), (KeyboardInterrupt, False), (RuntimeError, True)])
def test_logs_are_kept_where_they_may_explain_an_error(error: type[BaseException], is_kept: bool) -> None:
    with pytest.raises(error), private_ray() as folder:
        raise error
    assert folder.parent.exists() == is_kept
    if is_kept:
        folder.parent.rmdir()


@ON_POSIX
def test_a_token_of_a_cluster_is_kept_from_other_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    token = tmp_path / ".ray" / "auth_token"
    token.parent.mkdir()
    token.write_text("secret")
    token.chmod(0o644)
    with private_ray():
        assert stat.S_IMODE(token.stat().st_mode) == stat.S_IRUSR | stat.S_IWUSR
    assert token.read_text() == "secret"


@ON_POSIX
def test_a_folder_with_a_name_too_long_for_sockets_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("x" * module.LONGEST_TEMPORARY)
    long.mkdir()
    monkeypatch.setenv("RAY_TMPDIR", str(long))
    with private_ray() as folder:
        assert folder.parents[1] == Path("/tmp")
