"""The MJCF text of an `MjSpec` with all digits: `MjSpec.to_xml` prints six.

Each printed number is replaced by the value that it was rounded from: of the compiled model, or of the specification.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from math import pi
from operator import itemgetter
from typing import Any

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from exoskel import spatial
from exoskel.formats.mjcf.reader.compiled import transforms

_NOISE = 1e-12
"""MuJoCo prints rounding errors of this size where a pose was computed."""
_RADIANS = pi / 180.0
_TREE = {
    **{kind: kind for kind in ("body", "joint", "geom", "site", "camera", "light")},
    "freejoint": "joint",
}
"""Elements of the world, and their kinds."""
_SECTIONS = {"tendon": "tendon", "equality": "equality", "actuator": "actuator", "sensor": "sensor", "keyframe": "key"}
"""Sections whose elements are all of one kind."""
_NAMED = ("mesh", "hfield", "texture", "material", "pair", "numeric", "tuple", "flex")
"""Elements of other sections that are of a kind of the same name."""
_PREFIXES: dict[str, tuple[str, ...]] = {
    "joint": ("jnt", "dof", "qpos"),
    "camera": ("cam",),
    "texture": ("tex",),
    "material": ("mat",),
    "equality": ("eq",),
}
"""The first parts of the names of the model's arrays, if they are not that of the kind."""
_ADDRESSES = {"dof": "jnt_dofadr", "qpos": "jnt_qposadr"}
"""Where the rows of a joint in arrays of other things are."""
_ROWS = {"numeric": "numeric_data", "tuple": "tuple_objprm"}
"""Kinds whose elements have parts of one array."""
_PARTS = {"element": "tuple"}
_ASSETS = ("asset", "contact", "custom", "deformable")
_LISTS = {"key": "keys", "body": "bodies", "mesh": "meshes", "equality": "equalities", "flex": "flexes"}
_DEFAULTS = {"general": "actuator"}
"""The fields of a default class, if they are not named as the element."""
_OTHER_NAMES = {
    "springref": "qposspring",
    "ref": "qpos0",
    "diaginertia": "inertia",
    "polycoef": "data",
    "relpose": "data",
    "torquescale": "data",
    "springlength": "lengthspring",
    "anchor": "data",
    "vertex": "uservert",
    "texcoord": "usertexcoord",
    "normal": "usernormal",
    "user": "userdata",
    "coef": "wrapprm",
    "divisor": "wrapprm",
    "prm": "objprm",
}
"""The arrays and fields of attributes with other names."""
_TEXTS = frozenset(
    {
        *("name", "class", "childclass", "model", "file", "content_type", "data", "key", "value", "plugin", "instance"),
        *("joint", "joint1", "joint2", "jointinparent", "body", "body1", "body2", "geom", "geom1", "geom2", "mesh"),
        *("site", "site1", "site2", "refsite", "sidesite", "cranksite", "slidersite", "tendon", "tendon1", "tendon2"),
        *("hfield", "material", "texture", "actuator", "camera", "target", "objname", "refname", "flex", "node"),
        *("texturedir", "meshdir", "strippath", "gridlayout", "subtree1", "subtree2"),
    }
)
"""Attributes that are names, even if these look like numbers; `data` is one of texts."""
_SINGLE, _VISUAL = "MjFloatVec", "MjVisual"
"""MuJoCo's types with numbers in single precision: lists, and the first part of the names of visual settings."""
_MOMENTS = 6
_OBJECTS = frozenset({"alt", "ialt", "parent", "frame", "compiler", "plugin"})
"""Fields of objects that have no numbers."""
_OTHER = 2
FloatRow = NDArray[np.floating]
"""Numbers in the precision in which MuJoCo has them."""


def full_text(spec: Any, model: Any) -> str:
    """The text of a specification that was compiled to this model."""
    parser = etree.XMLParser(resolve_entities=False, huge_tree=True, strip_cdata=False)
    root = etree.fromstring(spec.to_xml().encode(), parser)
    sources = _Sources(spec, model)
    for element, kind, number in _numbered_elements(root):
        for name, text in element.attrib.items():
            if name in _TEXTS and (name, kind) != ("data", "numeric"):
                continue
            printed = _parse(text)
            exact = _find(printed, sources.candidates(element, kind, number, name)) if printed else None
            if exact is not None:
                element.set(name, exact)
        if element.tag == "inertial":
            sources.restore_moments(element, number)
        elif kind == "hfield":
            sources.restore_heights(element, number)
    return str(etree.tostring(root, encoding="unicode"))


# --- elements and their numbers --------------------------------------------------------------------------


def _numbered_elements(root: Any) -> Iterator[tuple[Any, str, int]]:
    """All elements, the kinds of those that the model contains, and their numbers there.

    MuJoCo prints the elements of each kind in the order of their numbers.  Parts of an element have its number.
    """
    counts = dict.fromkeys((*_TREE.values(), *_SECTIONS.values(), *_NAMED), 0) | {"body": 1}

    def count(kind: str) -> int:
        counts[kind] += 1
        return counts[kind] - 1

    for section in root.iterchildren(etree.Element):
        for one in section.iterdescendants(etree.Element):
            kind = _kind(section.tag, one)
            if kind:
                yield one, kind, count(kind)
            else:  # a part of the last element, or a setting
                part_of = "body" if section.tag == "worldbody" else _SECTIONS.get(section.tag, _PARTS.get(one.tag, ""))
                yield one, part_of, counts[part_of] - 1 if part_of else -1
        yield section, "", -1


def _kind(section: str, element: Any) -> str:
    """The kind of an element; empty if it is a part of another one."""
    if section == "worldbody":
        return _TREE.get(element.tag, "")
    if section in _SECTIONS:
        return _SECTIONS[section] if element.getparent().tag == section else ""
    return str(element.tag) if section in _ASSETS and element.tag in _NAMED else ""


class _Sources:
    """The values of a model and of its specification."""

    def __init__(self, spec: Any, model: Any) -> None:
        self.spec = spec
        self.model = model
        self._objects: dict[str, dict[int, Any]] = {}
        self._fields: dict[tuple[str, str], list[str]] = {}
        self._arrays: dict[tuple[str, str], list[tuple[str, str, FloatRow]]] = {}
        """The arrays for an attribute of a kind, with the first part of their names and the rest."""

    def candidates(self, element: Any, kind: str, number: int, attribute: str) -> Iterator[FloatRow]:
        """What an attribute may have been printed from, the most similar names first."""
        if kind in _ROWS:
            yield self._row(element, kind, number)
            return
        owner = self._object(kind, number) if kind else self._settings(element)
        if kind == "geom" and attribute in ("pos", "quat") and "mesh" in element.attrib:
            yield from self._mesh_places(owner, number, attribute)
        elif kind == "tendon" and attribute in ("coef", "divisor"):
            yield self.model.wrap_prm[int(self.model.tendon_adr[number]) + element.getparent().index(element) :]
        elif kind:
            yield from self._of_model(kind, number, attribute)
        kind = type(owner).__name__
        for name in self._similar_fields(owner, kind, attribute):
            values = _numbers(getattr(owner, name, None))
            yield values.astype(np.float32) if kind.startswith(_VISUAL) else values
            yield values * _RADIANS  # the source may state degrees

    def restore_moments(self, element: Any, body: int) -> None:
        """State the moments and products of inertia that the source states: axes and moments are computed from them."""
        stated = _numbers(getattr(self._object("body", body), "fullinertia", None))
        if len(stated) == _MOMENTS and np.isfinite(stated).all() and "diaginertia" in element.attrib:
            del element.attrib["diaginertia"]
            element.attrib.pop("quat", None)
            element.set("fullinertia", " ".join(map(_spell, stated)))

    def restore_heights(self, element: Any, number: int) -> None:
        """State the heights, which MuJoCo reads from the last row to the first; MuJoCo 3 prints them mirrored."""
        if "elevation" in element.attrib:
            heights = _numbers(self._object("hfield", number).userdata).reshape(-1, int(self.model.hfield_ncol[number]))
            element.set("elevation", " ".join(map(_spell, heights[::-1].ravel())))

    def _similar_fields(self, owner: Any, kind: str, attribute: str) -> list[str]:
        """The fields of an object with names as that of an attribute.

        Reading some others, such as the parent of a default class, ends the process.
        """
        if (kind, attribute) not in self._fields:
            names = [name for name in dir(owner) if not name.startswith("_") and name not in _OBJECTS]
            found = [name for name in names if _difference(attribute, name) < _OTHER]
            self._fields[kind, attribute] = sorted(found, key=partial(_difference, attribute))
        return self._fields[kind, attribute]

    def _of_model(self, kind: str, number: int, attribute: str) -> Iterator[FloatRow]:
        key = (kind, attribute)
        if key not in self._arrays:
            self._arrays[key] = self._similar_arrays(kind, attribute)
        for prefix, name, array in self._arrays[key]:
            place = int(getattr(self.model, _ADDRESSES[prefix])[number]) if prefix in _ADDRESSES else number
            if 0 <= place < len(array):
                values = array[place].ravel()
                yield values
                if name == "data":  # of constraints, which state parts of it
                    yield from (values[first:] for first in range(1, len(values)))

    def _similar_arrays(self, kind: str, attribute: str) -> list[tuple[str, str, FloatRow]]:
        found: list[tuple[int, str, str, FloatRow]] = []
        for prefix in _PREFIXES.get(kind, (kind,)):
            for full_name in dir(self.model) if prefix else ():
                if not full_name.startswith(prefix):
                    continue
                name, array = full_name.removeprefix(f"{prefix}_"), getattr(self.model, full_name)
                difference = _difference(attribute, name)
                if difference < _OTHER and isinstance(array, np.ndarray) and array.dtype.kind == "f":
                    found.append((difference, prefix, name, array))
        found.sort(key=itemgetter(0))
        return [rest for _, *rest in found]  # type: ignore[misc]

    def _row(self, element: Any, kind: str, number: int) -> FloatRow:
        """The values of an element that has a part of one array."""
        first, array = int(getattr(self.model, f"{kind}_adr")[number]), getattr(self.model, _ROWS[kind])
        row: FloatRow = array[first + (element.getparent().index(element) if kind == "tuple" else 0) :]
        return row

    def _mesh_places(self, owner: Any, geom: int, attribute: str) -> Iterator[FloatRow]:
        """The position or quaternion of a mesh in the frame of its file."""
        model, mesh = self.model, int(self.model.geom_dataid[geom])
        yield _numbers(getattr(owner, attribute))  # unless another attribute stated it
        place = transforms(model.geom_pos[geom], model.geom_quat[geom])
        place = place @ spatial.inverse(transforms(model.mesh_pos[mesh], model.mesh_quat[mesh]))
        found = place[:3, 3] if attribute == "pos" else spatial.quaternion(place[:3, :3])
        yield from (found, -found)

    def _object(self, kind: str, number: int) -> Any:
        """The object of the specification; None if its kind has no such objects."""
        if kind not in self._objects:
            objects = getattr(self.spec, _LISTS.get(kind, f"{kind}s"), ())
            self._objects[kind] = {one.id: one for one in objects}
        return self._objects[kind].get(number)

    def _settings(self, element: Any) -> Any:
        """What a default class or an element with settings is printed from, if anything."""
        above = element.getparent()
        if above is not None and above.tag == "default":
            name = above.get("class")
            owner = self.spec.find_default(name) if name else self.spec.default
            return getattr(owner, _DEFAULTS.get(element.tag, element.tag), None)
        if above is not None and above.tag == "visual":
            return getattr(self.spec.visual, "global_" if element.tag == "global" else element.tag, None)
        settings = {"option": self.model.opt, "statistic": self.spec.stat, "compiler": self.spec.compiler}
        return settings.get(element.tag)


# --- numbers -------------------------------------------------------------------------------------------


def _parse(text: str) -> list[float]:
    """The numbers of an attribute; none if it has other words."""
    try:
        return [float(token) for token in text.split()]
    except ValueError:
        return []


def _find(printed: Sequence[float], candidates: Iterable[FloatRow]) -> str | None:
    """The values that numbers were rounded from, which may be the first of a longer row."""
    count = len(printed)
    for values in candidates:
        if len(values) >= count and all(map(_is_printed_as, values.tolist(), printed)):
            return " ".join(map(_spell, values[:count]))
    return None


def _is_printed_as(value: float, printed: float) -> bool:
    return value == printed or float(f"{value:.6g}") == printed or (abs(value) < _NOISE and abs(printed) < _NOISE)


def _spell(value: np.floating) -> str:
    """The shortest digits in the precision of a number."""
    return str(value).removesuffix(".0")


def _numbers(value: Any) -> FloatRow:
    """The numbers of a value; none if it has others."""
    found = np.asarray(list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value])
    if found.dtype.kind not in "fi" or isinstance(value, bool):
        return np.zeros(0)
    return found.ravel().astype(np.float32 if type(value).__name__ == _SINGLE else np.float64)


def _difference(attribute: str, name: str) -> int:
    """How much the name of a field differs from that of an attribute."""
    one, other = attribute.replace("_", ""), name.replace("_", "")
    if other in (one, _OTHER_NAMES.get(one)):
        return 0
    return 1 if one in other or other in one else _OTHER
