"""The elements of MJCF that are lost with others: those that refer to one of them by its name."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from exoskel.source.document import Document

_SECTIONS = ("contact", "tendon", "equality", "actuator", "sensor")
"""The elements whose content refers to parts of bodies, and to the content of sections before them."""
_KINDS = {
    **dict.fromkeys(("joint", "joint1", "joint2", "jointinparent"), "joint"),
    **dict.fromkeys(("body", "body1", "body2"), "body"),
    **dict.fromkeys(("geom", "geom1", "geom2"), "geom"),
    **dict.fromkeys(("site", "site1", "site2", "sidesite", "refsite", "cranksite", "slidersite"), "site"),
    **dict.fromkeys(("tendon", "tendon1", "tendon2"), "tendon"),
    "actuator": "actuator",
}
"""The attributes that are references, and the kind of what they name."""
_NAMED = {"freejoint": "joint", "xbody": "body"}
"""Other words for kinds."""
_MESH = "mesh"


def find_dependents(document: Document, lost: Collection[int]) -> set[int]:
    """The elements that need one of the `lost` ones, and the meshes that only these use."""
    outline = document.outline
    sections = [node for node, parent in enumerate(outline.parents) if parent == 0 and outline.tags[node] in _SECTIONS]
    sections.sort(key=lambda node: _SECTIONS.index(outline.tags[node]))
    own = [node for node in lost if node >= 0]
    names = {(_kind(outline.tags[node]), name) for node in own if (name := _name(document, node))}
    found: set[int] = set()
    for section in sections:
        for node in _children(document, section):
            inside = range(node, outline.ends[node])
            if any(reference in names for one in inside for reference in _references(document, one)):
                found.add(node)
                names.add((outline.tags[section], _name(document, node)))
    return found | _meshes(document, lost)


def _meshes(document: Document, lost: Collection[int]) -> set[int]:
    """The meshes that only lost geoms use."""
    outline = document.outline
    lost_names: set[str] = set()
    others: set[str] = set()
    for node, tag in enumerate(outline.tags):
        if tag == "geom" and (name := document.attribute_text(node, _MESH)):
            (lost_names if node in lost else others).add(name)
    wanted = lost_names - others
    return {
        node
        for node, tag in enumerate(outline.tags)
        if wanted and tag == _MESH and _mesh_name(document, node) in wanted
    }


def _mesh_name(document: Document, node: int) -> str:
    """The name of a mesh, which is by default that of its file."""
    file = document.attribute_text(node, "file").replace("\\", "/").rpartition("/")[2]
    return _name(document, node) or file.rpartition(".")[0]


def _references(document: Document, node: int) -> Iterator[tuple[str, str]]:
    for attribute, kind in _KINDS.items():
        if name := document.attribute_text(node, attribute):
            yield kind, name
    for kind, name in (("objtype", "objname"), ("reftype", "refname")):
        yield _kind(document.attribute_text(node, kind)), document.attribute_text(node, name)


def _children(document: Document, section: int) -> Iterator[int]:
    node, end = section + 1, document.outline.ends[section]
    while node < end:
        yield node
        node = document.outline.ends[node]


def _kind(word: str) -> str:
    return _NAMED.get(word, word)


def _name(document: Document, node: int) -> str:
    return document.attribute_text(node, "name")
