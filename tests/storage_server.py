"""An S3 server on loopback in a process of its own, and a proxy before it that is slow, fails and cuts connections."""

import contextlib
import random
import socket
import socketserver
import subprocess
import sys
import threading
import time
import urllib.request
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "AKIATESTONLYLOOPBACK",
    "AWS_SECRET_ACCESS_KEY": "secret-of-the-loopback-server",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}
# One request at a time: moto looks whether an object exists, then writes it, and another request could come between.
_SERVER = """
import io, sys, threading
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server, WSGIRequestHandler

class Quiet(WSGIRequestHandler):
    def log(self, *args): pass

application, lock = DomainDispatcherApplication(create_backend_app), threading.Lock()

def one_at_a_time(environ, start):
    due = int(environ.get("CONTENT_LENGTH") or 0)
    body = environ["wsgi.input"].read(due)
    if len(body) < due:  # moto would keep what came
        start("400 Bad Request", [])
        return []
    environ["wsgi.input"] = io.BytesIO(body)
    with lock:
        return list(application(environ, start))

server = make_server("127.0.0.1", int(sys.argv[1]), one_at_a_time, threaded=True, request_handler=Quiet)
print(server.server_port, flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
"""


@dataclass
class StorageServer:
    """An S3 server.

    Attributes:
        process: of the server; all it holds is lost with it.
        port: on loopback.
    """

    process: subprocess.Popen[str]
    port: int

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def bucket(self, name: str = "") -> str:
        """Make a bucket; its URI."""
        name = name or f"bucket-{uuid.uuid4().hex[:12]}"
        request = urllib.request.Request(f"{self.endpoint}/{name}", method="PUT")
        with urllib.request.urlopen(request, timeout=10):
            return f"s3://{name}"

    def kill(self) -> None:
        """End the server at once."""
        self.process.kill()
        self.process.wait()


def environment(endpoint: str) -> dict[str, str]:
    """Variables by which clients find a server, and credentials that it takes."""
    nowhere = str(Path(__file__).with_name("no-such-file"))
    return {**ENVIRONMENT, "AWS_ENDPOINT_URL": endpoint, "AWS_CONFIG_FILE": nowhere, "AWS_SHARED_CREDENTIALS_FILE": nowhere}


def dead_endpoint() -> str:
    """Where no server listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


@contextlib.contextmanager
def storage_server(port: int = 0) -> Iterator[StorageServer]:
    """Run an S3 server."""
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout
        yield StorageServer(process, int(process.stdout.readline()))
    finally:
        process.kill()
        process.communicate()


@dataclass
class Faults:
    """Shares of requests that go wrong, and how.

    Attributes:
        slow: answered after `delay` seconds.
        failing: answered by 500, or by 503 as of a server that has too much to do; the request is not passed on.
        cut_request: the connection ends in the middle of the request.
        cut_answer: the server does the work; the connection ends in the middle of its answer.
        lost_answer: the server does the work; the connection ends before its answer.
        denied: answered by 403.
        delay: seconds.
    """

    slow: float = 0.0
    failing: float = 0.0
    cut_request: float = 0.0
    cut_answer: float = 0.0
    lost_answer: float = 0.0
    denied: float = 0.0
    delay: float = 0.2


@dataclass
class FaultyProxy:
    """A proxy on loopback.

    Attributes:
        faults: may be replaced at any time.
        script: faults of the next requests by name, before chance decides; "" for none.
        requests: how many came, by method.
        injected: how many faults there were, by name.
    """

    target: int
    faults: Faults
    port: int = 0
    script: list[str] = field(default_factory=list)
    requests: Counter[str] = field(default_factory=Counter)
    injected: Counter[str] = field(default_factory=Counter)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextlib.contextmanager
def faulty_proxy(server: StorageServer, faults: Faults | None = None, seed: int = 0) -> Iterator[FaultyProxy]:
    """Run a proxy before a server.

    Args:
        server: that requests go to.
        faults: that it adds.
        seed: of which requests they hit.
    """
    proxy, chance, lock = FaultyProxy(server.port, faults or Faults()), random.Random(seed), threading.Lock()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError):
                self._serve()

        def _serve(self) -> None:
            request = _whole_request(self.request)
            if not request:
                return
            with lock:
                method = request.partition(b" ")[0].decode()
                proxy.requests[method] += 1
                fault = proxy.script.pop(0) if proxy.script else _drawn(proxy.faults, chance)
                proxy.injected[fault] += bool(fault)
            if fault == "slow":
                time.sleep(proxy.faults.delay)
            if fault == "cut_request":
                _cut(proxy.target, request)
            elif fault == "failing":
                self.request.sendall(_answer(method, "500 Internal Server Error", "InternalError"))
            elif fault == "busy":
                self.request.sendall(_answer(method, "503 Service Unavailable", "SlowDown"))
            elif fault == "denied":
                self.request.sendall(_answer(method, "403 Forbidden", "AccessDenied"))
            else:
                answer = _passed_on(proxy.target, request)
                cut = {"cut_answer": max(1, len(answer) - 7), "lost_answer": 0}.get(fault, len(answer))
                self.request.sendall(answer[:cut])

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        request_queue_size = 128

    with Server(("127.0.0.1", 0), Handler) as listener:
        proxy.port = listener.server_address[1]
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            listener.shutdown()
            thread.join()


def _drawn(faults: Faults, chance: random.Random) -> str:
    draw = chance.random()
    for name in ("slow", "failing", "cut_request", "cut_answer", "lost_answer", "denied"):
        draw -= getattr(faults, name)
        if draw < 0:
            return "busy" if name == "failing" and chance.random() < 0.5 else name
    return ""


def _whole_request(connection: socket.socket) -> bytes:
    """A request with its body, to be passed on with a connection of its own."""
    connection.settimeout(10)
    received = b""
    while b"\r\n\r\n" not in received:
        piece = connection.recv(65536)
        if not piece:
            return b""
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    names = {name.strip().lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines[1:])}
    if b"expect" in names:
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    due = int(names.get(b"content-length", b"0"))
    while len(body) < due:
        piece = connection.recv(65536)
        if not piece:
            return b""
        body += piece
    kept = [line for line in lines if not line.lower().startswith((b"expect:", b"connection:"))]
    return b"\r\n".join([*kept, b"Connection: close", b"", body])


def _passed_on(port: int, request: bytes) -> bytes:
    """What the server answers, up to the end of its connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as upstream:
        upstream.sendall(request)
        received = b""
        while piece := upstream.recv(65536):
            received += piece
        return received


def _cut(port: int, request: bytes) -> None:
    """Pass on a request with half of its body; one without a body is not passed on."""
    head, _, body = request.partition(b"\r\n\r\n")
    if body:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as upstream:
            upstream.sendall(head + b"\r\n\r\n" + body[: len(body) // 2])


def _answer(method: str, status: str, code: str) -> bytes:
    body = f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>as the test wants it</Message></Error>'.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/xml\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + (b"" if method == "HEAD" else body)
