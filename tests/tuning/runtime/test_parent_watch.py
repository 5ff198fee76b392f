"""A worker ends with what started it."""

import subprocess
import sys

import psutil

PARENT = """
import subprocess, sys, time
code = (
    "import time; from tuning.runtime.parent_watch import end_with_parent; end_with_parent(); "
    "end_with_parent(); print('watching', flush=True); time.sleep(100)"
)
child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
child.stdout.readline()
print(child.pid, flush=True)
time.sleep(100)
"""


def test_a_process_ends_soon_after_its_parent_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        child = psutil.Process(int(parent.stdout.readline()))
        assert child.is_running()
        parent.kill()
    gone, _ = psutil.wait_procs([child], timeout=20.0)
    assert gone
