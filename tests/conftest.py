"""Shared fixtures: a cache of the session, and a site so small that CityLearn runs through it in seconds."""

import gc
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.districts import FOUR, TWO, write_district
from tests.envs.schema_changes import in_quarters
from tests.small_ray import SmallRay, sharing
from tests.storage_server import StorageServer, environment, storage_server

os.environ["OMP_NUM_THREADS"] = "1"
# As in `tuning.search.run.driver`: under `uv run` Ray would copy the project for its workers.
os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"
# Ray's workers run at low priority by default, so a search would wait for the other tests.
os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - Ray spells it so

# No test outlives a loss of power, and to flush a file takes milliseconds. Tests of what is flushed count the calls.
os.fsync = lambda descriptor: None

SMALL_STEPS = 40 * 24  # eight blocks of five days: every split has eight days
LONGEST = (
    "test_main_job", "test_driver", "test_examples", "test_training", "test_export", "test_simulated_searches",
    "test_simulated_resume", "test_kernel",
)  # fmt: skip
SHARING = pytest.StashKey[set[Path]]()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the modules that share a Ray and those that take longest, so that no process waits for them at the end."""
    shared = config.stash[SHARING] = sharing(items)
    items.sort(key=lambda item: (item.path not in shared, item.path.stem not in LONGEST))


def pytest_collection_finish() -> None:
    """Leave what is imported by now, and lives to the end, out of garbage collections, which take half a second else."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def shared_ray() -> Iterator[SmallRay]:
    ray = SmallRay()
    yield ray
    ray.stop()


@pytest.fixture(scope="module", autouse=True)
def no_ray_left(request: pytest.FixtureRequest, shared_ray: SmallRay) -> Iterator[None]:
    """A module begins without Ray, or with the shared one. Building an algorithm starts Ray unless it runs."""
    shares = request.path in request.config.stash[SHARING]
    if not shares:
        shared_ray.stop()
    yield
    if "ray" in sys.modules and not shares:
        import ray

        left = ray.is_initialized()
        ray.shutdown()
        assert not left, "a test of this module built an algorithm without the fixture small_ray"


@pytest.fixture(scope="module")
def small_ray(shared_ray: SmallRay) -> None:
    """Ray runs, with two cores."""
    shared_ray.start()


@pytest.fixture(scope="session")
def session_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of this test session, the same for all of its workers."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session", autouse=True)
def cache(session_folder: Path) -> Path:
    """Cache folder of this test session; subprocesses and Ray's workers inherit it."""
    folder = session_folder / "cache"
    folder.mkdir(exist_ok=True)
    os.environ["BUILDING_TUNER_CACHE"] = str(folder)
    return folder


@pytest.fixture(scope="session")
def small_schema(cache: Path) -> Path:
    """Schema of the generated site with four sockets, cut to its first forty days: a month ends within."""
    from envs.cache import cached_folder
    from envs.scenarios.iquitos import SITES
    from envs.scenarios.iquitos.files import write_year

    def write(folder: Path) -> None:
        site = SITES["iquitos"]
        motorcycles, mototaxis = site.sockets
        write_year(replace(site, sockets=(replace(motorcycles, count=3), replace(mototaxis, count=1))), 5, folder)
        path = folder / "schema.json"
        schema = json.loads(path.read_text(encoding="utf-8"))
        schema["simulation_end_time_step"] = SMALL_STEPS
        path.write_text(json.dumps(schema), encoding="utf-8")

    return cached_folder("small", write) / "schema.json"


@pytest.fixture(scope="session")
def quarters(small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Schema of the small site in steps of a quarter of an hour."""
    return in_quarters(small_schema, tmp_path_factory.mktemp("quarters"))


@pytest.fixture(scope="session")
def four_buildings(small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Schema of four buildings that differ in size and devices; one has nothing to act with but a charger."""
    return write_district(small_schema, tmp_path_factory.mktemp("four"), FOUR)


@pytest.fixture(scope="session")
def two_buildings(small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Schema of two other buildings."""
    return write_district(small_schema, tmp_path_factory.mktemp("two"), TWO)


@pytest.fixture(scope="session")
def real_schema() -> Path:
    """Schema of metered data, where a checkout has it beside the project."""
    return _beside("citylearn_challenge_2022_phase_1")


@pytest.fixture(scope="session")
def thermal_schema() -> Callable[[str], Path]:
    """Schema of public data with models of the indoor temperature, by name, where a checkout has it beside the project."""
    return _beside


def _beside(name: str) -> Path:
    path = Path(__file__).parents[2] / "shared" / "data" / name / "schema.json"
    if not path.is_file():
        pytest.skip(f"the data {name} are not beside this checkout")
    return path


@pytest.fixture(scope="session")
def s3_server() -> Iterator[StorageServer]:
    """An S3 server on loopback, for tests that do not end it."""
    with storage_server() as server:
        yield server


@pytest.fixture
def s3_bucket(s3_server: StorageServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """URI of an empty bucket; the environment has its server and credentials."""
    for name, value in environment(s3_server.endpoint).items():
        monkeypatch.setenv(name, value)
    return s3_server.bucket()
