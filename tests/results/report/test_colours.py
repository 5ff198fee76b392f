"""Colours: contrast by WCAG, and names that become colours."""

import pytest

from results.report.colours import DARK, LIGHT, MARK_CONTRAST, TEXT_CONTRAST, colour, contrast, themed, variables


def test_contrast_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


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
