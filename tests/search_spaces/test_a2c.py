"""A2C's search space and presets."""

from search_spaces.a2c import A2C, A2C_PRESETS
from search_spaces.presets import preset
from tests.search_spaces.conformance import check_presets, check_space


def test_the_space_is_sound() -> None:
    check_space(A2C)


def test_presets_are_valid_and_act() -> None:
    check_presets(A2C, A2C_PRESETS)


def test_the_reports_values_are_there() -> None:
    before = preset("a2c", A2C_PRESETS, "rtx4060-before", A2C)
    assert (before["n_steps"], before["learning_rate"], before["learning_rate_schedule"]) == (16, 0.002, "exponential")


def test_batch_size_is_not_searched_as_no_result_depends_on_it() -> None:
    assert A2C["batch_size"].search is None
    assert A2C["batch_size"].default is None
