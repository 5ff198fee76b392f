"""A job takes the checkout to a cluster, joins it with its token, stops cleanly and is resumed; on loopback."""

import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from ray.runtime_env import RuntimeEnv

from tests.deploy.files import ROOT, loaded

COMMANDS = Path(sys.executable).parent
SMALL = (
    "--algo ppo --trials 1 --validation-weeks 1 --concurrency 1 --num-envs 4 "
    "--set hidden_sizes=8 n_steps=64 batch_size=32 n_epochs=1"
)  # fmt: skip
START_SECONDS, RUN_SECONDS = 300.0, 400.0
CANARY = "kanarienvogel-0123456789"


# -- every day -------------------------------------------------------------------------------


def test_the_runtime_environment_is_one_of_ray_and_holds_no_variables() -> None:
    content = loaded("runtime_env.yaml")
    assert RuntimeEnv(**content)["excludes"]
    assert "env_vars" not in content  # Ray shows and logs them


def test_what_uv_and_a_search_need_is_not_excluded() -> None:
    excluded = {pattern.strip("/") for pattern in loaded("runtime_env.yaml")["excludes"]}
    needed = {"pyproject.toml", "README.md", "LICENSE", "common", "envs", "results", "search_spaces", "tuning"}
    assert not needed & excluded
    made = {".git", ".venv", "experiments", "judgements"}
    assert all((ROOT / name).exists() for name in excluded - made)
    # What is new in the project's folder is noticed: it goes to every cluster.
    others = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith((".", "_"))}
    assert others - needed - excluded <= {"build", "dist", "shared"}


# -- on a cluster ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Head:
    """A cluster of one node on this machine, with a token.

    Attributes:
        address: of its dashboard, which takes jobs.
        joined: where it is joined.
        folder: of its logs.
        token: that it needs.
    """

    address: str
    joined: str
    folder: Path
    token: str

    def job(self, *words: str) -> subprocess.CompletedProcess[str]:
        """`ray job ...`, as on a laptop."""
        known = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        env = {**known, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": self.token}
        command = [str(COMMANDS / "ray"), "job", words[0], "--address", self.address, *words[1:]]
        return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=RUN_SECONDS, check=False)

    def wait(self, name: str, text: str) -> str:
        """The log of a job, once it has a text."""
        end = time.monotonic() + RUN_SECONDS
        while text not in (said := self.job("logs", name).stdout):
            assert time.monotonic() < end, said
            time.sleep(1.0)
        return said


def free_ports(number: int) -> list[int]:
    sockets = [socket.socket() for _ in range(number)]
    for each in sockets:
        each.bind(("", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@pytest.fixture(scope="module")
def head() -> Iterator[Head]:
    gcs, dashboard, agent, client = free_ports(4)
    folder, token = Path(tempfile.mkdtemp(prefix="head-", dir="/tmp")), secrets.token_hex(32)
    options = {
        "port": gcs, "node-ip-address": "127.0.0.1", "dashboard-host": "127.0.0.1", "dashboard-port": dashboard,
        "dashboard-agent-listen-port": agent, "ray-client-server-port": client, "temp-dir": folder, "num-cpus": 2,
        "object-store-memory": 150 * 2**20, "include-dashboard": "true",
    }  # fmt: skip
    known = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "AWS_"))}
    env = {
        **known, "PATH": f"{COMMANDS}{os.pathsep}{os.environ['PATH']}", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token,
        "RAY_JOB_STOP_WAIT_TIME_S": "120", "RAY_USAGE_STATS_ENABLED": "0",
    }  # fmt: skip
    command = [str(COMMANDS / "ray"), "start", "--head", "--block", *(f"--{name}={value}" for name, value in options.items())]
    output = folder.with_suffix(".out")
    with output.open("w") as printed:
        started = subprocess.Popen(command, env=env, stdout=printed, stderr=subprocess.STDOUT, start_new_session=True)
    own = psutil.Process(started.pid)
    found = Head(f"http://127.0.0.1:{dashboard}", f"127.0.0.1:{gcs}", folder, token)
    try:
        end = time.monotonic() + START_SECONDS
        while (answer := found.job("submit", "--no-wait", "--", "true")).returncode:
            assert started.poll() is None, output.read_text(encoding="utf-8")
            assert time.monotonic() < end, answer.stdout + answer.stderr
            time.sleep(1.0)
        yield found
    finally:
        processes = [own, *own.children(recursive=True)] if started.poll() is None else []
        started.terminate()
        _, others = psutil.wait_procs(processes, timeout=30)
        for each in others:
            each.kill()
        started.wait()
        shutil.rmtree(folder, ignore_errors=True)
        output.unlink()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="`ray start --block` is for Linux and macOS")
def test_a_job_joins_its_cluster_stops_cleanly_and_is_resumed(head: Head, small_schema: Path, tmp_path: Path) -> None:
    experiments = tmp_path / "experiments"
    runtime = ["--runtime-env", "deploy/runtime_env.yaml"]
    # Credentials of the driver alone, which Ray may not write anywhere.
    program = tmp_path / "driver.py"
    arguments = [
        "--scenario", str(small_schema), *SMALL.split(), "--steps", "5000000", "--evaluations", "200",
        "--dir", str(experiments), "--name", "job",
    ]  # fmt: skip
    program.write_text(
        f"import os, sys\nfor name in ('AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'):\n"
        f"    os.environ[name] = {CANARY!r}\nfrom tuning.run import main\nsys.exit(main({arguments!r}))\n",
        encoding="utf-8",
    )
    begun = head.job("submit", "--no-wait", "--submission-id", "first", *runtime, "--", "python", str(program))
    assert begun.returncode == 0, begun.stderr
    said = head.wait("first", "trial 0: score")
    assert "named by RAY_ADDRESS" in said
    assert "can run code" not in said  # it has a token
    began = time.monotonic()
    head.job("stop", "first")
    assert time.monotonic() - began < 120
    assert "stopped; continue with" in head.job("logs", "first").stdout
    assert "stopped" in head.job("status", "first").stdout + head.job("status", "first").stderr
    (trial,) = (path for path in (experiments / "job" / "trials").iterdir() if path.is_dir())
    steps = max(int(path.name) for path in trial.iterdir())
    resumed = head.job(
        "submit", "--submission-id", "second", *runtime, "--", "python", "-m", "tuning.run",
        "--resume", str(experiments / "job"), "--steps", str(steps + 640),
    )  # fmt: skip
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert "Best: trial 0" in resumed.stdout
    written = [path for path in (*head.folder.rglob("*"), *experiments.rglob("*")) if path.is_file()]
    assert {path.name for path in written} >= {"runtime_env_agent.log", "experiment.json"}
    assert [path for path in written if CANARY.encode() in path.read_bytes()] == []
    assert [path for path in written if head.token.encode() in path.read_bytes()] == []


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="`ray start --block` is for Linux and macOS")
def test_a_driver_joins_with_the_right_token_alone_and_opens_one_port(head: Head, tmp_path: Path) -> None:
    program = (
        "import sys, psutil\nfrom tuning.runtime.ray_session import ray_session\nfrom tuning.runtime.cluster import *\n"
        "from common.errors import UserError\n"
        "try:\n    print(check_address(sys.argv[1]))\nexcept UserError as error:\n    sys.exit(str(error))\n"
        "with ray_session(sys.argv[1]):\n"
        "    own = psutil.Process()\n"
        "    of = [own, *own.children(recursive=True)]\n"
        "    print(sum(at.status == 'LISTEN' for each in of for at in each.net_connections('inet')))\n"
    )

    def joined(**given: str) -> subprocess.CompletedProcess[str]:
        known = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        env = {**known, "HOME": str(tmp_path), **given}
        command = [sys.executable, "-c", program, head.joined]
        return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)

    right = joined(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=head.token)
    assert right.stdout.split() == ["[]", "1"], right.stderr
    refused = joined(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN="0" * 64)
    assert refused.returncode == 1
    assert "needs a token that it accepts" in refused.stderr
    assert refused.stderr.strip().count("\n") == 0
