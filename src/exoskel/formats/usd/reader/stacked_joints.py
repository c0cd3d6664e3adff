"""Several joints that connect the same two bodies.

In UsdPhysics each of them is a constraint.  In MuJoCo's and Newton's schemas each of them adds its axis: they become a
chain of joints with bodies without mass in between.
"""

from __future__ import annotations

from collections.abc import Iterator

from exoskel.diagnostics import pluralize
from exoskel.formats.usd.reader.prims import (
    ARTICULATION,
    BodySource,
    JointEnds,
    ModelSource,
    PrimIndex,
    is_in,
    joint_ends,
)
from exoskel.formats.usd.reader.shape_prims import ReportProblem
from exoskel.formats.usd.reader.stage import StagePrim

_ADDS = "newton:jointsAddMobility"
_MUJOCO_JOINT = "MjcJointAPI"
_SINGLE = frozenset({"PhysicsRevoluteJoint", "PhysicsPrismaticJoint", "PhysicsSphericalJoint"})


def add_links(index: PrimIndex, model: ModelSource, report: ReportProblem) -> None:
    """Add bodies without mass between the joints of each stack of a model."""
    by_path = {body.path: body for body in model.bodies}
    for stack in _stacks(index, model):
        first, second = _ends(index, stack[0])
        body = by_path[second]
        report("US106.stacked", index.node(stack[0]), name=body.name, count=pluralize(len(stack), "joint"))
        ends = [first, *(f"{second}#{number}" for number in range(len(stack) - 1)), second]
        for number, joint in enumerate(stack):
            model.ends[joint.path] = JointEnds(ends[number], ends[number + 1], is_inner=number > 0)
            if number:
                name = f"{body.name}_link{number - 1}"
                model.bodies.append(BodySource(name, body.prim, is_own=False, link=number - 1))


def _ends(index: PrimIndex, joint: StagePrim) -> tuple[str, str]:
    """The paths of the bodies of a joint; empty: the world."""
    first, second = joint_ends(index, joint)
    return (first.path if first is not None else "", second.path if second is not None else "")


def _stacks(index: PrimIndex, model: ModelSource) -> Iterator[list[StagePrim]]:
    """The joints between two bodies, in the order of the file, if each of them adds an axis."""
    between: dict[tuple[str, str], list[StagePrim]] = {}
    known = {body.path for body in model.bodies}
    for joint in model.joints:
        ends = _ends(index, joint)
        is_loop = bool(joint.values.get("physics:excludeFromArticulation", False))
        if joint.type in _SINGLE and not is_loop and ends[0] != ends[1] and ends[1] in known:
            between.setdefault(ends, []).append(joint)
    for (_, second), joints in between.items():
        if len(joints) > 1 and _add_mobility(index, second, joints):
            yield joints


def _add_mobility(index: PrimIndex, body: str, joints: list[StagePrim]) -> bool:
    """Whether the joints of a body add axes: Newton's schema states it, and MuJoCo's implies it."""
    roots = [prim for prim in index.prims if ARTICULATION in prim.apis and _ADDS in prim.values]
    stated = [prim.values[_ADDS] for prim in roots if is_in(body, prim.path)]
    return bool(stated[-1]) if stated else all(_MUJOCO_JOINT in joint.apis for joint in joints)
