"""ODE in its own process, through the bindings that come with Panda3D (single precision).

Requests: {"load": records of bodies, joints, motors and geoms, and world settings}, {"step": n, "pull": body, point
from its centre and target, or null, "wrenches": rows of body, force, point from its centre and torque},
{"measure": true} for ODE's own joint coordinates, and {"contacts": true}.
Poses are x y z qw qx qy qz.
"""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

from exoskel.engines.engine_process import JsonObject, serve
from exoskel.engines.interface import pull_force

MOST_CONTACTS, MOST_ON_MESHES = 8, 24
"""The maximum number of contact points of two geoms: with more, the exact solver becomes too slow."""
FASTEST = 1e6
"""Speed in m/s beyond which a motion has diverged: ODE crashes on numbers that are not finite."""
_LINEAR_CODES = {"Vel": 2, "FMax": 5, "CFM": 8}
"""ODE's numbers of parameters; the bindings have names for those of all joints but linear motors."""


def main() -> None:
    serve(_Host().answer)


class _Host:
    def __init__(self) -> None:
        self.world: _OdeWorkerWorld | None = None

    def answer(self, request: JsonObject) -> JsonObject:
        if "load" in request:
            self.world = _OdeWorkerWorld(request["load"])
        assert self.world is not None
        if "measure" in request:
            return {"joints": [joint.measure() for joint in self.world.joints]}
        if "contacts" in request:
            return {"contacts": self.world.geoms.contacts()}
        self.world.step(int(request.get("step", 0)), request.get("pull"), request.get("wrenches", []))
        return self.world.state()


class _OdeWorkerWorld:
    def __init__(self, given: JsonObject) -> None:
        from panda3d import ode

        self.ode = ode
        self.length = given["step"]
        self.quick = given["quick"]
        self.steps = 0
        self.contacts = 0
        self.world = ode.OdeWorld()
        self.world.setGravity(*given["gravity"])
        if given["erp"] is not None:
            self.world.setErp(given["erp"])
        if given["cfm"] is not None:
            self.world.setCfm(given["cfm"])
        self.bodies = [self._body(one) for one in given["bodies"]]
        self.joints = [_WorkerJoint(self, one) for one in given["joints"]]
        self.motors = [_WorkerJoint(self, one) for one in given["motors"]]
        self._set_initial_state(given["bodies"])
        for one in (*self.joints, *self.motors):
            one.set_parameters()
        self.geoms = _WorkerGeoms(self, given["geoms"], given["friction"], _connected(given))

    def _body(self, given: JsonObject) -> Any:
        """A body at zero positions, where the joints are created."""
        mass = self.ode.OdeMass()
        mass.setParameters(given["mass"], 0.0, 0.0, 0.0, *given["moment"])
        body = self.ode.OdeBody(self.world)
        body.setMass(mass)
        _place(body, given["zero"])
        body.setGravityMode(given["gravity"])
        return body

    def _set_initial_state(self, given: list[JsonObject]) -> None:
        """Move the bodies to their initial state, with the forces of the first step."""
        for body, one in zip(self.bodies, given, strict=True):
            _place(body, one["start"])
            body.setAngularVel(*one["twist"][:3])
            body.setLinearVel(*one["twist"][3:])
            body.addForce(*one["force"])
            body.addTorque(*one["torque"])
            mode, *axis = one["finite"]
            body.setFiniteRotationMode(mode)
            if any(axis):
                body.setFiniteRotationAxis(*axis)
            if not one["enabled"]:
                body.disable()

    def step(self, count: int, pull: JsonObject | None, wrenches: list[JsonObject]) -> None:
        for _ in range(count):
            self.contacts = self.geoms.collide()
            for one in wrenches:
                self._push(one)
            if pull is not None:
                self._pull(pull)
            for motor in self.motors:
                motor.update_spring(self.joints)
            (self.world.quickStep if self.quick else self.world.step)(self.length)
            for joint in self.joints:
                joint.follow(self.length)
            self.steps += 1
            if self._diverged() is not None:
                return

    def _push(self, wrench: JsonObject) -> None:
        """Apply a force and a torque to a body for one step."""
        body = self.bodies[wrench["body"]]
        body.enable()
        body.addForceAtPos(*wrench["force"], *body.getRelPointPos(*wrench["point"]))
        body.addTorque(*wrench["torque"])

    def _pull(self, pull: JsonObject) -> None:
        """Pull a body to its target for one step."""
        body = self.bodies[pull["body"]]
        position = body.getRelPointPos(*pull["point"])
        velocity = np.array(body.getRelPointVel(*pull["point"]))
        force = pull_force(body.getMass().getMagnitude(), np.array(pull["target"]) - np.array(position), velocity)
        body.enable()
        body.addForceAtPos(*force.tolist(), *position)

    def _diverged(self) -> int | None:
        """The number of a body whose motion has diverged."""
        most = FASTEST * FASTEST
        return next((i for i, b in enumerate(self.bodies) if not b.getLinearVel().lengthSquared() < most), None)

    def state(self) -> JsonObject:
        rows = []
        for body in self.bodies:
            place = (*body.getPosition(), *body.getQuaternion())
            rows.append([*place, *body.getAngularVel(), *body.getLinearVel()])
        return {
            "time": self.steps * self.length,
            "bodies": rows,
            "tracks": [joint.track for joint in self.joints],
            "contacts": self.contacts,
            "diverged": self._diverged(),
        }


class _WorkerJoint:
    """A joint or motor; `track` are its coordinates with whole turns, one per axis."""

    def __init__(self, host: _OdeWorkerWorld, given: JsonObject) -> None:
        self.given = given
        self.kind: str = given["type"]
        self.spring = given.get("spring")
        self.track: list[float] = list(given["start"])
        self.joint: Any = getattr(host.ode, _CLASSES[self.kind])(host.world)
        self.joint.attach(*(None if number < 0 else host.bodies[number] for number in given["bodies"]))
        self._place()

    def _place(self) -> None:
        joint, axes = self.joint, self.given["axes"]
        if self.kind in _ANCHORED:
            joint.setAnchor(*self.given["anchor"])
        match self.kind:
            case "hinge" | "slider":
                joint.setAxis(*axes[0])
            case "universal" | "hinge2":
                joint.setAxis1(*axes[0])
                joint.setAxis2(*axes[1])
            case "fixed":
                joint.set()
            case "amotor" | "lmotor":
                if self.kind == "amotor":
                    joint.setMode(0)  # user mode: we state the axes
                joint.setNumAxes(1)
                joint.setAxis(0, self.given["frame"], *axes[0])

    def set_parameters(self) -> None:
        for axis, values in enumerate(self.given.get("parameters", ())):
            for name, value in values.items():
                self._set(axis, name, value)

    def _set(self, axis: int, name: str, value: float) -> None:
        if self.kind == "lmotor":
            self.joint.setParam(_LINEAR_CODES[name], value)
            return
        numbered = self.kind not in ("hinge", "slider")
        setter = getattr(self.joint, f"setParam{name}", None)
        if setter is not None:  # only hinge2 has suspension parameters
            setter(*((axis, value) if numbered else (value,)))

    def update_spring(self, joints: list[_WorkerJoint]) -> None:
        """Update a spring: the motor brings the joint to rest in one step if nothing else acts on it."""
        if self.spring is not None:
            number, axis, rest, rate = self.spring
            self._set(0, "Vel", rate * (rest - joints[number].track[axis]))

    # --- measurements ---------------------------------------------------------------------------------

    def measure(self) -> JsonObject:
        """ODE's own coordinates (None where it has none) and rates, in the order of its axes."""
        joint = self.joint
        match self.kind:
            case "hinge":
                return {"positions": [joint.getAngle()], "rates": [joint.getAngleRate()]}
            case "slider":
                return {"positions": [joint.getPosition()], "rates": [joint.getPositionRate()]}
            case "universal":
                angles, rates = [joint.getAngle1(), joint.getAngle2()], [joint.getAngle1Rate(), joint.getAngle2Rate()]
                return {"positions": angles, "rates": rates}
            case "hinge2":
                return {
                    "positions": [joint.getAngle1(), None],
                    "rates": [joint.getAngle1Rate(), joint.getAngle2Rate()],
                }
            case _:
                return {"positions": [], "rates": []}

    def follow(self, length: float) -> None:
        """Track whole turns over a step of `length` s: by the rate, and by the angle where ODE knows it."""
        found = self.measure()
        for axis, (angle, rate) in enumerate(zip(found["positions"], found["rates"], strict=True)):
            if self.kind == "slider":
                self.track[axis] = angle
                continue
            guess = self.track[axis] + rate * length
            self.track[axis] = guess if angle is None else angle + 2 * pi * round((guess - angle) / (2 * pi))


class _WorkerGeoms:
    """All geoms, and the contact joints of one step."""

    def __init__(
        self, host: _OdeWorkerWorld, given: list[JsonObject], friction: float, connected: set[frozenset[int]] | None
    ) -> None:
        self.host = host
        self.given = given
        self.space = host.ode.OdeHashSpace()
        self.group = host.ode.OdeJointGroup()
        self.friction = friction
        self.connected = connected
        self.count = 0
        self.points: list[tuple[Any, Any, list[JsonObject]]] = []
        self.geoms = [self._geom(number, one) for number, one in enumerate(given)]

    def _geom(self, number: int, given: JsonObject) -> Any:
        from panda3d.core import BitMask32

        ode, size = self.host.ode, given.get("size", ())
        match given["type"]:
            case "mesh":
                geom = ode.OdeTriMeshGeom(self.space, _mesh(ode, given["vertices"], given["triangles"]))
            case kind:
                geom = getattr(ode, _GEOMS[kind])(self.space, *size)
        # The category bits identify a geom; collisions are filtered in `_collides`.
        geom.setCategoryBits(BitMask32(number + 1))
        if given["type"] != "plane":
            self._put(geom, given)
        return geom

    def _put(self, geom: Any, given: JsonObject) -> None:
        if given["body"] < 0:
            _place(geom, given["pose"])
            return
        from panda3d.core import LQuaternionf

        geom.setBody(self.host.bodies[given["body"]])
        geom.setOffsetPosition(*given["pose"][:3])
        geom.setOffsetQuaternion(LQuaternionf(*given["pose"][3:]))

    def collide(self) -> int:
        """Find the contacts, create their joints, and return their number."""
        for joint, _, _ in self.points:
            joint.setFeedback(False)  # or its memory is lost
        self.group.empty()
        self.points = []
        self.count = 0
        if len(self.geoms) > 1:
            self.space.collide(None, self._near)
        return self.count

    def _near(self, _: None, one: Any, other: Any) -> None:
        first, second = (self.given[geom.getCategoryBits().getWord() - 1] for geom in (one, other))
        if not self._collides(first, second):
            return
        ode = self.host.ode
        most = MOST_ON_MESHES if "mesh" in (first["type"], second["type"]) else MOST_CONTACTS
        found = ode.OdeUtil.collide(one, other, most)
        pair = [self._body(given) for given in (first, second)]
        for index in range(found.getNumContacts()):
            contact = ode.OdeContact()
            contact.setGeom(found.getContactGeom(index))
            contact.setSurface(self._surface())
            joint = ode.OdeContactJoint(self.host.world, self.group, contact)
            joint.attach(*pair)
            joint.setFeedback(True)
            self.points.append((joint, found.getContactGeom(index), [first, second]))
            self.count += 1

    def contacts(self) -> list[JsonObject]:
        """The contacts of the last step.  ODE computes no forces between bodies that sleep: they are 0."""
        rows = []
        for joint, geom, pair in self.points:
            normal = -np.array(geom.getNormal())
            awake = any((body := self._body(given)) is not None and body.isEnabled() for given in pair)
            force = np.array(joint.getFeedback().getForce1()) if awake else np.zeros(3)
            # ODE swaps the bodies of a joint whose first body is static; in either case contacts push apart.
            force = force if force @ normal >= 0.0 else -force
            rows.append(
                {
                    "bodies": [given["index"] for given in pair],
                    "position": list(geom.getPos()),
                    "normal": normal.tolist(),
                    "depth": geom.getDepth(),
                    "force": force.tolist(),
                }
            )
        return rows

    def _body(self, given: JsonObject) -> Any:
        """The body of a geom; None if it is static."""
        return None if given["body"] < 0 else self.host.bodies[given["body"]]

    def _collides(self, one: JsonObject, other: JsonObject) -> bool:
        pair = frozenset((one["body"], other["body"]))
        if len(pair) == 1 or one["filter_bits"] & other["filter_bits"]:  # one body, or both static
            return False
        if one["model"] != other["model"]:
            return True
        return self.connected is not None and pair not in self.connected

    def _surface(self) -> Any:
        surface = self.host.ode.OdeSurfaceParameters()
        # Without the approximation, the coefficient would be a force in N.
        surface.setMode(self.host.ode.OdeSurfaceParameters.MFContactApprox1)
        surface.setMu(self.friction)
        return surface


def _connected(given: JsonObject) -> set[frozenset[int]] | None:
    """Pairs of connected bodies that do not collide; None if bodies of one model never collide."""
    return None if given["connected"] is None else {frozenset(pair) for pair in given["connected"]}


def _place(thing: Any, pose: list[float]) -> None:
    from panda3d.core import LQuaternionf

    thing.setPosition(*pose[:3])
    thing.setQuaternion(LQuaternionf(*pose[3:]))


def _mesh(ode: Any, vertices: list[list[float]], triangles: list[list[int]]) -> Any:
    """Triangles as a node of Panda3D's scene graph: its bindings accept nothing else."""
    from panda3d import core

    data = core.GeomVertexData("mesh", core.GeomVertexFormat.getV3(), core.Geom.UHStatic)
    writer = core.GeomVertexWriter(data, "vertex")
    for vertex in vertices:
        writer.addData3(*vertex)
    faces = core.GeomTriangles(core.Geom.UHStatic)
    for triangle in triangles:
        faces.addVertices(*triangle)
    surface = core.Geom(data)
    surface.addPrimitive(faces)
    node = core.GeomNode("mesh")
    node.addGeom(surface)
    return ode.OdeTriMeshData(core.NodePath(node), False)


_CLASSES = {
    "hinge": "OdeHingeJoint",
    "slider": "OdeSliderJoint",
    "universal": "OdeUniversalJoint",
    "ball": "OdeBallJoint",
    "fixed": "OdeFixedJoint",
    "hinge2": "OdeHinge2Joint",
    "amotor": "OdeAMotorJoint",
    "lmotor": "OdeLMotorJoint",
}
_ANCHORED = ("hinge", "universal", "ball", "hinge2")
_GEOMS = {
    "box": "OdeBoxGeom",
    "sphere": "OdeSphereGeom",
    "cylinder": "OdeCylinderGeom",
    "capsule": "OdeCappedCylinderGeom",
    "plane": "OdePlaneGeom",
}

if __name__ == "__main__":
    main()
