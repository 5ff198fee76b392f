"""Write a report, and pictures of its figures."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from common.files import write_whole
from common.paths import user_path
from common.texts import printable
from common.uris import is_uri
from results.report.charts import BESIDE, LIGHT, Figure, Section, themed
from results.table_files import ResultsError

NAME = "report.html"
FORMATS = ("png", "svg")
WIDTH = 640  # of a chart within its axes, pixels
SCALE = 3  # pixels of a PNG for each of a chart: 200 and more an inch in a column of a paper
_MODULE = "vl_convert"


def write(
    places: str | Path | Sequence[str | Path],
    to: str | Path | None = None,
    figures: str | Path | None = None,
    format: str = "png",
) -> Path:
    """Write one page that opens offline, and return its path. What it cannot be about raises a ResultsError.

    Args:
        places: folders of experiments or judgements, folders with rollouts, files of rollouts, or their URIs.
        to: the page's file; by default `report.html` in the folder of the one place, or in this folder for several or a URI.
        figures: folder for a picture of each figure; none by default.
        format: of the pictures, one of `FORMATS`.
    """
    from results.report.page import page
    from results.report.sections import read_sources, sections

    given = [places] if isinstance(places, str | Path) else list(places)
    if figures is not None:
        # Before minutes of work, and before a file is written.
        check_pictures(format)
    made = sections(read_sources(given))
    target = destination(given, to)
    content = page(_title(made), made)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, content)
    if figures is not None:
        write_pictures(made, user_path(figures), format)
    return target


def _title(sections: Sequence[Section]) -> str:
    """Title of a page: what its first section is about, and how many others there are beside policies."""
    others = sum(section.kind != "policy" for section in sections[1:])
    compares = sections[0].kind == "comparison"
    return sections[0].title if compares or not others else f"{sections[0].title} and {others} more"


def destination(places: Sequence[str | Path], to: str | Path | None = None) -> Path:
    """Path of a page."""
    if to is not None:
        return user_path(to)
    if len(places) > 1 or is_uri(places[0]):
        return Path(NAME)
    place = user_path(places[0])
    return place.with_suffix(".html") if place.is_file() else place / NAME


def check_pictures(format: str) -> None:
    """Check that pictures can be drawn. Raises ResultsError if the optional package is missing, or there is no such format."""
    if format not in FORMATS:
        raise ResultsError(f'format "{format}": pictures are png or svg')
    if find_spec(_MODULE) is None:
        raise ResultsError(
            "--figures: pictures need vl-convert-python, which is missing: uv sync --extra figures, or pip install "
            "vl-convert-python"
        )


def write_pictures(sections: Sequence[Section], folder: Path, format: str) -> tuple[Path, ...]:
    """Write a picture of each figure that has charts."""
    import vl_convert

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, section in enumerate(sections, 1):
        for figure in section.figures:
            if not figure.panels:
                continue
            drawing = _drawable(whole(figure))
            if format == "png":
                content = vl_convert.vegalite_to_png(drawing, scale=SCALE)
            else:
                content = vl_convert.vegalite_to_svg(drawing).encode()
            place = f"{number}-" if len(sections) > 1 else ""
            paths.append(folder / f"{place}{figure.name}.{format}")
            write_whole(paths[-1], content)
    return tuple(paths)


def _drawable(content: Any) -> Any:
    """A specification without control characters: of these the renderer ends the whole process."""
    if isinstance(content, str):
        return "\n".join(map(printable, content.split("\n")))
    if isinstance(content, dict):
        return {_drawable(name): _drawable(value) for name, value in content.items()}
    return [_drawable(value) for value in content] if isinstance(content, list | tuple) else content


def whole(figure: Figure) -> dict[str, Any]:
    """One specification of all charts of a figure, in the colours of paper."""
    columns = BESIDE if len(figure.panels) >= BESIDE else 1
    charts = []
    for panel in figure.panels:
        spec = {name: part for name, part in themed(panel.spec, LIGHT).items() if name not in ("$schema", "autosize", "config")}
        spec["width"] = WIDTH // columns
        charts.append(
            spec | ({"title": {"text": panel.title, "anchor": "start", "fontWeight": "normal"}} if panel.title else {})
        )
    config = themed(figure.panels[0].spec["config"], LIGHT) | {"background": LIGHT["paper"]}
    schema = figure.panels[0].spec["$schema"]
    # Charts of a figure share no colours: each has its own legend, as on the page.
    apart = {"resolve": {"scale": {"color": "independent", "x": "independent", "y": "independent"}}}
    joined = charts[0] if len(charts) == 1 else {"concat": charts, "columns": columns, **apart}
    return {"$schema": schema, "config": config, "padding": 12, **joined}
