"""Where and with what code a process runs, and how two of these differ."""

import json

from tuning.trial.provenance import PACKAGES, provenance, version_differences


def columns(commit: str = "abc", python: str = "3.11.7", **versions: str | None) -> dict[str, str]:
    return {"git_commit": commit, "python": python, "versions": json.dumps(versions)}


def test_versions_that_differ_are_named() -> None:
    before = columns(ray="2.60.0", torch="2.9", old="1")
    assert version_differences(before, columns(ray="2.60.0", torch="2.9", new="1")) == []
    assert version_differences(before, columns("", "3.12.1", ray="2.61.0", torch="2.9")) == [
        "python 3.11.7 is 3.12.1 now", "ray 2.60.0 is 2.61.0 now", "commit abc is none now"
    ]  # fmt: skip
    assert version_differences({}, columns()) != [""]


def test_a_process_knows_its_host_and_the_versions_of_its_packages() -> None:
    here = provenance()
    assert all(here[name] for name in ("host", "platform", "python"))
    versions = json.loads(here["versions"])
    assert set(versions) == set(PACKAGES)
    assert versions["ray"].startswith("2.")
    assert version_differences(here, here) == []
