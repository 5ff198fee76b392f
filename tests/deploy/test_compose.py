"""Compose reads the file, and its cluster has a token, no privileges and no port but for this machine."""

import json
import re
from typing import Any

from compose_spec import PyCompose

from tests.deploy.files import loaded, text

VARIABLE = re.compile(r"\$\{[A-Z_]+:[-?]([^}]*)\}")


def filled() -> dict[str, Any]:
    """The file, with what Compose puts in for variables that are not set."""
    import yaml

    return yaml.safe_load(VARIABLE.sub(r"\1", text("compose.yaml")))


def test_the_file_is_valid_and_names_only_what_it_has() -> None:
    found = PyCompose.from_json(json.dumps(filled()))
    found.validate()
    assert {"head", "worker", "gpu-worker", "search", "storage"} <= set(found.service_names())
    services = filled()["services"]
    assert all(services.keys() >= set(service.get("depends_on", ())) for service in services.values())
    named = {volume.partition(":")[0] for service in services.values() for volume in service.get("volumes", ())}
    assert named == filled()["volumes"].keys()


def test_services_have_no_privileges_and_listen_for_this_machine_alone() -> None:
    for name, service in filled()["services"].items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert not service.get("privileged"), name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), name


def test_nodes_have_a_token_from_a_secret_and_caches_in_a_volume() -> None:
    for name, service in filled()["services"].items():
        if name == "storage":
            continue
        assert service["environment"]["RAY_AUTH_MODE"] == "token", name
        assert service["environment"]["RAY_AUTH_TOKEN_PATH"] == "/run/secrets/ray_auth_token", name
        assert service["secrets"] == ["ray_auth_token"], name
        assert "cache:/cache" in service["volumes"], name


def test_credentials_come_from_where_compose_is_called() -> None:
    given = loaded("compose.yaml")["services"]["head"]["environment"]
    assert {name for name, value in given.items() if name.startswith("AWS_") and value is not None} == set()


def test_a_search_is_a_job_and_its_command_takes_options() -> None:
    search = filled()["services"]["search"]
    words = [*search["entrypoint"], *search["command"]]
    at = words.index("--")
    assert words[:at] == ["ray", "job", "submit"]
    assert words[at + 1 : at + 4] == ["python", "-m", "tuning.run"]
