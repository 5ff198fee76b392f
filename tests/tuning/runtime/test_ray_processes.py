"""Ray on this machine starts the processes that a search needs, and no others."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import contextlib
import json
import psutil
import ray
from tuning.runtime.ray_session import ray_session

for _ in range(2):
    with ray_session(num_cpus=1):
        assert ray.get(ray.remote(num_cpus=1)(lambda: 1).remote(), timeout=90) == 1
        found = []
        for each in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):  # some only start another one
                found.append(each.cmdline())
print(json.dumps(found))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the dashboard's agent stays")
def test_nothing_runs_that_nobody_asks() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr[-1000:]
    commands = [" ".join(words) for words in json.loads(done.stdout.splitlines()[-1])]
    assert any("raylet" in each for each in commands)
    assert any("sys.stdin.read()" in each for each in commands)
    assert not [each for each in commands if any(name in each for name in ("monitor.py", "dashboard.py", "DashboardAgent"))]
