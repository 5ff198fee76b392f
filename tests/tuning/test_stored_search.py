"""A real search in a storage: refused twice at once, killed, and resumed elsewhere by its URI, it is the undisturbed one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from common.storage.location import Location, location
from common.storage.objects import Objects
from results import load
from tests.storage_server import Faults, StorageServer, environment, faulty_proxy
from tests.tuning.killed_search import check, command, compare, undisturbed
from tests.tuning.test_killed_stored_driver import fetched
from tuning.storage.search_files import complete

STEPS, BUDGET = 2048, 3 * 2048
FAULTS = Faults(slow=0.05, failing=0.04, cut_request=0.02, cut_answer=0.02, lost_answer=0.02)
STOPPED_SECONDS = 300.0


class Machine:
    """A machine: its folder, its cache, and the variables by which it finds the storage."""

    def __init__(self, folder: Path, endpoint: str) -> None:
        self.folder, self.cache = folder / "work", folder / "cache"
        self.folder.mkdir(parents=True)
        project = str(Path(__file__).parents[2])
        self.variables = {
            **os.environ, **environment(endpoint), "BUILDING_TUNER_CACHE": str(self.cache), "PYTHONPATH": project,
        }  # fmt: skip
        self.log = folder / "log"

    def start(self, arguments: list[str]) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as file:
            return subprocess.Popen(arguments, cwd=self.folder, env=self.variables, stdout=file, stderr=file)

    @property
    def told(self) -> str:
        return self.log.read_text(encoding="utf-8")


def wait_for_a_checkpoint(place: Location, driver: subprocess.Popen[bytes], log: Machine) -> None:
    """Wait until the first trial has been evaluated twice, and so has the storage."""
    until, objects = time.monotonic() + STOPPED_SECONDS, Objects(place)
    while time.monotonic() < until:
        assert driver.poll() is None, log.told
        keys = objects.listed("trials/")
        saved = {key.split("/")[1] for key in keys if key.count("/") == 3}
        if any(len(complete(key.removeprefix(f"trials/{name}/") for key in keys)) > 1 for name in saved):
            return
        time.sleep(0.1)
    pytest.fail(log.told)


@pytest.mark.slow
def test_a_search_that_is_killed_goes_on_elsewhere_from_its_uri(
    s3_server: StorageServer, s3_bucket: str, small_schema: Path, tmp_path: Path
) -> None:
    place = location(s3_bucket) / "experiments" / "killed"
    site = tmp_path / "of-the-first" / "site"
    shutil.copytree(small_schema.parent, site)
    arguments = command(place.parent.uri, place.name, site / "schema.json", BUDGET, 1, STEPS, 0.0)
    again = [sys.executable, "-m", "tuning.run", "--resume", place.uri]
    with faulty_proxy(s3_server, FAULTS, seed=5) as proxy:
        first, second, third = (Machine(tmp_path / name, proxy.endpoint) for name in ("first", "second", "third"))
        driver = first.start(arguments)
        try:
            wait_for_a_checkpoint(place, driver, first)
            refused = second.start(again)
            assert refused.wait(STOPPED_SECONDS) == 2
            assert f"{place.uri} is in use by process {driver.pid} on " in second.told
            assert driver.poll() is None, "the search must not be over when it is killed"
        finally:
            driver.kill()
            driver.wait()
        # What the first machine had is gone, and so is its site.
        for gone in (first.cache, first.folder, site.parent):
            shutil.rmtree(gone)
        resumed = third.start(again)
        assert resumed.wait(STOPPED_SECONDS) == 0, third.told
        assert proxy.injected.total() > 20
    assert "was lost; continuing" in third.told
    assert str(third.cache) not in third.told.replace(f"{third.cache}/ray", ""), "places are told as the user names them"
    found = fetched(place, tmp_path / "fetched")
    check(found, [BUDGET], STEPS, confirms=False)
    assert (found / "report.html").stat().st_size > 10_000
    shutil.copytree(small_schema.parent, site)
    undisturbed(tmp_path / "whole", site / "schema.json", [BUDGET], STEPS, confirm=0.0)
    compare(found, tmp_path / "whole")
    left = [path for path in third.cache.glob("storage/*-trial-*") if path.is_dir()]
    assert left == [], "working copies of trials are removed"
    assert load(found).trials["scenario"].unique().tolist() == [str(site / "schema.json")]
