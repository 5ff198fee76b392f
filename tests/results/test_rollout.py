"""The hours of a run as a table and as a picture."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from results.rollout import COLUMNS, draw_week, table


def test_columns_are_all_there_or_it_is_an_error() -> None:
    series = {name: np.zeros(200) for name in COLUMNS}
    series |= {name: np.arange(200) for name in ("step", "month", "hour")}
    content = table(series, {})
    assert content.num_rows == 200
    told = {field.name: (field.metadata[b"unit"].decode(), field.metadata[b"meaning"].decode()) for field in content.schema}
    assert told == COLUMNS
    del series["price"]
    with pytest.raises(ValueError, match="columns of a rollout"):
        table(series, {})


def test_a_picture_has_the_hours_of_its_week() -> None:
    series = {name: np.arange(400.0) for name in COLUMNS}
    figure = draw_week(series, 168, "week")
    upper = figure.axes[0]
    assert [line.get_ydata()[0] for line in upper.lines[:4]] == [168.0] * 4
    assert len(upper.lines[0].get_ydata()) == 168
    plt.close(figure)


@pytest.mark.parametrize("title", [r"cost $\foo$", "$"])
def test_a_title_is_no_formula(title: str, tmp_path: Path) -> None:
    figure = draw_week({name: np.arange(200.0) for name in COLUMNS}, 0, title)
    figure.savefig(tmp_path / "week.png", dpi=20)
    plt.close(figure)


def test_a_long_title_stands_clear_of_the_legend() -> None:
    title = "citylearn_challenge_2022_phase_all, test (days 240-364 of 10 buildings), trial 0: a week from day 22"
    figure = draw_week({name: np.arange(200.0) for name in COLUMNS}, 0, title)
    figure.canvas.draw()
    legend = figure.axes[0].get_legend()
    assert legend is not None
    written = [text for text in figure.findobj() if isinstance(text, plt.Text) and text.get_text() == title]
    assert len(written) == 1
    assert not written[0].get_window_extent().overlaps(legend.get_window_extent())
    plt.close(figure)
