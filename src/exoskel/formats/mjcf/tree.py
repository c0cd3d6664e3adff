"""An MJCF document as elements with typed values, and its two outputs: text, and MuJoCo's `MjSpec`.

An `MjSpec` compiles without a parser.  Both result in the same compiled model, field by field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain, repeat
from typing import Any

import numpy as np
from msgspec import Struct, field

from exoskel.formats.mjcf import mujoco_import
from exoskel.scene.pose import ZERO
from exoskel.source.markup import Markup, UnwritableError, format_color, format_number, format_numbers, serialize
from exoskel.spatial import Array

Value = str | float | int | bool | Sequence[float] | Sequence[int] | Array
"""Use an array row for many numbers: MuJoCo accepts it in half the time."""


_MAX_DEPTH = 499
"""MuJoCo's XML parser rejects 500 nested elements."""


class MjcfElement(Struct, eq=False):
    """An element of MJCF.  Values are typed, not text: lengths in m, angles in rad, kg, s."""

    tag: str
    attributes: dict[str, Value] = field(default_factory=dict)
    children: list[MjcfElement] = field(default_factory=list)
    item: Any = None
    """The item of the scene that it represents, if any."""

    def add(self, tag: str, **attributes: Value | None) -> MjcfElement:
        """Add a child at the end; attributes that are None are omitted."""
        child = MjcfElement(tag, {name: value for name, value in attributes.items() if value is not None})
        self.children.append(child)
        return child

    def child(self, tag: str) -> MjcfElement:
        """The child with that tag, created if it does not exist."""
        return next((one for one in self.children if one.tag == tag), None) or self.add(tag)

    def iter(self) -> Iterator[MjcfElement]:
        waiting = [self]
        while waiting:
            found = waiting.pop()
            yield found
            waiting += found.children[::-1]


class CompactBody(MjcfElement):
    """A body whose mass properties, joints and geoms are no elements; other parts are.  Only `to_spec` reads it.

    Elements for all parts take more time than MuJoCo needs to add them.
    """

    name: str = ""
    position: Any = None
    rotation: Any = None
    inertial: Any = None
    """Mass, centre of mass and moment: xx, yy, zz, xy, xz, yz; None for a body of a static model."""
    free_joint: str = ""
    """The name of its free joint on which nothing acts, if it has one."""
    joints: list[dict[str, Value]] = field(default_factory=list)
    """The attributes of its other joints."""
    geoms: list[dict[str, Value]] = field(default_factory=list)
    """The attributes of its geoms."""


def joint_attributes(body: MjcfElement) -> Iterator[dict[str, Value]]:
    """The attributes of all joints in a body and the bodies inside."""
    for one in body.iter():
        if one.tag == "joint":
            yield one.attributes
        elif type(one) is CompactBody:
            if one.free_joint:
                yield {"name": one.free_joint, "type": "free"}
            yield from one.joints


def markup(root: MjcfElement) -> Markup:
    """The document as markup: numbers in the shortest form that reads back to the same value.

    Raises UnwritableError for bodies that are nested deeper than MuJoCo reads.
    """
    out = _spelled(root)
    waiting = [(root, out, 1)]
    while waiting:
        element, made, depth = waiting.pop()
        if depth > _MAX_DEPTH:
            raise UnwritableError(
                f"elements are nested deeper than {_MAX_DEPTH} levels, which MuJoCo cannot read: "
                "the chain of bodies is too long for an MJCF file"
            )
        made.children = [_spelled(child) for child in element.children]
        waiting += zip(element.children, made.children, repeat(depth + 1))
    return out


def _spelled(element: MjcfElement) -> Markup:
    """The element as markup, without its children."""
    return Markup(
        element.tag, {name: _text(name, value) for name, value in element.attributes.items()}, item=element.item
    )


def _text(name: str, value: Any) -> str:
    kind = type(value)
    if kind is str:
        text: str = value
        return text
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return str(value)
    if isinstance(value, float):
        return format_number(value)
    numbers = tuple(value.tolist() if kind is np.ndarray else value)
    return format_color(numbers) if name == "rgba" else _text_of_numbers(numbers)


@lru_cache(maxsize=1 << 12)  # bodies that are alike have many vectors in common
def _text_of_numbers(values: tuple[float, ...]) -> str:
    """Integers have all of their digits, and are in no list with other numbers."""
    return " ".join(map(str, values)) if all(type(one) is int for one in values) else format_numbers(values)


# --- outputs ------------------------------------------------------------------------------------------


_TORQUE_SCALE = 10
"""The index of the weight of rotation against translation in a constraint's data: 1 by default, for all kinds."""
BATCH = 100
"""Bodies that are added at a time: MuJoCo traverses all bodies for each one that is added."""
MAX_UNBATCHED = 400
"""The number of bodies up to which batches take longer."""
_GEAR_SIZE = 6
_DISTANCE = (1, 0, 0)
"""What a range finder measures."""
NO_ROTATION: Array = np.array([1.0, 0.0, 0.0, 0.0])
"""The quaternion of bodies without a rotation: MuJoCo's default, which need not be set."""
_SENSOR_TYPES = {"jointactuatorfrc": "jointactfrc", "tendonactuatorfrc": "tendonactfrc"}
"""Sensors with different names in `MjSpec` and MJCF."""
_SPEC_NAMES = {
    "solreffriction": "solref_friction",
    "solimpfriction": "solimp_friction",
    "solreflimit": "solref_limit",
    "solimplimit": "solimp_limit",
    "actuatorfrcrange": "actfrcrange",
    "actuatorfrclimited": "actfrclimited",
}
"""Attributes with different names in `MjSpec` and MJCF."""
_COMMON_GEOM_ATTRIBUTES = {"name", "type", "size", "contype", "conaffinity"}
_LIMIT_ATTRIBUTES = {"limited", "range", "solreflimit", "solimplimit"}
_COMMON_JOINT_ATTRIBUTES = {"name", "type", "axis", "pos", "damping", "stiffness", "springref"} | _LIMIT_ATTRIBUTES
"""Attributes that are set one by one, which takes half the time of a loop."""


def to_text(document: MjcfElement) -> str:
    """The document as MJCF, numbers in the shortest form that reads back to the same value."""
    return serialize(markup(document))


def to_spec(document: MjcfElement) -> Any:
    """The document as a `mujoco.MjSpec`."""
    emitter = SpecEmitter(mujoco_import.load())
    spec = emitter.new_spec(str(document.attributes["model"]))
    emitter.add_sections(spec, document.children)
    return spec


class SpecEmitter:
    """Adds the elements of documents, and their parts, to an `MjSpec`."""

    def __init__(self, mujoco: Any) -> None:
        self.mujoco = mujoco
        self.enums = _enums(mujoco)
        self.geom_types, self.joint_types = self.enums["geom"], self.enums["joint"]
        self.named: list[tuple[Any, str]] | None = None
        """Items whose names have to be restored after attaching."""
        self.meshes: list[tuple[Any, str]] = []
        self.compiler = MjcfElement("compiler")
        self.default: MjcfElement | None = None
        self.two, self.three, self.linear = np.zeros(2), np.zeros(3), np.zeros(3)
        """Numbers to be set: MuJoCo accepts an array in half the time.  `linear` is a polynomial."""
        self.arrays: dict[int, tuple[tuple[float, ...], Array]] = {}
        """Arrays of tuples, by the ids of these."""

    def new_spec(self, name: str) -> Any:
        """A spec without settings and bodies."""
        spec = self.mujoco.MjSpec()
        spec.copy_during_attach = False
        spec.modelname = name
        return spec

    def add_sections(self, spec: Any, sections: Iterable[MjcfElement]) -> None:
        for section in sections:
            _SECTIONS[section.tag](self, spec, section)

    # --- settings -------------------------------------------------------------------------------------

    def _compiler(self, spec: Any, element: MjcfElement) -> None:
        self.compiler, compiler = element, spec.compiler
        compiler.degree = element.attributes["angle"] == "degree"
        compiler.autolimits = element.attributes["autolimits"]
        compiler.inertiafromgeom = self.enums["inertiafromgeom"]["false"]
        compiler.boundmass = element.attributes["boundmass"]

    def _option(self, spec: Any, element: MjcfElement) -> None:
        option = spec.option
        for name, value in element.attributes.items():
            setattr(option, name, self.enums[name][str(value).lower()] if name in self.enums else value)

    def _size(self, spec: Any, element: MjcfElement) -> None:
        spec.memory = element.attributes["memory"]

    def _default(self, spec: Any, element: MjcfElement) -> None:
        self.default = element
        for kind in element.children:
            default = getattr(spec.default, kind.tag)
            for name, value in kind.attributes.items():
                setattr(default, name, value)

    def _asset(self, spec: Any, element: MjcfElement) -> None:
        self.add_meshes(spec, element.children)

    def add_meshes(self, spec: Any, meshes: Iterable[MjcfElement]) -> None:
        for mesh in meshes:
            made = spec.add_mesh()
            made.name, made.uservert = mesh.attributes["name"], mesh.attributes["vertex"]

    # --- bodies ---------------------------------------------------------------------------------------

    def _worldbody(self, spec: Any, element: MjcfElement) -> None:
        for site in (child for child in element.children if child.tag == "site"):
            self._site(spec.worldbody, site)
        bodies = [child for child in element.children if child.tag == "body"]
        if len(bodies) <= MAX_UNBATCHED:
            self._bodies(spec.worldbody, bodies)
            return
        for first in range(0, len(bodies), BATCH):
            # A separate spec, attached as a whole: MuJoCo requires a prefix, which is removed afterwards.
            small = self.mujoco.MjSpec()
            self._compiler(small, self.compiler)  # a body is compiled with the settings of its own spec
            if self.default is not None:
                self._default(small, self.default)
            self.named = []
            self.meshes.clear()
            self._bodies(small.worldbody, bodies[first : first + BATCH])
            spec.attach(small, frame=spec.worldbody.add_frame(), prefix="|")
            for item, name in self.named:
                item.name = name
            for item, name in self.meshes:
                item.meshname = name
        self.named = None

    def _bodies(self, root: Any, elements: Iterable[MjcfElement]) -> None:
        # Attribute by attribute: MuJoCo takes longer for keyword arguments, and `setattr` in a loop takes longer, too.
        named = self.named
        waiting = [(root.add_body, element) for element in elements]
        waiting.reverse()
        while waiting:
            add, element = waiting.pop()
            if type(element) is CompactBody:
                body = add()
                self._compact_body(body, element)
                inner = self._parts(body, element.children) if element.children else ()
                waiting += [(body.add_body, child) for child in reversed(inner)]
                continue
            body, given = add(), element.attributes
            body.name = given["name"]
            if "pos" in given:
                body.pos = given["pos"]
            if "quat" in given and given["quat"] is not NO_ROTATION:
                body.quat = given["quat"]
            if "gravcomp" in given:
                body.gravcomp = given["gravcomp"]
            if named is not None:
                named.append((body, str(given["name"])))
            inner = self._parts(body, element.children)
            if inner:
                waiting += [(body.add_body, child) for child in reversed(inner)]

    def _compact_body(self, body: Any, given: CompactBody) -> None:
        body.name, body.pos = given.name, given.position
        if given.rotation is not NO_ROTATION:
            body.quat = given.rotation
        if given.attributes:
            body.gravcomp = given.attributes["gravcomp"]
        if given.inertial is not None:
            body.explicitinertial = True
            body.mass, body.ipos, body.fullinertia = given.inertial
        if given.free_joint:
            free = body.add_freejoint()
            free.name = given.free_joint
        named = self.named
        if named is None:
            for joint in given.joints:
                self.make_joint(body, joint)
            for geom in given.geoms:
                self.make_geom(body, geom)
            return
        named.append((body, given.name))
        named += [(free, given.free_joint)] if given.free_joint else []
        named += [(self.make_joint(body, joint), str(joint["name"])) for joint in given.joints]
        named += [(self.make_geom(body, geom), str(geom["name"])) for geom in given.geoms]

    def make_geom(self, body: Any, given: dict[str, Any]) -> Any:
        made = body.add_geom()
        made.name, made.type = given["name"], self.geom_types[given["type"]]
        left = len(given) - 2
        if "size" in given:
            made.size = self.three_numbers(*given["size"])
            left -= 1
        if "contype" in given:
            made.contype, made.conaffinity = given["contype"], given["conaffinity"]
            left -= 2
        if left:
            for name in given.keys() - _COMMON_GEOM_ATTRIBUTES:
                self._set_geom_option(made, name, given[name])
        return made

    def _set_geom_option(self, made: Any, name: str, value: Any) -> None:
        if name == "mesh":
            made.meshname = value
            self.meshes.append((made, value))
        else:
            setattr(made, name, value)

    def three_numbers(self, x: float, y: float = 0.0, z: float = 0.0) -> Array:
        three = self.three
        three[0], three[1], three[2] = x, y, z
        return three

    def range_of(self, low: float, high: float) -> Array:
        self.two[0], self.two[1] = low, high
        return self.two

    def linear_term(self, coefficient: float) -> Array:
        """A polynomial without other terms."""
        self.linear[0] = coefficient
        return self.linear

    def _parts(self, body: Any, elements: Iterable[MjcfElement]) -> list[MjcfElement]:
        """Add what a body consists of; returns the bodies inside."""
        inner: list[MjcfElement] = []
        named = self.named
        given: dict[str, Any]
        for child in elements:
            tag, given = child.tag, child.attributes
            if tag == "geom":
                made = self.make_geom(body, given)
            elif tag == "inertial":
                body.explicitinertial, body.mass, body.ipos = True, given["mass"], given["pos"]
                if "fullinertia" in given:
                    body.fullinertia = given["fullinertia"]
                else:
                    body.inertia = given["diaginertia"]
                continue
            elif tag == "body":
                inner.append(child)
                continue
            else:
                made = self.make_joint(body, given) if tag == "joint" else self._site(body, child)
            if named is not None:
                named.append((made, str(given["name"])))
        return inner

    def make_joint(self, body: Any, given: dict[str, Any]) -> Any:
        if given["type"] == "free":
            made = body.add_freejoint()
            made.name = given["name"]
            if "armature" in given:
                made.armature = given["armature"]
            return made
        made = body.add_joint()
        made.name, left = given["name"], len(given) - 2
        if given["type"] != "hinge":  # MuJoCo's default
            made.type = self.joint_types[given["type"]]
        if "axis" in given:
            made.axis = self.array_of(given["axis"])
            left -= 1
        if "pos" in given:
            if given["pos"] is not ZERO:
                made.pos = self.three_numbers(*given["pos"])
            left -= 1
        if "damping" in given:
            made.damping = self.linear_term(given["damping"])
            left -= 1
        if "stiffness" in given:
            made.stiffness = self.linear_term(given["stiffness"])
            left -= 1
        if "springref" in given:
            if given["springref"]:
                made.springref = given["springref"]
            left -= 1
        if "range" in given:
            made.limited, made.range = int(given["limited"]), self.range_of(*given["range"])
            left -= 2
        if "solreflimit" in given:
            made.solref_limit = self.array_of(given["solreflimit"])
            made.solimp_limit = self.array_of(given["solimplimit"])
            left -= 2
        if left:
            for name in given.keys() - _COMMON_JOINT_ATTRIBUTES:
                self._set_joint_option(made, name, given[name])
        return made

    def _set_joint_option(self, made: Any, name: str, value: Any) -> None:
        if name == "actuatorfrclimited":
            made.actfrclimited = int(value)
        else:
            setattr(made, _SPEC_NAMES.get(name, name), self.array_of(value) if type(value) is tuple else value)

    def array_of(self, values: tuple[float, ...]) -> Array:
        """The array of a tuple: many joints share one."""
        found = self.arrays.get(id(values))
        if found is None:
            found = self.arrays[id(values)] = values, np.array(values)
        return found[1]

    def _site(self, body: Any, element: MjcfElement) -> Any:
        made = body.add_site()
        for name, value in element.attributes.items():
            setattr(made, name, self.geom_types[str(value)] if name == "type" else value)
        return made

    # --- tendons, actuators and constraints -----------------------------------------------------------

    def _tendon(self, spec: Any, element: MjcfElement) -> None:
        for tendon in element.children:
            given: dict[str, Any] = {_SPEC_NAMES.get(name, name): value for name, value in tendon.attributes.items()}
            for name in ("limited", "actfrclimited"):
                given[name] = int(bool(given.get(name, False)))
            for name in {"damping", "stiffness"} & given.keys():  # polynomials; the first coefficient is linear
                given[name] = (given[name], 0.0, 0.0)
            made = spec.add_tendon(**given)
            for part in tendon.children:
                _wrap(made, part)

    def _actuator(self, spec: Any, element: MjcfElement) -> None:
        for one in element.children:
            given: dict[str, Any] = dict(one.attributes)
            kind = next(name for name in ("joint", "tendon", "site") if name in given)
            given["target"] = given.pop(kind)
            given["trntype"] = self.enums["transmission"][kind]
            given["biastype"] = self.enums["bias"][str(given["biastype"])]
            for name in ("forcelimited", "ctrllimited", "actlimited"):
                given[name] = int(bool(given.get(name, False)))
            if "dyntype" in given:
                given["dyntype"] = self.enums["dynamics"][str(given["dyntype"])]
                given["dynprm"] = _padded(given.get("dynprm", (1.0,)), self.mujoco.mjNDYN)
            if "gear" in given:
                given["gear"] = _padded(given["gear"], _GEAR_SIZE)
            for name in ("gainprm", "biasprm"):
                given[name] = _padded(given[name], self.mujoco.mjNGAIN)
            spec.add_actuator(**given)

    def _sensor(self, spec: Any, element: MjcfElement) -> None:
        kinds, objects = self.mujoco.mjtSensor.__members__, self.mujoco.mjtObj.__members__
        for one in element.children:
            given: dict[str, Any] = dict(one.attributes)
            made: dict[str, Any] = {name: given.pop(name) for name in ("name", "noise", "cutoff") if name in given}
            for name, target in (("objname", "objtype"), ("refname", "reftype")):
                if name in given:
                    made |= {name: given.pop(name), target: objects[f"mjOBJ_{given.pop(target).upper()}"]}
            for kind, name in given.items():  # a subtree is that of a body's own frame
                made |= {"objname": name, "objtype": objects[f"mjOBJ_{kind.upper()}"]}
            if one.tag == "rangefinder":
                made["intprm"] = _DISTANCE
            spec.add_sensor(type=kinds[f"mjSENS_{_SENSOR_TYPES.get(one.tag, one.tag).upper()}"], **made)

    def _equality(self, spec: Any, element: MjcfElement) -> None:
        for one in element.children:
            given = one.attributes
            end = next(name for name in ("body", "site", "joint", "tendon") if f"{name}1" in given)
            kind = self.enums["object"][end if end in ("body", "site") else "unknown"]
            names = {f"name{i}": given[f"{end}{i}"] for i in (1, 2) if f"{end}{i}" in given}
            data = _equality_data(one, self.mujoco.mjNEQDATA)
            rest = {name: given[name] for name in ("name", "solref", "solimp", "active") if name in given}
            spec.add_equality(type=self.enums["equality"][one.tag], objtype=kind, data=data, **names, **rest)

    def _contact(self, spec: Any, element: MjcfElement) -> None:
        for one in element.children:
            spec.add_exclude(bodyname1=one.attributes["body1"], bodyname2=one.attributes["body2"])


_SECTIONS: dict[str, Callable[[SpecEmitter, Any, MjcfElement], None]] = {
    "compiler": SpecEmitter._compiler,
    "option": SpecEmitter._option,
    "size": SpecEmitter._size,
    "default": SpecEmitter._default,
    "asset": SpecEmitter._asset,
    "worldbody": SpecEmitter._worldbody,
    "tendon": SpecEmitter._tendon,
    "actuator": SpecEmitter._actuator,
    "sensor": SpecEmitter._sensor,
    "equality": SpecEmitter._equality,
    "contact": SpecEmitter._contact,
}
"""What adds each section of a document.  Bound methods in an emitter would be a reference cycle."""


def _wrap(tendon: Any, part: MjcfElement) -> None:
    """Add a part of a tendon."""
    given: dict[str, Any] = part.attributes
    if part.tag == "joint":
        tendon.wrap_joint(given["joint"], given["coef"])
    elif part.tag == "site":
        tendon.wrap_site(given["site"])
    elif part.tag == "geom":
        tendon.wrap_geom(given["geom"], given.get("sidesite", ""))
    else:
        tendon.wrap_pulley(given["divisor"])


def _equality_data(element: MjcfElement, size: int) -> list[float]:
    """MuJoCo's data of a constraint: a polynomial, an anchor, or an anchor and a frame.

    MuJoCo computes a frame whose quaternion is zero itself.
    """
    given: dict[str, Any] = element.attributes
    if element.tag in ("joint", "tendon"):
        values = given.get("polycoef", (0.0, 1.0))
    else:
        values = [*given.get("anchor", (0.0, 0.0, 0.0)), *given.get("relpose", ())]
    data = _padded(values, size)
    data[_TORQUE_SCALE] = float(given.get("torquescale", 1.0))
    return data


def _padded(values: Any, size: int) -> list[float]:
    return list(chain(values, [0.0] * (size - len(values))))


@cache
def _enums(mujoco: Any) -> dict[str, dict[str, Any]]:
    return {
        "joint": _numbered(mujoco.mjtJoint, "mjJNT_"),
        "geom": _numbered(mujoco.mjtGeom, "mjGEOM_"),
        "inertiafromgeom": _numbered(mujoco.mjtInertiaFromGeom, "mjINERTIAFROMGEOM_"),
        "integrator": _numbered(mujoco.mjtIntegrator, "mjINT_"),
        "cone": _numbered(mujoco.mjtCone, "mjCONE_"),
        "jacobian": _numbered(mujoco.mjtJacobian, "mjJAC_"),
        "solver": _numbered(mujoco.mjtSolver, "mjSOL_"),
        "equality": _enum(mujoco.mjtEq, "mjEQ_"),
        "object": _enum(mujoco.mjtObj, "mjOBJ_"),
        "bias": _enum(mujoco.mjtBias, "mjBIAS_"),
        "dynamics": _enum(mujoco.mjtDyn, "mjDYN_"),
        "transmission": _enum(mujoco.mjtTrn, "mjTRN_"),
    }


def _numbered(kind: Any, prefix: str) -> dict[str, int]:
    """The members as integers, which MuJoCo accepts in less than half the time."""
    return {name: int(value) for name, value in _enum(kind, prefix).items()}


def _enum(kind: Any, prefix: str) -> dict[str, Any]:
    members: Callable[[], Any] = kind.__members__.items
    return {name.removeprefix(prefix).lower(): value for name, value in members()}
