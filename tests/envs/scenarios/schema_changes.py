"""Changes of a schema, for tests of what is told about them."""

from collections.abc import Callable
from typing import Any

MALL = ("buildings", "mall")
SOCKET = (*MALL, "chargers", "motorcycle_001")
BATTERY = (*MALL, "electrical_storage")


def put(*place: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(schema: dict[str, Any]) -> None:
        for name in place[:-1]:
            schema = schema[name]
        schema[place[-1]] = value

    return change


def drop(*place: str) -> Callable[[dict[str, Any]], None]:
    def change(schema: dict[str, Any]) -> None:
        for name in place[:-1]:
            schema = schema[name]
        del schema[place[-1]]

    return change
