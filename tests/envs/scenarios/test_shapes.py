"""What a shape refuses, it says by place, value and what should be there."""

from typing import Any

import pytest

from envs.scenarios import limits
from envs.scenarios.limits import Limit
from envs.scenarios.shapes import (
    Anything,
    ByClass,
    Curve,
    DottedClass,
    Flag,
    Listing,
    Named,
    Number,
    Record,
    Shape,
    Text,
    dotted,
    is_left_out,
)  # fmt: skip

SMALL = Number(Limit(0, 5, "why"))


def told(shape: Shape, value: Any) -> list[str]:
    return [str(fault) for fault in shape.faults(value, ("a", "b"))]


@pytest.mark.parametrize(
    ("shape", "sound", "wrong"),
    [
        (Anything(), ({}, [], None, "x"), ()),
        (Flag(), (True, False, 1, 0, None), ("yes", "true", 2, [], {})),
        (SMALL, (0, 5, 2.5, None), (-1, 6, True, "3", [], {}, 10**400)),
        (Number(Limit(0, 5, "", whole=True)), (3, None), (2.5, 3.0)),
        (Text(), ("x", None), ("", "  ", 5, True, [], {}, "a\0b")),
        (Text(choices=("x", "y")), ("x", None), ("z", 1)),
        (Text(null=False), ("x",), (None,)),
        (Listing(SMALL, "numbers"), ([], [1, 2], None), ("x", {}, 5, [9], [1, "x"])),
        (Record({"x": SMALL}, null=False), ({}, {"x": 1}, {"_": 1}, {"comment": []}), (None, [], "x", {"x": 9}, {"y": 1})),
        (Record({"x": SMALL}, needed=("x",)), ({"x": 1}, None), ({}, {"x": None}, {"x": 9})),
        (Record({}, idle=("old",)), ({"old": 5},), ({"new": 5},)),
        (Named(SMALL, "numbers"), ({}, {"any": 1}, None), ([], 5, {"any": 9})),
        (Named(SMALL, "numbers", least=1), ({"any": 1},), ({},)),
        (DottedClass(("A", "B")), ("citylearn.x.A", "mine.of.Any"), ("A", "citylearn.x.C", 5, None, "..", "a b.c", "os.", "")),
    ],
)  # fmt: skip
def test_a_shape_passes_what_is_sound_and_names_each_fault_once(
    shape: Shape, sound: tuple[Any, ...], wrong: tuple[Any, ...]
) -> None:
    for value in sound:
        assert told(shape, value) == [], value
    for value in wrong:
        (fault,) = told(shape, value)
        assert fault.startswith("a.b"), value


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ([[0.0, 0.9], [1.0, 1.0]], ""),
        ([[0.2, 0.8], [0.9, 0.9]], ""),
        (None, ""),
        ("flat", "is 'flat'; it has to be a list of pairs"),
        ([], "has 0 points; it needs 2 or more"),
        ([[0.0, 1.0]], "has 1 points"),
        ([[0.0, 1.0], [1.0]], "it has to be a list of pairs"),
        ([[0.0, 1.0], [1.0, True]], "it has to be a list of pairs"),
        ([[0.0, "1"], [1.0, 1.0]], "it has to be a list of pairs"),
        ([[0.5, 1.0], [0.0, 1.0]], "has the x 0.5, 0; they have to rise from 0 to 1"),
        ([[0.0, 1.0], [0.0, 1.0]], "they have to rise"),
        ([[0.0, 1.0], [100.0, 1.0]], "they have to rise from 0 to 1"),
        ([[0.0, 0.9], [1.0, 1.1]], "has the y 0.9, 1.1; each has to be a number above 0 and at most 1 (more than 1"),
        ([[0.0, 0.0], [1.0, 1.0]], "has the y 0, 1"),
        ([[0.0, 0.8], [0.5, 0.95]], "gives 1.1 at 1, where CityLearn draws it on; add a point there"),
        ([[0.9, 0.1], [1.0, 0.5]], "gives -3.5 at 0, where"),
    ],
)  # fmt: skip
def test_a_curve_rises_and_stays_within_its_limits_also_where_it_is_drawn_on(value: Any, fault: str) -> None:
    found = told(Curve(limits.EFFICIENCY), value)
    assert len(found) == bool(fault)
    assert fault in "".join(found)


def test_attributes_depend_on_the_class() -> None:
    device = ByClass({"A": Record({"x": SMALL}), "B": Record({})}, needed_attributes=(), rest={"autosize": Flag()})
    assert told(device, {"type": "citylearn.m.A", "attributes": {"x": 1}}) == []
    assert told(device, {"type": "citylearn.m.B", "attributes": {"x": 1}}) != []
    assert told(device, {"type": "mine.C", "attributes": {"z": 1}}) == []  # a class of the user's has its own
    assert told(device, {"type": "mine.C", "attributes": []}) != []
    assert "a.b.type is missing" in told(device, {"attributes": {}})[0]
    assert "a.b is 'x'" in told(device, "x")[0]


def test_attributes_are_needed_unless_citylearn_sizes_the_device() -> None:
    device = ByClass({"A": Record({"x": SMALL})}, rest={"autosize": Flag()}, needed_attributes=("x",))
    entry = {"type": "citylearn.m.A"}
    for missing in ({}, {"attributes": None}, {"attributes": {}}, {"attributes": {"x": None}}):
        assert told(device, {**entry, **missing}) == ["a.b.attributes.x is missing; it has to be a number from 0 to 5 (why)"]
        assert told(device, {**entry, **missing, "autosize": True}) == []


def test_an_unknown_name_gets_the_nearest_known_one() -> None:
    (fault,) = told(Record({"efficiency": SMALL}), {"eficiency": 1})
    assert fault.endswith("did you mean efficiency?")


def test_a_place_reads_as_it_is_written() -> None:
    assert dotted(("buildings", "Home_1", "chargers", "c-1", "curve", "0")) == "buildings.Home_1.chargers.c-1.curve.0"
    assert dotted(("buildings", "Home 1")) == "buildings.'Home 1'"


def test_only_a_false_include_leaves_out() -> None:
    assert [is_left_out(entry) for entry in ({}, {"include": True}, {"include": None}, {"include": False}, {"include": 0})] == [
        False, False, False, True, True,
    ]  # fmt: skip
