"""Makes the folder of a site, of files of meters: `python -m tuning.site homes --example`."""

from __future__ import annotations

import sys

from common.texts import python_command
from envs.scenarios.metered import SiteOptions
from tuning.cli.command import command


def main(arguments: list[str] | None = None) -> int:
    """Make the folder; for the exit status see `command`."""
    return command(SiteOptions, arguments, "python -m tuning.site", _make)


def _make(options: SiteOptions) -> int:
    from envs.scenarios.metered.making import SCHEMA, make_site

    schema = options.folder / SCHEMA
    first, *others = make_site(options)
    print(f"{schema}: {first}", *others, sep="\n")
    print("what there is to gain: " + python_command("tuning.headroom", "--scenario", schema))
    print("search:                " + python_command("tuning.run", "--algo", "ppo", "--scenario", schema))
    return 0


if __name__ == "__main__":
    sys.exit(main())
