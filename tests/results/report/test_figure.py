"""What a report consists of."""

from results.report.figure import Figure, Section


def test_a_figure_may_be_an_answer_alone() -> None:
    figure = Figure("luck", "Lucky?", "It cannot be said.")
    assert (figure.panels, figure.table, figure.note) == ((), None, "")
    assert Section("a", "experiment", {}, (figure,)).brief == ()
