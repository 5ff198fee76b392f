"""Names of Ray that are not public and that we use: each is there and means what we take it for, in the versions we allow."""

import ast
import importlib
import inspect
import subprocess
import tomllib
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
ALLOWED = "ray[rllib,tune]==2.60.*"  # the contracts below were tried with these versions
PRIVATE = ("ray._", "ray.air.execution._internal", "ray.tune.execution")


def _takes(function: Callable[..., Any], *names: str) -> bool:
    return set(names) <= inspect.signature(function).parameters.keys()


def _controller(controller: Any) -> bool:
    source = inspect.getsource(controller.TuneController)
    return "self._staged_trials: Set[Trial] = set()" in source and _takes(
        controller.TuneController._unstage_trial_with_resources, "trial"
    )


# A contract by module: what we take its names for.
CONTRACTS: dict[str, Callable[[Any], bool]] = {
    # `adapters`: takes trials back that have not begun.
    "ray.tune.execution.tune_controller": _controller,
    # `ray_session.sent_environment`: names and values of environment variables that Tune sends to trials.
    "ray.tune.execution.class_cache": lambda module: (
        isinstance(module.ENV_VARS_TO_PROPAGATE, set) and isinstance(module.DEFAULT_ENV_VARS, dict)
    ),
    # `ray_session.count_killed_as_lost`: a name of the module, so that another class or a tuple may stand for it.
    "ray.air.execution._internal.actor_manager": lambda module: (
        "isinstance(exception, RayActorError)" in inspect.getsource(module)
    ),
    # `ray_processes`: what starts Ray's processes and the node, what it starts, and how they are ended.
    "ray._private.services": lambda module: (
        issubclass(module.ConsolePopen, subprocess.Popen)
        and _takes(module.canonicalize_bootstrap_address, "addr")
        and "ray._private.utils.get_dashboard_dependency_error()" in inspect.getsource(module.start_raylet)
    ),
    "ray._private.utils": lambda module: callable(module.get_dashboard_dependency_error),
    "ray._private.node": lambda module: (
        "process.terminate()" in inspect.getsource(module.Node._kill_process_impl)
        and "ray._private.node.Node(" in inspect.getsource(importlib.import_module("ray._private.worker"))
        and {"start_monitor", "start_log_monitor", "start_api_server", "start_raylet", "get_gcs_client", "kill_all_processes"}
        <= vars(module.Node).keys()
    ),
    # `ray_session.ray_logs`.
    "ray._private.worker": lambda module: (
        hasattr(module, "_global_node") and callable(importlib.import_module("ray._private.node").Node.get_logs_dir_path)
    ),
    "ray._private.ray_constants": lambda module: (
        isinstance(module.RAY_ENABLE_UV_RUN_RUNTIME_ENV, bool) and isinstance(module.ENABLE_RAY_CLUSTER, bool)
    ),
    # `watches` and `machine`: facts of an actor and of nodes without a dashboard.
    "ray._private.state": lambda module: _takes(module.actors, "actor_id"),
    "ray._raylet": lambda module: (
        callable(module.AuthenticationTokenLoader.instance().reset_cache)
        and callable(module.GcsClient)
        and "timeout" in str(module.InnerGcsClient.get_all_node_info.__doc__)
        and callable(module.persist_port)
    ),
    "ray._private.authentication.authentication_token_setup": lambda module: (
        _takes(module.ensure_token_if_auth_enabled, "create_token_if_missing")
        and _takes(module.maybe_enable_token_auth_if_token_available, "warn_if_disabled")
    ),
}


def test_the_contracts_are_of_the_versions_that_we_allow() -> None:
    named = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    assert ALLOWED in named
    assert version("ray").startswith("2.60.")


@pytest.mark.parametrize("module", CONTRACTS)
def test_a_private_name_means_what_we_take_it_for(module: str) -> None:
    assert CONTRACTS[module](importlib.import_module(module))


def test_every_private_module_that_we_import_has_a_contract() -> None:
    used: set[str] = set()
    for path in (ROOT / "tuning").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                used |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                used.add(node.value)
    modules = {name for name in used if name.startswith(PRIVATE) and _is_module(name)}
    assert modules - {"ray.tune.execution", "ray._private", "ray._private.authentication"} <= CONTRACTS.keys()


def _is_module(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True
