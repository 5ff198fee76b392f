"""requirements.txt is complete: `pip install --no-deps -r requirements.txt` is enough to run."""

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Everything that the main job imports, here or in Ray's workers, and Optuna's lazily imported sampler.
IMPORTS = """
import importlib, pathlib, sys
for room in ("search_spaces", "envs", "results", "tuning"):
    for path in sorted(pathlib.Path(room).rglob("*.py")):
        importlib.import_module(".".join(path.with_suffix("").parts).removesuffix(".__init__"))
import citylearn.citylearn, cmaes, matplotlib.pyplot, pandas, pvlib, ray.rllib.algorithms.ppo, ray.tune, torch
from ray.rllib.algorithms.ppo.torch import ppo_torch_learner
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""

OPTIONAL = {
    # Ray's tabulate imports it where it is installed, as by the notebook's kernel.
    "wcwidth",
    # RLlib and torch import these where they are installed, as for the benchmarks.
    "opt-einsum", "tfp-nightly", "uvloop",
    # Ray and jsonschema import these where they are installed, as by ray[default] and moto in the tests.
    "boto3", "botocore", "cffi", "cryptography", "googleapis-common-protos", "jmespath", "jsonpointer", "rfc3339-validator",
    "s3transfer", "six", "smart-open",
}  # fmt: skip


def distribution(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_requirements_name_every_distribution_that_the_imports_need() -> None:
    # RLlib imports JAX where it is installed, as for the benchmarks.
    env = {**os.environ, "RLLIB_TEST_NO_JAX_IMPORT": "1"}
    command = [sys.executable, "-W", "ignore", "-c", IMPORTS]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    owners = packages_distributions()
    needed = {distribution(owner) for module in loaded for owner in owners.get(module, [])[:1]} - {"building-tuner"}
    assert {"ray", "torch", "citylearn", "optuna", "pvlib"} <= needed
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    named = {distribution(line.partition("==")[0]) for line in lines if "==" in line and not line.startswith("#")}
    assert needed - named - OPTIONAL == set()


@pytest.mark.parametrize("name", ["requirements.txt", "deploy/requirements.txt"])
def test_requirements_pin_every_line_and_name_no_registry(name: str) -> None:
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        assert not line.strip() or line.startswith("#") or re.match(r"[A-Za-z0-9._-]+(\[[a-z,]+\])?==\S+", line), line
        assert "://" not in line


def test_images_pin_every_dependency_and_extra_of_nodes_and_the_ray_of_the_tests() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [entry for extra in ("cluster", "s3", "gcs", "aws") for entry in project["optional-dependencies"][extra]]
    needed = {distribution(re.split(r"[<>=!\[; ]", entry)[0]) for entry in [*project["dependencies"], *extras]}
    pins = re.findall(r"^([\w.-]+)(?:\[.*\])?==(\S+)", (ROOT / "deploy" / "requirements.txt").read_text(encoding="utf-8"), re.M)
    assert needed <= {distribution(name) for name, _ in pins}
    assert {pinned for name, pinned in pins if name == "ray"} == {version("ray")}
