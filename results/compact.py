"""Make many part files few: `python -m results.compact EXPERIMENT...`. A search may run meanwhile."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from common.errors import UserError
from common.paths import user_path
from common.texts import printable
from common.uris import is_uri, without_credentials
from results.compaction import compact
from results.parts import ResultsError


def main(arguments: Sequence[str] | None = None) -> int:
    """Pack the tables of experiments, and print a line about each.

    Args:
        arguments: of the command line; None for those of the process.

    Returns:
        Exit status: 2 where a folder cannot be packed.
    """
    given = parser().parse_args(arguments)
    try:
        for place in filter(is_uri, given.experiments):
            # A run that writes there knows its own parts alone, and would not see that others have become a pack.
            raise ResultsError(
                f"{without_credentials(place)} is a URI, and only folders of this machine are packed; loading many parts from "
                "storage is parallel, and fetches each once"
            )
        for folder in map(user_path, given.experiments):
            for done in compact(folder):
                is_copy = done.table == "trials"
                did, are = ("gathered", "are read as") if is_copy else ("packed", "are")
                line = f"{folder} {done.table}: {done.trials} trials {did}, {done.before} files {are} {done.after} now"
                more = f"; {done.stuck} of them are open elsewhere, and the next time deletes them" if done.stuck else ""
                print(printable(line + more))
    except UserError as error:
        print(printable(f"error: {error}"), file=sys.stderr)
        return 2
    return 0


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = argparse.ArgumentParser(
        "python -m results.compact", description="Make many part files few. A search may run meanwhile."
    )
    made.add_argument("experiments", nargs="+", metavar="EXPERIMENT", help="folder of an experiment")
    return made


if __name__ == "__main__":
    sys.exit(main())
