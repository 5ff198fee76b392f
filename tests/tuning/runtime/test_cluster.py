"""What names a cluster, and that one that does not answer, or lacks a folder, is one line, soon."""

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import ray
from ray import _raylet

from common.errors import UserError
from tuning.runtime import cluster
from tuning.runtime.cluster import (
    GUARDED,
    NO_NODE,
    OPEN,
    OPEN_NOTE,
    ClusterError,
    FolderError,
    check_address,
    check_cluster,
    check_folder,
    cluster_address,
    is_ray_running,
    main,
)


@pytest.fixture
def listener() -> Iterator[str]:
    """Address where something listens and never answers."""
    with socket.socket() as mute:
        mute.bind(("", 0))
        mute.listen()
        yield f"localhost:{mute.getsockname()[1]}"


@pytest.mark.parametrize(
    "address",
    [
        "nonsense", "ray://localhost:10001", "http://localhost:80", "local", " ", "a:b", ":6379", "host:", "host:0",
        "host:65536", "host:-5", "host:\uff11", "host:6379/x", "host:6379 ", "AUTO",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused_at_once(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_try", lambda address: pytest.fail("it was tried"))
    with pytest.raises(ClusterError, match="it takes auto, or host:port") as refused:
        check_cluster(address)
    assert isinstance(refused.value, UserError)
    assert f"--address {address!r}" in str(refused.value)


def test_without_an_address_nothing_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_try", lambda address: pytest.fail("it was tried"))
    assert check_cluster("") == ""


@pytest.mark.parametrize("address", ["auto", "10.0.0.1:6379", "[::1]:6379", "head.example:6379"])
def test_a_cluster_that_answered_is_not_tried_again(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = list[str]()

    def answer(address: str) -> str:
        tried.append(address)
        return OPEN if len(tried) > 1 else "nothing answers"

    monkeypatch.setattr(cluster, "_try", answer)
    cluster._answered.clear()
    with pytest.raises(ClusterError, match="nothing answers"):
        check_cluster(address)
    assert check_cluster(address) == check_cluster(address) == OPEN_NOTE
    # Nor where something else names it.
    assert check_cluster(address, "RAY_ADDRESS") == OPEN_NOTE
    assert len(tried) == 2
    cluster._answered.clear()


def test_a_cluster_without_a_token_is_joined_with_a_note_and_one_with_a_token_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_try", lambda address: OPEN if address.startswith("open") else GUARDED)
    assert "can run code" in check_cluster("open:6379")
    assert check_cluster("guarded:6379") == ""
    cluster._answered.clear()


def test_an_error_says_what_named_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_try", lambda address: "nothing answers")
    with pytest.raises(ClusterError, match=r"^RAY_ADDRESS 'head:6379': nothing answers$"):
        check_cluster("head:6379", "RAY_ADDRESS")


def test_what_listens_and_does_not_answer_is_left_after_a_while(listener: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "ANSWER_SECONDS", 0.5)
    with pytest.raises(ClusterError, match=f"--address '{listener}': no Ray cluster answers there within 0.5 s"):
        check_cluster(listener)


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Addresses that were tried, each with what named it."""
    tried = list[tuple[str, str]]()

    def check(address: str, source: str) -> str:
        tried.append((address, source))
        return "no token" if address == "open:6379" else ""

    monkeypatch.setattr(cluster, "check_cluster", check)
    monkeypatch.setattr(cluster, "is_ray_running", lambda: False)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    return tried


@pytest.mark.parametrize(
    ("given", "named", "address"),
    [
        ("", "", ""),
        ("head:6379", "", "head:6379"),
        ("", "10.0.0.1:6379", "10.0.0.1:6379"),
        ("head:6379", "10.0.0.1:6379", "head:6379"),
        ("local", "10.0.0.1:6379", ""),
        ("", "local", ""),
        ("", "http://127.0.0.1:8265", ""),
        ("", "https://head.example", ""),
        ("", "ray://head:10001", "ray://head:10001"),  # which is refused: see `check_cluster`
    ],
)
@pytest.mark.usefixtures("checked")
def test_the_option_goes_before_the_environment(given: str, named: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", named)
    assert cluster_address(given) == address


@pytest.mark.usefixtures("checked")
def test_a_ray_that_runs_in_this_process_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    monkeypatch.setattr(cluster, "is_ray_running", lambda: True)
    assert cluster_address("") == ""
    assert check_address("") == []


def test_a_cluster_that_the_environment_names_is_told(monkeypatch: pytest.MonkeyPatch, checked: list[tuple[str, str]]) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    (note,) = check_address("")
    assert "10.0.0.1:6379, named by RAY_ADDRESS" in note
    assert checked == [("10.0.0.1:6379", "RAY_ADDRESS")]
    assert check_address("open:6379") == ["no token"]
    assert checked[1] == ("open:6379", "--address")


@pytest.mark.usefixtures("checked")
def test_a_dashboard_is_not_joined_and_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "http://127.0.0.1:8265")
    (note,) = check_address("")
    assert "this run uses this machine alone" in note
    assert check_address("local") == []


HERE = "here"


class Nodes:
    """Substitute for a cluster: of each node its cores, and whether it has the folder; None where it does not answer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **nodes: tuple[int, bool | None]) -> None:
        import ray

        self._nodes = nodes
        monkeypatch.setattr(ray, "get_runtime_context", lambda: self)
        monkeypatch.setattr(ray, "nodes", self.nodes)
        monkeypatch.setattr(ray, "wait", self.wait)
        monkeypatch.setattr(ray, "get", lambda node: nodes[node][1])
        monkeypatch.setattr(cluster, "_ask", lambda node, folder: node)

    def get_node_id(self) -> str:
        return HERE

    def nodes(self) -> list[dict[str, Any]]:
        return [
            {"NodeID": name, "Alive": name != "dead", "Resources": {"CPU": cores} if cores else {}, "NodeManagerAddress": name}
            for name, (cores, _) in self._nodes.items()
        ]

    def wait(self, asked: list[str], num_returns: int, timeout: float) -> tuple[list[str], list[str]]:
        assert num_returns == len(asked)
        return [node for node in asked if self._nodes[node][1] is not None], []


def test_a_node_that_lacks_the_folder_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    Nodes(monkeypatch, here=(2, True), a=(2, True), b=(2, False), c=(2, None))
    with pytest.raises(FolderError, match=r"^--dir '.*runs': 1 of 3 other nodes .* \(b\); .* --address local$") as refused:
        check_folder(Path("runs") / "first")
    assert "\n" not in str(refused.value)


def test_only_nodes_on_which_trials_run_count(monkeypatch: pytest.MonkeyPatch) -> None:
    Nodes(monkeypatch, here=(2, True), a=(2, True), head=(0, False), dead=(2, False), mute=(2, None))
    check_folder(Path("runs"))


def test_a_single_machine_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    Nodes(monkeypatch, here=(2, False))
    check_folder(Path("runs"))


def printed(address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    monkeypatch.setattr("sys.argv", ["cluster", address, "10"])
    main()
    return capsys.readouterr().out.splitlines()


def test_a_port_where_nothing_listens_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as unused:
        unused.bind(("", 0))
        port = unused.getsockname()[1]
        (line,) = printed(f"localhost:{port}", monkeypatch, capsys)
    assert line.startswith("nothing answers at ")
    assert str(port) in line


@pytest.mark.parametrize(("folder", "told"), [("/any/ray-ab1cd_2e/ray", NO_NODE), ("/mine/ray", "nothing answers at ")])
def test_another_searchs_ray_is_no_cluster_to_join(
    folder: str, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["raylet", f"--raylet_socket_name={folder}/session_1/sockets/raylet", "--gcs-address=127.0.0.1:1"]
    monkeypatch.setattr("psutil.process_iter", lambda names: [SimpleNamespace(info={"cmdline": own}) for own in (words, None)])
    monkeypatch.setattr("ray._private.services.find_gcs_addresses", None)  # which it replaces, and has back afterwards
    monkeypatch.setattr("ray._private.services.find_bootstrap_address", lambda folder: None)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    (line,) = printed("auto", monkeypatch, capsys)
    assert line.startswith(told)


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


@pytest.mark.usefixtures("_own_environment")
def test_a_cluster_without_a_token_is_named_open_and_sent_none(
    listener: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = Cluster(monkeypatch, token="")
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0123456789" * 4)
    assert printed(listener, monkeypatch, capsys) == [OPEN]
    assert cluster.sent == [False]
    assert os.environ["RAY_AUTH_MODE"] == "token"


NEEDED = (
    "needs a token that it accepts: give RAY_AUTH_MODE=token, and it in ~/.ray/auth_token, in the file that RAY_AUTH_TOKEN_"
)


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        ({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "right"}, GUARDED),
        ({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "wrong"}, NEEDED),
        ({"RAY_AUTH_TOKEN": "right"}, NEEDED),
        ({"RAY_AUTH_MODE": "token"}, NEEDED),
        ({"RAY_AUTH_TOKEN_PATH": "gone"}, NEEDED),
    ],
)
@pytest.mark.usefixtures("_own_environment")
def test_a_cluster_with_a_token_says_in_one_line_what_is_missing(
    given: dict[str, str], answer: str, listener: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = {"right": "right" * 10, "wrong": "wrong" * 10}
    Cluster(monkeypatch, words["right"])
    for name, value in given.items():
        monkeypatch.setenv(name, words.get(value, value))
    _raylet.AuthenticationTokenLoader.instance().reset_cache()
    (line,) = printed(listener, monkeypatch, capsys)
    assert answer in line
    assert not [word for word in words.values() if word in line]


def test_to_look_whether_it_runs_does_not_import_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    assert not is_ray_running()
    assert "ray" not in sys.modules
