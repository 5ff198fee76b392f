"""What an error of storage means: to be tried again, or to be told at once, in a line without credentials."""

import enum
import errno
import os
import random
import re
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from common.files import is_full
from common.storage.location import Location, StorageError

T = TypeVar("T")

FIRST_PAUSE = 0.1  # seconds; each pause is twice the one before
MOST_PAUSE = 8.0

# Errors of packages that may be missing here, by their modules.
_ERRORS = {
    "botocore.exceptions": ("BotoCoreError", "ClientError"),
    "aiohttp": ("ClientError",),
    "gcsfs.retry": ("HttpError",),
    "google.auth.exceptions": ("GoogleAuthError",),
    "requests": ("RequestException",),
    "azure.core.exceptions": ("AzureError",),
}
_TRANSIENT_NUMBERS = {
    errno.EBUSY, errno.EAGAIN, errno.EINTR, errno.EIO, errno.ETIMEDOUT, errno.ECONNRESET, errno.ECONNREFUSED,
    errno.ECONNABORTED, errno.EPIPE, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN,
    getattr(errno, "EREMOTEIO", errno.EIO), getattr(errno, "ESTALE", errno.EIO),
}  # fmt: skip
# Names of types of packages that may be missing here: connections that failed or were cut.
_TRANSIENT_TYPES = {
    "HTTPClientError", "ConnectionError", "ResponseParserError", "ResponseStreamingError", "IncompleteRead",
    "ClientPayloadError", "ClientConnectionError", "ClientOSError", "ServerDisconnectedError",
    "FSTimeoutError", "TransportError", "ServiceRequestError", "ServiceResponseError",
    "ConnectionClosedError", "ChunkedEncodingError", "RetryError",
}  # fmt: skip
_DENIED_TYPES = {
    "NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "TokenRetrievalError", "ProfileNotFound",
    "UnauthorizedSSOTokenError", "SSOTokenLoadError", "GoogleAuthError", "ClientAuthenticationError",
}  # fmt: skip
_SHARED = (32, 33)  # of Windows: another process has the file open
_REFUSED = 5  # of Windows: not permitted, and also that another process has open what a file is renamed onto
_TRANSIENT_CODES = {
    "SlowDown", "InternalError", "ServiceUnavailable", "RequestTimeout", "OperationAborted", "ConditionalRequestConflict",
    "Throttling", "ThrottlingException", "BadDigest", "IncompleteBody", "XAmzContentSHA256Mismatch",
}  # fmt: skip
_DENIED_CODES = {
    "AccessDenied", "AllAccessDisabled", "ExpiredToken", "InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch",
    "RequestTimeTooSkewed", "Forbidden",
}  # fmt: skip
_EXISTS_CODES = {"PreconditionFailed", "412", "conditionNotMet"}


class StorageLostError(StorageError):
    """Storage did not answer, or answered with errors, for as long as it was tried. The same command may work later."""


class Fault(enum.Enum):
    """What an error of storage means: of an object, or of its bucket."""

    TRANSIENT = enum.auto()
    ABSENT = enum.auto()
    EXISTS = enum.auto()
    NO_PLACE = enum.auto()
    DENIED = enum.auto()
    PERMANENT = enum.auto()


def fault_of(error: BaseException) -> Fault:
    """What an error of a file system means."""
    code, status = _answer(error)
    texts = " ".join(str(part) for part in (error, error.__cause__) if part)
    if "NoSuchBucket" in texts or "specified bucket does not exist" in texts:
        return Fault.NO_PLACE
    if isinstance(error, FileExistsError) or code in _EXISTS_CODES or status == 412:
        return Fault.EXISTS
    if isinstance(error, FileNotFoundError) or status == 404:
        return Fault.ABSENT
    if getattr(error, "winerror", None) in _SHARED or _is_renamed_onto_open(error):
        return Fault.TRANSIENT
    types = {kind.__name__ for cause in (error, error.__cause__) if cause for kind in type(cause).__mro__}
    if isinstance(error, PermissionError) or code in _DENIED_CODES or status in (401, 403) or types & _DENIED_TYPES:
        return Fault.DENIED
    if code in _TRANSIENT_CODES or status >= 500 or status in (408, 409, 429):
        return Fault.TRANSIENT
    if isinstance(error, TimeoutError | ConnectionError | EOFError) or types & _TRANSIENT_TYPES:
        return Fault.TRANSIENT
    if 400 <= status < 500:
        return Fault.PERMANENT
    return Fault.TRANSIENT if getattr(error, "errno", None) in _TRANSIENT_NUMBERS else Fault.PERMANENT


def _is_renamed_onto_open(error: BaseException) -> bool:
    # Only an error of a rename names two files.
    return isinstance(error, OSError) and getattr(error, "winerror", None) == _REFUSED and error.filename2 is not None


def _errors() -> tuple[type[Exception], ...]:
    """Types of the errors that file systems raise. They are known only after a call, which may import their packages."""
    known = [(sys.modules.get(module), name) for module, names in _ERRORS.items() for name in names]
    return OSError, EOFError, *(getattr(module, name) for module, name in known if hasattr(module, name))


def persistently(place: Location, what: str, attempt: Callable[[], T], patience: float) -> T:
    """Call until it works, with growing pauses where an error may pass; no attempt begins after so many seconds.

    Raises:
        StorageLostError: if the last attempt failed by an error that may pass.
        StorageError: by an error that does not pass: no permission, no such bucket.
        FileNotFoundError: if there is no such object.
        FileExistsError: if there is one.
    """
    since, pause = time.monotonic(), FIRST_PAUSE
    while True:
        try:
            return attempt()
        except StorageError:
            raise
        except _errors() as error:
            fault = fault_of(error)
            if fault is Fault.ABSENT:
                raise FileNotFoundError(errno.ENOENT, f"no such object in {place}") from None
            if fault is Fault.EXISTS:
                raise FileExistsError(errno.EEXIST, f"such an object exists in {place}") from None
            if fault is not Fault.TRANSIENT:
                # What the server says is not quoted: an answer may repeat the request, and with it names of keys.
                raise StorageError(_told(place, what, fault, error)) from None
            if time.monotonic() - since + pause > patience:
                raise StorageLostError(
                    f"{place}: {what} failed, however often it was tried ({_reason(error)}); see that this machine "
                    f"reaches the storage, then start the command again"
                ) from None
        time.sleep(pause * random.uniform(0.5, 1.0))
        pause = min(2 * pause, MOST_PAUSE)


def _told(place: Location, what: str, fault: Fault, error: BaseException) -> str:
    reason = _reason(error)
    if fault is Fault.NO_PLACE:
        return f"{place}: there is no such bucket; create it, or correct the URI"
    if fault is Fault.DENIED:
        if place.folder:
            return f"{place}: {what} is not permitted ({reason}); let this user read and write that folder"
        return (
            f"{place}: {what} is not permitted ({reason}); put credentials for it into the environment, or give this machine a "
            f"role that may read and write there"
        )
    if is_full(error):
        return f"{place}: {what} failed ({reason}); make room there"
    return f"{place}: {what} failed ({reason}); correct the URI, or see what the storage allows"


def _reason(error: BaseException) -> str:
    """A few words for an error: its code at the server, else what the system calls it, else its type."""
    code, status = _answer(error)
    if code or status:
        return code or f"HTTP {status}"
    if isinstance(error, OSError) and error.errno and error.filename:
        return os.strerror(error.errno)
    return type(error).__name__


def _answer(error: BaseException) -> tuple[str, int]:
    """Code of a server of S3, a word or a number, and status of HTTP that an error has; empty and 0 without them."""
    for cause in (error, error.__cause__):
        response = getattr(cause, "response", None)
        if isinstance(response, dict):
            code = str(response.get("Error", {}).get("Code", ""))
            status = int(response.get("ResponseMetadata", {}).get("HTTPStatusCode") or 0)
            return code if re.fullmatch(r"[A-Za-z0-9.]{1,60}", code) else "", status
        for name in ("code", "status", "status_code"):
            value = getattr(cause, name, None)
            if isinstance(value, int | str) and str(value).isdigit():
                return "", int(value)
    return "", 0
