"""The probe says in one line why no cluster answers."""

import socket

import pytest

from tuning.runtime.cluster_probe import READY, main


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


def test_one_that_answers_is_reached_and_nothing_more_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reached = list[str]()
    monkeypatch.setattr("ray._raylet.GcsClient", lambda address: reached.append(address))
    with socket.socket() as listener:
        listener.bind(("", 0))
        listener.listen()
        port = listener.getsockname()[1]
        assert printed(f"localhost:{port}", monkeypatch, capsys) == [READY]
    assert [address.rpartition(":")[2] for address in reached] == [str(port)]
