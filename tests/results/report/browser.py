"""A headless Chromium that opens a page, spoken to by its DevTools protocol over two pipes."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)

# The browser reads commands from descriptor 3 and writes answers to 4. Ours may have these numbers already.
_PLACE = """
import fcntl, os, sys
ours = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3]]
for descriptor, place in zip(ours, (3, 4)):
    os.dup2(descriptor, place)
os.execv(sys.argv[3], sys.argv[3:])
"""


@dataclass
class View:
    """What a page did.

    Attributes:
        errors: what the console showed as an error or a warning, and exceptions.
        requests: addresses other than the page's own.
        page_width: of the whole document, pixels.
        drawn: how many charts.
        cut: charts that are wider than their place, have a text that leaves them, or a name on an axis that ends early.
        explains: whether words are explained without a click.
    """

    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    page_width: int = 0
    drawn: int = 0
    cut: list[str] = field(default_factory=list)
    explains: bool = False


class Browser:
    """A running browser. One command at a time; events between are kept."""

    def __init__(self, incoming: int, outgoing: int) -> None:
        self._in, self._out = incoming, outgoing
        self._number, self._rest = 0, b""
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Send a command, and wait for its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        os.write(self._out, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return dict(answer["result"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            read = os.read(self._in, 2**16)
            if not read:
                raise RuntimeError("the browser has ended")
            self._rest += read
        message, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(message))

    def evaluate(self, session: str, code: str) -> Any:
        """Value of an expression in the page; a promise is waited for."""
        result = self.call("Runtime.evaluate", session, expression=code, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"]))
        return result["result"].get("value")

    def view(self, path: Path, width: int = 1280, scheme: str = "light", media: str = "") -> View:
        """Open a file, wait until all charts are drawn, and say what happened.

        Args:
            path: of an HTML file.
            width: of the window, pixels.
            scheme: light or dark.
            media: "print" shows the page as a printer would.
        """
        self.events.clear()
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable", session)
        self.call(
            "Emulation.setDeviceMetricsOverride", session, width=width, height=900, deviceScaleFactor=1, mobile=width < 600
        )
        schemes = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", session, media=media, features=schemes)
        self.call("Page.navigate", session, url=path.as_uri())
        waiting = """new Promise((done, failed) => {
            const stop = setTimeout(() => failed(new Error("not drawn in 60 s")), 60000);
            const look = () => document.readyState === "complete" && (document.documentElement.dataset.whole
                || document.documentElement.dataset.drawn === "0") ? (clearTimeout(stop), done()) : setTimeout(look, 50);
            look();
        })"""
        try:
            self.evaluate(session, waiting)
            waited = ""
        except RuntimeError as error:
            waited = str(error)
        found = View(errors=[waited] if waited else [])
        found.page_width = self.evaluate(session, "document.documentElement.scrollWidth")
        found.drawn = int(self.evaluate(session, "document.querySelectorAll('.chart svg').length"))
        found.cut = self.evaluate(
            session,
            """[...document.querySelectorAll(".chart")].filter((chart) => {
            const svg = chart.querySelector("svg");
            if (!svg) return true;
            const outer = chart.getBoundingClientRect(), inner = svg.getBoundingClientRect();
            const leaves = (text) => {
                const place = text.getBoundingClientRect();
                return place.width > 0 && (place.right > inner.right + 1 || place.left < inner.left - 1);
            };
            const cut = (text) => text.closest(".role-axis-label") && text.textContent.trim().endsWith("…");
            return inner.right > outer.right + 1 || [...svg.querySelectorAll("text")].some((text) => leaves(text) || cut(text));
        }).map((chart) => chart.dataset.chart)""",
        )
        found.explains = self.evaluate(session, "document.querySelector('.words dd').checkVisibility()")
        for event in self.events:
            content = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.errors.append(str(content["exceptionDetails"]))
            elif event.get("method") == "Runtime.consoleAPICalled" and content["type"] in ("error", "warning", "assert"):
                found.errors.append(str([one.get("value", one.get("description")) for one in content["args"]]))
            elif event.get("method") == "Log.entryAdded" and content["entry"]["level"] in ("error", "warning"):
                found.errors.append(content["entry"]["text"])
            elif event.get("method") == "Network.requestWillBeSent":
                address = content["request"]["url"]
                if address != path.as_uri() and not address.startswith(("data:", "blob:")):
                    found.requests.append(address)
        self.call("Target.closeTarget", targetId=target)
        return found


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A browser with a profile of its own.

    Args:
        folder: for its profile.
    """
    assert CHROMIUM
    to_browser, from_browser = os.pipe(), os.pipe()
    command = [
        CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", f"--user-data-dir={folder}", "about:blank",
    ]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-c", _PLACE, str(to_browser[0]), str(from_browser[1]), *command],
        pass_fds=(to_browser[0], from_browser[1]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    os.close(to_browser[0])
    os.close(from_browser[1])
    try:
        yield Browser(from_browser[0], to_browser[1])
    finally:
        os.close(to_browser[1])
        os.close(from_browser[0])
        process.terminate()
        process.wait(30)
