"""Load of the driver's machine during a search: a short text, and advice when something is wrong."""

import time
from collections.abc import Callable, Mapping, Sequence

import psutil

from common.texts import counted, python_command
from common.units import GIB
from tuning.memory.gpus import Card, DriverError, Load, cards, loads
from tuning.runtime.cluster import is_ray_running

SECONDS = 5.0  # between two looks
# A card is reported only after so long below half load: evaluations and checkpoints leave it idle for a while.
STEADY_SECONDS = 60.0
MOST_MEMORY, MOST_TEMPERATURE_C, LEAST_UTILIZATION = 0.9, 83.0, 0.5


def granted_texts(nodes: int, total: Mapping[str, float], free: Mapping[str, float]) -> list[str]:
    """What all searches and other programs have of a cluster of some nodes, in short texts.

    Amounts, in all and free, are by Ray's names: `CPU`, `GPU`, `memory`.
    """
    texts = [counted(nodes, "node")]
    for name, unit, words in (("CPU", 1.0, "cores"), ("memory", GIB, "GiB"), ("GPU", 1.0, "cards")):
        if whole := total.get(name, 0.0):
            texts.append(f"{(whole - free.get(name, 0.0)) / unit:.3g}/{whole / unit:.4g} {words}")
    return texts


def granted_of_cluster() -> list[str]:
    """What Ray has granted, in short texts; none of a single node."""
    if not is_ray_running():
        return []
    import ray

    nodes = sum(node["Alive"] for node in ray.nodes())
    return granted_texts(nodes, ray.cluster_resources(), ray.available_resources()) if nodes > 1 else []


class MachineWatch:
    """Measures memory, cores and cards every `SECONDS`: of this machine, and of a cluster what Ray has granted of it.

    Attributes:
        text: the last measurement, such as "CPU 80 %, RAM 40 %"; empty before the first.
    """

    def __init__(
        self,
        watched: Sequence[Card] | None = None,
        look: Callable[[], Sequence[Load]] = loads,
        clock: Callable[[], float] = time.monotonic,
        granted: Callable[[], list[str]] = list,
    ) -> None:
        """Prepare it; `look` measures.

        By default the cards are those of this machine. `granted` tells what Ray has granted of a cluster; nothing of a single
        machine.
        """
        self._granted = granted
        self._cards, self._look, self._clock = cards() if watched is None else watched, look, clock
        self._looked = -SECONDS
        self._busy = [clock()] * len(self._cards)  # when each was last seen at work
        self._said: set[tuple[int, int]] = set()  # index of a card and of a remark that is true of it
        self.text = ""
        psutil.cpu_percent()  # it measures from one call to the next

    def look(self, running: bool) -> list[str]:
        """Measure, if the last time is `SECONDS` ago.

        Returns:
            Lines of advice. A line comes once, and again only if its condition has ended meanwhile.
        """
        now = self._clock()
        if now - self._looked < SECONDS:
            return []
        self._looked = now
        lines = list[str]()
        try:
            seen = self._look() if self._cards else []
        except DriverError as error:
            # As while it is installed anew. The search does not need to look.
            seen, self._cards, lines = [], [], [f"the cards are watched no longer: {error}"]
        memory = psutil.virtual_memory()
        granted = self._granted()
        # With several nodes this machine is only the driver's.
        parts = [*granted, f"{'driver ' if granted else ''}CPU {psutil.cpu_percent():.0f} %", f"RAM {memory.percent:.0f} %"]
        parts += [_card_text(card, load) for card, load in zip(self._cards, seen, strict=True)]
        self.text = ", ".join(parts)
        for index, (card, load) in enumerate(zip(self._cards, seen, strict=True)):
            lines += self._lines(index, card, load, now, running)
        return lines

    def _lines(self, index: int, card: Card, load: Load, now: float, running: bool) -> list[str]:
        if not running or load.utilization is None or load.utilization >= LEAST_UTILIZATION:
            self._busy[index] = now
        checked = remarks(card, load, now - self._busy[index])
        # The figures in a line change, so conditions are compared and not lines.
        holding = {(index, kind) for kind, (is_true, _) in enumerate(checked) if is_true}
        new = holding - self._said
        self._said = {known for known in self._said if known[0] != index} | holding
        return [line for kind, (_, line) in enumerate(checked) if (index, kind) in new]


def remarks(card: Card, load: Load, idle_seconds: float) -> tuple[tuple[bool, str], ...]:
    """Everything that may be wrong with a card.

    It was last busy for half of its time so many seconds ago, while trials ran. Returns whether each is true, and its line.
    """
    used, temperature = load.used_bytes / card.total_bytes, load.temperature_c or 0.0
    return (
        (
            used > MOST_MEMORY,
            f"{card.name}: {used:.0%} of its memory is in use; close other programs that use the card, or give trials less "
            "with --gpu-memory",
        ),
        (
            temperature > MOST_TEMPERATURE_C,
            f"{card.name}: {temperature:.0f} C; improve its cooling, or run fewer trials at once with --concurrency",
        ),
        (
            idle_seconds > STEADY_SECONDS,
            f"{card.name}: less than half of its time is used; a larger batch_size or more trials at once (--concurrency, "
            "--gpu-memory) use more; with small networks the CPU may be as fast "
            f"(--device cpu): {python_command('tuning.doctor')} measures it",
        ),
    )


def _card_text(card: Card, load: Load) -> str:
    parts = [f"{load.used_bytes / GIB:.1f}/{card.total_bytes / GIB:.1f} GiB"]
    if load.utilization is not None:
        parts.append(f"{load.utilization:.0%}")
    if load.temperature_c is not None:
        parts.append(f"{load.temperature_c:.0f} C")
    if load.power_w is not None:
        parts.append(f"{load.power_w:.0f} W")
    return "GPU " + " ".join(parts)
