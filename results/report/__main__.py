"""One page about experiments: `python -m results.report experiments/NAME`."""

import sys
import warnings
from collections.abc import Sequence

from common.command_line import Parser, of_a_place, refuse, status_of
from common.texts import printable
from common.uris import with_uris
from results.report.writing import FORMATS, write


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page and print its path."""
    options = parser().parse_args(arguments)
    if options.format is not None and options.figures is None:
        return refuse("--format is of pictures: name their folder, such as --figures pictures")
    warnings.showwarning = lambda message, *_: print(f"warning: {printable(with_uris(str(message)))}", file=sys.stderr)

    def write_page() -> int:
        try:
            print(write(options.places, options.to, options.figures, options.format or FORMATS[0]))
        except OSError as error:  # whatever it is, as of a drive that is not there: the places are the user's
            return refuse(of_a_place(error))
        return 0

    return status_of(write_page)


def parser() -> Parser:
    """The options of the command."""
    made = Parser(
        "python -m results.report", description="Write one page about experiments, judgements and policies. It opens offline."
    )
    made.add_argument(
        "places",
        nargs="+",
        metavar="EXPERIMENT",
        help="folder or URI of an experiment or a judgement, or a rollout; several are compared",
    )
    made.add_argument(
        "--to", metavar="FILE", help="of the page; by default report.html in the experiment's folder; of a URI, in this one"
    )
    made.add_argument("--figures", metavar="FOLDER", help="for a picture of each figure; needs vl-convert-python")
    made.add_argument("--format", choices=FORMATS, help="of the pictures; png by default")
    return made


if __name__ == "__main__":
    sys.exit(main())
