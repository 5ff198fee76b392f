"""Ray on this machine starts the processes that a search needs, and no others."""

import json
import subprocess
import sys

import pytest
from ray._private import utils

from tuning.runtime import ray_processes

PROGRAM = """
import contextlib
import json
import os
import psutil
import ray
from tuning.runtime.ray_session import ray_session

def running():
    found = []
    for each in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # some only start another one
            found.append(" ".join(each.cmdline()))
    return found

for _ in range(2):
    with ray_session(num_cpus=1):
        unasked = running()
        assert ray._private.worker._global_node.passes_environment
        assert ray.get(ray.remote(num_cpus=1)(lambda: 1).remote(), timeout=90) == 1
        found = running()
        # What users' own callbacks may ask Ray for.
        given = ray.remote(num_cpus=1, runtime_env={"env_vars": {"GIVEN": "1"}})(lambda: os.environ["GIVEN"])
        assert ray.get(given.remote(), timeout=90) == "1"
print(json.dumps([unasked, found]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the dashboard's agent stays")
def test_nothing_runs_that_nobody_asks() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr[-1000:]
    unasked, commands = json.loads(done.stdout.splitlines()[-1])
    # Ray names its workers so once they have begun, and its agent of environments.
    workers = [[each for each in some if each.startswith("ray::") and "Agent" not in each] for some in (unasked, commands)]
    assert (len(workers[0]), len(workers[1])) == (0, 1)
    assert any("raylet" in each for each in commands)
    assert any("sys.stdin.read()" in each for each in commands)
    assert not [each for each in commands if any(name in each for name in ("monitor.py", "dashboard.py", "DashboardAgent"))]


@pytest.mark.parametrize("is_linux", [True, False])
def test_where_the_dashboards_agent_stays_ray_looks_for_what_it_needs(monkeypatch: pytest.MonkeyPatch, is_linux: bool) -> None:
    monkeypatch.setattr(ray_processes, "HAS_PIPE", is_linux)
    before = utils.get_dashboard_dependency_error
    with ray_processes.few_processes():
        assert (utils.get_dashboard_dependency_error is before) != is_linux
    assert utils.get_dashboard_dependency_error is before
