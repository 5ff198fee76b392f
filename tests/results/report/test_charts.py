"""Pieces of specifications: only what is drawn is in them, as JSON has it."""

import json
import math

import pandas as pd
import pytest

from results.report.charts import (
    DARK,
    LIGHT,
    channel,
    chart,
    colour,
    coloured,
    layer,
    rows,
    sampled,
    savings_of,
    themed,
    variables,
)


def test_a_layer_has_the_columns_that_its_channels_read_and_no_others() -> None:
    frame = pd.DataFrame({"x": [1, 2], "y": [0.1234567, math.nan], "name": ["a", None], "secret": [3, 4]})
    drawn = layer(frame, "line", x=channel("x"), y=channel("y"), color=coloured("name", ["a"]))
    assert drawn["data"]["values"] == [{"x": 1, "y": 0.12346, "name": "a"}, {"x": 2, "y": None, "name": None}]
    json.dumps(drawn, allow_nan=False)


def test_whole_numbers_stay_whole_and_flags_stay_flags() -> None:
    frame = pd.DataFrame({"n": [2.0], "b": [True], "t": pd.to_datetime(["2026-01-01"])})
    assert json.dumps(rows(frame, ["n", "b"])) == '[{"n": 2, "b": true}]'


def test_a_title_of_one_layer_holds_for_all() -> None:
    frame = pd.DataFrame({"x": [1], "y": [1]})
    spec = chart(layer(frame, "line", x=channel("x")), layer(frame, "point", x=channel("x", title="minutes"), y=channel("y")))
    assert [each["encoding"]["x"]["title"] for each in spec["layer"]] == ["minutes", "minutes"]


def test_savings_are_a_part_of_the_whole_with_the_change_as_a_text() -> None:
    amounts = [("CO2", "kg", 100.0, 70.0), ("bill", "EUR", 100.0, 110.0), ("import", "kWh", 1.0, 1.000001)]
    found = savings_of(
        [dict(zip(("name", "unit", "before", "own", "is_yearly"), (*own, True), strict=True)) for own in amounts], "x"
    )
    assert found.lower == ["CO2 by 30.0 % (30.0 kg a year)"]
    assert found.higher == ["bill by 10.0 % (10.0 EUR a year)"]
    assert found.table.iloc[0].tolist() == ["CO2", "70.0 kg", "100 kg", "-30.0 %"]
    spec = found.panel.spec
    texts = spec["layer"][2]["data"]["values"]
    shown = [(round(row["end"], 4), row["text"]) for row in texts]
    assert shown == [(1, "-30.0 %"), (1.1, "+10.0 %"), (1, "+0.0 %")]
    assert [row["direction"] for row in spec["layer"][1]["data"]["values"]] == ["less", "more", "less"]
    x = spec["layer"][1]["encoding"]["x"]
    # From nothing on, so that 30 % less does not fill the chart.
    assert x["scale"]["domain"][0] == 0.0
    assert x["scale"]["domain"][1] > 1.1
    assert spec["layer"][0]["encoding"]["x"]["datum"] == 1


def test_a_sample_is_even_and_keeps_both_ends() -> None:
    frame = pd.DataFrame({"x": range(1000)})
    assert len(sampled(frame, 100)) == 100
    assert (sampled(frame, 100)["x"].iloc[0], sampled(frame, 100)["x"].iloc[-1]) == (0, 999)
    assert sampled(frame, 2000) is frame


TEXT_CONTRAST, MARK_CONTRAST = 4.5, 3.0  # least ratios of WCAG 2.2, level AA: of text, and of what a picture shows


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two colours by WCAG 2.2, from 1 to 21."""
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(value: str) -> float:
    """Relative luminance of a colour, by WCAG 2.2."""
    parts = (int(value[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", [LIGHT, DARK])
@pytest.mark.parametrize("paper", ["paper", "card"])
def test_texts_and_marks_stand_out(theme: dict[str, str], paper: str) -> None:
    for name in ("ink", "soft", "link"):
        assert contrast(theme[name], theme[paper]) >= TEXT_CONTRAST, name
    for name in ("c1", "c2", "c3", "c4", "c5", "c6", "grey"):
        assert contrast(theme[name], theme[paper]) >= MARK_CONTRAST, name


def test_names_become_colours_at_any_depth() -> None:
    spec = {"mark": {"color": colour("c1")}, "range": [colour("c2"), 1], "title": "costs"}
    assert themed(spec, DARK) == {"mark": {"color": DARK["c1"]}, "range": [DARK["c2"], 1], "title": "costs"}


def test_both_themes_name_the_same_colours_and_no_other_is_taken() -> None:
    assert LIGHT.keys() == DARK.keys()
    assert f"--ink:{DARK['ink']}" in variables(DARK)
    with pytest.raises(KeyError, match="no colour blue"):
        colour("blue")
