"""The probe says in one line why no cluster answers."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import ray
from ray import _raylet

from tuning.runtime.cluster_probe import GUARDED, OPEN, READY, main


def printed(address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    monkeypatch.setattr("sys.argv", ["cluster_probe", address])
    main()
    return capsys.readouterr().out.splitlines()


def test_a_port_where_nothing_listens_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as unused:
        unused.bind(("", 0))
        port = unused.getsockname()[1]
        ready, line = printed(f"localhost:{port}", monkeypatch, capsys)
    assert ready == READY
    assert line.startswith("nothing answers at ")
    assert str(port) in line


def test_a_machine_without_a_cluster_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("ray._private.services.find_gcs_addresses", set)
    monkeypatch.setattr("ray._private.services.find_bootstrap_address", lambda folder: None)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert printed("auto", monkeypatch, capsys) == [READY, "no Ray cluster runs on this machine"]


class Cluster:
    """A cluster that answers by substitutes for Ray's own functions.

    Attributes:
        token: that it needs; empty for none.
        sent: whether this process would send its token, each time that it has come to it.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, token: str) -> None:
        self.token, self.sent = token, list[bool]()
        monkeypatch.setattr("ray._raylet.GcsClient", self.join)

    def join(self, address: str) -> None:
        # As Ray knows it, which reads its variables once and again where it is told to.
        sends = _raylet.get_authentication_mode() == _raylet.AuthenticationMode.TOKEN
        self.sent.append(sends)
        given = os.environ.get("RAY_AUTH_TOKEN", "") if sends else ""
        if self.token and given != self.token:
            raise ray.exceptions.AuthenticationError("InvalidAuthToken: " + given)


@pytest.fixture
def address() -> Iterator[str]:
    """Address where something listens."""
    with socket.socket() as listener:
        listener.bind(("", 0))
        listener.listen()
        yield f"localhost:{listener.getsockname()[1]}"


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    loader = _raylet.AuthenticationTokenLoader.instance()
    loader.reset_cache()
    yield
    monkeypatch.undo()
    loader.reset_cache()
    _raylet.Config.initialize("")


def test_a_cluster_without_a_token_is_named_open_and_sent_none(
    address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = Cluster(monkeypatch, token="")
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0123456789" * 4)
    assert printed(address, monkeypatch, capsys) == [READY, OPEN]
    assert cluster.sent == [False]
    assert os.environ["RAY_AUTH_MODE"] == "token"


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        ({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "right"}, GUARDED),
        ({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "wrong"}, "does not accept the token in RAY_AUTH_TOKEN"),
        ({"RAY_AUTH_TOKEN": "right"}, "needs a token: set RAY_AUTH_MODE=token, and Ray sends it the one in RAY_AUTH_TOKEN"),
        ({"RAY_AUTH_MODE": "token"}, "needs a token: give its token in the file that RAY_AUTH_TOKEN_PATH names"),
        ({}, "needs a token: give its token in the file that RAY_AUTH_TOKEN_PATH names"),
        ({"RAY_AUTH_TOKEN_PATH": "gone"}, "names 'gone', which cannot be read or is empty"),
    ],
)
def test_a_cluster_with_a_token_says_in_one_line_what_is_missing(
    given: dict[str, str], answer: str, address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = {"right": "right" * 10, "wrong": "wrong" * 10}
    Cluster(monkeypatch, words["right"])
    for name, value in given.items():
        monkeypatch.setenv(name, words.get(value, value))
    _raylet.AuthenticationTokenLoader.instance().reset_cache()
    ready, line = printed(address, monkeypatch, capsys)
    assert ready == READY
    assert answer in line
    assert not [word for word in words.values() if word in line]
