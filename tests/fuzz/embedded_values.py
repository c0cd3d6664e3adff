"""Generates documents whose embedded data has values of the right and of wrong types, with fingerprints that fit.

The values follow from the types of the fields: what a field may contain is tried at its limits, and rarely something
else in its place.
"""

from __future__ import annotations

import json
import random
import re
import types
import typing
from collections.abc import Callable
from typing import Any
from xml.sax.saxutils import escape

import msgspec

NUMBERS = (
    0, 1, -1, 0.5, 2, -5, 1e-308, 5e-324, 1e308, -1e308, 1e150, 1e-150, 1e20, 2**31, 2**63, -(2**63), 10**30, "inf", "-inf",
    True, None, "1", 1e-9, 1e9,
)  # fmt: skip
ORDINARY = (0.1, 0.5, 1, 2, -1, 0)
COUNTS = (0, 1, 2, 3, 4, 8, -1, 10**6, 2**63)
TEXTS = (
    "a", "b", "c", "j", "k", "m", "", "world", "x" * 50, "\u202e", "a::b", "a/b", "..", "../../x", "&<>\"'", "\t", "\n", "é",
    "\ufffe", "1", "%s", "{}", "[b]", "\x7f", None, 3, "a b", "/",
)  # fmt: skip
WRONG = (None, [], {}, "x", 1, True, [[]], "inf", {"type": "box"})
BODIES = ("a", "b", "c", "world", None)
JOINTS = ("s/j", "s/k", "s/m", "s/k", "w/k", "w/m", "sp/k", "k", "world/k", "", "t/d")
ACTUATORS = ("motor", "servo", "a", "", "\ufffe")
TENDONS = ("pull", "a", "")
SITES = ("s/a/marker", "s/b/marker", "s/c/marker", "w/a/marker", "s/a/p", "")
LISTS = ("visuals", "collisions", "markers", "joints", "bodies", "models")
_PLACE = re.compile("@[WMBSJ]")

SKEL = """<skel version="1.0" xmlns:exoskel="urn:exoskel:carried"><world name="w">@W<physics><time_step>0.001</time_step>
<gravity>0 -9.81 0</gravity></physics><skeleton name="s">@M<body name="a">@B<inertia><mass>1</mass></inertia>
<visualization_shape>@S<geometry><box><size>1 1 1</size></box></geometry></visualization_shape>
<collision_shape>@S<geometry><sphere><radius>0.5</radius></sphere></geometry></collision_shape></body>
<body name="b">@B<transformation>0 1 0 0 0 0</transformation><inertia><mass>1</mass></inertia></body>
<body name="c">@B<inertia><mass>2</mass></inertia></body>
<joint type="free" name="j">@J<parent>world</parent><child>a</child></joint>
<joint type="revolute" name="k">@J<parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint>
<joint type="ball" name="m">@J<parent>b</parent><child>c</child></joint></skeleton>
<skeleton name="t">@M<body name="d">@B<inertia><mass>1</mass></inertia></body></skeleton></world></skel>"""
XODE = """<xode version="1.0r23" name="x"><world name="w">@W<space name="sp">
<body name="a">@B<mass><mass_shape density="1"><sphere radius="0.5"/></mass_shape></mass>
<geom name="g">@S<sphere radius="0.5"/></geom></body>
<body name="b">@B<transform><position x="0" y="1" z="0"/></transform><mass><mass_struct density="1"/></mass></body>
<body name="c">@B<geom>@S<box sizex="1" sizey="1" sizez="1"/></geom></body>
<joint name="k">@J<link1 body="a"/><link2 body="b"/><hinge><axis x="0" y="0" z="1"/></hinge></joint>
<joint name="m">@J<link1 body="b"/><link2 body="c"/><ball><anchor x="0" y="1" z="0"/></ball></joint>
<geom name="p">@S<plane a="0" b="1" c="0" d="0"/></geom></space></world></xode>"""


def generate(rng: random.Random) -> bytes:
    """A document with embedded data in some of its places; the fingerprints are still missing."""
    text = rng.choice((SKEL, XODE))
    share = rng.choice((0.1, 0.25, 0.5))
    values = _Values(rng)

    def fill(place: re.Match[str]) -> str:
        if rng.random() > share:
            return ""
        elements = "".join(_element(values, place[0][1], text is SKEL) for _ in range(rng.choice((1, 1, 2, 3))))
        return elements if text is SKEL else f'<ext ename="exoskel">{elements}</ext>'

    return _PLACE.sub(fill, text).encode("utf-8", "replace")


def _element(values: _Values, place: str, is_prefixed: bool) -> str:
    """One element with embedded data: a field, an item of a list, a placeholder or a list of models."""
    prefix = "exoskel:" if is_prefixed else ""
    chance = values.rng.random()
    if chance < 0.6:
        name, attributes, content = _field(values, place)
    elif chance < 0.85:
        name, attributes, content = _item(values)
    elif chance < 0.92:
        return f"<{prefix}stand-in/>"
    else:
        name, attributes, content = "models", "", values.models()
    return f"<{prefix}{name}{attributes}>{escape(json.dumps(content))}</{prefix}{name}>"


def _field(values: _Values, place: str) -> tuple[str, str, Any]:
    from exoskel.scene.fields import FIELDS
    from exoskel.scene.joint import Joint
    from exoskel.scene.json_codec import name_in_file

    kind: Any = _kinds()[place]
    of_joint = place == "B" and values.rng.random() < 0.35
    kind = Joint if of_joint else kind
    field = values.rng.choice((*FIELDS[kind], "dofs") if kind is Joint else FIELDS[kind])
    attributes = (' of="joint"' if of_joint else "") + f' field="{name_in_file(field)}" was="00000000"'
    return "carry", attributes, values.field(kind, field)


def _item(values: _Values) -> tuple[str, str, Any]:
    from exoskel.scene.body import Marker
    from exoskel.scene.fields import FIELDS
    from exoskel.scene.joint import Joint
    from exoskel.scene.shape import Shape

    rng = values.rng
    target = rng.choice(LISTS)
    kind: Any = {"markers": Marker, "joints": Joint}.get(target, Shape)
    item = {field: values.field(kind, field) for field in FIELDS[kind] if rng.random() < 0.4}
    if kind is Joint:
        item |= {"name": rng.choice(("j", "k", "n")), "child": rng.choice(BODIES[:3]), "loop": rng.random() < 0.6}
        item["kind"] = values.field(Joint, "kind")
    elif kind is Shape:
        item.setdefault("geometry", values.field(Shape, "geometry"))
    else:
        item.setdefault("name", "marker")
    return "add", f' to="{target}" at="{rng.choice((0, 1, 99, -1))}"', item


def _kinds() -> dict[str, Any]:
    from exoskel.scene.body import Body
    from exoskel.scene.joint import Joint
    from exoskel.scene.model import Model
    from exoskel.scene.shape import Shape
    from exoskel.scene.world import World

    return {"W": World, "M": Model, "B": Body, "S": Shape, "J": Joint}


class _Values:
    """Values for fields, by their types."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def field(self, kind: Any, field: str) -> Any:
        from exoskel.scene.joint import TRAITS, Joint

        if kind is Joint and field in ("child", "parent"):
            return self.rng.choice(BODIES)
        if kind is Joint and field == "kind":
            return self.rng.choice((*TRAITS, "slider", "none"))
        if field == "dofs":
            return [self._dof() for _ in range(self.rng.choice((0, 1, 1, 2, 3, 6)))]
        if field == "soft":
            return self._soft()
        if (listed := self._lists.get(field)) is not None and self.rng.random() < 0.7:
            return listed()
        return self.rng.choice(TEXTS) if field == "name" else self.value(_hints(kind)[field])

    def _dof(self) -> dict[str, Any]:
        from exoskel.scene.fields import DOF_FIELDS
        from exoskel.scene.joint import Dof

        return {field: self.value(_hints(Dof)[field]) for field in self.rng.sample(DOF_FIELDS, self.rng.randint(0, 3))}

    def _soft(self) -> dict[str, Any] | None:
        from exoskel.scene.body import SoftBody
        from exoskel.scene.fields import SOFT_FIELDS

        chosen = self.rng.sample(SOFT_FIELDS, self.rng.randint(1, 5))
        return self.rng.choice((None, {field: self.value(_hints(SoftBody)[field]) for field in chosen}))

    @property
    def _lists(self) -> dict[str, Callable[[], list[Any]]]:
        """Functions for lists of objects of a world that refer to its parts."""
        return {
            "actuators": self._actuators,
            "keyframes": self._keyframes,
            "tendons": self._tendons,
            "sensors": self._sensors,
            "equalities": self._equalities,
        }

    def _tendons(self) -> list[Any]:
        """Fixed tendons, most of them of joints that exist, and spatial ones over sites that may exist."""
        from exoskel.scene.tendon import Tendon

        found = []
        for name in self.rng.sample(TENDONS, self.rng.randint(0, 2)):
            joints = [{"joint": one, "coefficient": 0.5} for one in self.rng.sample(JOINTS, self.rng.randint(1, 2))]
            sites = [{"site": one} for one in self.rng.sample(SITES, 2)]
            parts = self.rng.choice(({"joints": joints, "path": []}, {"joints": [], "path": sites}))
            found.append({**self._struct(Tendon), "name": name, **parts})
        return found

    def _sensors(self) -> list[Any]:
        """Sensors, most of them of joints, tendons, actuators and sites that exist."""
        from exoskel.scene.sensor import SceneSensor

        targets = [
            *(("jointpos", "joint", one) for one in JOINTS),
            *(("tendonpos", "tendon", one) for one in TENDONS),
            *(("actuatorfrc", "actuator", one) for one in ACTUATORS),
            *(("gyro", "site", one) for one in SITES),
            ("clock", "", ""),
        ]
        found = []
        for name in self.rng.sample(("imu", "a", "clock", ""), self.rng.randint(0, 3)):
            kind, target_kind, target = self.rng.choice(targets)
            valid = {"name": name, "kind": kind, "target_kind": target_kind, "target": target, "reference": ""}
            found.append({**self._struct(SceneSensor), **valid, "reference_kind": "", "coordinate": 0})
        return found

    def _equalities(self) -> list[Any]:
        """Equality constraints, most of them of joints, tendons, bodies and sites that exist."""
        from exoskel.scene.equality import Equality

        bodies = ("s/a", "s/b", "s/c", "w/a", "", "a")
        ends = (("joint", "joint", JOINTS), ("tendon", "tendon", TENDONS))
        ends += (("connect", "body", bodies), ("weld", "body", bodies), ("weld", "site", SITES))
        found = []
        for name in self.rng.sample(("tie", "a", "lock", ""), self.rng.randint(0, 3)):
            kind, target_kind, paths = self.rng.choice(ends)
            target, other = self.rng.choice(paths), self.rng.choice(paths)
            valid = {"name": name, "kind": kind, "target_kind": target_kind, "target": target, "other": other}
            found.append({**self._struct(Equality), **valid, "coordinate": 0, "other_coordinate": 0})
        return found

    def _actuators(self) -> list[Any]:
        """Actuators, most of them of joints that exist."""
        from exoskel.scene.actuator import Actuator

        found = []
        for name in self.rng.sample(ACTUATORS, self.rng.randint(0, 3)):
            valid = {"name": name, "joint": self.rng.choice(JOINTS), "coordinate": self.rng.choice((0, 0, 0, 1, 5))}
            found.append({**self._struct(Actuator), **valid})
        return found

    def _keyframes(self) -> list[Any]:
        """Keyframes, with controls of actuators that may exist."""
        from exoskel.scene.cameras_and_keyframes import Keyframe

        return [
            {
                **self._struct(Keyframe),
                "name": self.rng.choice(("start", "a", "")),
                "controls": [
                    [name, self.rng.choice(NUMBERS)] for name in self.rng.sample(ACTUATORS, self.rng.randint(0, 2))
                ],
            }
            for _ in range(self.rng.randint(0, 2))
        ]

    def models(self) -> list[dict[str, Any]]:
        names = self.rng.sample(("a", "b", "c", "d"), 4)
        first = {"name": self.rng.choice(("s", "t", None, "w")), "at": self.rng.choice((0, 1, 5, -1, None))}
        pose = self.value(_hints(_kinds()["M"])["pose"])
        second = {"name": self.rng.choice(("t", "s")), "at": 0, "static": self.rng.random() < 0.5, "pose": pose}
        return [{**first, "bodies": names[:2]}, {**second, "bodies": names[2:3]}]

    def value(self, wanted: Any) -> Any:
        """A value of a type, in JSON; rarely one of another type."""
        if self.rng.random() < 0.04:
            return self.rng.choice(WRONG)
        if simple := _SIMPLE.get(wanted):
            return simple(self.rng)
        origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
        if origin is typing.Annotated:
            return self.value(arguments[0])
        if origin is typing.Literal:
            return self.rng.choice((*arguments, "other"))
        if origin in (typing.Union, types.UnionType):
            return self.value(self.rng.choice(arguments))
        if origin in (tuple, list, dict):
            return self._collection(origin, arguments)
        if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct):
            return self._struct(wanted)
        return self._rows(wanted)

    def _collection(self, origin: Any, arguments: tuple[Any, ...]) -> Any:
        if origin is dict:
            return {"k": self.value(arguments[1])} if self.rng.random() < 0.5 else {}
        if origin is list or arguments[-1] is Ellipsis:
            return [self.value(arguments[0]) for _ in range(self.rng.randint(0, 3))]
        found = [self.value(argument) for argument in arguments]
        return found[:-1] if self.rng.random() < 0.05 else found

    def _struct(self, wanted: type[msgspec.Struct]) -> dict[str, Any]:
        hints, tag = _hints(wanted), wanted.__struct_config__.tag
        found: dict[str, Any] = {"type": tag} if tag else {}
        for field in msgspec.structs.fields(wanted):
            if field.required or self.rng.random() < 0.5:
                found[field.encode_name] = self.value(hints[field.name])
        return found

    def _rows(self, wanted: Any) -> Any:
        """Rows of three numbers for an array; a word for anything else."""
        if "ndarray" not in str(wanted):
            return self.rng.choice(("weld", "ball", 1, "x"))
        choices: tuple[Any, ...] = (0, 1, 2, 3, -5, 99, 2**40) if "int" in str(wanted) else NUMBERS
        return [[self.rng.choice(choices) for _ in range(3)] for _ in range(self.rng.choice((0, 1, 2, 4)))]


def _hints(kind: Any) -> dict[str, Any]:
    from exoskel.scene import json_codec

    return json_codec._types(kind)


_SIMPLE: dict[Any, Callable[[random.Random], Any]] = {
    float: lambda rng: rng.choice(NUMBERS if rng.random() < 0.6 else ORDINARY),
    int: lambda rng: rng.choice(COUNTS),
    bool: lambda rng: rng.random() < 0.5,
    str: lambda rng: rng.choice(TEXTS),
    type(None): lambda _: None,
    Any: lambda rng: rng.choice((1, "a", [1, 2, 3], {}, None)),
}
