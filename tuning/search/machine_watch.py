"""What the driver's machine is doing while a search runs, in a few words, and what the user should know of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import psutil

from common.units import GIB
from tuning.memory.gpus import Card, Load, cards, loads

SECONDS = 5.0  # between two looks
# That a card has to be idle before it is worth a line: evaluations and checkpoints leave it so for a while.
STEADY_SECONDS = 60.0
MOST_MEMORY, MOST_TEMPERATURE_C, LEAST_UTILIZATION = 0.9, 83.0, 0.5


class MachineWatch:
    """Looks at memory, cores and cards now and then.

    Args:
        found: the machine's cards; those of the driver by default.
        look: how busy these are now.
        clock: seconds.
    """

    def __init__(
        self,
        found: Sequence[Card] | None = None,
        look: Callable[[], Sequence[Load]] = loads,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cards, self._look, self._clock = cards() if found is None else found, look, clock
        self._looked = -SECONDS
        self._busy = [clock()] * len(self._cards)  # when each was last seen at work
        self._said: set[tuple[int, int]] = set()  # cards and the remarks about them that hold
        self.text = ""
        psutil.cpu_percent()  # the first one has nothing to compare with

    def look(self, running: bool) -> list[str]:
        """Look, if it is time to.

        Args:
            running: whether any trial runs.

        Returns:
            Lines that the user should see, each once for as long as what it says holds.
        """
        now = self._clock()
        if now - self._looked < SECONDS:
            return []
        self._looked = now
        seen = self._look() if self._cards else []
        memory = psutil.virtual_memory()
        parts = [f"CPU {psutil.cpu_percent():.0f} %", f"RAM {memory.percent:.0f} %"]
        parts += [_card_text(card, load) for card, load in zip(self._cards, seen, strict=True)]
        self.text = ", ".join(parts)
        lines: list[str] = []
        for index, (card, load) in enumerate(zip(self._cards, seen, strict=True)):
            lines += self._lines(index, card, load, now, running)
        return lines

    def _lines(self, index: int, card: Card, load: Load, now: float, running: bool) -> list[str]:
        if not running or load.utilization is None or load.utilization >= LEAST_UTILIZATION:
            self._busy[index] = now
        used, temperature = load.used_bytes / card.total_bytes, load.temperature_c or 0.0
        remarks = (
            (
                used > MOST_MEMORY,
                f"{card.name}: {used:.0%} of its memory is in use; close other programs that use the card, or give trials less "
                "with --gpu-memory",
            ),
            (
                temperature > MOST_TEMPERATURE_C,
                f"{card.name}: {temperature:.0f} C; let air at it, or run fewer trials at once with --concurrency",
            ),
            (
                now - self._busy[index] > STEADY_SECONDS,
                f"{card.name}: less than half of its time is used; a larger batch_size or more trials at once (--concurrency, "
                "--gpu-memory) use more; where networks are small the CPU may be as fast, which python -m tuning.doctor "
                "measures",
            ),
        )
        # The figures in a line change; it is said again only when what it says has ceased to hold meanwhile.
        holding = {(index, kind) for kind, (holds, _) in enumerate(remarks) if holds}
        new = holding - self._said
        self._said = {known for known in self._said if known[0] != index} | holding
        return [line for kind, (_, line) in enumerate(remarks) if (index, kind) in new]


def _card_text(card: Card, load: Load) -> str:
    parts = [f"{load.used_bytes / GIB:.1f}/{card.total_bytes / GIB:.1f} GiB"]
    if load.utilization is not None:
        parts.append(f"{load.utilization:.0%}")
    if load.temperature_c is not None:
        parts.append(f"{load.temperature_c:.0f} C")
    if load.power_w is not None:
        parts.append(f"{load.power_w:.0f} W")
    return "GPU " + " ".join(parts)
