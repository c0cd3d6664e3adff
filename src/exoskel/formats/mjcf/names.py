"""Names in files: short ones that every reader accepts, and how the names of the scene are found again.

Documents are built with qualified names such as `model/body`, which are unique.  In a file, a name has no slash, and
the name of its model only where names clash.  Reading derives the qualified names from the tree: a body belongs to
the model of its parent, a geom to its body.  What does not follow is listed in `<custom>`, in `<text>` elements that
other readers ignore.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping, Sequence
from typing import Any, Literal, Protocol
from urllib.parse import quote, unquote

from exoskel.formats.mjcf.tree import MjcfElement
from exoskel.scene.item import qualified_name
from exoskel.scene.shape import Shape

Kind = Literal[
    "world",
    "body",
    "joint",
    "geom",
    "site",
    "mesh",
    "tendon",
    "actuator",
    "equality",
    "sensor",
    "camera",
    "light",
    "key",
]
"""Elements of each kind have different names; several kinds may share a name."""
NameTable = Mapping[Kind, Mapping[str, str]]
"""Qualified names by the names in a file, or the reverse, for each kind."""
GENERATED = "exoskel_"
"""The first part of the names of elements that are written for other programs and are not part of the scene."""
INERTIA = f"{GENERATED}inertia_"
"""How the names of shapes start that bodies without shapes have for DART."""
KEY, OTHER_KEY = "initial", f"{GENERATED}initial"
"""The name of the keyframe of the initial state, and that if the scene has a keyframe of this name."""
_TABLE = f"{GENERATED}names_"
SKIN_TEXT = f"{GENERATED}skin_"
"""The first part of the name of a text that describes the skin of a soft body, followed by the name of the body."""
EQUALITIES_TEXT = f"{GENERATED}equalities"
"""The name of a text with the names of constraints of the world that look like loops or mimics of joints."""
_WORLD = "world"
"""MuJoCo's own body."""


class NamedElement(Protocol):
    """An element of a document that is written or read."""

    @property
    def tag(self) -> str: ...
    @property
    def attributes(self) -> MutableMapping[str, Any]: ...
    @property
    def children(self) -> Sequence[NamedElement]: ...


_TREE: dict[str, Kind] = {"body": "body", "joint": "joint", "freejoint": "joint", "geom": "geom", "site": "site"}
_SECTIONS: dict[str, Kind] = {"tendon": "tendon", "actuator": "actuator", "equality": "equality", "asset": "mesh"}
_PLAIN: dict[str, Kind] = {"camera": "camera", "light": "light", "key": "key", "sensor": "sensor"}
"""Elements whose names are no paths, by their tags or the section that they are in."""
_KINDS: tuple[Kind, ...] = ("world", *dict.fromkeys((*_TREE.values(), *_SECTIONS.values(), *_PLAIN.values())))
_REFERENCES: dict[str, Kind] = {
    **dict.fromkeys(("joint", "joint1", "joint2", "jointinparent"), "joint"),
    **dict.fromkeys(("body", "body1", "body2", "subtree1", "subtree2"), "body"),
    **dict.fromkeys(("site", "site1", "site2", "refsite", "sidesite", "cranksite", "slidersite"), "site"),
    **dict.fromkeys(("tendon", "tendon1", "tendon2"), "tendon"),
    **dict.fromkeys(("geom", "geom1", "geom2"), "geom"),
    "mesh": "mesh",
    "target": "body",
    "actuator": "actuator",
    "camera": "camera",
}
"""Attributes that refer to other elements by name."""
_OTHER_REFERENCES = {"texture": "texture", "material": "material", "flex": "flex", "hfield": "hfield"}
"""The same for elements whose names are not changed."""
_OBJECTS = {"objname": "objtype", "refname": "reftype"}
"""Attributes that refer to an element of the kind that another attribute states."""


def reference_kind(element: NamedElement, attribute: str) -> str:
    """The kind of element that an attribute refers to; empty if it is no reference."""
    if attribute in _OBJECTS:
        kind = str(element.attributes.get(_OBJECTS[attribute], ""))
        return "body" if kind == "xbody" else kind or "unknown"
    return _REFERENCES.get(attribute) or _OTHER_REFERENCES.get(attribute, "")


_ALL_REFERENCES = frozenset((*_REFERENCES, *_OBJECTS))


def split_path(name: str) -> list[str]:
    """Split a path into names."""
    if "~" not in name:
        return name.split("/")
    return [part.replace("~1", "/").replace("~0", "~") for part in name.split("/")]


def plain_name(name: str) -> str:
    """The name in the scene of a tendon, an actuator or a constraint, from its name in a document."""
    return split_path(name)[0] if "/" not in name else name


def is_generated(name: str) -> bool:
    """Whether a tendon or actuator of this qualified name was generated for a joint or body: it has their path."""
    return "/" in name


class _NamedBody:
    """A body, its name, and the names of the bodies and parts directly in it."""

    def __init__(self, element: NamedElement, parent: str) -> None:
        self.name = str(element.attributes.get("name", ""))
        self.parent = parent
        self.parts: dict[Kind, list[str]] = {"joint": [], "geom": [], "site": []}


_NamedElements = list[tuple[Kind, NamedElement]]


class _DocumentElements:
    """The elements of a document, found once.

    `named` are those whose names have to be unique, with the world first, and `plain` the cameras, lights, keyframes
    and sensors among them.
    """

    def __init__(self, root: NamedElement) -> None:
        self.root = root
        inside = [(section, _inside(section)) for section in root.children]
        self.all: list[NamedElement] = [one for section, found in inside for one in (section, *found)]
        named: _NamedElements = [("world", root)]
        self.plain: _NamedElements = []
        for section, found in inside:
            if section.tag == "worldbody":
                named += [(_TREE[one.tag], one) for one in found if one.tag in _TREE]
            else:
                named += _section_elements(section)
            if section.tag in ("worldbody", "keyframe"):
                self.plain += [(_PLAIN[one.tag], one) for one in found if one.tag in _PLAIN]
            elif section.tag in _PLAIN:
                self.plain += [(_PLAIN[section.tag], one) for one in section.children]
        self.named: _NamedElements = named + self.plain


def _section_elements(section: NamedElement) -> _NamedElements:
    """The elements of a section, other than the bodies, whose names have to be unique."""
    kind = _SECTIONS.get(section.tag)
    if kind is None:
        return []
    return [(kind, one) for one in section.children if kind != "mesh" or one.tag == "mesh"]


def _inside(element: NamedElement) -> list[NamedElement]:
    found: list[NamedElement] = []
    waiting = list(element.children[::-1])
    while waiting:
        one = waiting.pop()
        found.append(one)
        if one.children:
            waiting += one.children[::-1]
    return found


def _name(kind: Kind, element: NamedElement) -> str:
    return str(element.attributes.get("model" if kind == "world" else "name", ""))


def _places(root: NamedElement) -> list[_NamedBody]:
    """All bodies, parents first, and the world body."""
    found: list[_NamedBody] = []
    waiting: list[tuple[NamedElement, _NamedBody]] = []
    for section in (one for one in root.children if one.tag == "worldbody"):
        found.append(_NamedBody(section, ""))
        waiting.append((section, found[-1]))
    while waiting:
        element, place = waiting.pop()
        inner: list[tuple[NamedElement, _NamedBody]] = []
        for child in element.children:
            kind = _TREE.get(child.tag)
            if kind == "body":
                found.append(_NamedBody(child, place.name))
                inner.append((child, found[-1]))
            elif kind is not None:
                place.parts[kind].append(_name(kind, child))
            else:
                inner.append((child, place))
        waiting += inner[::-1]
    return found


def _rename(elements: _DocumentElements, names: NameTable) -> None:
    """Replace names and the references to them; names that are not in the table stay."""
    tables: dict[str, Mapping[str, str]] = {str(kind): found for kind, found in names.items()}
    for kind, element in elements.named:
        attribute = "model" if kind == "world" else "name"
        found = names.get(kind, {}).get(_name(kind, element))
        if found is not None:
            element.attributes[attribute] = found
    for text in _skin_texts(elements.root):
        text.attributes["name"] = SKIN_TEXT + names.get("body", {}).get(_skin_body(text), _skin_body(text))
    for element in elements.all:
        if _ALL_REFERENCES.isdisjoint(element.attributes):
            continue
        for attribute in _ALL_REFERENCES & element.attributes.keys():
            known = tables.get(reference_kind(element, attribute), {})
            element.attributes[attribute] = known.get(str(element.attributes[attribute]), element.attributes[attribute])


def _skin_texts(root: NamedElement) -> list[NamedElement]:
    texts = [text for custom in root.children if custom.tag == "custom" for text in custom.children]
    return [text for text in texts if str(text.attributes.get("name", "")).startswith(SKIN_TEXT)]


def _skin_body(text: NamedElement) -> str:
    """The name of the body whose skin a text describes."""
    return str(text.attributes["name"]).removeprefix(SKIN_TEXT)


def stated_skins(root: NamedElement) -> dict[str, str]:
    """The descriptions of the skins of soft bodies, by the names of the bodies."""
    return {_skin_body(text): str(text.attributes.get("data", "")) for text in _skin_texts(root)}


def is_name_table(text: str) -> bool:
    """Whether a text of a name has names of the document, which a renamed element would have to change."""
    return text.startswith(_TABLE) or text == EQUALITIES_TEXT


def equalities_text(names: Iterable[str]) -> str:
    """The text with the qualified names of constraints."""
    return " ".join(map(quote, names))


def stated_equalities(root: NamedElement) -> frozenset[str]:
    """The qualified names of the constraints of the world that look like loops or mimics of joints."""
    texts = [text for custom in root.children if custom.tag == "custom" for text in custom.children]
    found = [str(text.attributes.get("data", "")) for text in texts if text.attributes.get("name") == EQUALITIES_TEXT]
    return frozenset(unquote(name) for text in found for name in text.split())


# --- from names in a file to qualified names -----------------------------------------------------------


_POINT = re.compile(r"(\d+)_point")
_SKIN_PART = re.compile(r"(?:\d+_point|edge\d+)(?:_|$)")
_EDGE = re.compile(r"(.*)_(edge\d+)_([xyz])")
_PART = re.compile(r"(?:visual|collision)\d+(?:_\d+)?")
NameRule = Callable[[Kind, str, str | None], str | None]
"""The qualified name of an element, from its kind, its name in the file, and the name that follows from the tree."""


def _qualified_names(elements: _DocumentElements, rule: NameRule) -> dict[Kind, dict[str, str]]:
    """The qualified names of a document, as far as they are known."""
    root = elements.root
    found: dict[Kind, dict[str, str]] = {kind: {} for kind in _KINDS}

    def add(kind: Kind, name: str, derived: str | None) -> None:
        qualified = rule(kind, name, derived) if name else None
        if qualified is not None:
            found[kind][name] = qualified

    add("world", _name("world", root), _name("world", root))
    skins = stated_skins(root).keys()
    for place in _places(root):
        above = found["body"].get(place.parent, "")
        model = above.partition("/")[0]
        point = _POINT.fullmatch(place.name.removeprefix(f"{place.parent}_")) if place.parent in skins else None
        if point is not None:
            add("body", place.name, f"{above}/{point[1]}/point")
            own = found["body"].get(place.name, "")
            for kind in ("joint", "geom"):
                for name in place.parts[kind]:
                    add(kind, name, own + name.removeprefix(place.name).replace("_", "/"))
            continue
        add("body", place.name, f"{model}/{qualified_name(place.name)}" if model else None)
        own = found["body"].get(place.name, "")
        model = own.partition("/")[0]
        for name, joint in zip(place.parts["joint"], _joint_paths(place.parts["joint"]), strict=True):
            add("joint", name, f"{model}/{joint}" if model else None)
        for name in place.parts["geom"]:
            rest = name.removeprefix(f"{place.name}_")
            add("geom", name, f"{own}/{rest.replace('_', '/')}" if own and _PART.fullmatch(rest) else None)
        for name in place.parts["site"]:
            add("site", name, f"{own}/{qualified_name(name)}" if own else None)
    for kind, element in (one for section in root.children for one in _section_elements(section)):
        name = _name(kind, element)
        edge = _EDGE.fullmatch(name) if kind == "tendon" else None
        if edge is not None and edge[1] in skins:
            add(kind, name, f"{found['body'].get(edge[1], '')}/{edge[2]}/{edge[3]}")
        elif kind in ("tendon", "actuator", "equality"):
            add(kind, name, _path_after_joint(name, found["joint"]) or name)
    for kind, element in elements.plain:
        add(kind, _name(kind, element), _name(kind, element))
    return found


def _joint_paths(names: list[str]) -> list[str]:
    """The names of a body's joints in the scene: several joints `hip_0`, `hip_1`, … are one, `hip`."""
    head = names[0].removesuffix("_0") if len(names) > 1 else ""
    if head and names == [f"{head}_{number}" for number in range(len(names))]:
        return [f"{qualified_name(head)}/{number}" for number in range(len(names))]
    return [qualified_name(name) for name in names]


def _path_after_joint(name: str, joints: Mapping[str, str]) -> str | None:
    """The qualified name of a part that is named after a joint, such as `hip_motor`."""
    head, rest = name, ""
    while head:
        if head in joints:
            return joints[head] + rest
        head, _, tail = head.rpartition("_")
        rest = f"/{tail}{rest}"
    return None


def stated_names(root: NamedElement) -> NameTable | None:
    """The names that a document of ours lists; None if it lists none."""
    found: dict[Kind, dict[str, str]] = {}
    for custom in (one for one in root.children if one.tag == "custom"):
        for text in custom.children:
            called, data = str(text.attributes.get("name", "")), str(text.attributes.get("data", ""))
            for kind in _KINDS:
                if called == f"{_TABLE}{kind}":
                    pairs = (row.partition("=") for row in data.split())
                    found[kind] = {unquote(name): unquote(qualified) for name, _, qualified in pairs}
    return found or None


def restored_names(root: NamedElement) -> dict[Kind, dict[str, str]]:
    """The qualified names of the elements of a document of ours, by those in the file; empty for other documents."""
    stated = stated_names(root)
    if stated is None:
        return {}
    return _qualified_names(
        _DocumentElements(root), lambda kind, name, derived: stated.get(kind, {}).get(name, derived)
    )


def restore_names(root: NamedElement) -> None:
    """Give the elements of a document of ours their qualified names again; others stay as they are."""
    stated = stated_names(root)
    if stated is not None:
        elements = _DocumentElements(root)
        found = _qualified_names(elements, lambda kind, name, derived: stated.get(kind, {}).get(name, derived))
        _rename(elements, found)


# --- from qualified names to names in a file -----------------------------------------------------------


def shorten_names(root: MjcfElement) -> NameTable:
    """Replace qualified names by names without slashes, and list those that do not follow from the tree.

    Returns the names in the file by the qualified names.
    """
    elements = _DocumentElements(root)
    short = _short_names(elements.named)
    _rename(elements, short)
    for name, data in _tables(elements, short).items():
        root.child("custom").add("text", name=name, data=data)
    return short


def tables_of_names(root: NamedElement, short: NameTable) -> dict[str, str]:
    """The texts, by their names, that list the other names of a document which do not follow from its tree.

    `short` are the names in the document by the other names, for each kind.
    """
    return _tables(_DocumentElements(root), short)


def _tables(elements: _DocumentElements, short: NameTable) -> dict[str, str]:
    truth = {kind: {name: qualified for qualified, name in names.items()} for kind, names in short.items()}

    def rule(kind: Kind, name: str, derived: str | None) -> str | None:
        qualified = truth.get(kind, {}).get(name, name)
        is_plain = kind == "geom" and derived is None and qualified == name
        return None if is_plain else qualified

    return _texts(_underived_names(elements, rule))


def underived_names(root: NamedElement, rule: NameRule) -> dict[Kind, dict[str, str]]:
    """The names that do not follow from the tree of a document, with their qualified names by a rule."""
    return _underived_names(_DocumentElements(root), rule)


def _underived_names(elements: _DocumentElements, rule: NameRule) -> dict[Kind, dict[str, str]]:
    found: dict[Kind, dict[str, str]] = {}

    def note(kind: Kind, name: str, derived: str | None) -> str | None:
        qualified = rule(kind, name, derived)
        if qualified is not None and qualified != derived:
            found.setdefault(kind, {})[name] = qualified
        return qualified

    _qualified_names(elements, note)
    return found


def _texts(rows: Mapping[Kind, Mapping[str, str]]) -> dict[str, str]:
    return {table_name(kind): table_text(names) for kind, names in rows.items()}


def table_name(kind: Kind) -> str:
    """The name of the text that lists the names of a kind."""
    return f"{_TABLE}{kind}"


def table_without(text: str, data: str, removed: Mapping[str, Collection[str]]) -> str:
    """The data of a table of names without removed elements, by their kinds; `text` is the name of the table."""
    names = removed.get(text.removeprefix(_TABLE), ()) if text.startswith(_TABLE) else ()
    return " ".join(row for row in data.split() if unquote(row.partition("=")[0]) not in names) if names else data


def table_text(names: Mapping[str, str]) -> str:
    """The text that lists qualified names by the names in a document."""
    return " ".join(f"{quote(name, safe='')}={quote(qualified, safe='/~')}" for name, qualified in names.items())


def name_geoms(root: MjcfElement) -> dict[str, str]:
    """Give geoms the names of their shapes, instead of names with their body and number.

    Shapes without a name, several geoms of one shape, and those that are hidden collision shapes keep the other names,
    which their readers need.  Returns the new names by the old ones.
    """
    elements = _DocumentElements(root)
    geoms = [(one, one.item) for kind, one in elements.named if kind == "geom" and isinstance(one, MjcfElement)]
    counts = Counter(id(shape) for _, shape in geoms)
    kept = {_name("geom", geom) for geom, shape in geoms if not _has_own_name(geom, shape) or counts[id(shape)] > 1}
    found: dict[str, str] = {}
    taken = set(kept)
    for geom, shape in geoms:
        old = _name("geom", geom)
        if old and old not in kept:
            found[old] = _unused(qualified_name(shape.name), taken)
    if found:
        _rename(elements, {"geom": found})
    return found


def _has_own_name(geom: MjcfElement, shape: object) -> bool:
    """Whether a geom can have the name of its shape: readers tell by the other name that a shape is not visual."""
    collides = any(geom.attributes.get(name, 1) for name in ("contype", "conaffinity"))
    is_visual = split_path(_name("geom", geom))[-1].startswith("visual")
    return isinstance(shape, Shape) and bool(shape.name) and collides != is_visual


def _short_names(elements: _NamedElements) -> dict[Kind, dict[str, str]]:
    """The names in a file by the qualified names."""
    every = [(kind, name) for kind, element in elements if (name := _name(kind, element))]
    named = [(kind, name) for kind, name in every if kind not in _PLAIN]
    paths = {name: split_path(name) for kind, name in named if kind != "world"}
    families: dict[bool, list[list[str]]] = {False: [], True: []}
    for kind, name in named:
        if kind != "world":
            families[_follows(kind, paths[name])].append(paths[name])
    owners = {of_joint: _owner_names(family) for of_joint, family in families.items()}
    markers = Counter(paths[name][-1] for kind, name in named if kind == "site")
    found: dict[Kind, dict[str, str]] = {kind: {} for kind in _KINDS}
    taken: dict[Kind, set[str]] = {kind: {_WORLD} if kind == "body" else set() for kind in found}
    for kind, name in sorted(named, key=lambda one: one[0] != "geom" or len(paths[one[1]]) > 1):  # own names first
        if kind == "world":
            found[kind][name] = name.replace("/", "_")
            continue
        path = paths[name]
        owner = owners[_follows(kind, path)].get((path[0], path[1]), "") if len(path) > 1 else path[0]
        wanted = "_".join([owner, *path[2:]])
        if kind == "site" and len(path) == 3 and markers[path[-1]] == 1:
            wanted = path[-1]
        found[kind][name] = _unused(wanted.replace("/", "_") or kind, taken[kind])
    plain = sorted(dict.fromkeys(one for one in every if one[0] in _PLAIN), key=lambda one: "/" in one[1])
    for kind, name in plain:  # names that stay first
        found[kind][name] = _unused(name.replace("/", "_"), taken[kind])
    return found


def _follows(kind: Kind, path: Sequence[str]) -> bool:
    """Whether an element is named after a joint, and not after a body."""
    if len(path) > 2 and _SKIN_PART.match("_".join(path[2:])):
        return False
    if kind == "body":  # flywheels of motors, and duplicates
        return len(path) > 2
    return kind in ("joint", "tendon", "actuator", "equality") or (kind == "site" and len(path) > 3)


def _owner_names(paths: Sequence[Sequence[str]]) -> dict[tuple[str, str], str]:
    """The names of bodies or joints, by model and name: with the model only where several have the same name."""
    owners = dict.fromkeys((path[0], path[1]) for path in paths if len(path) > 1)
    counts = Counter(name for _, name in owners)
    taken: set[str] = set()
    found: dict[tuple[str, str], str] = {}
    for model, name in owners:
        is_clear = counts[name] == 1 and name not in ("", _WORLD)
        found[model, name] = _unused((name if is_clear else f"{model}_{name}").replace("/", "_"), taken)
    return found


def _unused(name: str, taken: set[str]) -> str:
    """The name, or `name_2`, `name_3`, … if it is in use."""
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    taken.add(found)
    return found
