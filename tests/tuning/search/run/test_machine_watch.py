"""The load of the machine is shown, and advice about a card comes once for as long as it holds."""

from typing import Any

from common.units import GIB
from tuning.memory.gpus import Card, DriverError, Load
from tuning.search.run.machine_watch import SECONDS, STEADY_SECONDS, MachineWatch, granted_texts

CARD = Card(0, "RTX 4060", 8 * GIB)


class Machine:
    def __init__(self) -> None:
        self.now, self.load = 0.0, Load(4 * GIB, 0.8, 60.0, 80.0, None)
        self.watch = MachineWatch([CARD], lambda: [self.load], lambda: self.now)

    def after(self, seconds: float, running: bool = True, **load: Any) -> list[str]:
        self.load = Load(**{**vars(self.load), **load})
        self.now += seconds
        return self.watch.look(running)


def test_the_load_is_in_the_text() -> None:
    machine = Machine()
    assert machine.after(0.0) == []
    assert machine.watch.text.endswith("GPU 4.0/8.0 GiB 80% 60 C 80 W")
    assert machine.watch.text.startswith("CPU ")
    assert "RAM " in machine.watch.text


def test_it_measures_only_every_few_seconds() -> None:
    machine = Machine()
    machine.after(0.0)
    machine.after(SECONDS / 2, used_bytes=GIB)
    assert "4.0/8.0" in machine.watch.text
    machine.after(SECONDS, used_bytes=GIB)
    assert "1.0/8.0" in machine.watch.text


def test_a_driver_that_fails_ends_the_looks_and_not_the_search() -> None:
    machine = Machine()
    machine.after(0.0)

    def fail() -> list[Load]:
        raise DriverError("NVIDIA's driver gave up")

    machine.watch._look = fail
    assert machine.after(SECONDS) == ["the cards are watched no longer: NVIDIA's driver gave up"]
    assert machine.after(SECONDS) == []
    assert "GPU" not in machine.watch.text


def test_a_full_card_is_reported_once_while_it_is_full() -> None:
    machine = Machine()
    assert machine.after(SECONDS) == []
    (line,) = machine.after(SECONDS, used_bytes=int(7.5 * GIB))
    assert "94%" in line
    assert "--gpu-memory" in line
    assert machine.after(SECONDS) == []
    assert machine.after(SECONDS, used_bytes=GIB) == []
    assert len(machine.after(SECONDS, used_bytes=int(7.5 * GIB))) == 1


def test_a_hot_card_is_reported_above_its_limit() -> None:
    machine = Machine()
    (line,) = machine.after(SECONDS, temperature_c=84.0)
    assert "84 C" in line
    assert machine.after(SECONDS, temperature_c=83.0) == []


def test_a_card_that_stays_idle_while_trials_run_is_reported() -> None:
    machine = Machine()
    machine.after(SECONDS, utilization=0.1)
    assert machine.after(STEADY_SECONDS / 2) == []
    (line,) = machine.after(STEADY_SECONDS)
    assert "less than half of its time" in line
    assert machine.after(SECONDS, utilization=0.9) == []
    # Without trials a card may be idle.
    machine.after(SECONDS, running=False, utilization=0.0)
    assert machine.after(10 * STEADY_SECONDS, running=False) == []


def test_a_card_without_figures_of_its_load_is_not_reported() -> None:
    machine = Machine()
    assert machine.after(SECONDS, utilization=None, temperature_c=None, power_w=None) == []
    assert machine.watch.text.endswith("GPU 4.0/8.0 GiB")
    assert machine.after(10 * STEADY_SECONDS) == []


def test_of_a_cluster_the_load_of_all_nodes_comes_first() -> None:
    total = {"CPU": 48.0, "GPU": 4.0, "memory": 192.0 * GIB, "node:a": 1.0}
    granted = granted_texts(12, total, {"CPU": 36.0, "GPU": 1.25, "memory": 100.0 * GIB})
    watch = MachineWatch([], clock=lambda: 0.0, granted=lambda: granted)
    watch.look(running=True)
    assert watch.text.startswith("12 nodes, 12/48 cores, 92/192 GiB, 2.75/4 cards, driver CPU ")
    assert MachineWatch([], clock=lambda: 0.0).look(running=True) == []


def test_what_is_granted_as_a_whole_is_all_of_it() -> None:
    assert granted_texts(2, {"CPU": 4.0}, {}) == ["2 nodes", "4/4 cores"]
