"""Checks the elements that MuJoCo does not get, such as sensors and textures: MuJoCo would reject the document."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import structs

from exoskel.diagnostics import Collector
from exoskel.formats.mjcf.preserved_elements import SourceElement, references
from exoskel.formats.mjcf.reader.compiled import Compiled
from exoskel.formats.mjcf.reader.compiler import Workload, parse_document
from exoskel.formats.mjcf.reader.fragment import Fragment
from exoskel.formats.mjcf.reader.preprocessor import PreparedDocument
from exoskel.formats.mjcf.reader.rejections import Rejections
from exoskel.formats.mjcf.tree import MjcfElement

_UNREAD = frozenset({"sensor", "custom", "visual", "statistic", "contact"})
_UNREAD_ASSETS = frozenset({"texture", "skin"})
_MOST_ELEMENTS = 20_000
"""MuJoCo compares names in quadratic time."""
_MOST_REPAIRS = 100


def check_unread_elements(prepared: PreparedDocument, collector: Collector) -> None:
    """Report what MuJoCo does not parse of the elements that are not read, and do not preserve it."""
    collected = prepared.collected
    rows = [one for one in collected.elements if _is_unread(one[1])] if collected is not None else []
    if collected is None or not 0 < len(rows) < _MOST_ELEMENTS:
        return
    classes = [_classes(section) for section in prepared.root.children if section.tag == "default"]
    sizes = [Fragment("size", dict(one.values), one.node) for one in collected.sizes]
    root = Fragment("mujoco", {}, 0, [*classes, *sizes])
    copies: dict[int, MjcfElement] = {}
    made: dict[int, Fragment] = {}
    for key, one in rows:
        made[key] = _fragment(one.element, one.node, copies)
        is_section = one.section == one.element.tag
        root.children.append(made[key] if is_section else Fragment(one.section, {}, one.section_node, [made[key]]))
    document = PreparedDocument(root, {}, {}, {}, [], Workload(0.0))
    rejections = Rejections(document, collector)
    for _ in range(_MOST_REPAIRS):
        problem = parse_document(document.text)
        if not problem or not rejections.repair(problem):
            break
    if not rejections.has_found:
        return
    rejections.report(is_read=True)
    removed = set(map(id, document.removed))
    collected.elements = [row for row in collected.elements if row[0] not in made or id(made[row[0]]) not in removed]
    for fragment in (one for outer in made.values() for one in outer.iter()):
        element = copies[id(fragment)]
        element.children = [copies[id(child)] for child in fragment.children]
        element.attributes = {name: value for name, value in element.attributes.items() if name in fragment.attributes}
    collected.sizes = [
        structs.replace(one, values={name: value for name, value in one.values.items() if name in left.attributes})
        for one, left in zip(collected.sizes, sizes, strict=True)
    ]


def _is_unread(one: SourceElement) -> bool:
    return one.section in _UNREAD or (one.section == "asset" and one.element.tag in _UNREAD_ASSETS)


def _classes(default: Fragment) -> Fragment:
    """The names of default classes, without what these contain."""
    root = Fragment("default", dict(default.attributes), default.node)
    waiting = [(default, root)]
    while waiting:
        source, made = waiting.pop()
        for child in source.children:
            if child.tag == "default":
                made.children.append(Fragment("default", dict(child.attributes), child.node))
                waiting.append((child, made.children[-1]))
    return root


def _fragment(element: MjcfElement, node: int, copies: dict[int, MjcfElement]) -> Fragment:
    """A copy of an element and its content; `copies` gets the originals, by the ids of the copies."""
    made = _without_content(element, node)
    waiting = [(element, made)]
    while waiting:
        one, copy = waiting.pop()
        copies[id(copy)] = one
        copy.children = [_without_content(child, node) for child in one.children]
        waiting += zip(one.children, copy.children, strict=True)
    return made


def _without_content(element: MjcfElement, node: int) -> Fragment:
    return Fragment(element.tag, {name: str(value) for name, value in element.attributes.items()}, node, [])


# --- references ----------------------------------------------------------------------------------------


def check_references(compiled: Compiled, collector: Collector) -> None:
    """Report references of the elements that are not read to others that do not exist, and do not preserve these."""
    prepared = compiled.prepared
    rows = prepared.collected.elements if prepared.collected is not None else []
    rows = [row for row in rows if _is_unread(row[1]) or row[1].element.tag == "material"]
    if prepared.collected is None or not rows or prepared.ignored_states:
        return
    known = _known_names(compiled, [one.element for _, one in rows if one.element.tag == "texture"])
    for key, one in rows:
        found = next((row for row in references(one.element) if _is_missing(row, known)), None)
        if found is None:
            continue
        owner, attribute, kind, name = found
        is_material = one.element.tag == "material"
        lost = "it is not read" if is_material else f"the <{one.element.tag}> is ignored"
        suggestion = collector.suggestions.among(known[kind]).did_you_mean(name)
        details: dict[str, Any] = {"reason": f"{kind} '{name}' not found", "outcome": [f"; {lost}"]}
        attribute = attribute if owner is one.element else ""
        collector.report("MJ106.word", one.node, attribute=attribute, suggestion=suggestion, **details)
        if is_material:
            one.element.attributes.pop("texture", None)
            one.element.children = [child for child in one.element.children if child is not owner]
        else:
            prepared.collected.elements = [row for row in prepared.collected.elements if row[0] != key]


def _known_names(compiled: Compiled, textures: Sequence[MjcfElement]) -> Mapping[str, frozenset[str]]:
    """The names of elements by kind.  A texture without a name is named after its file.

    What refers to an element in `<replicate>` is copied with it, so its own name is known as well.
    """
    parts = {
        "body": compiled.bodies,
        "joint": compiled.joints,
        "geom": compiled.geoms,
        "site": compiled.sites,
        "camera": compiled.cameras,
        "tendon": compiled.tendons,
        "actuator": compiled.actuators,
    }
    files = (str(one.attributes.get("name") or _stem(str(one.attributes.get("file", "")))) for one in textures)
    copied: dict[str, set[str]] = {"joint": set()}
    for outer in (one for one in compiled.prepared.root.iter() if one.tag == "replicate"):
        for one in outer.iter():
            copied.setdefault(one.tag, set()).add(one.attributes.get("name", ""))
    copied["joint"] |= copied.get("freejoint", set())
    names = {kind: frozenset(one.numbers) | {"world"} | copied.get(kind, set()) for kind, one in parts.items()}
    return names | {"texture": frozenset(files)}


def _stem(reference: str) -> str:
    return posixpath.splitext(posixpath.basename(reference))[0]


def _is_missing(reference: tuple[MjcfElement, str, str, str], known: Mapping[str, frozenset[str]]) -> bool:
    _, _, kind, name = reference
    return kind in known and name not in known[kind]
