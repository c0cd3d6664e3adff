"""Documents generated from the vocabularies: valid ones, in all their variety and in varied spelling.

Meshes are called `tetra.obj`: who reads the documents lays that file beside them.
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
from tests.support.growth import (
    ANY,
    DIRECTIONS,
    FRACTION,
    NOT_NEGATIVE,
    POSITIVE,
    WORDS,
    Branch,
    Draw,
    Growth,
    joined,
    spelled,
    values,
    written,
)

MESH = "tetra.obj"

_DIRECTION = st.sampled_from(DIRECTIONS).map(lambda axis: " ".join(map(str, axis)))
_NAME = st.sampled_from(WORDS)
_ANGLE = values(-7.0, 7.0)
_LIMIT = spelled(ANY) | st.sampled_from(["inf", "-inf", "Infinity"])


class Generated(NamedTuple):
    """A document, and the format it is in."""

    data: bytes
    format: str

    def __repr__(self) -> str:
        return f"{self.format}:\n{self.data.decode('utf-8-sig')}\n"


def _ordered(low: str, high: str) -> tuple[str, str]:
    return (low, high) if float(low) <= float(high) else (high, low)


# --- SKEL ---------------------------------------------------------------------------------------------


class SkelGrowth(Growth):
    """What SKEL's tables do not tell: names, references, and what goes with each kind of joint."""

    vocabulary = SKEL
    texts = {
        "real": spelled(ANY),
        "limit": _LIMIT,
        "vector": joined(ANY, 3),
        "transformation": st.builds(" ".join, st.tuples(joined(ANY, 3), joined(_ANGLE, 3))),
        "coordinates": spelled(ANY),
        "color": joined(FRACTION, 3) | joined(FRACTION, 4),
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
        **dict.fromkeys(("size",), joined(POSITIVE, 3)),
        **dict.fromkeys(("radius", "height", "length", "base_width", "base_depth", "time_step"), spelled(POSITIVE)),
        **dict.fromkeys(("mass", "total_mass"), spelled(POSITIVE)),
        **dict.fromkeys(("damping", "friction", "spring_stiffness", "kv", "ke", "damp"), spelled(NOT_NEGATIVE)),
        **dict.fromkeys(("sprint_stiffness", "effort"), spelled(NOT_NEGATIVE)),
        **dict.fromkeys(("ixx", "iyy", "izz"), spelled(values(1.0, 2.0))),
        **dict.fromkeys(("ixy", "ixz", "iyz"), spelled(values(-0.4, 0.4))),
        **dict.fromkeys(("normal", "xyz"), _DIRECTION),
        "scale": joined(POSITIVE, 3) | st.just("1 -1 2"),
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

    def finish(self, root: Branch) -> None:
        # The schema has no room for strangers in a `dof`.
        holders = [branch for branch in root.iter() if branch.children and branch.tag != "dof"]
        for _ in range(self.draw(st.integers(0, 2))):
            holder = self.pick(holders)
            holder.children.insert(self.draw(st.integers(0, len(holder.children))), self._stranger())
        if self.chance(20):
            self.pick(holders).attributes["xml:id"] = "i1"

    def _stranger(self) -> Branch:
        inner = self.pick(["", "<q:in/>", "some text", "<!-- c --><body name='no'><mass>x</mass></body>"])
        return Branch("q:note", {"xmlns:q": "urn:q", "of": str(self.pick(WORDS))}, raw=inner)

    def settle_world(self, branch: Branch, _: Element) -> None:
        taken: set[str] = set()
        for skeleton in branch.all("skeleton"):
            skeleton.attributes["name"] = self.name(taken)

    def settle_skeleton(self, branch: Branch, _: Element) -> None:
        taken: set[str] = set()
        bodies = branch.all("body")
        for body in bodies:
            body.attributes["name"] = self.name(taken)
        tied: set[str] = set()
        held = self.draw(st.permutations([body.attributes["name"] for body in bodies]))
        names: set[str] = set()
        for joint in branch.all("joint"):
            if not held:
                branch.children.remove(joint)
                continue
            child = held.pop(0)
            parents = ["world", *sorted(tied)]
            tied.add(child)
            _set(joint, "child", child)
            _set(joint, "parent", self.pick(parents))
            if "name" in joint.attributes:
                joint.attributes["name"] = self.name(names)

    def settle_body(self, branch: Branch, _: Element) -> None:
        taken: set[str] = set()
        for marker in branch.all("marker"):
            marker.attributes["name"] = self.name(taken)

    def settle_geometry(self, branch: Branch, _: Element) -> None:
        for mesh in branch.all("mesh"):
            _set(mesh, "file_name", MESH)

    def settle_limit(self, branch: Branch, _: Element) -> None:
        low, high = branch.one("lower"), branch.one("upper")
        if low is not None and high is not None:
            low.text, high.text = _ordered(low.text, high.text)

    def _settle_state(self, branch: Branch, _: Element) -> None:
        found = branch.attributes
        if "lower" in found and "upper" in found:
            found["lower"], found["upper"] = _ordered(found["lower"], found["upper"])

    settle_velocity = settle_acceleration = settle_force = _settle_state

    def settle_position(self, branch: Branch, rule: Element) -> None:
        if not branch.text:  # of a multi_sphere it is a vector
            self._settle_state(branch, rule)

    # --- joints ---------------------------------------------------------------------------------------

    def settle_joint(self, branch: Branch, rule: Element) -> None:
        kind = branch.attributes["type"]
        directed = [element for element, _ in AXIS_USES[kind].directions]
        for number, tag in enumerate(("axis", "axis2", "axis3")):
            axis = branch.one(tag)
            if axis is None and (tag in directed or (number < AXIS_USES[kind].dynamics and self.chance(50))):
                branch.children.append(axis := self.grow(rule.children[tag], 4))
            if axis is not None and (number < AXIS_USES[kind].dynamics or self.chance(10)):
                self._settle_axis(axis, kind, is_directed=tag in directed)
            else:
                branch.drop(tag)
        if kind == "euler":
            _set(branch, "axis_order", self.pick(["xyz", "zyx"]))
        else:
            branch.drop("axis_order")
        if kind in ("planar", "translational2d") and branch.one("plane") is None and self.chance(60):
            branch.children.append(self.grow(rule.children["plane"], 4))
        self._settle_plane(branch, kind)
        self._settle_dofs(branch, kind)

    def _settle_axis(self, axis: Branch, kind: str, *, is_directed: bool) -> None:
        if is_directed:
            _set(axis, "xyz", self.draw(_DIRECTION))
        elif not self.chance(10):
            axis.drop("xyz")
        if kind != "screw":
            axis.drop("pitch")

    def _settle_plane(self, branch: Branch, kind: str) -> None:
        plane = branch.one("plane")
        if plane is None or kind not in ("planar", "translational2d"):
            branch.drop("plane")
            return
        first, second = self.draw(st.permutations(DIRECTIONS[:3]))[:2]
        for tag, direction in (("translation_axis1", first), ("translation_axis2", second)):
            if plane.attributes.get("type") == "arbitrary":
                plane.drop(tag)
                plane.children.append(Branch(tag, children=[Branch("xyz", text=" ".join(map(str, direction)))]))
            elif not self.chance(10):
                plane.drop(tag)

    def _settle_dofs(self, branch: Branch, kind: str) -> None:
        count = len(TRAITS[kind].motion)
        for initial in branch.all("init_pos", "init_vel"):
            initial.text = self.draw(joined(_ANGLE, count)) if count else "0"
        places = list(self.draw(st.permutations(range(count))))
        for dof in branch.all("dof"):
            if not places:
                branch.children.remove(dof)
                continue
            dof.attributes["local_index"] = str(places.pop())
            if count == 1 and self.chance(50):
                del dof.attributes["local_index"]
        if not count:
            branch.drop("init_pos", "init_vel")


def _set(holder: Branch, tag: str, text: str) -> None:
    """Give a leaf its text; it is made if it is not there."""
    found = holder.one(tag)
    if found is None:
        holder.children.append(found := Branch(tag))
    found.text = text


# --- XODE ---------------------------------------------------------------------------------------------

_FLOATS = spelled(ANY)
_NAMED = ("world", "space", "group", "jointgroup", "body", "geom", "joint")


_XODE_NAMES = (*WORDS, "world", " blanks ", "two\tparts", "environment_root")
"""In SKEL a body called `world` hides the world, and blanks around a name are cut off."""


class XodeGrowth(Growth):
    """What XODE's tables do not tell: names, links, and which numbers go together."""

    vocabulary = XODE
    texts = {
        "float": _FLOATS,
        "stop": _FLOATS | st.sampled_from(["inf", "-inf", "INF"]),
        "positive float": spelled(POSITIVE),
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
        **dict.fromkeys([f"@{name}" for name in ("FudgeFactor", "Bounce", "StopERP", "SuspensionERP")], spelled(FRACTION)),
        **dict.fromkeys([f"@{name}" for name in ("CFM", "StopCFM", "SuspensionCFM", "FMax")], spelled(NOT_NEGATIVE)),
        "@angle": spelled(_ANGLE),
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

    def foreign(self) -> str:
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

    def settle_ext(self, branch: Branch, _: Element) -> None:
        branch.attributes = {"ename": f"app{self.draw(st.integers(1, 9))}"}

    # --- numbers that go together ---------------------------------------------------------------------

    def _direct(self, branch: Branch, direction: tuple[float, ...], names: str = "xyz") -> None:
        branch.attributes.update({name: str(value) for name, value in zip(names, direction, strict=True)})

    def settle_axis(self, branch: Branch, _: Element) -> None:
        self._direct(branch, self.pick(DIRECTIONS))
        if "LowStop" in branch.attributes:
            branch.attributes.pop("LoStop", None)

    def _settle_two_axes(self, branch: Branch, _: Element) -> None:
        for axis, direction in zip(branch.all("axis"), self.draw(st.permutations(DIRECTIONS[:3])), strict=False):
            self._direct(axis, direction)
        if self.chance(50):
            self._direct(branch.all("axis")[0], self.pick(DIRECTIONS[6:8]))

    settle_hinge2 = settle_universal = _settle_two_axes

    def settle_axisangle(self, branch: Branch, _: Element) -> None:
        self._direct(branch, self.pick(DIRECTIONS))

    def settle_quaternion(self, branch: Branch, _: Element) -> None:
        if not any(float(branch.attributes[name]) for name in "wxyz"):
            branch.attributes["w"] = "1"

    def settle_plane(self, branch: Branch, _: Element) -> None:
        self._direct(branch, self.pick(DIRECTIONS), "abc")

    def settle_finiteRotation(self, branch: Branch, _: Element) -> None:  # noqa: N802
        names = ("xaxis", "yaxis", "zaxis")
        if not all(name in branch.attributes for name in names):
            for name in names:
                branch.attributes.pop(name, None)

    def settle_matrix4f(self, branch: Branch, _: Element) -> None:
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
            branch.attributes[f"m{row}{column}"] = repr(float(whole[row, column]))

    def settle_transform(self, branch: Branch, _: Element) -> None:
        if branch.one("matrix4f") is not None:
            branch.attributes.pop("scale", None)

    def settle_trimesh(self, branch: Branch, _: Element) -> None:
        corners = branch.all("vertices")[0].children
        for corner, (x, y, z) in zip(corners, [(0, 0, 0), (1, 0, 0), (0, 1.5, 0), (0, 0, 1), (1, 1, 1)], strict=False):
            corner.attributes.update(x=str(x), y=str(y), z=str(z))
        base = int(self.chance(70))
        for number, triangle in enumerate(branch.all("triangles")[0].children):
            chosen = self.draw(st.permutations(range(len(corners))))[:3] if number else [0, 1, len(corners) - 1]
            triangle.attributes = {name: str(i + base) for name, i in zip(("ia", "ib", "ic"), chosen, strict=True)}

    # --- masses ---------------------------------------------------------------------------------------

    def settle_mass_struct(self, branch: Branch, _: Element) -> None:
        centre = branch.all("centerGravity")[0].attributes
        x, y, z = point = np.array([self.pick([0.0, 0.0, 0.5, -1.0]) for _ in range(3)])
        centre.update(x=str(x), y=str(y), z=str(z))
        total = float(branch.attributes["total"])
        moment = np.diag([self.draw(values(1.0, 2.0)) for _ in range(3)])
        moment[0, 1] = moment[1, 0] = self.draw(values(-0.4, 0.4))
        moment += total * (point @ point * np.eye(3) - np.outer(point, point))
        for row, column in product(range(3), repeat=2):
            branch.all("imatrix")[0].attributes[f"m{row}{column}"] = repr(float(moment[row, column]))

    def settle_mass_shape(self, branch: Branch, _: Element) -> None:
        if not branch.attributes.keys() & {"density", "total"}:
            branch.attributes[self.pick(["density", "total"])] = self.draw(spelled(POSITIVE))

    # --- the whole ------------------------------------------------------------------------------------

    def finish(self, root: Branch) -> None:
        taken: set[str] = set()
        for branch in root.iter():
            if branch.tag in _NAMED and "name" in branch.attributes:
                branch.attributes["name"] = self.name(taken, _XODE_NAMES)
        for world in root.all("world"):
            self._link(
                world,
                None,
                [b.attributes["name"] for b in world.iter() if b.tag == "body" and b.attributes.get("name")],
            )

    def _link(self, holder: Branch, around: Branch | None, names: list[str]) -> None:
        """Tie joints to bodies; those that could tie nothing go."""
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
                        child.children.insert(0, Branch(tag, {"body": name}))
            else:
                self._link(child, child if child.tag == "body" else around, names)

    def _ends(self, around: str, inside: bool, names: list[str]) -> list[tuple[str, str]]:
        """The links that a joint can have, an empty one being left out."""
        found = [("", "")] if inside else []
        for first, second in product(["", *names], repeat=2):
            ends = (first or around, second or around)
            if (first or second) and ends[0] != ends[1]:
                found.append((first, second))
        return found


# --- documents ----------------------------------------------------------------------------------------


@st.composite
def skel_documents(draw: Draw, room: int = 40) -> Generated:
    return Generated(written(draw, SkelGrowth(draw).document(room)), "skel")


@st.composite
def xode_documents(draw: Draw, room: int = 40, worlds: int = 1) -> Generated:
    return Generated(written(draw, XodeGrowth(draw, worlds).document(room)), "xode")


def documents() -> st.SearchStrategy[Generated]:
    """Documents of either format, each with one world."""
    return skel_documents() | xode_documents()
