"""The clock that every edit of any scene moves, so that an unedited scene is known as one at no cost."""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec import Struct

T = TypeVar("T")


class Clock:
    __slots__ = ("ticks",)

    def __init__(self) -> None:
        self.ticks = 0


CLOCK = Clock()


class Tracked(Struct):
    """An object whose edits move the clock.  Making one does not."""

    def __setattr__(self, name: str, value: Any) -> None:
        CLOCK.ticks += 1
        # A list that is put in the place of another has to move the clock like that one did.
        super().__setattr__(name, Parts(value) if type(value) is list else value)


class Parts(list[T]):
    """A list whose edits move the clock."""

    __slots__ = ()


def _ticking(name: str) -> Any:
    plain = getattr(list, name)

    def edit(self: Parts[Any], *arguments: Any, **options: Any) -> Any:
        CLOCK.ticks += 1
        return plain(self, *arguments, **options)

    return edit


for _name in ("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse"):
    setattr(Parts, _name, _ticking(_name))
for _name in ("__setitem__", "__delitem__", "__iadd__", "__imul__"):
    setattr(Parts, _name, _ticking(_name))
