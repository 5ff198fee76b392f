"""How long readers take to copy many small objects from storage: first, again, and with some new ones; and to load the copy.

Run: `uv run python -m benchmarks.storage_reading [--objects 2000 10000] [--new 22] [--delay 0.0]`. It puts an experiment of
that many files into an S3 server on loopback, in a process of its own, and copies it to an empty cache. `--delay` adds
seconds to each request by a proxy, as of a server far away. Server and proxy are written in Python and take most of the time.
Seconds of this process's processor stand beside those of the clock. Imports are not counted.
"""

import argparse
import io
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from common.storage.location import location
from common.storage.objects import Objects
from results import load
from results.places import local_folder
from results.schema import schema
from results.table_files import rows_path
from tests.storage_server import Faults, environment, faulty_proxy, storage_server

T = TypeVar("T")
EACH = 2  # files of a trial: its row, and its reports
REPORTS = 10


def files(trials: range) -> Iterator[tuple[str, bytes]]:
    """Files of complete trials: keys and contents."""
    for trial in trials:
        row = {"trial": trial, "state": "complete", "score": 0.1, "updates": REPORTS}
        yield rows_path(Path(), "trials", trial).as_posix(), _content("trials", [row])
        rows = [{"trial": trial, "update": update, "steps": update * 4096} for update in range(1, REPORTS + 1)]
        yield rows_path(Path(), "reports", trial).as_posix(), _content("reports", rows)


def _content(table: str, rows: list[dict[str, object]]) -> bytes:
    content = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema(table)), content, write_page_checksum=True)
    return content.getvalue()


def timed(what: str, call: Callable[[], T]) -> T:
    """Call, and print how long it took."""
    begin, work = time.perf_counter(), time.process_time()
    given = call()
    seconds, own = time.perf_counter() - begin, time.process_time() - work
    print(f"  {what:<26} {seconds:6.1f} s ({own:5.1f} s of the processor)", flush=True)
    return given


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
    objects.put_all(files(range(trials)))
    direct = os.environ["AWS_ENDPOINT_URL"]
    os.environ["AWS_ENDPOINT_URL"] = endpoint
    print(f"{trials * EACH} objects", flush=True)
    timed("copied first", lambda: local_folder(uri))
    timed("copied again", lambda: local_folder(uri))
    objects.put_all(files(range(trials, trials + new // EACH)))
    folder = timed(f"copied, {new // EACH * EACH} are new", lambda: local_folder(uri))
    rows = timed("loaded from the copy", lambda: len(load(folder).reports))
    assert rows == (trials + new // EACH) * REPORTS
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
