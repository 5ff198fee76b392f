"""A dataclass describes a JSON file: what does not fit is named, and no value is converted silently."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from common.json_values import checked, described, parsed, read_json


@dataclass(frozen=True)
class Cat:
    """All kinds of values."""

    name: str
    age: int
    weight: float
    tame: bool
    coat: Literal["short", "long"]
    owner: str | None
    toys: tuple[str, ...]
    bowls: list[tuple[int, ...]]
    facts: dict[str, int | float | bool | str]
    extra: Any = None
    rest: list[str] = field(default_factory=list)


TOM = {
    "name": "Tom", "age": 3, "weight": 4, "tame": True, "coat": "long", "owner": None, "toys": ["ball"], "bowls": [[1, 2], []],
    "facts": {"a": 1, "b": 1.5, "c": True, "d": "x"},
}  # fmt: skip


def test_values_that_fit_become_those_of_the_fields() -> None:
    tom = described(Cat, TOM, "cat")
    assert tom == Cat("Tom", 3, 4.0, True, "long", None, ("ball",), [(1, 2), ()], TOM["facts"])  # type: ignore[arg-type]
    assert [type(value) for value in tom.facts.values()] == [int, float, bool, str]
    assert type(tom.weight) is float


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": 1}, "name is 1, not a text"),
        ({"age": True}, "age is true, not a whole number"),
        ({"age": 3.0}, r"age is 3\.0, not a whole number"),
        ({"age": 2**63}, "age is 9223372036854775808, and has more than 64 bits"),
        ({"tame": 1}, "tame is 1, not true or false"),
        ({"coat": "red"}, 'coat is "red", not one of short, long'),
        ({"toys": ["ball", 1]}, r"toys\[1\] is 1, not a text"),
        ({"bowls": [[1], ["a"]]}, r'bowls\[1\]\[0\] is "a", not a whole number'),
        ({"name": ["x" * 99]}, r'name is \["x{33,}\.\.\., not a text'),
        ({"colour": "red"}, 'cat has the unknown key "colour"'),
    ],
)
def test_what_does_not_fit_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        described(Cat, {**TOM, **change}, "cat")


def test_a_missing_key_and_no_object_are_named() -> None:
    with pytest.raises(ValueError, match="cat lacks age"):
        described(Cat, {name: value for name, value in TOM.items() if name != "age"}, "cat")
    with pytest.raises(ValueError, match=r"cat is \[1\], not an object"):
        described(Cat, [1], "cat")
    with pytest.raises(ValueError, match="cat lacks extra"):
        described(Cat, TOM, "cat", optional=frozenset({"rest"}))


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"1" * 10_000, json.dumps(TOM).encode()[:-1]])
def test_what_is_no_json_is_an_error_of_its_value(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"\w"):
        read_json(path)


@pytest.mark.parametrize("number", [2**63, -(2**63), int("9" * 400)])
def test_a_whole_number_beyond_64_bits_is_none_of_a_file_of_settings(tmp_path: Path, number: int) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"age": number}), encoding="utf-8")
    with pytest.raises(ValueError, match="more than 64 bits"):
        read_json(path)
    path.write_text(json.dumps({"age": 2**63 - 1}), encoding="utf-8")
    assert read_json(path) == {"age": 2**63 - 1}


def test_a_value_that_is_nested_as_deeply_as_can_be_read_is_one_line() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(ValueError, match="x is nested too deeply, not a whole number"):
        checked(value, int, "x")
    for _ in range(100_000):  # taken apart here, level by level
        (value,) = value
    with pytest.raises(ValueError, match="it is nested too deeply"):
        parsed("[" * 100_000)
