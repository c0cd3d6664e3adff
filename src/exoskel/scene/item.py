"""The base class of all parts of a scene, look-up by name, and unique names."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Protocol

from msgspec import Struct, field, structs

from exoskel.diagnostics import ExoskelError, closest_name, printable
from exoskel.scene.edit_tracking import Tracked

NO_FIELDS: frozenset[str] = frozenset()


class Item(Tracked, eq=False, kw_only=True):
    """A part of a scene.

    `document` and `node` are the numbers of the source document and of the element in it (both -1 for
    items created by a program).  `given` names the fields that the source states; all others have
    default values.  `repaired` names the fields whose source text was invalid and was replaced.
    """

    document: int = -1
    node: int = -1
    given: frozenset[str] = NO_FIELDS
    repaired: frozenset[str] = NO_FIELDS

    def provenance(self, field: str) -> str:
        """Where the value of `field` comes from: `explicit`, `default` or `repaired`."""
        if field in self.repaired:
            return "repaired"
        return "explicit" if field in self.given else "default"

    def __repr__(self) -> str:
        """The values that are not defaults, without where they come from."""
        shown = [
            f"{one.name}={getattr(self, one.name)!r}"
            for one in structs.fields(self)
            if one.name not in _ORIGIN and getattr(self, one.name) != one.default
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


class AppearanceItem(Item, eq=False, kw_only=True):
    """An item whose appearance may be stated by another element of the source: `appearance_node` (-1: by its own)."""

    appearance_node: int = -1


_ORIGIN = frozenset(AppearanceItem.__struct_fields__)
"""The fields that state where an item comes from."""


def item_name(item: Item) -> str:
    """The name of an item; empty for items without names, such as degrees of freedom."""
    return getattr(item, "name", "")


class UnknownNameError(ExoskelError, KeyError):
    """No item has this name.  The message lists the known names."""

    def __str__(self) -> str:
        return str(self.args[0])


class TakenNameError(ExoskelError, ValueError):
    """The name is already in use."""


class Named(Protocol):
    @property
    def name(self) -> str: ...


class NameIndex(Struct):
    """An index of the items of a list by name, built when first needed and verified at every hit.

    The list may change at any time: a stale entry is detected and the index is rebuilt.
    """

    positions: dict[str, int] = field(default_factory=dict)
    size: int = 0

    def index_of(self, items: Sequence[Named], name: str) -> int:
        """The position of the first item called `name`, or -1."""
        at = self.positions.get(name, -1)
        if 0 <= at < len(items) and items[at].name == name:
            return at
        if at >= 0 or self.size != len(items):
            self.rebuild(items)
            at = self.positions.get(name, -1)
        return at

    def rebuild(self, items: Sequence[Named]) -> None:
        self.positions = {}
        for i, item in enumerate(items):
            self.positions.setdefault(item.name, i)
        self.size = len(items)

    def note_appended(self, items: Sequence[Named]) -> None:
        """Update the index after one item was appended."""
        if self.size == len(items) - 1:
            self.positions.setdefault(items[-1].name, self.size)
            self.size += 1


def require_index(index: NameIndex, items: Sequence[Named], name: str, kind: str, owner: str) -> int:
    """The position of the item called `name`.  Raises UnknownNameError, which lists the known names."""
    if not isinstance(name, str):
        raise UnknownNameError(f"{owner} has no {kind} called {name!r}; names are strings")
    at = index.index_of(items, name)
    if at < 0:
        index.rebuild(items)
        at = index.positions.get(name, -1)
    if at < 0:
        raise UnknownNameError(not_found_message(name, list(index.positions), kind, owner))
    return at


def check_name(kind: str, name: object) -> None:
    """Raise ExoskelError unless a new name is a text that is not empty."""
    if not isinstance(name, str):
        raise ExoskelError(
            f"the name of {'an' if kind[0] in 'aeiou' else 'a'} {kind} is {name!r}, but must be a string"
        )
    if not name.strip():
        raise ExoskelError("a name must not be empty")


_MAX_LISTED_NAMES = 12
_PLURALS = {
    "body": "bodies",
    "joint": "joints",
    "degree of freedom": "degrees of freedom",
    "model": "models",
    "soft body": "soft bodies",
    "camera": "cameras",
    "keyframe": "keyframes",
    "actuator": "actuators",
    "tendon": "tendons",
    "sensor": "sensors",
    "equality constraint": "equality constraints",
}


def not_found_message(name: str, known: list[str], kind: str, owner: str) -> str:
    """The message about an unknown name, with the closest and all known names."""
    near = closest_name(name, known)
    hint = f"; did you mean {near!r}?" if near else "."
    shown = ", ".join(repr(printable(n)) for n in known[:_MAX_LISTED_NAMES])
    more = f" and {len(known) - _MAX_LISTED_NAMES} more" if len(known) > _MAX_LISTED_NAMES else ""
    listing = f" Known: {shown}{more}." if known else f" It has no {_PLURALS[kind]}."
    return f"{owner} has no {kind} called {printable(name)!r}{hint}{listing}"


class Names(set[str]):
    """Names in use, for `unique_name`: a set that only grows and remembers the last number of each name.

    Without that, thousands of equal names would each be counted up from 1.
    """

    last_numbers: dict[str, int] | None = None
    """Created for the first repeated name: most documents have none."""


def unique_name(name: str, taken: Container[str]) -> str:
    """`name`, or `name(1)`, `name(2)`, … if it is in use: this is how DART makes equal names unique."""
    if name not in taken:
        return name
    last_numbers = (taken.last_numbers if isinstance(taken, Names) else None) or {}
    number = last_numbers.get(name, 1)
    while f"{name}({number})" in taken:
        number += 1
    last_numbers[name] = number
    if isinstance(taken, Names):
        taken.last_numbers = last_numbers
    return f"{name}({number})"


def name_prefix(name: str) -> str:
    """What `qualified_name` puts before further names."""
    if "/" in name or "~" in name:
        name = name.replace("~", "~0").replace("/", "~1")
    return f"{name}/"


def extended_name(prefix: str, name: str) -> str:
    """A name after a prefix from `name_prefix`: the same as `qualified_name` of both names."""
    return prefix + (name if "/" not in name and "~" not in name else name.replace("~", "~0").replace("/", "~1"))


def qualified_name(*names: str) -> str:
    """Names joined by slashes, such as `model/body`: a slash within a name becomes `~1`, a tilde `~0`."""
    joined = "/".join(names)
    if "~" not in joined and joined.count("/") == len(names) - 1:
        return joined
    return "/".join(name.replace("~", "~0").replace("/", "~1") for name in names)


def renamed_models(names: Mapping[str, str]) -> Callable[[str], str]:
    """A function that gives the models in paths new names."""
    paths = {qualified_name(old): qualified_name(new) for old, new in names.items()}

    def renamed(path: str) -> str:
        model, slash, rest = path.partition("/")
        return f"{paths[model]}{slash}{rest}" if model in paths else path

    return renamed


def replaced_paths(paths: Mapping[str, str]) -> Callable[[str], str]:
    """A function that replaces paths, and leaves others as they are."""
    return lambda path: paths.get(path, path)
