"""The clock that every edit of any scene moves, so that an unedited scene is known as one at no cost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, TypeVar

from msgspec import Struct

T = TypeVar("T")


class EditClock:
    """It shows another number after every edit in any thread, and none twice: what shows the same was not edited."""

    __slots__ = ("_numbers", "ticks")

    def __init__(self) -> None:
        self.ticks = 0
        self._numbers = count(1)

    def tick(self) -> None:
        if not _QUIET.depth:
            self.ticks = next(self._numbers)


class _Quiet(threading.local):
    """How many `no_edits` a thread is inside of."""

    depth = 0


CLOCK = EditClock()
_QUIET = _Quiet()


@contextmanager
def no_edits() -> Iterator[None]:
    """What this thread does here to scenes, such as making or looking at them, is no edit; others go on editing."""
    _QUIET.depth += 1
    try:
        yield
    finally:
        _QUIET.depth -= 1


class Tracked(Struct):
    """An object whose edits move the clock.  Making one does not."""

    def __setattr__(self, name: str, value: Any) -> None:
        CLOCK.tick()
        # A list that is put in the place of another has to move the clock like that one did.
        super().__setattr__(name, TrackedList(value) if type(value) is list else value)


class TrackedList(list[T]):
    """A list whose edits move the clock."""

    __slots__ = ()


def _ticking(name: str) -> Any:
    plain = getattr(list, name)

    def edit(self: TrackedList[Any], *arguments: Any, **options: Any) -> Any:
        CLOCK.tick()
        return plain(self, *arguments, **options)

    return edit


for _name in ("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse"):
    setattr(TrackedList, _name, _ticking(_name))
for _name in ("__setitem__", "__delitem__", "__iadd__", "__imul__"):
    setattr(TrackedList, _name, _ticking(_name))
