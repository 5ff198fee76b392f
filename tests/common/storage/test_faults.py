import errno
from pathlib import Path

import pytest

from common.storage import faults
from common.storage.faults import Fault, StorageLostError, fault_of, persistently
from common.storage.location import Location, StorageError


class HttpError(OSError):
    """As of gcsfs."""

    def __init__(self, code: int) -> None:
        self.code = code


def client_error(code: str, status: int) -> OSError:
    """As s3fs raises one."""
    cause = Exception(f"An error occurred ({code})")
    cause.response = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}  # type: ignore[attr-defined]
    error = OSError(errno.EIO, "what the server says")
    error.__cause__ = cause
    return error


def on_windows(number: int, second: str | None = None) -> OSError:
    """As Windows raises one; an error of a rename names two files."""
    error = PermissionError(errno.EACCES, "no", "a", None, second)
    error.winerror = number  # type: ignore[attr-defined,unused-ignore]
    return error


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (on_windows(32), Fault.TRANSIENT),
        (on_windows(5, "b"), Fault.TRANSIENT),
        (on_windows(5), Fault.DENIED),
        (PermissionError(errno.EACCES, "no", "a", None, "b"), Fault.DENIED),
        (client_error("SlowDown", 503), Fault.TRANSIENT),
        (client_error("ConditionalRequestConflict", 409), Fault.TRANSIENT),
        (client_error("NoSuchKey", 404), Fault.ABSENT),
        (client_error("NoSuchBucket", 404), Fault.NO_PLACE),
        (FileNotFoundError("The specified bucket does not exist"), Fault.NO_PLACE),
        (FileNotFoundError("a/b"), Fault.ABSENT),
        (client_error("PreconditionFailed", 412), Fault.EXISTS),
        (client_error("SignatureDoesNotMatch", 403), Fault.DENIED),
        (client_error("InvalidRequest", 400), Fault.PERMANENT),
        (HttpError(429), Fault.TRANSIENT),
        (HttpError(502), Fault.TRANSIENT),
        (HttpError(403), Fault.DENIED),
        (HttpError(412), Fault.EXISTS),
        (HttpError(404), Fault.ABSENT),
        (HttpError(400), Fault.PERMANENT),
        (TimeoutError(), Fault.TRANSIENT),
        (ConnectionResetError(), Fault.TRANSIENT),
        (OSError(errno.ESTALE, "stale") if hasattr(errno, "ESTALE") else OSError(errno.EIO, "io"), Fault.TRANSIENT),
        (OSError(errno.ENOSPC, "full"), Fault.PERMANENT),
        (PermissionError(errno.EACCES, "no"), Fault.DENIED),
    ],
)
def test_errors_have_a_meaning(error: Exception, fault: Fault) -> None:
    assert fault_of(error) is fault


def failing(*errors: Exception) -> list[float]:
    """Times at which a call was tried that raises errors in turn, then works."""
    waiting, tried = list(errors), []

    def attempt() -> None:
        tried.append(1.0)
        if waiting:
            raise waiting.pop(0)

    persistently(Location("s3://bucket/exp"), 'writing "a"', attempt, 60)
    return tried


def test_what_may_pass_is_tried_again_with_growing_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(faults.time, "sleep", pauses.append)
    assert len(failing(*(TimeoutError() for _ in range(5)))) == 6
    assert all(0.05 * 2**n <= pause <= 0.1 * 2**n for n, pause in enumerate(pauses))


def test_patience_ends_what_never_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(faults.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    monkeypatch.setattr(faults.time, "monotonic", lambda: now[0])
    with pytest.raises(
        StorageLostError, match=r's3://bucket/exp: writing "a" failed, however often it was tried \(HTTP 503\); see that'
    ) as caught:
        failing(*(HttpError(503) for _ in range(1000)))
    assert 50 < now[0] <= 60
    assert isinstance(caught.value, StorageError)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (client_error("NoSuchBucket", 404), "there is no such bucket"),
        (client_error("InvalidAccessKeyId", 403), "is not permitted (InvalidAccessKeyId); put credentials"),
        (client_error("InvalidRequest", 400), "failed (InvalidRequest); correct the URI"),
        (OSError(errno.ENOSPC, "full", str(Path("x"))), "make room there"),
    ],
)
def test_what_does_not_pass_is_told_at_once_without_the_words_of_the_server(error: Exception, told: str) -> None:
    with pytest.raises(StorageError) as caught:
        failing(error)
    assert told in str(caught.value)
    assert "what the server says" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert not isinstance(caught.value, StorageLostError)


def test_a_fault_of_this_project_is_no_fault_of_storage() -> None:
    with pytest.raises(ZeroDivisionError):
        failing(ZeroDivisionError())  # type: ignore[arg-type]
