"""Runs Python under an audit hook: what a stranger's files made it do.

from tests.audit import audited

done = audited(["-m", "tuning.rollout", str(experiment)], folder=experiment)
assert done.events == []

The hook is installed in the process, in the processes that it starts, and so in Ray's workers. Forbidden are:

- reading a pickle that names a class or function;
- importing, compiling or running code that lies in the folder;
- starting a process.

Ray, numba and this project do some of it for reasons of their own. So an event is passed over where the code that caused it is
in `ALLOWED`: that is the nearest frame outside of the standard library. Code in the folder is never passed over.
"""

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
PROCESSES = {
    "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "os.startfile",
    "pty.spawn",
}  # fmt: skip
CODE_ENDINGS = (".py", ".pyc", ".so", ".pyd", ".dll", ".dylib")
# Modules, each with those below it, that unpickle what this machine wrote itself, or start processes of their own.
ALLOWED = (
    "numba", "llvmlite",  # compiled code of this project, which numba pickles into its cache
    # Functions, values and errors between Ray's processes, and these processes.
    "ray._private", "ray._raylet", "ray.cloudpickle", "ray.exceptions", "ray.tune.registry",
    "cuda.pathfinder",  # looks for the libraries of a card
    "tuning.trial.provenance",  # asks git for the commit
    "tuning.diagnosis",  # trains a little in processes of its own
)  # fmt: skip
_SETTINGS = "BUILDING_TUNER_AUDIT"  # environment variable, JSON
_STANDARD = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))


@dataclass(frozen=True)
class Event:
    """Something that a stranger's file must not cause.

    Attributes:
        name: of the audit event.
        detail: class, file or command.
        caller: module of the nearest frame outside of the standard library; empty while Python starts.
    """

    name: str
    detail: str
    caller: str


@dataclass(frozen=True)
class Audited:
    """A run under the hook.

    Attributes:
        status: exit status.
        out: standard output.
        err: standard error.
        events: that are forbidden, of all processes.
    """

    status: int
    out: str
    err: str
    events: list[Event]


def audited(
    arguments: Sequence[str],
    folder: Path,
    allowed: Collection[str] = (),
    cwd: Path = ROOT,
    environment: dict[str, str] | None = None,
    timeout: float = 300.0,
) -> Audited:
    """Run `python ARGUMENTS` under the hook.

    Args:
        arguments: such as `["-m", "tuning.run", ...]` or `["-c", program]`.
        folder: a stranger's files; code in it must not run.
        allowed: modules to pass over, beside `ALLOWED`.
        cwd: working folder.
        environment: more environment variables.
        timeout: of the run, seconds.
    """
    with tempfile.TemporaryDirectory(prefix="audit-") as name:
        own = Path(name)
        # Python imports a module of this name when it starts.
        (own / "sitecustomize.py").write_text("from tests.audit import install\n\ninstall()\n", encoding="utf-8")
        log = own / "events"
        log.touch()
        settings = {"folder": str(folder.resolve()), "log": str(log), "allowed": [*ALLOWED, *allowed]}
        done = subprocess.run(
            [sys.executable, *arguments], cwd=cwd, timeout=timeout, check=False,
            capture_output=True, text=True, encoding="utf-8",
            env={
                **os.environ, **(environment or {}), _SETTINGS: json.dumps(settings),
                "PYTHONPATH": os.pathsep.join((str(own), str(ROOT))),
            },
        )  # fmt: skip
        events = [Event(*json.loads(line)) for line in log.read_text(encoding="utf-8").splitlines()]
    return Audited(done.returncode, done.stdout, done.stderr, events)


def install() -> None:
    """Add the hook to this process; it cannot be removed again."""
    settings = json.loads(os.environ[_SETTINGS])
    folder, allowed = settings["folder"], tuple(settings["allowed"])
    # Opened once: a write to it then causes no event.
    log = os.open(settings["log"], os.O_WRONLY | os.O_APPEND)

    def hook(name: str, arguments: tuple[Any, ...]) -> None:
        detail, of_folder = _forbidden(name, arguments, folder)
        if detail is None:
            return
        caller = _caller(sys._getframe(1))
        if of_folder or not _within(caller, allowed):
            os.write(log, (json.dumps([name, detail, caller]) + "\n").encode())

    sys.addaudithook(hook)


def _forbidden(name: str, arguments: tuple[Any, ...], folder: str) -> tuple[str | None, bool]:
    """What an event is about, None where it is none of those that are forbidden; and whether it is code of the folder."""
    if name == "pickle.find_class":
        return ".".join(map(str, arguments)), False
    if name in PROCESSES:
        return repr(arguments)[:200], False
    path: Any = None
    if name == "exec" and isinstance(arguments[0], CodeType):
        path = arguments[0].co_filename
    elif name == "compile" or name == "import":
        path = arguments[1]
    elif name in ("open", "ctypes.dlopen"):
        path = arguments[0]
        if not str(path).endswith(CODE_ENDINGS) or (name == "open" and _writes(*arguments[1:])):
            return None, False
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    return (path, True) if isinstance(path, str) and path.startswith(folder + os.sep) else (None, False)


def _writes(mode: str | None, flags: int) -> bool:
    """Whether a file is opened to be written; `os.open` gives no mode."""
    return "r" not in mode if mode else bool(flags & (os.O_WRONLY | os.O_CREAT))


def _caller(frame: FrameType | None) -> str:
    """Module of the nearest frame outside of the standard library."""
    while frame:
        file = frame.f_code.co_filename
        is_standard = file.startswith("<frozen") or (file.startswith(_STANDARD) and "site-packages" not in file)
        if not is_standard and file != __file__:
            return str(frame.f_globals.get("__name__", "?"))
        frame = frame.f_back
    return ""


def _within(caller: str, allowed: Collection[str]) -> bool:
    return not caller or any(caller == module or caller.startswith(f"{module}.") for module in allowed)
