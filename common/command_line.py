"""Command lines of the parts that know nothing of `tuning`."""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn

from common.texts import printable

REFUSED = 2  # exit status


class Parser(argparse.ArgumentParser):
    """Says what is wrong with a command line in one line, as the commands of `tuning` do."""

    def error(self, message: str) -> NoReturn:
        """End the process with a line."""
        print(f"error: {printable(message)}; see --help", file=sys.stderr)
        sys.exit(REFUSED)
