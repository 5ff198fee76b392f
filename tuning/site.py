"""Makes the folder of a site, of files of meters: `python -m tuning.site homes --example`."""

import sys

from common.texts import python_command
from envs.scenarios.metered import SiteOptions
from tuning.cli.command import command


def main(arguments: list[str] | None = None) -> int:
    """Make the folder; for the exit status see `command`."""
    return command(SiteOptions, arguments, "python -m tuning.site", _make)


def _make(options: SiteOptions) -> int:
    from common.units import WEEK
    from envs.environments.fit import long_splits
    from envs.scenarios.metered.making import SCHEMA, make_site
    from envs.scenarios.scenario import scenario

    schema = options.folder / SCHEMA
    first, *others = make_site(options)
    print(f"{schema}: {first}", *others, sep="\n")
    site = scenario(str(schema))
    # By default a site of less than 20 weeks has windows of days, in which no vehicle may stay.
    splits = long_splits(site) if options.sessions and max(w.lasts for w in site.windows("test")) < WEEK else []
    print("what there is to gain: " + python_command("tuning.headroom", "--scenario", schema, *splits))
    print("search:                " + python_command("tuning.run", "--algo", "ppo", "--scenario", schema, *splits))
    return 0


if __name__ == "__main__":
    sys.exit(main())
