"""What names a cluster, what does not, and what the user is told of it."""

import pytest

from tuning.runtime import ray_address
from tuning.runtime.ray_address import check_address, cluster_address


@pytest.fixture(autouse=True)
def checked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Addresses that were tried, each with what named it."""
    tried = list[tuple[str, str]]()

    def check(address: str, source: str) -> str:
        tried.append((address, source))
        return "no token" if address == "open:6379" else ""

    monkeypatch.setattr(ray_address, "check_cluster", check)
    monkeypatch.setattr(ray_address, "is_ray_running", lambda: False)
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
def test_the_option_goes_before_the_environment(given: str, named: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", named)
    assert cluster_address(given) == address


def test_a_ray_that_runs_in_this_process_goes_before_the_environment(
    monkeypatch: pytest.MonkeyPatch, checked: list[tuple[str, str]]
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    monkeypatch.setattr(ray_address, "is_ray_running", lambda: True)
    assert cluster_address("") == ""
    assert check_address("") == []


def test_a_cluster_that_the_environment_names_is_told(monkeypatch: pytest.MonkeyPatch, checked: list[tuple[str, str]]) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    (note,) = check_address("")
    assert "10.0.0.1:6379, named by RAY_ADDRESS" in note
    assert checked == [("10.0.0.1:6379", "RAY_ADDRESS")]
    assert check_address("open:6379") == ["no token"]
    assert checked[1] == ("open:6379", "--address")


def test_a_dashboard_is_not_joined_and_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "http://127.0.0.1:8265")
    (note,) = check_address("")
    assert "this run uses this machine alone" in note
    assert check_address("local") == []
