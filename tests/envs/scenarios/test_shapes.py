"""What a shape refuses, it says by place, value and what should be there."""

from pathlib import Path
from typing import Any

import pytest

from common.errors import ScenarioError
from envs.scenarios.series_files import SERIES
from envs.scenarios.shapes import (
    FLAG,
    MOST,
    ByClass,
    Curve,
    Each,
    Faults,
    Limit,
    Record,
    Shape,
    choice,
    dotted,
    dotted_class,
    is_left_out,
    read_object,
    shown,
    text,
)  # fmt: skip

SMALL = Limit(0, 5, "why")
EFFICIENCY = Limit(0, 1, "more than 1 would make energy", above=True)


def told(shape: Shape, value: Any) -> list[str]:
    return [str(fault) for fault in shape.faults(value, ("a", "b"))]


@pytest.mark.parametrize(
    ("shape", "sound", "wrong"),
    [
        (Shape(), ({}, [], None, "x"), ()),
        (FLAG, (True, False, 1, 0, None), ("yes", "true", 2, [], {})),
        (SMALL, (0, 5, 2.5, None), (-1, 6, True, "3", [], {}, 10**400)),
        (Limit(0, 5, "", whole=True), (3, None), (2.5, 3.0)),
        (text(), ("x", None), ("", "  ", 5, True, [], {}, "a\0b")),
        (choice("x", "y"), ("x", None), ("z", 1)),
        (text(null=False), ("x",), (None,)),
        (Each(SMALL, "numbers", list), ([], [1, 2], None), ("x", {}, 5, [9], [1, "x"])),
        (Record({"x": SMALL}, null=False), ({}, {"x": 1}, {"_": 1}, {"comment": []}), (None, [], "x", {"x": 9}, {"y": 1})),
        (Record({"x": SMALL}, needed=("x",)), ({"x": 1}, None), ({}, {"x": None}, {"x": 9})),
        (Record({}, idle=("old",)), ({"old": 5},), ({"new": 5},)),
        (Each(SMALL, "numbers"), ({}, {"any": 1}, None), ([], 5, {"any": 9})),
        (Each(SMALL, "numbers", least=1), ({"any": 1},), ({},)),
        (dotted_class("AB", null=False), ("citylearn.x.A", "m.of.Any"), ("A", "citylearn.x.C", 5, None, "..", "a b.c", "os.")),
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
        ([[0.0, 1.0]], "has 1 point;"),
        ([[0.0, 1.0], [1.0]], "it has to be a list of pairs"),
        ([[0.0, 1.0], [1.0, True]], "it has to be a list of pairs"),
        ([[0.5, 1.0], [0.0, 1.0]], "has the x 0.5, 0; they have to rise from 0 to 1"),
        ([[0.0, 1.0], [0.0, 1.0]], "they have to rise"),
        ([[0.0, 0.9], [1.0, 1.1]], "has the y 0.9, 1.1; each has to be a number above 0 and at most 1 (more than 1"),
        ([[0.0, 0.0], [1.0, 1.0]], "has the y 0, 1"),
        ([[0.0, 0.8], [0.5, 0.95]], "gives 1.1 at 1, where CityLearn draws it on; add a point there"),
        ([[0.9, 0.1], [1.0, 0.5]], "gives -3.5 at 0, where"),
    ],
)  # fmt: skip
def test_a_curve_rises_and_stays_within_its_limits_also_where_it_is_drawn_on(value: Any, fault: str) -> None:
    found = told(Curve(EFFICIENCY), value)
    assert len(found) == bool(fault)
    assert fault in "".join(found)


def test_attributes_depend_on_the_class() -> None:
    device = ByClass({"A": Record({"x": SMALL}), "B": Record({})}, needed_attributes=(), rest={"autosize": FLAG})
    assert told(device, {"type": "citylearn.m.A", "attributes": {"x": 1}}) == []
    assert told(device, {"type": "citylearn.m.B", "attributes": {"x": 1}}) != []
    assert told(device, {"type": "mine.C", "attributes": {"z": 1}}) == []  # a class of the user's has its own
    assert told(device, {"type": "mine.C", "attributes": []}) != []
    assert "a.b.type is missing" in told(device, {"attributes": {}})[0]
    assert "a.b is 'x'" in told(device, "x")[0]


def test_attributes_are_needed_unless_citylearn_sizes_the_device() -> None:
    device = ByClass({"A": Record({"x": SMALL})}, rest={"autosize": FLAG}, needed_attributes=("x",))
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


def refused(count: int) -> list[str]:
    faults = Faults()
    faults.refuse()  # none is no error
    for i in [*range(count), 0]:  # each is told once
        faults.add(f"fault {i}")
    with pytest.raises(ScenarioError) as error:
        faults.refuse()
    return str(error.value).splitlines()


def test_each_fault_is_one_line_and_those_beyond_the_most_are_counted() -> None:
    assert refused(1) == ["fault 0"]
    assert refused(MOST) == [f"fault {i}" for i in range(MOST)]
    assert refused(MOST + 3) == [*(f"fault {i}" for i in range(MOST)), "and 3 more"]


def test_a_fault_of_several_files_is_one_line_and_counts_for_each() -> None:
    faults = Faults()
    for name in ("a.csv", "b.csv", "b.csv", "c.csv"):
        faults.add_in(Path("site") / name, "line 2: hour is 0")
    faults.add_in(Path("site/d.csv"), "line 3: hour is 0")
    assert faults.lines == [
        f"{Path('site/a.csv')}, line 2: hour is 0; likewise in b.csv, c.csv",
        f"{Path('site/d.csv')}, line 3: hour is 0",
    ]
    assert len(faults) == 4


def test_values_are_shown_as_they_stand_in_the_file() -> None:
    assert [shown(value) for value in (None, True, 5, 1e30, "5", [1], {})] == [
        "null", "true", "5", "1e+30", "'5'", "a list", "an object",
    ]  # fmt: skip
    assert len(shown("x" * 1000)) == 60


DOCS = Path(__file__).parents[3] / "docs" / "scenarios.md"


@pytest.mark.parametrize(
    ("column", "real", "slip"),
    [
        ("non_shiftable_load", 300_000.0, 1e30),  # a steelworks
        ("outdoor_dry_bulb_temperature", 56.7, 313.15),  # the record; kelvin
        ("outdoor_relative_humidity_predicted_3", 109.99, 1e3),  # of a public data set
        ("direct_solar_irradiance", 1298.0, 5000.0),
        ("carbon_intensity", 1.9, 452.0),  # lignite; grams
        ("electricity_pricing", -0.5, -1e7),  # a windy Sunday
        ("day_type", 8, 9),
        ("hour", 24, 12.5),
    ],
)
def test_real_values_pass_and_slips_do_not(column: str, real: float, slip: float) -> None:
    assert SERIES[column].holds(real)
    assert not SERIES[column].holds(slip)


def test_a_limit_says_what_it_wants() -> None:
    assert Limit(0, 5, "").words == "a number from 0 to 5"
    assert Limit(0, 5, "", above=True).words == "a number above 0 and at most 5"
    assert Limit(1, 12, "", whole=True).words == "a whole number from 1 to 12"
    assert Limit(3600, 3600, "").words == "3600"


def test_nan_is_within_no_limit() -> None:
    assert not Limit(-1, 1, "").holds(float("nan"))


def test_the_documentation_shows_the_limits_of_all_series() -> None:
    rows = [line for line in DOCS.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    for column, limit in SERIES.items():
        name = column.split("_predicted_")[0]
        row = next((line for line in rows if f"`{name}`" in line), "")
        assert f"{limit.low:,.10g} to {limit.high:,.10g}" in row, column


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "is empty"),
        (b"{", "is not JSON"),
        (b"[1]", "holds a list"),
        (b'{"a": \xff}', "is not in UTF-8; save it in that encoding"),
        (b'{"a": NaN}', "NaN is no finite number"),
        (b'{"a": 1e999}', "1e999 is no finite number"),
        (b'{"a": ' + b"9" * 5000 + b"}", "5000 digits"),
        (b'{"a": {"b": 1, "b": 2}}', "the name 'b' stands twice"),
        (b'{"a": "\\ud800"}', "is no Unicode"),
        (b'{"\\ud800": 1}', "is no Unicode"),
        (b'{"a": ' * 41 + b"1" + b"}" * 41, "more than 40 levels"),
        (b'{"a": ' * 100_000 + b"1" + b"}" * 100_000, "more than 40 levels"),
    ],
)
def test_what_is_no_sound_object_is_one_line(tmp_path: Path, content: bytes, fault: str) -> None:
    path = tmp_path / "schema.json"
    path.write_bytes(content)
    with pytest.raises(ScenarioError) as refused:
        read_object(path)
    message = str(refused.value)
    assert message.startswith(str(path))
    assert fault in message
    assert message.isprintable()


def test_many_names_are_compared_at_once(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    pairs = ", ".join(f'"n{i}": 1' for i in [*range(100_000), 99_999])
    path.write_text(f"{{{pairs}}}", encoding="utf-8")
    with pytest.raises(ScenarioError, match="the name 'n99999' stands twice"):
        read_object(path)


def test_a_file_that_cannot_be_opened_is_one_line(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "away.json"):
        with pytest.raises(ScenarioError, match="cannot be read"):
            read_object(path)
