"""The best policy's hours of a year, and the policy as files that need neither Ray nor torch."""

import sys
from pathlib import Path

import tyro

from common.errors import UserError
from tuning import ExportSettings, RolloutSettings, export_policy, roll_out


def main(experiment: tyro.conf.Positional[Path], to: Path = Path("controller")) -> None:
    """Run the policy through the first test year, and export it.

    Args:
        experiment: folder of the experiment.
        to: folder for the exported files; it must not exist.
    """
    rollout = roll_out(RolloutSettings(experiment))
    hours = rollout.hours
    print(f"{hours['import_kwh'].sum():,.0f} kWh imported in {len(hours):,} hours; a week of it: {rollout.picture}")
    for path in export_policy(ExportSettings(experiment, to=to)):
        print(path)


if __name__ == "__main__":
    try:
        tyro.cli(main)
    except UserError as error:
        sys.exit(f"error: {error}")
