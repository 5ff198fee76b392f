"""How long readers take with many small objects in storage: the first loading, the same again, and with some new ones.

Run: `uv run python -m benchmarks.storage_reading [--objects 2000 10000] [--new 22] [--delay 0.0]`. It puts an experiment of
that many part files into an S3 server on loopback, in a process of its own, and loads it with an empty cache. `--delay` adds
seconds to each request by a proxy, as of a server far away. Server and proxy are written in Python and take most of the time.
Seconds of this process's processor stand beside those of the clock. Imports are not counted.
"""

import argparse
import io
import os
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from common.storage.location import location
from common.storage.objects import Objects
from results import load
from results.schema import schema
from results.writer import part_path
from tests.storage_server import Faults, environment, faulty_proxy, storage_server

EACH = 11  # part files of a trial: its row, and ten reports


def parts(trials: range) -> Iterator[tuple[str, bytes]]:
    """Part files of complete trials: keys and contents."""
    for trial in trials:
        row = {"trial": trial, "state": "complete", "score": 0.1, "updates": EACH - 1}
        yield part_path(Path(), "trials", trial).as_posix(), _part("trials", row)
        for update in range(1, EACH):
            key = part_path(Path(), "reports", trial, update * 4096).as_posix()
            yield key, _part("reports", {"trial": trial, "update": update, "steps": update * 4096})


def _part(table: str, row: dict[str, object]) -> bytes:
    content = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([row], schema=schema(table)), content, write_page_checksum=True)
    return content.getvalue()


def timed(uri: str, what: str, count: int) -> None:
    """Load, and print how long it took."""
    begin, work = time.perf_counter(), time.process_time()
    rows = len(load(uri).reports)
    seconds, own = time.perf_counter() - begin, time.process_time() - work
    print(f"{count:6d} objects, {what:<14} {seconds:6.1f} s ({own:5.1f} s of the processor), {rows} reports", flush=True)


def measure(uri: str, count: int, new: int, endpoint: str) -> None:
    """Put an experiment into storage, load it, and print the times.

    Args:
        uri: of the experiment.
        count: of its objects, about.
        new: objects that are added after the second loading, about.
        endpoint: that it is loaded from.
    """
    objects, trials = Objects(location(uri)), count // EACH
    objects.put("experiment.json", b"{}")
    objects.put_all(parts(range(trials)))
    direct = os.environ["AWS_ENDPOINT_URL"]
    os.environ["AWS_ENDPOINT_URL"] = endpoint
    timed(uri, "first", count)
    timed(uri, "again", count)
    objects.put_all(parts(range(trials, trials + new // EACH)))
    timed(uri, f"{new // EACH * EACH} are new", count)
    os.environ["AWS_ENDPOINT_URL"] = direct


def main() -> None:
    """Measure, and print the times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, nargs="+", default=[2000, 10000])
    parser.add_argument("--new", type=int, default=2 * EACH)
    parser.add_argument("--delay", type=float, default=0.0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    import pandas  # noqa: F401 - measured are the readings
    import s3fs  # noqa: F401

    with ExitStack() as stack:
        server = stack.enter_context(storage_server())
        os.environ.update(environment(server.endpoint), BUILDING_TUNER_CACHE=stack.enter_context(tempfile.TemporaryDirectory()))
        endpoint = server.endpoint
        if given.delay:
            endpoint = stack.enter_context(faulty_proxy(server, Faults(slow=1.0, delay=given.delay))).endpoint
        for count in given.objects:
            measure(f"{server.bucket()}/many", count, given.new, endpoint)


if __name__ == "__main__":
    main()
