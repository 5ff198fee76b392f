"""Pieces of specifications: only what is drawn is in them, as JSON has it."""

import json
import math

import pandas as pd

from results.report.charts import channel, chart, coloured, compared, layer, rows, sampled


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
    spec = compared(pd.DataFrame({"name": ["CO2", "bill"], "change": [-0.3, 0.1]}))
    texts = spec["layer"][2]["data"]["values"]
    assert [(row["end"], row["text"]) for row in texts] == [(1, "-30.0 %"), (1.1, "+10.0 %")]
    assert [row["part"] for row in spec["layer"][1]["data"]["values"]] == [0.7, 1.1]
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
