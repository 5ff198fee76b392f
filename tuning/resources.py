"""Predicted memory of a trial: `python -m tuning.resources --algo sac --set batch_size=1024 buffer_size=1000000`."""

import sys

from tuning.cli.command import command
from tuning.diagnosis.settings import MemorySettings

DOES_NOT_FIT = 1  # exit status


def main(arguments: list[str] | None = None) -> int:
    """Print the tables; exit status 1 if the trial does not fit, else see `command`."""
    return command(MemorySettings, arguments, "python -m tuning.resources", _resources)


def _resources(settings: MemorySettings) -> int:
    from tuning.cli.console import terminal
    from tuning.diagnosis.memory_forecast import predict_memory, print_forecast

    forecast = predict_memory(settings)
    print_forecast(forecast, terminal())
    return 0 if forecast.grant else DOES_NOT_FIT


if __name__ == "__main__":
    sys.exit(main())
