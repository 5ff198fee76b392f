"""The reference says what the code says."""

import pytest

from docs import generate
from tests.test_docs import our_commands


def test_the_reference_is_what_the_code_gives() -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in generate.FOLDER.iterdir()}
    assert written == generate.pages(), f"docs/reference is older than the code: {generate.COMMAND} writes it anew"


def test_every_command_is_in_the_reference() -> None:
    assert set(our_commands()) == {*generate.COMMANDS, *generate.PARSERS}


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
