"""Is this machine ready? `python -m tuning.doctor`."""

import sys

from tuning.cli.command import command
from tuning.diagnosis.settings import DoctorSettings

NOT_READY = 1  # exit status


def main(arguments: list[str] | None = None) -> int:
    """Examine the machine; exit status 1 if something is wrong, else see `command`."""
    return command(DoctorSettings, arguments, "python -m tuning.doctor", _doctor)


def _doctor(settings: DoctorSettings) -> int:
    from tuning.cli.console import say, terminal
    from tuning.diagnosis.examination import examine

    console = terminal()
    wrong = [finding.name for finding in examine(settings, console) if finding.status == "wrong"]
    say(console, f"not ready, mend first: {', '.join(wrong)}" if wrong else "ready")
    return NOT_READY if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
