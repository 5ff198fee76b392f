"""Clusters of `ray up` are valid by Ray's own schema and checks, guarded by a token, and keep trials off the head."""

import os
from pathlib import Path

import pytest
from ray.autoscaler._private.util import prepare_config, validate_config

from tests.deploy.files import loaded

CLUSTERS = ("cluster.yaml", "on-premises.yaml")


@pytest.mark.parametrize("name", CLUSTERS)
def test_a_cluster_is_valid_as_it_stands_and_as_ray_up_fills_it(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Ray keeps a file about machines of one's own, in a folder that it makes at a start.
    monkeypatch.setattr("ray.autoscaler._private.local.config.get_default_ray_temp_dir", lambda: str(tmp_path))
    validate_config({"cluster_synced_files": [], **loaded(name)})
    full = prepare_config(loaded(name))
    validate_config(full)
    assert full["max_workers"] >= sum(of.get("min_workers", 0) for of in full["available_node_types"].values())


@pytest.mark.skipif(os.name != "posix", reason="the commands are for Linux")
@pytest.mark.parametrize("name", CLUSTERS)
def test_nodes_start_with_a_token_and_options_of_ray_and_the_dashboard_on_loopback(name: str) -> None:
    from ray.scripts.scripts import start

    config, known = loaded(name), {option for parameter in start.params for option in parameter.opts}
    commands = [*config["head_start_ray_commands"], *config["worker_start_ray_commands"]]
    starts = [command for command in commands if "ray start" in command]
    assert len(starts) == 2
    (head,) = [command for command in starts if "--head" in command]
    assert all("RAY_AUTH_MODE=token" in command for command in starts)
    assert "--dashboard-host=127.0.0.1" in head
    for command in starts:
        assert {word.partition("=")[0] for word in command.split() if word.startswith("--")} <= known, command
    (target,) = [there for there, here in config["file_mounts"].items() if here == "~/.ray/auth_token"]
    assert target.endswith("/.ray/auth_token")


def test_trials_of_the_cloud_run_on_workers_that_come_and_go_and_one_of_each_type_stays() -> None:
    config = loaded("cluster.yaml")
    types = config["available_node_types"]
    head = types.pop(config["head_node_type"])
    assert head["resources"] == {"CPU": 0}
    assert all(of["min_workers"] == 1 < of["max_workers"] for of in types.values())
    assert sum(of["max_workers"] for of in types.values()) <= config["max_workers"]
