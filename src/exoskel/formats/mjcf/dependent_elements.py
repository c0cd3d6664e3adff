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
_ASSETS = ("mesh", "hfield", "material", "texture")
"""Elements of the section of assets, and the attributes that refer to them."""
_DEFAULT = "default"
_WITH_CLASS = ("geom", "joint", "site", "camera", "light")
"""Elements to which the default class of the body around them applies."""


def find_dependents(document: Document, lost: Collection[int]) -> set[int]:
    """The elements that need one of the `lost` ones, and the assets and default classes that only these use."""
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
    return found | find_definitions(document, {*lost, *found})


def find_definitions(document: Document, lost: Collection[int]) -> set[int]:
    """The assets and default classes that only lost elements use, directly or through others of them."""
    outline = document.outline
    definitions = _definitions(document)
    gone = {inner for node in lost if node >= 0 for inner in range(node, outline.ends[node])}
    users: dict[int, set[int]] = {}
    for node, kind, name in _uses(document):
        for used in definitions.get((kind, name), ()):
            users.setdefault(used, set()).add(node)
    for node, tag in enumerate(outline.tags):
        if tag == _DEFAULT and (above := outline.parents[node]) > 0 and outline.tags[above] == _DEFAULT:
            users.setdefault(above, set()).add(node)
    found: set[int] = set()
    while more := {node for node, of in users.items() if node not in found and gone.issuperset(of)}:
        found |= more
        gone |= {inner for node in more for inner in range(node, outline.ends[node])}
    return found


def _definitions(document: Document) -> dict[tuple[str, str], list[int]]:
    """Assets and default classes by their kinds and names; several elements may state one class."""
    tags, parents = document.outline.tags, document.outline.parents
    found: dict[tuple[str, str], list[int]] = {}
    for node, tag in enumerate(tags):
        if tag in _ASSETS and tags[parents[node]] == "asset":
            found.setdefault((tag, _asset_name(document, node)), []).append(node)
        elif tag == _DEFAULT and (name := document.attribute_text(node, "class")) and tags[parents[node]] == _DEFAULT:
            found.setdefault((_DEFAULT, name), []).append(node)
    return found


def _uses(document: Document) -> Iterator[tuple[int, str, str]]:
    """The uses of assets and default classes: the element, and the kind and name of what it uses."""
    tags, parents = document.outline.tags, document.outline.parents
    inherited: dict[int, str] = {}
    """The default class of the content of each element."""
    applied: set[str] = set()
    stated: list[tuple[int, str]] = []
    for node, tag in enumerate(tags):
        above = inherited.get(parents[node], "")
        inner = document.attribute_text(node, "childclass")
        if inner:
            stated.append((node, inner))
        if inner or above:
            inherited[node] = inner or above
        for kind in _ASSETS:
            if name := document.attribute_text(node, kind):
                yield node, kind, name
        own = document.attribute_text(node, "class") if tag != _DEFAULT else ""
        if own or (above and tag in _WITH_CLASS):
            applied.add(own or above)
            yield node, _DEFAULT, own or above
    yield from ((node, _DEFAULT, name) for node, name in stated if name not in applied)


def _asset_name(document: Document, node: int) -> str:
    """The name of an asset, which is by default that of its file."""
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
