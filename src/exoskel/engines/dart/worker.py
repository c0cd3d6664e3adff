"""DART in its own process.

Requests: {"load": path, "limits": {joint: bool}, "step": s or null, "friction": number or null}, {"step": n,
"pull": body, point and target, or null, "wrenches": rows of body, force, point and torque}, {"trial": true, …} for
the accelerations and reactions of such a step, {"twists": true}, {"contacts": true}, {"set": "positions" |
"velocities" | "forces" | "commands", "values": […]}, {"time": s}, {"dynamics": true}, {"jacobian": number of the body,
"point": […]}.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from exoskel.engines.engine_process import serve
from exoskel.engines.interface import pull_force
from exoskel.spatial import Array


def main() -> None:
    import dartpy

    serve(_DartWorkerWorld(dartpy).answer)


class _DartWorkerWorld:
    def __init__(self, dartpy: Any) -> None:
        self.dartpy = dartpy
        self.world: Any = None
        self.inputs: dict[str, list[float]] = {}
        self.pull: dict[str, Any] | None = None
        self.wrenches: list[dict[str, Any]] = []
        self.known_contacts: list[dict[str, Any]] | None = None
        """The contacts of the last step, if a trial step was taken since."""

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if "load" in request:
            return self._load(request)
        if "dynamics" in request:
            return self._dynamics()
        if "jacobian" in request:
            return self._jacobian(request["jacobian"], request["point"])
        if "contacts" in request:
            return {"contacts": self._contacts() if self.known_contacts is None else self.known_contacts}
        if "twists" in request:
            bodies = self._bodies()
            return {"twists": [[*b.getAngularVelocity(), *b.getLinearVelocity()] for b in bodies]}
        self.pull, self.wrenches = request.get("pull"), request.get("wrenches", [])
        if "trial" in request:
            return self._trial()
        if "set" in request:
            self._set(request["set"], request["values"])
        elif "time" in request:
            self.world.setTime(request["time"])
        for _ in range(int(request.get("step", 0))):
            self._take_step()
        return self._state()

    def _take_step(self) -> None:
        self.known_contacts = None
        self._drive()
        self._push()
        self._pull()
        self.world.step()

    def _load(self, request: dict[str, Any]) -> dict[str, Any]:
        parsers = getattr(self.dartpy, "utils", None) or self.dartpy.io
        self.world = parsers.SkelParser.readWorld(request["load"])
        self.inputs = {}
        if self.world is None:
            return {"failed": "DART cannot read the world"}
        if request.get("step"):
            self.world.setTimeStep(request["step"])
        for skeleton in self._skeletons():
            for index in range(skeleton.getNumJoints()):
                joint = skeleton.getJoint(index)
                limits = request["limits"].get(skeleton.getName(), {}).get(joint.getName())
                if limits is not None:
                    joint.setLimitEnforcement(limits)
        self._switch_collisions_off(request["collidable"])
        if request.get("friction") is not None:
            self._set_friction(request["friction"])
        return {"version": getattr(self.dartpy, "__version__", "6"), **self._state()}

    def _switch_collisions_off(self, collidable: list[list[bool]]) -> None:
        """Switch collisions off for the shapes marked False, by body and collision shape."""
        for body, flags in zip(self._bodies(), collidable, strict=True):
            nodes = [body.getShapeNode(index) for index in range(body.getNumShapeNodes())]
            for node, collides in zip([n for n in nodes if n.hasCollisionAspect()], flags, strict=False):
                if not collides:
                    node.removeCollisionAspect()

    def _set_friction(self, coefficient: float) -> None:
        for body in self._bodies():
            for index in range(body.getNumShapeNodes()):
                dynamics = body.getShapeNode(index).getDynamicsAspect()
                if dynamics is not None:
                    dynamics.setFrictionCoeff(coefficient)

    def _skeletons(self) -> list[Any]:
        return [self.world.getSkeleton(i) for i in range(self.world.getNumSkeletons())]

    def _bodies(self) -> list[Any]:
        return [s.getBodyNode(i) for s in self._skeletons() for i in range(s.getNumBodyNodes())]

    # --- driving --------------------------------------------------------------------------------------

    def _set(self, what: str, values: list[float]) -> None:
        if what in ("forces", "commands"):
            self.inputs[what] = values
            return
        first = 0
        for skeleton in self._skeletons():
            count = skeleton.getNumDofs()
            part = values[first : first + count]
            skeleton.setPositions(part) if what == "positions" else skeleton.setVelocities(part)
            first += count

    def _drive(self) -> None:
        """Set the commands, which DART clears after each step; an external force is a command in DART, too."""
        if not self.inputs:
            return
        first = 0
        for skeleton in self._skeletons():
            count = skeleton.getNumDofs()
            commands, forces = (self.inputs.get(n, [])[first : first + count] for n in ("commands", "forces"))
            # Without commands, those that DART has act: initial ones, and velocities that were set.
            combined = list(commands) or list(skeleton.getCommands())
            for index in range(skeleton.getNumJoints() if forces else 0):
                joint = skeleton.getJoint(index)
                if joint.getActuatorType() == self.dartpy.dynamics.ActuatorType.FORCE:
                    for number in range(joint.getNumDofs()):
                        index_in_skeleton = joint.getIndexInSkeleton(number)
                        combined[index_in_skeleton] += forces[index_in_skeleton]
            skeleton.setCommands(combined)
            first += count

    def _joint_wrenches(self) -> Iterator[tuple[Any, Array]]:
        """The body below each passive joint and servo on which forces act, and their torque and force in its frame.

        DART ignores the generalised forces of these joints; a pair of wrenches on the two bodies does the same.
        """
        kinds = self.dartpy.dynamics.ActuatorType
        first = 0
        for skeleton in self._skeletons() if any(self.inputs.get("forces", [])) else []:
            for joint in (skeleton.getJoint(index) for index in range(skeleton.getNumJoints())):
                if joint.getNumDofs() and joint.getActuatorType() in (kinds.PASSIVE, kinds.SERVO, kinds.MIMIC):
                    dofs = [first + joint.getIndexInSkeleton(number) for number in range(joint.getNumDofs())]
                    forces = np.array(self.inputs["forces"])[dofs]
                    if forces.any():
                        yield joint.getChildBodyNode(), np.linalg.pinv(joint.getRelativeJacobian()).T @ forces
            first += skeleton.getNumDofs()

    def _push(self) -> None:
        """Apply forces and torques to bodies for one step: DART clears them after it."""
        for child, wrench in self._joint_wrenches():
            child.addExtTorque(wrench[:3], True)
            child.addExtForce(wrench[3:], np.zeros(3), True, True)
            parent, place = child.getParentBodyNode(), child.getWorldTransform()
            if parent is not None:
                parent.addExtTorque(place.rotation() @ -wrench[:3], False)
                parent.addExtForce(place.rotation() @ -wrench[3:], place.translation(), False, False)
        bodies = self._bodies() if self.wrenches else []
        for one in self.wrenches:
            body = bodies[one["body"]]
            body.addExtForce(one["force"], one["point"], False, True)
            body.addExtTorque(one["torque"], False)

    def _pull(self) -> None:
        """Pull a body to its target for one step: DART clears forces after it."""
        if self.pull is None:
            return
        body, point = self._bodies()[self.pull["body"]], np.array(self.pull["point"])
        skeleton = body.getSkeleton()
        if not skeleton.isMobile() or not skeleton.getNumDofs():
            return
        jacobian = skeleton.getLinearJacobian(body, point)
        mobility = float(np.sum(jacobian * (jacobian @ skeleton.getInvMassMatrix())))
        if mobility > 0.0:
            position = body.getWorldTransform().multiply(point)
            force = pull_force(3.0 / mobility, np.array(self.pull["target"]) - position, body.getLinearVelocity(point))
            body.addExtForce(force, point, False, True)

    # --- answers --------------------------------------------------------------------------------------

    def _dynamics(self) -> dict[str, Any]:
        skeletons = self._skeletons()
        commands = [s.getCommands() for s in skeletons]
        found = {
            "mass": [s.getMassMatrix().tolist() for s in skeletons],
            "bias": [float(f) for s in skeletons for f in s.getCoriolisAndGravityForces()],
            "gravity": [float(f) for s in skeletons for f in s.getGravityForces()],
        }
        for skeleton, before in zip(skeletons, commands, strict=True):
            self._restore_commands(skeleton, before)  # a mass matrix replaces those of acceleration actuators
        return found

    def _trial(self) -> dict[str, Any]:
        """Take a step, measure what it did, and return to the state before it."""
        contacts = self._contacts() if self.known_contacts is None else self.known_contacts
        skeletons, bodies, time = self._skeletons(), self._bodies(), self.world.getTime()
        before = [(s.getPositions(), s.getVelocities(), s.getCommands()) for s in skeletons]
        joint_wrenches = {self._name(body): wrench for body, wrench in self._joint_wrenches()}
        self._take_step()
        rates = [
            (s.getVelocities() - velocities) / self.world.getTimeStep()
            for s, (_, velocities, _) in zip(skeletons, before, strict=True)
        ]
        transmitted = [np.array(body.getBodyForce()) + joint_wrenches.get(self._name(body), 0.0) for body in bodies]
        for skeleton, (positions, velocities, commands), rate in zip(skeletons, before, rates, strict=True):
            skeleton.setPositions(positions)
            skeleton.setVelocities(velocities)
            skeleton.setAccelerations(rate)
            self._restore_commands(skeleton, commands)
        self.world.setTime(time)
        self.known_contacts = contacts
        rotations = [body.getWorldTransform().rotation() for body in bodies]
        return {
            "accelerations": [float(a) for rate in rates for a in rate],
            "bodies": [[*b.getAngularAcceleration(), *b.getLinearAcceleration()] for b in bodies],
            "reactions": [[*(t @ f[:3]), *(t @ f[3:])] for t, f in zip(rotations, transmitted, strict=True)],
        }

    @staticmethod
    def _name(body: Any) -> tuple[str, str]:
        return body.getSkeleton().getName(), body.getName()

    def _restore_commands(self, skeleton: Any, commands: Any) -> None:
        """Set commands again, also initial ones beyond the limits, to which `setCommand` clips."""
        kinds = self.dartpy.dynamics.ActuatorType
        for joint in (skeleton.getJoint(index) for index in range(skeleton.getNumJoints())):
            change = {
                kinds.FORCE: joint.setForce,
                kinds.ACCELERATION: joint.setAcceleration,
                kinds.VELOCITY: joint.setVelocity,
            }.get(joint.getActuatorType(), joint.setCommand)
            for number in range(joint.getNumDofs()):
                command = commands[joint.getIndexInSkeleton(number)]
                if joint.getCommand(number) == command:
                    continue
                is_driven = change == joint.setVelocity and joint.getVelocity(number) != command
                for value in (command + 1.0, command):  # DART does nothing if only the command differs
                    (joint.setCommand if is_driven else change)(number, value)

    def _jacobian(self, number: int, point: list[float]) -> dict[str, Any]:
        body = self._bodies()[number]
        first = 0
        for skeleton in self._skeletons():
            if skeleton.getName() == body.getSkeleton().getName():
                return {"first": first, "block": skeleton.getWorldJacobian(body, point).tolist()}
            first += skeleton.getNumDofs()
        return {"failed": "unknown body"}

    def _weightless_potential(self, moving: list[Any]) -> float:
        """The potential energy of bodies without gravity, J, which DART counts nevertheless."""
        bodies = [s.getBodyNode(i) for s in moving for i in range(s.getNumBodyNodes())]
        gravity = self.world.getGravity()
        return float(sum(b.getMass() * gravity.dot(b.getCOM()) for b in bodies if not b.getGravityMode()))

    def _contacts(self) -> list[dict[str, Any]]:
        """The contacts of the last step; DART's normals and forces are those on the first body."""
        numbers = {(b.getSkeleton().getName(), b.getName()): i for i, b in enumerate(self._bodies())}
        found = self.world.getLastCollisionResult()
        rows = []
        for one in (found.getContact(i) for i in range(found.getNumContacts())):
            pair = [o.getShapeFrame().getBodyNode() for o in (one.collisionObject1, one.collisionObject2)]
            rows.append(
                {
                    "bodies": [numbers[body.getSkeleton().getName(), body.getName()] for body in pair],
                    "position": one.point.tolist(),
                    "normal": (-one.normal).tolist(),
                    "depth": one.penetrationDepth,
                    "force": (-one.force).tolist(),
                }
            )
        return rows

    def _state(self) -> dict[str, Any]:
        skeletons = self._skeletons()
        moving = [s for s in skeletons if s.isMobile()]
        return {
            "time": self.world.getTime(),
            "positions": [float(q) for s in skeletons for q in s.getPositions()],
            "velocities": [float(v) for s in skeletons for v in s.getVelocities()],
            "poses": [body.getWorldTransform().matrix().tolist() for body in self._bodies()],
            "energy": [
                sum(float(s.computeKineticEnergy()) for s in moving),
                sum(float(s.computePotentialEnergy()) for s in moving) + self._weightless_potential(moving),
            ],
            "contacts": len(self.known_contacts)
            if self.known_contacts is not None
            else self.world.getLastCollisionResult().getNumContacts(),
        }


if __name__ == "__main__":
    main()
