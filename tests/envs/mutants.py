"""Mutants of a small valid scenario: what a user, another program or a damaged disk makes of its files."""

import copy
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Rng = np.random.Generator
Files = dict[str, bytes | None]  # content by name; None for a file that is not there
LINKED = b"\0link to itself"
FOLDER = b"\0folder"
ROWS = 963

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 0.5, -0.5, 1e-30, 1e6, 1e30, -1e30, 10**30, 2**63, "", " ", "x", "1", "1.5", "true", "nan",
    "../x", "/etc/passwd", "~root/x", "a\nb", "\0", "\ud800", "é", "x" * 300, "weather.csv", "citylearn.energy_model.PV",
    "citylearn.building.LSTMDynamicsBuilding", "os.system", [], [1], [[0, 1], [1, 1]], [[1, 1], [0, 1]], [[0, 2], [1, 2]],
    ["x"], [None], {}, {"x": 1},
    {"active": True}, {"type": "citylearn.energy_model.Battery"}, {"type": None}, {"attributes": []},
)  # fmt: skip
NAMES = ("", "x", "type", "attributes", "include", "pv", "a\nb", "Home 1", "_note", "é", "random_seed", "autosize", "noise_std")
CELLS = (
    "", "0", "-1", "1", "2", "3", "24", "25", "0.5", "1e30", "1e39", "-1e30", "1e400", "inf", "-inf", "nan", "NA", "null", "x",
    "true", "1,5", "1.234,5", '"1,5"', '"1.5"', '"', "1 000", "1_000", "0x10", "\uff11", "1e", " 1", "1 ", "\t1", "2024-01-01",
    "motorcycle_002", "99999999999999999999999", "0.1" * 50,
)  # fmt: skip


def base(schema: Path) -> Files:
    """Files of a scenario, cut to the rows that are run and a few more, with a tariff."""
    files: Files = {}
    for path in sorted(schema.parent.iterdir()):
        content = path.read_bytes()
        if path.suffix == ".csv":
            content = b"".join(content.splitlines(keepends=True)[:ROWS])
        files[path.name] = content
    assert "tariff.json" in files
    return files


def write(folder: Path, files: Files, before: Files | None = None) -> None:
    """Write the files of a mutant; those that are equal to the ones before stay as they are."""
    for name in {*files, *(before or {})}:
        content = files.get(name)
        if before is not None and before.get(name) == content:
            continue
        path = folder / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        if content == FOLDER:
            path.mkdir()
        elif content == LINKED:
            path.symlink_to(path)
        elif content is not None:
            path.write_bytes(content)


def mutant(rng: Rng, files: Files) -> tuple[str, Files]:
    """A copy of the files with one to three mutations, and what was done."""
    changed, done = dict(files), []
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        kind = MUTATIONS[int(rng.integers(len(MUTATIONS)))]
        name = _pick(rng, [name for name in changed if _fits(kind, name, changed[name])] or [""])
        if name:
            changed[name] = kind(rng, changed[name] or b"")
            done.append(f"{kind.__name__} of {name}")
    return ", ".join(done), changed


def _pick(rng: Rng, options: Any) -> Any:
    return options[int(rng.integers(len(options)))]


def _fits(kind: Callable[..., Any], name: str, content: bytes | None) -> bool:
    if content in (None, FOLDER, LINKED):
        return False
    return {"json": name.endswith(".json"), "csv": name.endswith(".csv")}.get(kind.__name__.split("_")[0], True)


# -- JSON ------------------------------------------------------------------------------------


def _places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place, *(found for name, entry in inner for found in _places(entry, (*place, name)))]


def _json(change: Callable[[Rng, Any, Any], object]) -> Callable[[Rng, bytes], bytes]:
    """A mutation of the container and the name of a place in a JSON file."""

    def mutation(rng: Rng, content: bytes) -> bytes:
        try:
            value = json.loads(content.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            return content
        places = [place for place in _places(value) if place]
        if not places:
            return b"[]"
        # Each depth is as likely as another, as a schema has most of its values in observations and curves.
        depth = _pick(rng, sorted({len(place) for place in places}))
        place = _pick(rng, [place for place in places if len(place) == depth])
        holder = value
        for name in place[:-1]:
            holder = holder[name]
        change(rng, holder, place[-1])
        return json.dumps(value).encode()

    mutation.__name__ = f"json{change.__name__}"
    return mutation


def _set(rng: Rng, holder: Any, name: Any) -> None:
    holder[name] = copy.deepcopy(_pick(rng, VALUES))


def _scale(rng: Rng, holder: Any, name: Any) -> None:
    if isinstance(holder[name], int | float):
        holder[name] *= _pick(rng, (-1, 2, 1e-6, 1e6, 1.001))


def _delete(rng: Rng, holder: Any, name: Any) -> None:
    del holder[name]


def _rename(rng: Rng, holder: Any, name: Any) -> None:
    if isinstance(holder, dict):
        holder[_pick(rng, (*NAMES, f"{name}s", f"{name[:-1]}"))] = holder.pop(name)


def _add(rng: Rng, holder: Any, name: Any) -> None:
    if isinstance(holder, dict):
        holder[_pick(rng, NAMES)] = copy.deepcopy(_pick(rng, VALUES))
    else:
        holder.append(copy.deepcopy(_pick(rng, VALUES)))


def _swap(rng: Rng, holder: Any, name: Any) -> None:
    other = _pick(rng, list(holder) if isinstance(holder, dict) else range(len(holder)))
    holder[name], holder[other] = holder[other], holder[name]


json_set, json_scale, json_delete, json_rename, json_add, json_swap = map(_json, (_set, _scale, _delete, _rename, _add, _swap))


def json_text(rng: Rng, content: bytes) -> bytes:
    """Replace a piece of the text by what JSON knows and a schema must not have."""
    old = _pick(rng, (b"true", b"false", b"null", b": 0", b": 1", b"{", b"}", b"[", b"]", b",", b'"include"', b'"type"'))
    new = _pick(
        rng, (b": NaN", b": Infinity", b": -1e999", b"{" * 500, b"[" * 5000, b"", b'"type"', b"\xff", b"1" * 5000, b"'")
    )
    return content.replace(old, new, 1)


# -- CSV -------------------------------------------------------------------------------------


def _lines(content: bytes) -> list[bytes]:
    return content.splitlines(keepends=True) or [b"\n"]


def csv_cell(rng: Rng, content: bytes) -> bytes:
    """Replace one value."""
    lines = _lines(content)
    row = int(rng.integers(len(lines)))
    cells = lines[row].rstrip(b"\r\n").split(b",")
    cells[int(rng.integers(len(cells)))] = _pick(rng, CELLS).encode()
    lines[row] = b",".join(cells) + b"\n"
    return b"".join(lines)


def csv_column(rng: Rng, content: bytes) -> bytes:
    """Replace, drop, double, rename or scale one column."""
    rows = [line.rstrip(b"\r\n").split(b",") for line in _lines(content)]
    i, what, value = int(rng.integers(len(rows[0]))), int(rng.integers(5)), _pick(rng, CELLS).encode()
    for number, cells in enumerate(rows):
        if i >= len(cells):
            continue
        if what == 0:
            cells[i] = value if number else cells[i]
        elif what == 1:
            del cells[i]
        elif what == 2:
            cells.append(cells[i])
        elif what == 3:
            cells[i] = cells[i] if number else b" " + cells[i]
        elif number and cells[i]:
            cells[i] = b"-" + cells[i]
    return b"\n".join(b",".join(cells) for cells in rows) + b"\n"


def csv_line(rng: Rng, content: bytes) -> bytes:
    """Drop, double, empty, lengthen or swap lines."""
    lines = _lines(content)
    i, j, what = int(rng.integers(len(lines))), int(rng.integers(len(lines))), int(rng.integers(6))
    if what == 0:
        del lines[i]
    elif what == 1:
        lines.insert(j, lines[i])
    elif what == 2:
        lines[i] = b"\n"
    elif what == 3:
        lines[i] = lines[i].rstrip(b"\r\n") + b",\n"
    elif what == 4:
        lines[i], lines[j] = lines[j], lines[i]
    else:
        lines = lines[:i] + lines[i:][::-1]
    return b"".join(lines)


# -- any file --------------------------------------------------------------------------------


def bytes_flipped(rng: Rng, content: bytes) -> bytes:
    """Flip bits, as a damaged disk does."""
    flipped = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        if flipped:
            flipped[int(rng.integers(len(flipped)))] ^= 1 << int(rng.integers(8))
    return bytes(flipped)


def bytes_cut(rng: Rng, content: bytes) -> bytes:
    """Cut the file, as a full disk does."""
    return content[: int(rng.integers(len(content) + 1))]


def file_replaced(rng: Rng, content: bytes) -> bytes:
    """Put something else in the file's place."""
    return _pick(
        rng, (b"", FOLDER, LINKED, b"PK\x03\x04 a workbook", b"\n", b"{}", b"[]", b"null", b"hour\n1\n", b"\x00" * 100)
    )


def file_removed(rng: Rng, content: bytes) -> None:
    """Remove the file."""


MUTATIONS: tuple[Callable[..., bytes | None], ...] = (
    json_set, json_set, json_set, json_scale, json_delete, json_rename, json_add, json_swap, json_text,
    csv_cell, csv_cell, csv_cell, csv_column, csv_line,
    bytes_flipped, bytes_cut, file_replaced, file_removed,
)  # fmt: skip
