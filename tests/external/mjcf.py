"""How the bodies of an MJCF document move with the coordinates of the world that was written."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from exoskel import Body, Joint, Model, World, spatial
from exoskel.formats.mjcf.model import joints
from exoskel.formats.mjcf.model.coordinates import SIZES, Coordinates, document_addresses
from exoskel.formats.mjcf.model.layout import WorldLayout, duplicate_name
from exoskel.formats.mjcf.model.soft_bodies import POINT_MOMENT, body_skins
from exoskel.formats.mjcf.names import NameTable
from exoskel.formats.mjcf.tree import MjcfElement
from exoskel.scene.inertia import MIN_MASS, MIN_MOMENT
from exoskel.scene.item import qualified_name
from exoskel.scene.kinematics import Kinematics
from tests.external.expectation import Array, Inertial, Mechanism, Values
from tests.external.mechanisms import draw, moving


class MjcfMechanism:
    """A world and the parts that only MJCF has: flywheels of motors, copies of bodies that close loops, points of skins.

    A copy shares the mass of its body and is a child of the other body of the loop joint, at rest.  Points are at rest.
    """

    def __init__(self, world: World, document: MjcfElement, names: NameTable) -> None:
        self.world = world
        self.names = names
        """The names in the file by the names in `document`."""
        self.layout = WorldLayout(world)
        self.kinematics = Kinematics(world.models)
        found = document_addresses(document)
        self.coordinates = Coordinates(self.layout, found)
        self.places = found.by_name
        self.holders, self.types = holders(document)
        self.shares = {body: 1.0 / (count + 1) for body, count in joints.duplicate_counts(world).items()}
        self.bodies: dict[str, Inertial | None] = {}
        for model in world.models:
            for body in model.bodies:
                self.bodies[qualified_name(model.name, body.name)] = self._inertial(model, body)
        self.hung = list(self._stand_ins())
        self.bodies |= {name: self._inertial(model, joint.child) for name, model, joint in self.hung}
        held = set(self.holders.values())
        self.points = [
            (skin.point_name(number), skin, position)
            for skin in body_skins(world)
            if skin.moves and skin.point_name(0) in held
            for number, position in enumerate(skin.skin.points)
        ]
        self.bodies |= {
            name: Inertial(skin.point_mass, np.zeros(3), POINT_MOMENT * np.eye(3)) for name, skin, _ in self.points
        }
        self.flywheels = [name for name in self.holders.values() if name not in self.bodies]
        least = Inertial(MIN_MASS, np.zeros(3), MIN_MOMENT * np.eye(3))
        self.bodies |= dict.fromkeys(self.flywheels, least)

    def _inertial(self, model: Model, body: Body) -> Inertial | None:
        """With repairs where MuJoCo would reject it; a fixed body needs none."""
        if model.static and not body.mass > 0.0:
            return None
        share, known = self.shares.get(id(body), 1.0), self.layout.inertials
        moment = share * spatial.moment_matrix(known.of(body)[2])
        return Inertial(share * known.mass(body), np.array(body.com), moment)

    def _stand_ins(self) -> Iterator[tuple[str, Model, Joint]]:
        for model in self.world.models:
            for joint in model.joints if not model.static else ():
                if joint.loop and joints.needs_duplicate(joint):
                    yield duplicate_name(model, joint), model, joint

    def mechanism(self) -> Mechanism:
        models = self.world.models
        bodies = {self.names["body"][name]: inertial for name, inertial in self.bodies.items()}
        return Mechanism(bodies, draw(models), moving(models), self.at)

    def at(self, q: Array) -> tuple[Array, Values]:
        return self.poses(q), self.values(q)

    def poses(self, q: Array) -> Array:
        mine = self.kinematics.poses(q)
        number = {id(body): n for n, body in enumerate(self.layout.bodies)}
        zero = self.kinematics.zero_poses
        hung = []
        for _, _, joint in self.hung:
            child = zero[number[id(joint.child)]]
            if joint.parent is not None:
                parent = number[id(joint.parent)]
                child = mine[parent] @ spatial.inverse(zero[parent]) @ child
            hung.append(child)
        points = [
            mine[number[id(skin.body)]] @ spatial.transform(np.eye(3), position) for _, skin, position in self.points
        ]
        added = np.array([*hung, *points]).reshape(-1, 4, 4)
        return np.concatenate([mine, added, spatial.identity(len(self.flywheels))])

    def values(self, q: Array) -> Values:
        qpos = np.zeros(self.coordinates.nq)
        for name, kind in self.types.items():
            if kind in ("ball", "free"):
                qpos[self.places[name][0] + (3 if kind == "free" else 0)] = 1.0
        self.coordinates.set_positions(q, qpos)
        joints: dict[str, list[float]] = {}
        floating: dict[str, list[float]] = {}
        for name, (first, _) in self.places.items():
            kind = self.types[name]
            value = qpos[first : first + SIZES[kind][0]].tolist()
            if kind == "free":
                floating[self.names["body"][self.holders[name]]] = value
            else:
                joints[self.names["joint"][name]] = value
        return Values(joints, floating)


def holders(document: MjcfElement) -> tuple[dict[str, str], dict[str, str]]:
    """The body of each joint, and its type."""
    found = [
        (str(child.attributes["name"]), str(body.attributes["name"]), str(child.attributes["type"]))
        for body in document.iter()
        if body.tag == "body"
        for child in body.children
        if child.tag == "joint"
    ]
    return {name: body for name, body, _ in found}, {name: kind for name, _, kind in found}
