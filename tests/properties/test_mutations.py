"""A single change of a valid document causes a diagnostic there, or changes the scene there."""

from __future__ import annotations

import html
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from math import isfinite
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import exoskel
from exoskel.formats.skel.vocabulary import SKEL
from exoskel.formats.xode.vocabulary import XODE
from exoskel.scene.fields import differences, iter_items, relative_difference
from exoskel.scene.item import Item
from exoskel.source.document import Document
from exoskel.source.numbers import parse_decimal
from exoskel.source.positions import Elements
from exoskel.source.vocabulary import Element, ValueType
from tests.properties.support import load, tried
from tests.support.generate import Generated, skel_documents, xode_documents

ROOTS = {"skel": SKEL.root, "xode": XODE.root}
WRONG = ("oops", "", "1 2", "nan", "1e999", "-1", "7.25", "0", "oops oops", "5e-3", "1 2 3", "true")
WITHOUT_ROLE = {
    ("xode", "name"),
    ("transform", "transformstyle"),
    ("transform", "absolute"),
    ("mass", "name"),
    *((tag, "name") for tag in ("space", "group", "jointgroup")),
}
"""Attributes with arbitrary values that scenes do not store, and one without effect where frames coincide."""
MUTATED = 6
"""The number of mutations per document."""
SMALL = 1e-6
"""Closer numbers may be equal in a sum."""
MOVING = ("transform", "rotation")
"""Elements that may have no effect: their numbers are changed instead."""
PLACED = ("body", "geom")
"""Elements whose transforms have an effect; in others, content may be placed absolutely or have no pose."""
GROUPING = ("space", "group", "jointgroup")
"""Elements without a meaning of their own."""


class Place(NamedTuple):
    """An element of the document, what the vocabulary says about it, and the elements around it, the nearest first.

    `scope` are the elements that it may concern: itself and what is in it, or what a transform is to move.
    """

    node: int
    rule: Element
    around: tuple[int, ...]
    scope: range
    siblings: tuple[int, ...] = ()


class Mutant(NamedTuple):
    """A document with one change, at an element; `size` elements that begin with it are gone (-1) or doubled (+1).

    `values` are the texts of a value before and after the change, and `kind` is what kind of value that is.
    """

    what: str
    data: bytes
    place: Place
    size: int = 1
    shift: int = 0
    kind: ValueType | None = None
    values: tuple[str, str] = ("", "")

    @property
    def is_equivalent(self) -> bool:
        """Whether the changed value has the same meaning."""
        if self.kind is None:
            return False
        numbers = [parse_decimal(text.strip()) for text in self.values]
        if None not in numbers:
            return relative_difference(*numbers) < SMALL
        return self.values[0] == self.values[1] or len({str(self.kind.parse_valid(text)) for text in self.values}) == 1

    @property
    def may_keep_direction(self) -> bool:
        """Whether a component of a direction is scaled, which may not change the direction."""
        signs = [value > 0.0 for text in self.values if (value := parse_decimal(text.strip())) and isfinite(value)]
        return len(signs) == 2 and signs[0] == signs[1]

    def before(self, node: int) -> int:
        """The number that an element had, given its number after the change."""
        if self.shift < 0:
            return node if node < self.place.node else node + self.size
        return node if node < self.place.node + self.size or not self.shift else node - self.size

    @property
    def near(self) -> set[int]:
        return {*self.place.scope, *self.place.around}

    def may_show(self, scene: exoskel.Scene) -> bool:
        """Whether there is anything that it can concern: a group of nothing may come and go, and so may what states
        what holds without it.
        """
        name = self.place.rule.name
        is_left_out = self.shift < 0 and self.place.rule.card in "?*"
        if self.is_equivalent or (is_left_out and name in MOVING) or (name == "axis" and self.may_keep_direction):
            return False
        if is_left_out or name in GROUPING or self.place.node not in self.place.scope[:1]:
            return any(item.document == 0 and item.node in self.place.scope for item, _, _ in iter_items(scene))
        return True


def places(document: Document, root: Element) -> Iterator[Place]:
    """Yield all elements that are in the vocabulary at their position."""
    elements = Elements(document.scan)
    starts = document.scan.starts.tolist()

    def whole(node: int) -> range:
        return range(node, bisect_left(starts, elements.span(node).end))

    def below(node: int, rule: Element, around: tuple[int, ...], moved: range | None) -> Iterator[Place]:
        if rule.name == "transform":
            if elements.tag(around[0]) not in PLACED:
                return
            moved = whole(around[0])
        beside = tuple(elements.children(around[0])) if around else ()
        yield Place(node, rule, around, moved or whole(node), beside)
        for child in elements.children(node):
            known = rule.children.get(elements.tag(child))
            if known is not None and not known.opaque:
                yield from below(child, known, (node, *around), moved)

    yield from below(0, root, (), None)


def mutants(document: Document, place: Place) -> Iterator[Mutant]:
    text, scan, elements = document.text, document.scan, Elements(document.scan)
    node, span = place.node, elements.span(place.node)

    def spliced(start: int, end: int, piece: bytes) -> bytes:
        return text[:start] + piece + text[end:]

    size = sum(span.start <= start < span.end for start in scan.starts.tolist())
    tag = elements.tag(node).encode()
    rule, content = place.rule, scan.content(node)
    said = html.unescape(text[content.start : content.end].decode())
    if place.around:
        stated = (said, rule.default)  # without it, the default applies
        yield Mutant(f"no {tag!r}", spliced(span.start, span.end, b""), place, size, -1, rule.kind, stated)
        yield Mutant(f"two {tag!r}", spliced(span.end, span.end, text[span.start : span.end]), place, size, +1)
        renamed = text[span.start : span.end].replace(b"<" + tag, b"<" + tag + b"x", 1)
        if not elements.is_empty_tag(node):
            renamed = renamed[: renamed.rindex(b"</")] + b"</" + tag + b"x>"
        yield Mutant(f"{tag!r} misspelled", spliced(span.start, span.end, renamed), place, size)
    at = scan.tag(node).start + 1 + len(tag)
    yield Mutant("an unknown attribute", spliced(at, at, b" bogus='1'"), place)
    for name, value in scan.attributes(node).items():
        attribute = rule.attributes.get(name)
        if attribute is None or (rule.name, name) in WITHOUT_ROLE or (rule.name == "dof" and size == 1):
            continue  # empty degrees of freedom are all the same
        whole = text.rindex(b" " + name.encode(), 0, value.start) if b" " + name.encode() in text[: value.start] else -1
        if whole >= 0 and text[whole : value.start].strip().startswith(name.encode() + b"="):
            stated = (elements.attribute(node, name) or "", attribute.default)
            yield Mutant(
                f"no attribute {name}", spliced(whole, value.end + 1, b""), place, kind=attribute.kind, values=stated
            )
        for wrong in WRONG:
            changed = spliced(value.start, value.end, wrong.encode())
            yield Mutant(
                f"{name}={wrong!r}",
                changed,
                place,
                kind=attribute.kind,
                values=(elements.attribute(node, name) or "", wrong),
            )
    if rule.is_leaf and not elements.is_empty_tag(node) and not elements.children(node):
        for wrong in WRONG:
            changed = spliced(content.start, content.end, wrong.encode())
            yield Mutant(f"{wrong!r} in {tag!r}", changed, place, kind=rule.kind, values=(said, wrong))


def is_reported_there(mutant: Mutant, before: exoskel.Scene, after: exoskel.Scene) -> bool:
    """Whether there is a new diagnostic about the element, its content or its parents."""

    place = mutant.place
    beside = {place.node, *place.around[:3], *(place.siblings if place.rule.is_leaf else ())}

    def findings(scene: exoskel.Scene, number: Callable[[int], int]) -> Counter[tuple[str, int, str]]:
        assert scene.source is not None
        return Counter(
            (one.key, number(scene.documents[0].element(one.place)), one.message) for one in scene.diagnostics
        )

    if any(before.documents[0].element(one.place) in beside for one in before.diagnostics):
        return True  # it has no effect here, or two elements state the same
    new = findings(after, mutant.before) - findings(before, lambda node: node)
    return any(node in mutant.near for _, node, _ in new)


def differs_there(mutant: Mutant, before: exoskel.Scene, after: exoskel.Scene) -> bool:
    """Whether an item of the element, its content or its parents is missing, new or different."""

    def items(scene: exoskel.Scene, number: Callable[[int], int]) -> dict[tuple[type[Item], int, int], Item]:
        found: dict[tuple[type[Item], int, int], Item] = {}
        counts: Counter[tuple[type[Item], int]] = Counter()
        for item, _, _ in iter_items(scene):
            if item.document == 0 and (node := number(item.node)) in mutant.near:
                counts[type(item), node] += 1
                found[type(item), node, counts[type(item), node]] = item
        return found

    ours, theirs = items(before, lambda node: node), items(after, mutant.before)
    if ours.keys() != theirs.keys():
        return True
    return bool(differences([(ours[key], theirs[key]) for key in ours]))


@pytest.mark.parametrize("documents", [skel_documents(), xode_documents()], ids=["skel", "xode"])
def test_a_mutation_is_reported_or_changes_the_scene_there(
    folder: Path, documents: st.SearchStrategy[Generated]
) -> None:
    @tried
    @given(document=documents, data=st.data())
    def mutate(document: Generated, data: st.DataObject) -> None:
        source = Document(document.data)
        before = load(document, folder)
        everywhere = list(places(source, ROOTS[document.format]))
        for place in data.draw(
            st.lists(st.sampled_from(everywhere), min_size=MUTATED, max_size=MUTATED), label="places"
        ):
            mutant = data.draw(st.sampled_from(list(mutants(source, place))), label="mutation")
            if mutant.data == source.text or not mutant.may_show(before):
                continue
            after = load(document._replace(data=mutant.data), folder)
            assert is_reported_there(mutant, before, after) or differs_there(mutant, before, after), mutant.what

    mutate()
