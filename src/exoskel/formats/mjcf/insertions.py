"""New elements of a document and their places."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from math import degrees
from typing import Any

from msgspec import Struct

from exoskel import spatial
from exoskel.formats.mjcf.joint_edits import JOINTS
from exoskel.formats.mjcf.reader.compiled import transforms
from exoskel.formats.mjcf.tree import MjcfElement, markup
from exoskel.scene.body import Body
from exoskel.scene.item import Item, item_name
from exoskel.scene.model import Model
from exoskel.scene.world import World
from exoskel.source.document import Document
from exoskel.source.splice import Patch
from exoskel.spatial import Array

WORLDBODY = "worldbody"
_ANGLES = frozenset({"range", "springref", "ref"})
"""The attributes of joints that are angles."""
_IDENTITY = (1.0, 0.0, 0.0, 0.0)


class Insertion(Struct):
    """A new child of an element, after a sibling (-1: as the first child)."""

    parent: int
    after: int
    element: MjcfElement
    section: str = ""
    """The section that the element is in, if it is not in a body."""


def position(document: Document, one: Insertion) -> int:
    """The number of the element of the document before which a new one is inserted."""
    return document.outline.ends[one.after] if one.after >= 0 else one.parent + 1


def insert_elements(
    document: Document, insertions: Iterable[Insertion], values: Mapping[tuple[int, str], str], removed: Set[int]
) -> tuple[bytes, list[int]]:
    """A document with new elements and values, and the numbers in the document of all its elements: -1 for new ones.

    The elements `removed` are not in it.  A new joint after a removed one takes its place.
    """
    tags, ends = document.outline.tags, document.outline.ends
    patch = Patch(document)
    for (node, name), value in values.items():
        if value:
            patch.set_attribute(node, name, value)
        else:  # a list of a keyframe without numbers
            patch.remove_attribute(node, name)
    groups: dict[tuple[int, int], list[Insertion]] = {}
    for one in insertions:
        groups.setdefault((one.parent, one.after), []).append(one)
    counts: dict[int, int] = {}
    gone = set(removed)
    for (parent, after), members in groups.items():
        elements = _in_sections(parent, members)
        made = [markup(element) for element in elements]
        if after in gone and tags[after] in JOINTS:
            patch.replace(after, made.pop(0))
            gone.remove(after)
        if made:
            patch.insert_all(parent, made, after)
        at = position(document, members[0])
        counts[at] = counts.get(at, 0) + sum(len(list(one.iter())) for one in elements)
    for node in gone:
        if not any(other < node < ends[other] for other in gone):
            patch.remove(node)
    lost = {inner for node in removed for inner in range(node, ends[node])}
    numbers: list[int] = []
    for node in range(len(tags) + 1):
        numbers += [-1] * counts.get(node, 0)
        numbers += [node] if node < len(tags) and node not in lost else []
    return patch.apply(), numbers


def _in_sections(parent: int, members: Sequence[Insertion]) -> list[MjcfElement]:
    """The new elements at one place; in the root, they are in new sections."""
    if parent:
        return [one.element for one in members]
    sections: dict[str, MjcfElement] = {}
    for one in members:
        tag = one.section or WORLDBODY
        sections.setdefault(tag, MjcfElement(tag)).children.append(one.element)
    return list(sections.values())


def shorten(element: MjcfElement) -> None:
    """Omit the values that bodies have by default, and the zeros of diagonal moments."""
    given: dict[str, Any] = element.attributes
    if element.tag == "body":
        if "pos" in given and not any(given["pos"]):
            del given["pos"]
        if "quat" in given and tuple(given["quat"]) == _IDENTITY:
            del given["quat"]
    elif element.tag == "inertial" and "fullinertia" in given and not any(given["fullinertia"][3:]):
        given["diaginertia"] = tuple(given.pop("fullinertia"))[:3]


def state_degrees(element: MjcfElement) -> None:
    """State the angles of a joint in degrees."""
    given: dict[str, Any] = element.attributes
    if element.tag != "joint" or given.get("type") == "slide":
        return
    for name in _ANGLES & given.keys():
        value = given[name]
        given[name] = tuple(map(degrees, value)) if name == "range" else degrees(value)


def contents(item: Item) -> Iterator[Item]:
    """An item and what is in it."""
    parts: tuple[Item, ...] = (*item.bodies, *item.joints) if isinstance(item, Model) else ()
    for one in (item, *parts):
        yield one
        if isinstance(one, Body):
            yield from (*one.shapes, *one.markers)


def nest_static_bodies(written: MjcfElement, world: World, new: Collection[int]) -> None:
    """Move the new bodies of static models, which a new document places in the world, into the bodies that carry them.

    `written` is the new document, and `new` are the ids of new items.
    """
    section = written.child("worldbody")
    joints = [j for m in world.models if m.static for j in m.joints if id(j.child) in new and j.parent is not None]
    if not joints:
        return
    bodies = {id(one.item): one for one in section.children if one.tag == "body" and one.item is not None}
    places = {key: _matrix(one) for key, one in bodies.items()}
    for joint in joints:
        body, parent = bodies.get(id(joint.child)), bodies.get(id(joint.parent))
        if joint.loop or body is None or parent is None or item_name(joint.parent or joint) == "world":
            continue
        relative = spatial.inverse(places[id(joint.parent)]) @ places[id(joint.child)]
        body.attributes["pos"] = spatial.without_noise(relative[:3, 3]).tolist()
        body.attributes["quat"] = spatial.quaternion(relative[:3, :3]).tolist()
        section.children = [one for one in section.children if one is not body]
        parent.children.append(body)


def _matrix(element: MjcfElement) -> Array:
    given: dict[str, Any] = element.attributes
    return transforms(spatial.array(given["pos"]), spatial.array(given["quat"]))
