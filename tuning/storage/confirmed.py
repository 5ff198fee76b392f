"""Objects that are changed only as long as a run holds their experiment: it is confirmed before each request."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from common.storage.objects import Objects
    from common.storage.store import Content

T = TypeVar("T")


def confirmed(objects: Objects, confirm: Callable[[], None]) -> Objects:
    """The same objects, confirmed before each request that changes one; many at once are one request.

    Args:
        objects: of an experiment.
        confirm: raises where this process may change nothing.
    """
    return cast("Objects", _Confirmed(objects, confirm))


class _Confirmed:
    """See `confirmed`. What reads is passed on."""

    def __init__(self, objects: Objects, confirm: Callable[[], None]) -> None:
        self._objects, self._confirm = objects, confirm

    def __getattr__(self, name: str) -> Any:
        return getattr(self._objects, name)

    def put(self, key: str, content: Content) -> None:
        """See `Objects`."""
        self._confirm()
        self._objects.put(key, content)

    def create(self, key: str, content: Content) -> bool:
        """See `Objects`."""
        self._confirm()
        return self._objects.create(key, content)

    def put_all(self, pairs: Iterable[tuple[str, Content]]) -> None:
        """See `Objects`."""
        for some in self._at_once(pairs):
            self._confirm()
            self._objects.put_all(some)

    def remove(self, keys: Iterable[str]) -> None:
        """See `Objects`."""
        for some in self._at_once(keys):
            self._confirm()
            self._objects.remove(some)

    def _at_once(self, items: Iterable[T]) -> Iterable[list[T]]:
        """Items in groups that are requests at once, so that a group takes no longer than one of them."""
        from common.storage.objects import THREADS

        given = list(items)
        return (given[begin : begin + THREADS] for begin in range(0, len(given), THREADS))
