"""A run that was overtaken in the middle of a change makes no other request of it."""

from typing import Any

import pytest

from tests.tuning.storage.stand_in import in_memory
from tuning.storage.confirmed import confirmed
from tuning.storage.epoch import OvertakenError


def overtaken_after(objects: Any, requests: int) -> Any:
    left = requests

    def confirm() -> None:
        nonlocal left
        if not left:
            raise OvertakenError("overtaken")
        left -= 1

    return confirmed(objects, confirm)


def test_each_request_is_confirmed() -> None:
    objects = in_memory()
    own = overtaken_after(objects, 3)
    own.put("a", b"1")
    assert own.create("b", b"2")
    own.remove(["a"])
    assert own.listed().keys() == {"b"}
    for change in (
        lambda: own.put("c", b""),
        lambda: own.create("c", b""),
        lambda: own.remove(["b"]),
        lambda: own.put_all([("c", b"")]),
    ):
        with pytest.raises(OvertakenError):
            change()
    assert objects.contents == {"b": b"2"}


def test_of_many_at_once_each_group_is_confirmed() -> None:
    objects = in_memory()
    with pytest.raises(OvertakenError):
        overtaken_after(objects, 2).put_all([(f"{number:02d}", b"") for number in range(40)])
    assert len(objects.contents) == 32
    with pytest.raises(OvertakenError):
        overtaken_after(objects, 1).remove(sorted(objects.contents))
    assert len(objects.contents) == 16
