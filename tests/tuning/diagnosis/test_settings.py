"""Command lines of memory predictions and examinations become settings."""

from tuning.cli.command import parse
from tuning.diagnosis.settings import DoctorSettings, MemorySettings


def test_command_lines_become_settings() -> None:
    memory = parse(MemorySettings, ["--algo", "sac", "--set", "a=1", "b=2", "--set", "c=3", "--device", "gpu"], None, "test")
    assert memory == MemorySettings(algo="sac", set=(("a=1", "b=2"), ("c=3",)), device="gpu")
    assert parse(DoctorSettings, ["--switches"], None, "test") == DoctorSettings(algo="all", switches=True)
