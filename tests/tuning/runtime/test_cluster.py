"""An address where no cluster answers is one line, soon."""

import socket
from collections.abc import Iterator

import pytest

from common.errors import UserError
from tuning.runtime import cluster
from tuning.runtime.cluster import OPEN_NOTE, ClusterError, check_cluster
from tuning.runtime.cluster_probe import GUARDED, OPEN


@pytest.fixture
def mute() -> Iterator[str]:
    """Address where something listens and never answers."""
    with socket.socket() as listener:
        listener.bind(("", 0))
        listener.listen()
        yield f"localhost:{listener.getsockname()[1]}"


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


def test_what_listens_and_does_not_answer_is_left_after_a_while(mute: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "ANSWER_SECONDS", 0.5)
    with pytest.raises(ClusterError, match=f"--address '{mute}': no Ray cluster answers there within 0.5 s"):
        check_cluster(mute)
