"""The reference says what the code says."""

import pytest

from docs import generate
from search_spaces import Kind
from search_spaces.parameter import AtMost, OnlyIf, Parameter
from tests.test_docs import our_commands


@pytest.mark.parametrize("name", ["commands.md", "hyperparameters.md", "columns.md"])
def test_a_page_of_the_reference_is_what_the_code_gives(name: str) -> None:
    written = (generate.FOLDER / name).read_text(encoding="utf-8")
    assert written == generate.pages()[name], f"docs/reference/{name} is older than the code: {generate.COMMAND} writes it anew"


def test_every_page_of_the_reference_is_generated() -> None:
    assert {path.name for path in generate.FOLDER.iterdir()} == set(generate.pages())


def test_every_command_is_in_the_reference() -> None:
    assert set(our_commands()) == {*generate.COMMANDS, *generate.PARSERS}


def test_every_algorithm_of_this_project_is_in_the_reference() -> None:
    from tuning.experiment.option_values import OWN

    assert {entry.name for entry in OWN} == set(generate.ALGORITHMS)


def test_an_option_without_a_description_is_an_error() -> None:
    from dataclasses import dataclass, fields

    @dataclass
    class Options:
        described: int = 0
        """What it is."""
        bare: int = 0

    described, bare = fields(Options)
    assert generate._option(Options, described) == ("`--described`", "whole number", "`0`", "What it is.")
    with pytest.raises(ValueError, match="bare has no description"):
        generate._option(Options, bare)


def test_a_row_of_a_hyperparameter_has_its_range_and_its_conditions() -> None:
    parameter = Parameter(
        "n_steps", Kind.INTEGER, 64, "transitions", low=2, high=100_000, optional=True, at_most=AtMost("steps", 0.25),
        only_if=OnlyIf("flag", (True,)),
    )  # fmt: skip
    assert generate._hyperparameter(parameter) == (
        "`n_steps`", "whole, 2 to 100,000, at most 0.25 of `steps`, or `none`", "`64`", "",
        "transitions (acts where `flag` is `true`)",
    )  # fmt: skip


def test_options_of_another_command_are_a_line() -> None:
    rows = [("`--a`", "text", "", "What it is."), ("`--b`", "text", "", "See python -m tuning.run.")]
    rows.append(("`--test`", "text; one or more", "", "What only the judge sees."))
    assert generate._options(rows) == [generate._table(generate.OPTION, rows[:1]), "As of `tuning.run`: `--b`, `--test`."]


def test_rows_that_algorithms_share_are_one_row() -> None:
    rows = {"ppo": [("a",) * 5, ("b",) * 5], "sac": [("a",) * 5]}
    tables = [generate._table(generate.HYPERPARAMETER, [(name,) * 5]) for name in "ab"]
    assert list(generate._by_algorithm(rows)) == ["## ppo, sac", tables[0], "## ppo", tables[1]]


def test_cells_keep_their_table() -> None:
    assert generate._table(("a", "b", "c"), [("1", "", "")]) == "| a | b | c |\n| --- | --- | --- |\n| 1 | | |"
    assert generate._in_table("a | b\n<= c") == "a \\| b &lt;= c"
