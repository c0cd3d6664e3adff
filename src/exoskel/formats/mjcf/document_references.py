"""References by name in an MJCF document: for renaming elements, and for removing what refers to removed ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from msgspec import Struct

from exoskel.formats.mjcf.names import reference_kind
from exoskel.source.document import Document

_KINDS = {"freejoint": "joint", "xbody": "body", **dict.fromkeys(("fixed", "spatial"), "tendon")}
"""Tags and types of elements, and the kind of the names that they share."""
BODY_LISTS = {"flex": ("body", "node")}
"""Attributes that are lists of bodies."""
_NAMES = ("name", "class", "childclass")
_STATES = ("qpos", "qvel", "act", "ctrl", "mpos", "mquat")
"""What keyframes state of all joints, actuators and mocap bodies."""


class _StatedElement(Struct):
    tag: str
    attributes: dict[str, Any]
    children: tuple[()] = ()


def shared_kind(kind: str) -> str:
    """The kind of the names that the elements of a tag, or objects of a type, share."""
    return _KINDS.get(kind, kind)


def renamed_references(document: Document, tag: str, before: str, after: str) -> Iterator[tuple[int, str, str]]:
    """The references to a renamed element, as elements, attributes and new values."""
    kind = shared_kind(tag)
    for node, attribute, found, name in find_references(document):
        if found != kind:
            continue
        names = name.split() if attribute in BODY_LISTS.get(document.outline.tags[node], ()) else [name]
        if before in names:
            yield node, attribute, " ".join(after if one == before else one for one in names)


def find_dependents(
    document: Document,
    removed: Collection[int],
    copies: Collection[tuple[str, str]] = (),
    *,
    kept: Collection[tuple[str, str]] = (),
    unfit: Collection[int] = (),
) -> set[int] | None:
    """The elements that refer to removed ones, directly or not; None if that cannot be known.

    `copies` are the names of removed copies of elements, which are not in the document, and their kinds.  `kept` are
    names that other elements get; only the `unfit` references to these are lost.
    """
    outline = document.outline
    tags, ends, parents = outline.tags, outline.ends, outline.parents
    lost = {inner for node in removed for inner in range(node, ends[node])}
    if any(tags[node] in _GENERATORS for node in lost):
        return None
    names = {*copies} | {(named_kind(document, node), name) for node in lost if (name := _name(document, node))}
    names -= {*kept}
    references = list(find_references(document))
    found: set[int] = set()
    while True:
        more: set[int] = set()
        for node, attribute, kind, name in references:
            listed = name.split() if attribute in BODY_LISTS.get(tags[node], ()) else [name]
            if node in lost or not (node in unfit or any((kind, one) in names for one in listed)):
                continue
            whole = _dependent_element(document, node)
            if whole is None:
                return None
            more.add(whole)
        more |= {parents[node] for node in more | found if _is_last_element(document, node, more | found)}
        if not more - found:
            return None if _mentions_others(document, lost, names) else found
        found |= more
        for node in more:
            lost |= set(range(node, ends[node]))
            if name := _name(document, node):
                names.add((named_kind(document, node), name))


_GENERATORS = frozenset({"composite", "attach"})
"""Elements that make others, whose names do not follow from the document."""
_VIEWS = frozenset({"camera", "light"})
_SECTIONS = frozenset({"tendon", "actuator", "sensor", "equality"})


def named_kind(document: Document, node: int) -> str:
    """The kind of what an element names."""
    tags, parents = document.outline.tags, document.outline.parents
    section = tags[parents[node]] if node > 0 else ""
    if section in _SECTIONS:
        return section
    return "flex" if tags[node] == "flexcomp" else shared_kind(tags[node])


def _dependent_element(document: Document, node: int) -> int | None:
    """The element that is lost with a reference of one; None if this is not known."""
    tags, parents = document.outline.tags, document.outline.parents
    if tags[node] in _VIEWS or tags[parents[node]] == "tuple":
        return node
    top = _child_of_section(document, node)
    return None if top is None or tags[parents[top]] in ("worldbody", "default") else top


def _is_last_element(document: Document, node: int, lost: Collection[int]) -> bool:
    """Whether all elements of a tuple are lost with one of them: MuJoCo refuses empty ones."""
    parents, ends = document.outline.parents, document.outline.ends
    owner = parents[node]
    if document.outline.tags[owner] != "tuple":
        return False
    return all(inner in lost for inner in range(owner + 1, ends[owner]))


def _mentions_others(document: Document, lost: Collection[int], names: Collection[tuple[str, str]]) -> bool:
    """Whether other elements may mean lost ones in a way that is not known.

    These are settings of plugins, and the bodies that a deformable body consists of.
    """
    tags, called = document.outline.tags, {name for _, name in names}
    if any(
        tag == "config" and node not in lost and called & set(document.attribute_text(node, "value").split())
        for node, tag in enumerate(tags)
    ):
        return True
    flexes = tuple(f"{_name(document, node)}_" for node in lost if tags[node] == "flexcomp")
    return bool(flexes) and any(
        one.startswith(flexes)
        for node, _, _, name in find_references(document)
        if node not in lost
        for one in name.split()
    )


def _child_of_section(document: Document, node: int) -> int | None:
    """The child of a section that an element is, or is in; None for the section itself."""
    parents = document.outline.parents
    while parents[node] > 0:
        if parents[parents[node]] == 0:
            return node
        node = parents[node]
    return None


def have_states(document: Document, lost: Collection[int]) -> bool:
    """Whether keyframes have numbers of removed elements."""
    tags, parents = document.outline.tags, document.outline.parents
    has_state = any(
        tags[node] in ("joint", "freejoint")
        or tags[parents[node]] == "actuator"
        or (tags[node] == "body" and document.attribute_text(node, "mocap") == "true")
        for node in lost
    )
    keys = (node for node, tag in enumerate(tags) if tag == "key")
    return has_state and any(name in document.attributes(node) for node in keys for name in _STATES)


def find_references(document: Document) -> Iterator[tuple[int, str, str, str]]:
    """All references of a document: element, attribute, kind and name."""
    for node, tag in enumerate(document.outline.tags):
        stated = document.attributes(node)
        if not stated:
            continue
        element = _StatedElement(tag, {name: document.attribute_text(node, name) for name in stated})
        for attribute, value in element.attributes.items():
            kind = "body" if attribute in BODY_LISTS.get(tag, ()) else reference_kind(element, attribute)
            if kind and attribute not in _NAMES:
                yield node, attribute, shared_kind(kind), value


def _name(document: Document, node: int) -> str:
    return document.attribute_text(node, "name")
