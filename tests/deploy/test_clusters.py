"""Clusters of `ray up` are valid by Ray's own schema and checks, guarded by a token, and keep trials off the head."""

import copy
import os
from pathlib import Path
from typing import Any

import pytest
from ray.autoscaler._private.util import prepare_config, validate_config

from tests.deploy.files import loaded

CLUSTERS = ("cluster.yaml", "on-premises.yaml")


def prepared(config: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """A configuration with Ray's defaults, as `ray up` makes it before it looks for machines."""
    # Ray keeps a file about machines of one's own, in a folder that it makes at a start.
    monkeypatch.setattr("ray.autoscaler._private.local.config.get_default_ray_temp_dir", lambda: str(tmp_path))
    return prepare_config(copy.deepcopy(config))


@pytest.mark.parametrize("name", CLUSTERS)
def test_a_cluster_is_valid_as_it_stands_and_with_rays_defaults(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    validate_config({"cluster_synced_files": [], **loaded(name)})
    full = prepared(loaded(name), monkeypatch, tmp_path)
    validate_config(full)
    assert full["max_workers"] >= sum(of.get("min_workers", 0) for of in full["available_node_types"].values())


@pytest.mark.parametrize("name", CLUSTERS)
def test_every_node_starts_with_a_token_and_has_its_file(name: str) -> None:
    config = loaded(name)
    starts = [
        command
        for kind in ("head_start_ray_commands", "worker_start_ray_commands")
        for command in config[kind]
        if "ray start" in command
    ]
    assert len(starts) == 2
    assert all("RAY_AUTH_MODE=token" in command for command in starts)
    (target,) = [there for there, here in config["file_mounts"].items() if here == "~/.ray/auth_token"]
    assert target.endswith("/.ray/auth_token")


def test_trials_of_the_cloud_run_on_workers_that_come_and_go_and_one_of_each_type_stays() -> None:
    config = loaded("cluster.yaml")
    types = config["available_node_types"]
    head = types.pop(config["head_node_type"])
    assert head["resources"] == {"CPU": 0}
    assert all(of["min_workers"] == 1 < of["max_workers"] for of in types.values())
    assert sum(of["max_workers"] for of in types.values()) <= config["max_workers"]


def test_the_dashboard_is_on_loopback() -> None:
    for name in CLUSTERS:
        (start,) = [command for command in loaded(name)["head_start_ray_commands"] if "--head" in command]
        assert "--dashboard-host=127.0.0.1" in start


@pytest.mark.skipif(os.name != "posix", reason="the commands are for Linux")
def test_start_commands_are_options_that_ray_knows() -> None:
    from ray.scripts.scripts import start

    known = {option for parameter in start.params for option in parameter.opts}
    for name in CLUSTERS:
        for kind in ("head_start_ray_commands", "worker_start_ray_commands"):
            for command in loaded(name)[kind]:
                given = {word.partition("=")[0] for word in command.split() if word.startswith("--")}
                assert given <= known, command
