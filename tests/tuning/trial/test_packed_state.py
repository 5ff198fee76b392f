"""States come back as they were, type by type and bit by bit; anything else is refused by its place."""

from __future__ import annotations

import json
import math
import random
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

from tuning.trial.array_files import StateError
from tuning.trial.packed_state import check_fits, pack, unpack


def there_and_back(state: Any) -> Any:
    packed, arrays = pack(state)
    joined = {name: np.concatenate([piece.ravel() for piece in pieces]) for name, pieces in arrays.pieces.items()}
    return unpack(json.loads(json.dumps(packed, allow_nan=False)), joined)


@pytest.mark.parametrize(
    "value",
    [
        None, True, 0, -7, 2**127 + 1, 0.1, 5e-324, -0.0, "", "text", "ünï", [], [1, [2.5, None]], (), (1, (2, "x")), {},
        {"a": {"b": []}}, {1: "whole", 2.5: "number", None: "none", True and "t": 1}, {"dict": 1}, {"array": [1]}, ["tuple"],
        math.inf, -math.inf, np.float64(0.1), np.float32(0.1), np.int64(-3), np.bool_(True), np.uint8(255), np.float32("nan"),
    ],
)  # fmt: skip
def test_a_value_keeps_its_type_and_its_bits(value: Any) -> None:
    back = there_and_back(value)
    assert type(back) is type(value)
    assert repr(back) == repr(value)


def test_dictionaries_keep_their_order_and_arrays_their_types() -> None:
    record = np.zeros(3, np.dtype([("a", np.int64), ("b", np.float32, (2,))]))
    state = OrderedDict(z=np.arange(4, dtype=np.uint32), a=np.float64(1), m=[np.eye(2, 3), record, np.array(7)], nan=math.nan)
    back = there_and_back(state)
    assert list(back) == ["z", "a", "m", "nan"]
    assert math.isnan(back["nan"])
    for given, found in zip((state["z"], *state["m"]), (back["z"], *back["m"]), strict=True):
        assert found.dtype == given.dtype
        np.testing.assert_array_equal(found, given)
        assert found.flags.writeable


def test_a_generators_state_goes_on() -> None:
    generator, state = random.Random(3), np.random.default_rng(3)
    version, words, spare = there_and_back(generator.getstate())
    other = random.Random()
    other.setstate((version, words, spare))
    assert other.random() == generator.random()
    restored = np.random.default_rng(0)
    restored.bit_generator.state = there_and_back(state.bit_generator.state)
    assert restored.random() == state.random()


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", {(1, 2): 3}, np.array([None]), 1j, np.complex128(1), print])
def test_what_is_no_plain_value_is_not_saved(value: Any) -> None:
    with pytest.raises(TypeError, match="is not saved"):
        pack({"a": [value]})


@pytest.mark.parametrize(
    ("packed", "said"),
    [
        ({}, "state is no value"),
        ({"dict": 1, "tuple": 2}, "state is no value"),
        ({"call": ["os.system", "x"]}, "state is no value"),
        ({"dict": [["a", {"object": 1}]]}, "state.a is no value"),
        ({"dict": {"a": 1}}, "no list of keys and values"),
        ({"dict": [["a"]]}, "no list of keys and values"),
        ({"dict": [[["a"], 1]]}, "no list of keys and values"),
        ({"tuple": 3}, "no list of a tuple"),
        ([{"float": "1e5"}], r"state\[0\] is no float"),
        ({"scalar": ["object", 1]}, "no scalar"),
        ({"scalar": ["int8", 300]}, "state: "),
        ({"scalar": ["float64", "1"]}, "no scalar"),
        ({"scalar": [[], 1]}, "no scalar"),
        ({"array": 3}, "no place of an array"),
        ({"array": ["float32", 0, [1]]}, "no place of an array"),
        ({"array": ["float64", -1, [1]]}, "no place of an array"),
        ({"array": ["float64", 0, [True]]}, "no place of an array"),
        ({"array": ["float64", 2, [2, 2]]}, "elements 2 to 6 of 4 of float64"),
    ],
)
def test_what_pack_never_gives_is_refused_by_its_place(packed: Any, said: str) -> None:
    with pytest.raises(StateError, match=said):
        unpack(packed, {"float64": np.zeros(4)})


def test_elements_are_taken_once() -> None:
    twice = [{"array": ["float64", 0, [3]]}, {"array": ["float64", 1, [3]]}]
    with pytest.raises(StateError, match=r"state\[1\] has elements"):
        unpack(twice, {"float64": np.zeros(4)})


def test_sizes_of_thousands_of_digits_are_refused_at_once() -> None:
    with pytest.raises(StateError, match="no place of an array"):
        unpack({"array": ["float64", 0, [10**4000] * 20]}, {"float64": np.zeros(4)})


def test_deep_nesting_is_refused() -> None:
    packed: Any = 1
    for _ in range(500):
        packed = [packed]
    with pytest.raises(StateError, match="nested too deeply"):
        unpack(packed, {})


OWN: dict[str, Any] = {
    "steps": 3,
    "net": {"w": np.zeros((2, 3), np.float32)},
    "names": ["a"],
    "later": {},
    "spare": None,
    "x": 1.5,
}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"net": {"w": np.zeros((3, 2), np.float32)}}, r"state.net.w is an array of float32, shape \(3, 2\) where"),
        ({"net": {"w": np.zeros((2, 3))}}, "state.net.w is an array of float64"),
        ({"net": {}}, "state.net lacks w"),
        ({"net": []}, "state.net lacks w"),
        ({"names": ("a",)}, "state.names is a tuple where a list"),
        ({"names": [3]}, r"state.names\[0\] is a int where a str"),
        ({"steps": "3"}, "state.steps is a str where a int"),
        ({"steps": [3]}, "state.steps is a list where a int"),
        ({"later": 3}, "state.later lacks its values"),
    ],
)
def test_the_state_of_another_object_is_refused_by_its_place(change: dict[str, Any], said: str) -> None:
    with pytest.raises(StateError, match=said):
        check_fits({**OWN, **change}, OWN)


@pytest.mark.parametrize("change", [{}, {"later": {"a": 1}}, {"spare": 0.5}, {"more": 1}, {"names": ["b", "c"]}, {"x": 2}])
def test_what_a_new_object_does_not_know_yet_may_be_anything(change: dict[str, Any]) -> None:
    check_fits({**OWN, **change}, OWN)
