"""Tables are narrow: no frame, no empty columns at the edges."""

from io import StringIO

from rich.console import Console

from tuning.cli.tables import plain_table


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
