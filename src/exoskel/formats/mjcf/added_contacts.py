"""The contact bits of shapes that are added to a document, so that they collide as in the scene."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from msgspec import Struct

from exoskel.formats.mjcf.collision_filter import Bits
from exoskel.formats.mjcf.geoms import DEFAULT_BITS
from exoskel.formats.mjcf.keyframe_edits import import_base
from exoskel.formats.mjcf.shape_edits import CannotEditError
from exoskel.formats.mjcf.tree import MjcfElement
from exoskel.scene.item import Item
from exoskel.scene.shape import Shape
from exoskel.scene.world import Scene

_MOST_EXCLUDES = 2000
_FOUND = dict[tuple[Bits, Bits], dict[str, None]]


class PlacedElement(Protocol):
    """A new element, and the section that it is in, if it is not in a body."""

    @property
    def element(self) -> MjcfElement: ...
    @property
    def section(self) -> str: ...


class _ContactInserter(Protocol):
    """What inserts new elements in a document."""

    base_scene: Scene
    sources: dict[int, Item]
    written: MjcfElement

    @property
    def insertions(self) -> Sequence[PlacedElement]: ...
    def is_new(self, element: MjcfElement) -> bool: ...
    def insert_in_section(self, tag: str, element: MjcfElement) -> None: ...


class _Geom(Struct):
    element: MjcfElement
    body: str
    """The name of its body in the new document."""


class AddedContacts:
    """Chooses the bits of new geoms.

    The bits in the new document, in which all geoms have others, tell which geoms collide.  Pairs of bodies that the
    author's bits cannot separate are excluded.
    """

    def __init__(self, inserter: _ContactInserter) -> None:
        self.inserter = inserter
        self.excluded: dict[tuple[str, str], None] = {}

    def set_bits(self) -> None:
        geoms = list(self._geoms(self.inserter.written.child("worldbody"), "world"))
        inside = {id(e) for one in self.inserter.insertions if not one.section for e in one.element.iter()}
        new = [one for one in geoms if id(one.element) in inside and any(_bits(one.element))]
        self._keep_excludes()
        if new:
            known = self._known([one for one in geoms if id(one.element) not in inside])
            chosen: dict[Bits, Bits] = {}
            for one in new:
                wanted = _bits(one.element)
                if wanted not in chosen:
                    chosen[wanted] = self._choose(wanted, known)
                self._exclude(one, wanted, chosen[wanted], known)
                known.setdefault((wanted, chosen[wanted]), {})[one.body] = None
            for one in new:
                _set_bits(one.element, chosen[_bits(one.element)])
        if len(self.excluded) > _MOST_EXCLUDES:
            raise CannotEditError
        for first, second in self.excluded:
            self.inserter.insert_in_section("contact", MjcfElement("exclude", {"body1": first, "body2": second}))

    @staticmethod
    def _geoms(element: MjcfElement, body: str) -> Iterator[_Geom]:
        """The geoms in an element, which is a body of that name or contains bodies."""
        waiting = [(element, body)]
        while waiting:
            one, name = waiting.pop()
            yield from (_Geom(child, name) for child in one.children if child.tag == "geom")
            bodies = (child for child in reversed(one.children) if child.tag == "body")
            waiting += [(child, str(child.attributes["name"])) for child in bodies]

    def _keep_excludes(self) -> None:
        """Keep the pairs with new bodies that are excluded in the new document."""
        new = {
            str(element.attributes["name"])
            for one in self.inserter.insertions
            for element in one.element.iter()
            if element.tag == "body"
        }
        for one in self.inserter.written.child("contact").children:
            pair = str(one.attributes["body1"]), str(one.attributes["body2"])
            if new & {*pair}:
                self.excluded[pair] = None

    def _known(self, geoms: list[_Geom]) -> _FOUND:
        """The bits of old geoms in the new document and in that of the author, with the names of their bodies."""
        compiled = import_base(self.inserter.base_scene).compiled
        assert compiled is not None
        model: Any = compiled.model
        own: dict[int, dict[str, Bits]] = {}
        rows = zip(model.geom_contype.tolist(), model.geom_conaffinity.tolist(), strict=True)
        for number, bits in enumerate(rows):
            own.setdefault(compiled.geoms.node(number), {})[compiled.geoms.name(number)] = bits
        found: _FOUND = {}
        for one in geoms:
            source = self.inserter.sources.get(id(one.element.item))
            stated = own.get(source.node, {}) if isinstance(source, Shape) else {}
            if not isinstance(source, Shape) or not stated:
                continue
            bits = stated.get(source.name, next(iter(stated.values())))
            if any(bits) and any(_bits(one.element)):
                found.setdefault((_bits(one.element), bits), {})[one.body] = None
        return found

    def _choose(self, wanted: Bits, known: _FOUND) -> Bits:
        """Bits that collide with all that the geom collides with, and with as few others as possible."""
        hits = [bits for other, bits in known if _collide(wanted, other)]
        misses = [bits for other, bits in known if not _collide(wanted, other)]
        widest = [_everything(hits, misses)] if hits else []
        candidates = dict.fromkeys([DEFAULT_BITS, *(bits for _, bits in known if all(bits)), *widest])
        complete = [bits for bits in candidates if all(_collide(bits, other) for other in hits)]
        if not complete:
            complete = [_everything(hits, [])]
        return min(complete, key=lambda bits: sum(_collide(bits, other) for other in misses))

    def _exclude(self, geom: _Geom, wanted: Bits, bits: Bits, known: _FOUND) -> None:
        """Exclude the bodies that would collide with that of a geom, and do not in the scene."""
        for (other, own), bodies in known.items():
            if _collide(wanted, other) or not _collide(bits, own):
                continue
            for body in bodies:
                if body != geom.body and not {(body, geom.body), (geom.body, body)} & self.excluded.keys():
                    self.excluded[body, geom.body] = None


def _bits(geom: MjcfElement) -> Bits:
    given: dict[str, Any] = geom.attributes
    return int(given.get("contype", 1)), int(given.get("conaffinity", 1))


def _set_bits(geom: MjcfElement, bits: Bits) -> None:
    for name, value in zip(("contype", "conaffinity"), bits, strict=True):
        geom.attributes.pop(name, None)
        if bits != DEFAULT_BITS:
            geom.attributes[name] = value


def _collide(one: Bits, other: Bits) -> bool:
    return bool(one[0] & other[1] or other[0] & one[1])


def _everything(hits: Sequence[Bits], misses: Sequence[Bits]) -> Bits:
    """The bits that collide with as much as possible of one list, and with nothing of the other."""
    kinds = affinities = 0
    for kind, affinity in hits:
        kinds, affinities = kinds | kind, affinities | affinity
    for kind, affinity in misses:
        kinds, affinities = kinds & ~kind, affinities & ~affinity
    return affinities, kinds
