"""Write a report, and pictures of its figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from common.files import write_whole
from common.paths import user_path
from common.uris import is_uri
from results.report.figure import Section

NAME = "report.html"
FORMATS = ("png", "svg")


def write(
    places: str | Path | Sequence[str | Path],
    to: str | Path | None = None,
    figures: str | Path | None = None,
    format: str = "png",
) -> Path:
    """Write one page about experiments, judgements and policies. It opens offline.

    Args:
        places: folders of experiments or judgements, folders with rollouts, files of rollouts; one or several. Or their URIs.
        to: the page's file; by default `report.html` in the folder of the one place, or in this folder for several or a URI.
        figures: folder for a picture of each figure; none by default.
        format: of the pictures, one of `FORMATS`.

    Returns:
        The page's path.

    Raises:
        ResultsError: if a place holds nothing that a report can be about, or pictures are wanted and cannot be drawn.
        StorageError: if a URI cannot be read.
        OSError: if a file cannot be written.
    """
    from results.report.page import page
    from results.report.pictures import check_pictures, write_pictures
    from results.report.sections import sections
    from results.report.sources import read_sources

    given = [places] if isinstance(places, str | Path) else list(places)
    if figures is not None:
        # Before minutes of work, and before a file is written.
        check_pictures(format)
    made = sections(read_sources(given))
    target = destination(given, to)
    content = page(_title(made), made)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, lambda file: file.write(content))
    if figures is not None:
        write_pictures(made, user_path(figures), format)
    return target


def _title(sections: Sequence[Section]) -> str:
    """Title of a page: what its first section is about, and how many others there are beside policies."""
    others = sum(section.kind != "policy" for section in sections[1:])
    compares = sections[0].kind == "comparison"
    return sections[0].title if compares or not others else f"{sections[0].title} and {others} more"


def destination(places: Sequence[str | Path], to: str | Path | None = None) -> Path:
    """Path of a page.

    Args:
        places: that it is about.
        to: as given; None for the default.
    """
    if to is not None:
        return user_path(to)
    if len(places) > 1 or is_uri(places[0]):
        return Path(NAME)
    place = user_path(places[0])
    return place.with_suffix(".html") if place.is_file() else place / NAME
