"""All that needs a card, in the order of its worth: tests, benchmarks, two searches, the doctor.

Run: `uv run --group benchmarks python benchmarks/on_card.py --to FOLDER [--parts speed search]`. Each command writes a file
there and has a time of its own; what overruns it is ended, and the next one begins. Commands of a part run at once.
"""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import tyro

SITE = ("--scenario", "iquitos")
SEARCH = (
    "-m", "tuning.run", "--algo", "ppo", *SITE, "--trials", "8", "--sampler", "random", "--scheduler", "none", "--concurrency",
    "4", "--gpu-memory", "8", "--set", "plan=none",
)  # fmt: skip
# By part: the name of each command, its arguments for Python, whether it sees the card, and its seconds.
PARTS: dict[str, list[tuple[str, tuple[str, ...], bool, float]]] = {
    "tests": [
        ("pytest", ("-m", "pytest", "-m", "gpu", "-n", "4", "-p", "no:cacheprovider", "-rA"), True, 300),
        ("baseline", ("-m", "tuning.memory.baseline"), True, 60),
    ],
    "graphs": [("graphs", ("benchmarks/shared_card.py", "--device", "cuda", "--graphs", "--trials", "1", "8"), True, 75)],
    "share": [("shared_card", ("benchmarks/shared_card.py", "--device", "cuda"), True, 200)],
    "speed": [("card_or_core", ("benchmarks/card_or_core.py",), True, 150)],
    "search": [
        ("search_on_card", (*SEARCH, "--name", "on-card"), True, 150),
        ("search_on_cores", (*SEARCH, "--name", "on-cores"), False, 150),
    ],
    "doctor": [(f"doctor_{algo}", ("-m", "tuning.doctor", "--algo", algo, *SITE), True, 240) for algo in ("ppo", "a2c", "sac")],
}


@dataclass(frozen=True)
class Options:
    """What to run."""

    to: Path
    """Folder of what the commands print and of the searches."""
    parts: tuple[str, ...] = tuple(PARTS)
    """What to run, one after the other."""


def main() -> None:
    options = tyro.cli(Options)
    options.to.mkdir(parents=True, exist_ok=True)
    root = Path(__file__).parent.parent
    for part in options.parts:
        begun, running = time.monotonic(), []
        for name, arguments, sees, seconds in PARTS[part]:
            own = {**os.environ, "PYTHONPATH": os.pathsep.join((str(root), os.environ.get("PYTHONPATH", "")))}
            own |= {} if sees else {"CUDA_VISIBLE_DEVICES": ""}
            arguments = (*arguments, "--dir", str(options.to / "searches")) if part == "search" else arguments
            with (options.to / f"{name}.txt").open("w") as file:
                process = subprocess.Popen([sys.executable, *arguments], stdout=file, stderr=file, env=own, cwd=root)
            running.append((name, process, begun + seconds))
        for name, process, end in running:
            try:
                said = f"status {process.wait(max(0.0, end - time.monotonic()))}"
            except subprocess.TimeoutExpired:
                process.terminate()
                said = "took too long"
            print(f"{name}: {said}, {time.monotonic() - begun:.0f} s", flush=True)
            print("\n".join((options.to / f"{name}.txt").read_text().splitlines()[-30:]), flush=True)


if __name__ == "__main__":
    main()
