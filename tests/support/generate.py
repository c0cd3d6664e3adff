"""Random valid documents generated from the vocabularies, with varied layout and number spelling.

Meshes are called `tetra.obj`; tests put that file next to the documents.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from exoskel.formats.skel.joints import AXIS_USES
from exoskel.formats.skel.vocabulary import SKEL
from exoskel.formats.xode.vocabulary import XODE
from exoskel.scene.joint import TRAITS
from exoskel.source.vocabulary import Element
from tests.support.document_generator import (
    ANY,
    DIRECTIONS,
    FRACTION,
    NOT_NEGATIVE,
    POSITIVE,
    WORDS,
    DocumentGenerator,
    Draw,
    GeneratedElement,
    number_list_texts,
    number_texts,
    values,
    write_document,
)

MESH = "tetra.obj"

_DIRECTION = st.sampled_from(DIRECTIONS).map(lambda axis: " ".join(map(str, axis)))
_NAME = st.sampled_from(WORDS)
_ANGLE = values(-7.0, 7.0)
_LIMIT = number_texts(ANY) | st.sampled_from(["inf", "-inf", "Infinity"])


class Generated(NamedTuple):
    """A document and its format."""

    data: bytes
    format: str

    def __repr__(self) -> str:
        return f"{self.format}:\n{self.data.decode('utf-8-sig')}\n"


def _ordered(low: str, high: str) -> tuple[str, str]:
    return (low, high) if float(low) <= float(high) else (high, low)


# --- SKEL ---------------------------------------------------------------------------------------------


class SkelGrowth(DocumentGenerator):
    """Adjusts what SKEL's vocabulary does not state: names, references, and the elements of each kind of joint."""

    vocabulary = SKEL
    texts = {
        "real": number_texts(ANY),
        "limit": _LIMIT,
        "vector": number_list_texts(ANY, 3),
        "transformation": st.builds(" ".join, st.tuples(number_list_texts(ANY, 3), number_list_texts(_ANGLE, 3))),
        "coordinates": number_texts(ANY),
        "color": number_list_texts(FRACTION, 3) | number_list_texts(FRACTION, 4),
        "boolean": st.sampled_from(["true", "false", "1", "0", "TRUE", "False"]),
        "flag": st.sampled_from(["0", "1", " 1 "]),
        "name": _NAME,
        "body name": _NAME,
        "file name": st.just(MESH),
        "version": st.just("1.0"),
        "index": st.just("0"),
        "count": st.integers(3, 9).map(str),
        "fragments": st.sampled_from(["3 3 3", "4 3 5", " 3  4 3 "]),
        "detector": st.sampled_from(["fcl", "fcl_mesh", "dart", "bullet", "ode"]),
        "joint type": st.sampled_from(sorted(AXIS_USES)),
        "actuator": st.sampled_from(["force", "passive", "servo", "acceleration", "velocity", "locked"]),
        "axis order": st.sampled_from(["xyz", "zyx"]),
        "plane type": st.sampled_from(["arbitrary", "xy", "yz", "zx", "arbitrary"]),
    }
    places = {
        **dict.fromkeys(("size",), number_list_texts(POSITIVE, 3)),
        **dict.fromkeys(
            ("radius", "height", "length", "base_width", "base_depth", "time_step"), number_texts(POSITIVE)
        ),
        **dict.fromkeys(("mass", "total_mass"), number_texts(POSITIVE)),
        **dict.fromkeys(("damping", "friction", "spring_stiffness", "kv", "ke", "damp"), number_texts(NOT_NEGATIVE)),
        **dict.fromkeys(("sprint_stiffness", "effort"), number_texts(NOT_NEGATIVE)),
        **dict.fromkeys(("ixx", "iyy", "izz"), number_texts(values(1.0, 2.0))),
        **dict.fromkeys(("ixy", "ixz", "iyz"), number_texts(values(-0.4, 0.4))),
        **dict.fromkeys(("normal", "xyz"), _DIRECTION),
        "scale": number_list_texts(POSITIVE, 3) | st.just("1 -1 2"),
    }

    def repeated(self, rule: Element, options: list[Element]) -> list[Element]:
        if rule.name == "skel":  # bare skeletons, if there is no world
            return options if self.bare else []
        if rule.name == "world":
            return options * int(self.pick([1, 2]))
        if rule.name == "skeleton":
            return [child for child in options for _ in range(self.pick([1, 2, 3, 0]))]
        return super().repeated(rule, options)

    def optional(self, rule: Element, options: list[Element]) -> list[Element]:
        if rule.name == "skel":
            self.bare = self.chance(15)
            return [] if self.bare else options
        return super().optional(rule, options)

    def finish(self, root: GeneratedElement) -> None:
        # The schema does not allow unknown elements in a `dof`.
        holders = [element for element in root.iter() if element.children and element.tag != "dof"]
        for _ in range(self.draw(st.integers(0, 2))):
            holder = self.pick(holders)
            holder.children.insert(self.draw(st.integers(0, len(holder.children))), self._unknown_element())
        if self.chance(20):
            self.pick(holders).attributes["xml:id"] = "i1"

    def _unknown_element(self) -> GeneratedElement:
        inner = self.pick(["", "<q:in/>", "some text", "<!-- c --><body name='no'><mass>x</mass></body>"])
        return GeneratedElement("q:note", {"xmlns:q": "urn:q", "of": str(self.pick(WORDS))}, raw=inner)

    def adjust_world(self, element: GeneratedElement, _: Element) -> None:
        taken: set[str] = set()
        for skeleton in element.all("skeleton"):
            skeleton.attributes["name"] = self.name(taken)

    def adjust_skeleton(self, element: GeneratedElement, _: Element) -> None:
        taken: set[str] = set()
        bodies = element.all("body")
        for body in bodies:
            body.attributes["name"] = self.name(taken)
        tied: set[str] = set()
        held = self.draw(st.permutations([body.attributes["name"] for body in bodies]))
        names: set[str] = set()
        for joint in element.all("joint"):
            if not held:
                element.children.remove(joint)
                continue
            child = held.pop(0)
            parents = ["world", *sorted(tied)]
            tied.add(child)
            _set(joint, "child", child)
            _set(joint, "parent", self.pick(parents))
            if "name" in joint.attributes:
                joint.attributes["name"] = self.name(names)

    def adjust_body(self, element: GeneratedElement, _: Element) -> None:
        taken: set[str] = set()
        for marker in element.all("marker"):
            marker.attributes["name"] = self.name(taken)

    def adjust_geometry(self, element: GeneratedElement, _: Element) -> None:
        for mesh in element.all("mesh"):
            _set(mesh, "file_name", MESH)

    def adjust_limit(self, element: GeneratedElement, _: Element) -> None:
        low, high = element.one("lower"), element.one("upper")
        if low is not None and high is not None:
            low.text, high.text = _ordered(low.text, high.text)

    def _adjust_state(self, element: GeneratedElement, _: Element) -> None:
        found = element.attributes
        if "lower" in found and "upper" in found:
            found["lower"], found["upper"] = _ordered(found["lower"], found["upper"])

    adjust_velocity = adjust_acceleration = adjust_force = _adjust_state

    def adjust_position(self, element: GeneratedElement, rule: Element) -> None:
        if not element.text:  # in a multi_sphere it is a vector
            self._adjust_state(element, rule)

    # --- joints ---------------------------------------------------------------------------------------

    def adjust_joint(self, element: GeneratedElement, rule: Element) -> None:
        kind = element.attributes["type"]
        directed = [element for element, _ in AXIS_USES[kind].directions]
        for number, tag in enumerate(("axis", "axis2", "axis3")):
            axis = element.one(tag)
            if axis is None and (tag in directed or (number < AXIS_USES[kind].dynamics and self.chance(50))):
                element.children.append(axis := self.generate_element(rule.children[tag], 4))
            if axis is not None and (number < AXIS_USES[kind].dynamics or self.chance(10)):
                self._adjust_axis(axis, kind, is_directed=tag in directed)
            else:
                element.drop(tag)
        if kind == "euler":
            _set(element, "axis_order", self.pick(["xyz", "zyx"]))
        else:
            element.drop("axis_order")
        if kind in ("planar", "translational2d") and element.one("plane") is None and self.chance(60):
            element.children.append(self.generate_element(rule.children["plane"], 4))
        self._adjust_plane(element, kind)
        self._adjust_dofs(element, kind)

    def _adjust_axis(self, axis: GeneratedElement, kind: str, *, is_directed: bool) -> None:
        if is_directed:
            _set(axis, "xyz", self.draw(_DIRECTION))
        elif not self.chance(10):
            axis.drop("xyz")
        if kind != "screw":
            axis.drop("pitch")

    def _adjust_plane(self, element: GeneratedElement, kind: str) -> None:
        plane = element.one("plane")
        if plane is None or kind not in ("planar", "translational2d"):
            element.drop("plane")
            return
        first, second = self.draw(st.permutations(DIRECTIONS[:3]))[:2]
        for tag, direction in (("translation_axis1", first), ("translation_axis2", second)):
            if plane.attributes.get("type") == "arbitrary":
                plane.drop(tag)
                plane.children.append(
                    GeneratedElement(tag, children=[GeneratedElement("xyz", text=" ".join(map(str, direction)))])
                )
            elif not self.chance(10):
                plane.drop(tag)

    def _adjust_dofs(self, element: GeneratedElement, kind: str) -> None:
        count = len(TRAITS[kind].motion)
        for initial in element.all("init_pos", "init_vel"):
            initial.text = self.draw(number_list_texts(_ANGLE, count)) if count else "0"
        places = list(self.draw(st.permutations(range(count))))
        for dof in element.all("dof"):
            if not places:
                element.children.remove(dof)
                continue
            dof.attributes["local_index"] = str(places.pop())
            if count == 1 and self.chance(50):
                del dof.attributes["local_index"]
        if not count:
            element.drop("init_pos", "init_vel")


def _set(holder: GeneratedElement, tag: str, text: str) -> None:
    """Set the text of a leaf, which is created if it is missing."""
    found = holder.one(tag)
    if found is None:
        holder.children.append(found := GeneratedElement(tag))
    found.text = text


# --- XODE ---------------------------------------------------------------------------------------------

_FLOATS = number_texts(ANY)
_NAMED = ("world", "space", "group", "jointgroup", "body", "geom", "joint")


_XODE_NAMES = (*WORDS, "world", " blanks ", "two\tparts", "environment_root")
"""In SKEL a body called `world` hides the world, and spaces around a name are removed."""


class XodeGrowth(DocumentGenerator):
    """Adjusts what XODE's vocabulary does not state: names, links, and related numbers."""

    vocabulary = XODE
    texts = {
        "float": _FLOATS,
        "stop": _FLOATS | st.sampled_from(["inf", "-inf", "INF"]),
        "positive float": number_texts(POSITIVE),
        "int": st.just("1"),
        "gravity mode": st.sampled_from(["0", "1"]),
        "rotation mode": st.sampled_from(["0", "1"]),
        "bool": st.sampled_from(["true", "false"]),
        "angle format": st.sampled_from(["radians", "degrees", "Degrees"]),
        "name": _NAME,
        "body name": _NAME,
        "text": _NAME,
        "version": st.sampled_from(["1.0r22", "1.0", "1.0r13"]),
    }
    places = {
        **dict.fromkeys([f"@{name}" for name in ("FudgeFactor", "Bounce", "StopERP", "SuspensionERP")], number_texts(FRACTION)),
        **dict.fromkeys([f"@{name}" for name in ("CFM", "StopCFM", "SuspensionCFM", "FMax")], number_texts(NOT_NEGATIVE)),
        "@angle": number_texts(_ANGLE),
        "@transformstyle": st.just("vector"),
    }  # fmt: skip

    def repeated(self, rule: Element, options: list[Element]) -> list[Element]:
        data = [child for child in options if child.name == "ext" and self.chance(10)]
        if rule.name == "xode":
            return [child for child in options if child.name == "world"] * self.worlds + data
        others = [child for child in options if child.name != "ext"]
        if not others or (rule.name in ("body", "geom", "mass") and self.chance(50)):
            return data
        few = 0 if rule.name in ("body", "geom", "mass") else 2
        found: list[Element] = self.draw(st.lists(st.sampled_from(others), min_size=few, max_size=few + 3))
        return found + data

    def __init__(self, draw: Draw, worlds: int = 1) -> None:
        super().__init__(draw)
        self.worlds = worlds

    def extension_content(self) -> str:
        return str(
            self.pick(
                [
                    "",
                    "<data v='1'>some text</data>",
                    "<body name='not one'><mass/></body><joint/>",
                    "text only",
                    "<!-- c --><ext ename='in'><q:x xmlns:q='urn:q'/></ext>",
                    "<gravity x='0' y='-9.81' z='0'/><ERP value='0.2'/>",
                ]
            )
        )

    def adjust_ext(self, element: GeneratedElement, _: Element) -> None:
        element.attributes = {"ename": f"app{self.draw(st.integers(1, 9))}"}

    # --- related numbers -----------------------------------------------------------------------------

    def _direct(self, element: GeneratedElement, direction: tuple[float, ...], names: str = "xyz") -> None:
        element.attributes.update({name: str(value) for name, value in zip(names, direction, strict=True)})

    def adjust_axis(self, element: GeneratedElement, _: Element) -> None:
        self._direct(element, self.pick(DIRECTIONS))
        if "LowStop" in element.attributes:
            element.attributes.pop("LoStop", None)

    def _adjust_two_axes(self, element: GeneratedElement, _: Element) -> None:
        for axis, direction in zip(element.all("axis"), self.draw(st.permutations(DIRECTIONS[:3])), strict=False):
            self._direct(axis, direction)
        if self.chance(50):
            self._direct(element.all("axis")[0], self.pick(DIRECTIONS[6:8]))

    adjust_hinge2 = adjust_universal = _adjust_two_axes

    def adjust_axisangle(self, element: GeneratedElement, _: Element) -> None:
        self._direct(element, self.pick(DIRECTIONS))

    def adjust_quaternion(self, element: GeneratedElement, _: Element) -> None:
        if not any(float(element.attributes[name]) for name in "wxyz"):
            element.attributes["w"] = "1"

    def adjust_plane(self, element: GeneratedElement, _: Element) -> None:
        self._direct(element, self.pick(DIRECTIONS), "abc")

    def adjust_finiteRotation(self, element: GeneratedElement, _: Element) -> None:  # noqa: N802
        names = ("xaxis", "yaxis", "zaxis")
        if not all(name in element.attributes for name in names):
            for name in names:
                element.attributes.pop(name, None)

    def adjust_matrix4f(self, element: GeneratedElement, _: Element) -> None:
        w, x, y, z = self.pick([(1, 0, 0, 0), (0, 1, 0, 0), (1, 1, 1, 1), (1, -2, 3, 0.5), (0.2, 0, 0, 1)])
        s = 2.0 / (w * w + x * x + y * y + z * z)
        rows = np.array(
            [
                [1 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)],
                [s * (x * y + z * w), 1 - s * (x * x + z * z), s * (y * z - x * w)],
                [s * (x * z - y * w), s * (y * z + x * w), 1 - s * (x * x + y * y)],
            ]
        )
        whole = np.eye(4)
        whole[:3, :3] = rows * self.pick([1.0, 1.0, 2.0, 0.3])
        whole[:3, 3] = [self.draw(ANY) for _ in range(3)]
        for row, column in product(range(4), repeat=2):
            element.attributes[f"m{row}{column}"] = repr(float(whole[row, column]))

    def adjust_transform(self, element: GeneratedElement, _: Element) -> None:
        if element.one("matrix4f") is not None:
            element.attributes.pop("scale", None)

    def adjust_trimesh(self, element: GeneratedElement, _: Element) -> None:
        corners = element.all("vertices")[0].children
        for corner, (x, y, z) in zip(corners, [(0, 0, 0), (1, 0, 0), (0, 1.5, 0), (0, 0, 1), (1, 1, 1)], strict=False):
            corner.attributes.update(x=str(x), y=str(y), z=str(z))
        base = int(self.chance(70))
        for number, triangle in enumerate(element.all("triangles")[0].children):
            chosen = self.draw(st.permutations(range(len(corners))))[:3] if number else [0, 1, len(corners) - 1]
            triangle.attributes = {name: str(i + base) for name, i in zip(("ia", "ib", "ic"), chosen, strict=True)}

    # --- masses ---------------------------------------------------------------------------------------

    def adjust_mass_struct(self, element: GeneratedElement, _: Element) -> None:
        centre = element.all("centerGravity")[0].attributes
        x, y, z = point = np.array([self.pick([0.0, 0.0, 0.5, -1.0]) for _ in range(3)])
        centre.update(x=str(x), y=str(y), z=str(z))
        total = float(element.attributes["total"])
        moment = np.diag([self.draw(values(1.0, 2.0)) for _ in range(3)])
        moment[0, 1] = moment[1, 0] = self.draw(values(-0.4, 0.4))
        moment += total * (point @ point * np.eye(3) - np.outer(point, point))
        for row, column in product(range(3), repeat=2):
            element.all("imatrix")[0].attributes[f"m{row}{column}"] = repr(float(moment[row, column]))

    def adjust_mass_shape(self, element: GeneratedElement, _: Element) -> None:
        if not element.attributes.keys() & {"density", "total"}:
            element.attributes[self.pick(["density", "total"])] = self.draw(number_texts(POSITIVE))

    # --- the whole ------------------------------------------------------------------------------------

    def finish(self, root: GeneratedElement) -> None:
        taken: set[str] = set()
        for element in root.iter():
            if element.tag in _NAMED and "name" in element.attributes:
                element.attributes["name"] = self.name(taken, _XODE_NAMES)
        for world in root.all("world"):
            self._link(
                world,
                None,
                [b.attributes["name"] for b in world.iter() if b.tag == "body" and b.attributes.get("name")],
            )

    def _link(self, holder: GeneratedElement, around: GeneratedElement | None, names: list[str]) -> None:
        """Connect joints to bodies; joints without bodies are removed."""
        for child in list(holder.children):
            if child.tag == "joint":
                ends = self._ends(
                    "" if around is None else around.attributes.get("name", "?"), around is not None, names
                )
                if not ends:
                    holder.children.remove(child)
                    continue
                child.drop("link1", "link2")
                chosen = self.pick(ends)
                for tag, name in zip(("link1", "link2"), chosen, strict=True):
                    if name:
                        child.children.insert(0, GeneratedElement(tag, {"body": name}))
            else:
                self._link(child, child if child.tag == "body" else around, names)

    def _ends(self, around: str, inside: bool, names: list[str]) -> list[tuple[str, str]]:
        """The links that a joint can have, without empty ones."""
        found = [("", "")] if inside else []
        for first, second in product(["", *names], repeat=2):
            ends = (first or around, second or around)
            if (first or second) and ends[0] != ends[1]:
                found.append((first, second))
        return found


# --- documents ----------------------------------------------------------------------------------------


@st.composite
def skel_documents(draw: Draw, room: int = 40) -> Generated:
    return Generated(write_document(draw, SkelGrowth(draw).document(room)), "skel")


@st.composite
def xode_documents(draw: Draw, room: int = 40, worlds: int = 1) -> Generated:
    return Generated(write_document(draw, XodeGrowth(draw, worlds).document(room)), "xode")


def documents() -> st.SearchStrategy[Generated]:
    """Documents of either format, each with one world."""
    return skel_documents() | xode_documents()
