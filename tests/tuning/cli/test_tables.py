"""Tables are narrow: no frame, no empty columns at the edges."""

from io import StringIO

import pytest
from rich.console import Console

from tuning.cli.tables import Fitted, plain_table


def test_a_table_has_a_title_at_the_left_and_no_frame() -> None:
    table = plain_table("energy")
    for name in ("", "kWh"):
        table.add_column(name)
    table.add_row("load", "12")
    out = StringIO()
    Console(file=out, width=40).print(table)
    lines = [line for line in out.getvalue().splitlines() if line.strip()]
    assert lines[0].strip() == "energy"
    assert lines[-1].split() == ["load", "12"]
    assert "\N{BOX DRAWINGS LIGHT VERTICAL}" not in out.getvalue()


def wide(width: int, name: str = "a-contender-with-a-long-name") -> list[str]:
    """Lines of a table that needs 60 columns, on a terminal of this width."""
    table = plain_table("energy of a year")
    table.add_column("", overflow="fold")
    for heading in ("controlled, MWh", "uncontrolled, MWh", "change"):
        table.add_column(heading, justify="right")
    table.add_row(name, "1,234.5\n(1,200 to 1,300)", "1,345.6", "-8.3%")
    table.add_row("bound", "", "1,345.6", "")
    out = StringIO()
    Console(file=out, width=width).print(Fitted(table))
    return [line.rstrip() for line in out.getvalue().splitlines() if line.strip()]


@pytest.mark.parametrize("width", [80, 120])
def test_a_table_is_one_where_it_fits(width: int) -> None:
    assert any(line.split() == ["controlled,", "MWh", "uncontrolled,", "MWh", "change"] for line in wide(width))


@pytest.mark.parametrize("width", range(30, 130, 5))
def test_no_name_is_broken(width: int) -> None:
    name = "a-name-of-some-forty-letters-in-one-word"
    if width >= len(name):
        (line,) = (line for line in wide(width, name) if line.startswith(name))
        assert len(line) <= width
    assert max(map(len, wide(width, name))) <= width


def test_a_name_that_is_too_long_has_a_line_of_its_own_and_values_line_up() -> None:
    assert wide(65) == [
        "energy of a year",
        "                       controlled, MWh  uncontrolled, MWh  change",
        "a-contender-with-a-long-name",
        "                               1,234.5            1,345.6   -8.3%",
        "                      (1,200 to 1,300)",
        "bound                                             1,345.6",
    ]


def test_on_a_narrower_terminal_all_names_have() -> None:
    assert wide(50) == [
        "energy of a year",
        "  controlled, MWh  uncontrolled, MWh  change",
        "a-contender-with-a-long-name",
        "          1,234.5            1,345.6   -8.3%",
        " (1,200 to 1,300)",
        "bound",
        "                             1,345.6",
    ]


def test_elsewhere_each_value_has_a_line_and_nothing_is_cut() -> None:
    assert wide(40) == [
        "energy of a year",
        "a-contender-with-a-long-name",
        "  controlled, MWh: 1,234.5 (1,200 to",
        "1,300)",
        "  uncontrolled, MWh: 1,345.6",
        "  change: -8.3%",
        "bound",
        "  uncontrolled, MWh: 1,345.6",
    ]


@pytest.mark.parametrize("width", [20, 120])
def test_names_of_other_people_are_neither_markup_nor_act_on_the_terminal(width: int) -> None:
    table = plain_table("site [red]\x1b[2J")
    for name in ("", "of", "year"):
        table.add_column(name)
    table.add_row("[b]one\x1b[2J", "12 of 13 [/]", "a long value")
    out = StringIO()
    Console(file=out, width=width).print(Fitted(table))
    shown = "".join(out.getvalue().split())
    for text in (r"site[red]\x1b[2J", r"[b]one\x1b[2J", "12of13[/]"):
        assert text in shown
    assert "\x1b" not in shown
