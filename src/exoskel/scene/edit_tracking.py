"""A counter that every edit of any scene advances, so that an unedited scene is recognized at no cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from itertools import count
from typing import Any, Protocol, TypeVar
from weakref import WeakSet, WeakValueDictionary

from msgspec import Struct

from exoskel.scene.field_checks import check_field, check_fields

T = TypeVar("T")


class LateReader(Protocol):
    """An object that reads a part of a scene only when it needs it."""

    def read_scene(self) -> None:
        """Read what has not been read yet."""


class EditClock:
    """Counts edits in all threads.

    `ticks` never takes the same value twice: if it has not changed, no scene was edited.
    """

    __slots__ = ("_has_readers", "_numbers", "_readers", "ticks")

    def __init__(self) -> None:
        self.ticks = 0
        self._numbers = count(1)
        self._readers: WeakSet[LateReader] = WeakSet()
        self._has_readers = False

    def tick(self) -> None:
        if not _suspended():
            if self._has_readers:
                self._notify_readers()
            self.ticks = next(self._numbers)

    def notify_before_edit(self, reader: LateReader) -> None:
        """Let an object read its scene before the next edit of any scene, if it still exists then."""
        self._readers.add(reader)
        self._has_readers = True

    def _notify_readers(self) -> None:
        self._has_readers = False
        waiting, self._readers = list(self._readers), WeakSet()
        for reader in waiting:
            reader.read_scene()


class ReferenceOwner(Protocol):
    """A world: its tendons, actuators and others refer to parts of its models by name."""

    @property
    def models(self) -> Sequence[object]:
        """The models whose parts it refers to."""

    def prepare_rename(self, item: Tracked, name: str) -> None:
        """Update what refers to an item, which may be in another world, before it gets another name."""

    def drop_dangling_references(self) -> None:
        """Remove what refers to parts that are not in any model."""


_OWNERS: WeakValueDictionary[int, ReferenceOwner] = WeakValueDictionary()
"""All worlds by id.  Items do not know their world, because they may be built before it and may be moved."""


def register_owner(owner: ReferenceOwner) -> None:
    """Tell a world of all new names of items, as long as it exists."""
    _OWNERS[id(owner)] = owner


def reference_owners() -> list[ReferenceOwner]:
    """All worlds that exist."""
    return [owner for reference in _OWNERS.valuerefs() if (owner := reference()) is not None]


CLOCK = EditClock()
_suspension: ContextVar[int] = ContextVar("suspension", default=0)
"""How many `no_edits` blocks the thread is in.  It is read faster than an attribute of a `threading.local`."""
_suspended = _suspension.get


class _NoEdits:
    """The block of `no_edits`."""

    __slots__ = ()

    def __enter__(self) -> None:
        _suspension.set(_suspended() + 1)

    def __exit__(self, *_: object) -> None:
        _suspension.set(_suspended() - 1)


_NO_EDITS = _NoEdits()


def no_edits() -> _NoEdits:
    """Do not count what this thread does in the block, such as creating a scene; other threads are counted as usual.

    Values are not checked either.
    """
    return _NO_EDITS


def checks_values() -> bool:
    """Whether values are checked where they are set: not within `no_edits`."""
    return not _suspended()


set_field = Struct.__setattr__
"""Sets a field without counting or checking, for readers: faster than within `no_edits`.  Lists must be tracked."""


def field_setter() -> Callable[[Struct, str, Any], None]:
    """A function that sets fields of new items: `set_field` within `no_edits`.  Lists must be tracked."""
    return set_field if _suspended() else setattr


class CheckedValue(Struct, frozen=True, repr_omit_defaults=True):
    """An object that cannot be edited.  Its numbers are checked, except within `no_edits`."""

    def __post_init__(self) -> None:
        if not _suspended():
            check_fields(self)


class Tracked(Struct, repr_omit_defaults=True):
    """An object whose edits advance the clock.  Creating one does not.

    Numbers are checked where they are set, except within `no_edits`: files may contain others, and are validated.
    """

    def __post_init__(self) -> None:
        if not _suspended():
            check_fields(self)

    def __setattr__(self, name: str, value: Any) -> None:
        if not _suspended():
            CLOCK.tick()
            value = check_field(self, name, value)
            if name == "name" and value != getattr(self, name, value):
                for owner in reference_owners():
                    owner.prepare_rename(self, value)
        # A list that replaces another one has to advance the clock too.
        set_field(self, name, TrackedList(value) if type(value) is list else value)


class TrackedList(list[T]):
    """A list whose edits advance the clock."""

    __slots__ = ()


def _tracked_method(name: str) -> Any:
    method = getattr(list, name)

    def edit(self: TrackedList[Any], *arguments: Any, **options: Any) -> Any:
        CLOCK.tick()
        return method(self, *arguments, **options)

    return edit


for _name in ("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse"):
    setattr(TrackedList, _name, _tracked_method(_name))
for _name in ("__setitem__", "__delitem__", "__iadd__", "__imul__"):
    setattr(TrackedList, _name, _tracked_method(_name))


def track_lists(item: Tracked, names: Iterable[str]) -> None:
    """Replace the lists in fields of a new item by tracked ones; those that a reader passes on are its own."""
    if checks_values():
        for name in names:
            setattr(item, name, TrackedList(getattr(item, name)))
        return
    for name in names:
        found = getattr(item, name)
        if type(found) is not TrackedList:
            set_field(item, name, TrackedList(found))
