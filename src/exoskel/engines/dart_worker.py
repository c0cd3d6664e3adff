"""DART in a process of its own.

Requests: {"load": path, "limits": bool or null, "step": s or null}, {"step": n},
{"state": true}.
"""

from __future__ import annotations

from typing import Any

from exoskel.engines.child import serve


def main() -> None:
    import dartpy

    serve(_World(dartpy).answer)


class _World:
    def __init__(self, dartpy: Any) -> None:
        self.dartpy = dartpy
        self.world: Any = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if "load" in request:
            return self._load(request)
        for _ in range(int(request.get("step", 0))):
            self.world.step()
        return self._state()

    def _load(self, request: dict[str, Any]) -> dict[str, Any]:
        parsers = getattr(self.dartpy, "utils", None) or self.dartpy.io
        self.world = parsers.SkelParser.readWorld(request["load"])
        if self.world is None:
            return {"failed": "DART cannot read the world"}
        if request.get("step"):
            self.world.setTimeStep(request["step"])
        for skeleton in self._skeletons():
            for index in range(skeleton.getNumJoints()):
                joint = skeleton.getJoint(index)
                limits = request["limits"].get(joint.getName())
                if limits is not None:
                    joint.setLimitEnforcement(limits)
        return {"version": getattr(self.dartpy, "__version__", "6"), **self._state()}

    def _skeletons(self) -> list[Any]:
        return [self.world.getSkeleton(i) for i in range(self.world.getNumSkeletons())]

    def _state(self) -> dict[str, Any]:
        skeletons = self._skeletons()
        bodies = [s.getBodyNode(i) for s in skeletons for i in range(s.getNumBodyNodes())]
        return {
            "time": self.world.getTime(),
            "positions": [float(q) for s in skeletons for q in s.getPositions()],
            "velocities": [float(v) for s in skeletons for v in s.getVelocities()],
            "poses": [body.getWorldTransform().matrix().tolist() for body in bodies],
            "energy": [
                sum(float(s.computeKineticEnergy()) for s in skeletons),
                sum(float(s.computePotentialEnergy()) for s in skeletons),
            ],
            "contacts": self.world.getLastCollisionResult().getNumContacts(),
        }


if __name__ == "__main__":
    main()
