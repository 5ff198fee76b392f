"""A trained policy as files that run without this package: `python -m tuning.export experiments/NAME --trial best --to DIR`."""

import sys

from common.texts import printable
from tuning.cli.command import command
from tuning.exporting.settings import ExportSettings


def main(arguments: list[str] | None = None) -> int:
    """Export the policy and print the paths of its files; for the exit status see `command`."""
    return command(ExportSettings, arguments, "python -m tuning.export", _export)


def _export(settings: ExportSettings) -> int:
    from tuning.exporting.files import SEEN, export_policy

    paths = export_policy(settings)
    for path in paths:
        print(printable(str(path)))
    if any(path.name == SEEN for path in paths):
        note = f"note: the policy acts beside a plan, which {SEEN} has for the hours of this site's data and for no others; of "
        print(note + "other hours envs.planning.live makes it from your forecasts, see docs/export.md", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
