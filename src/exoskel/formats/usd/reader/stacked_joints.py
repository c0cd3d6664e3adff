"""Chains of joints with bodies without mass in between.

Several joints that connect the same two bodies are constraints in UsdPhysics.  In MuJoCo's and Newton's schemas each of
them adds its axis: they become a chain.  So does a generic joint whose free axes are those of no joint of a scene.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from exoskel.diagnostics import pluralize
from exoskel.formats.usd.reader.joint_prims import is_supported
from exoskel.formats.usd.reader.joints import free_axes
from exoskel.formats.usd.reader.prims import (
    ARTICULATION,
    PART,
    BodySource,
    JointEnds,
    ModelSource,
    PrimIndex,
    is_in,
    joint_ends,
)
from exoskel.formats.usd.reader.shape_prims import ReportProblem
from exoskel.formats.usd.reader.stage import StagePrim
from exoskel.scene.item import Names, unique_name

_ADDS = "newton:jointsAddMobility"
_MUJOCO_JOINT = "MjcJointAPI"
_SINGLE = frozenset({"PhysicsRevoluteJoint", "PhysicsPrismaticJoint", "PhysicsSphericalJoint"})


def add_links(index: PrimIndex, model: ModelSource, report: ReportProblem) -> None:
    """Add bodies without mass between the joints of stacks, and between the axes of generic joints."""
    chains = _Chains(index, model)
    for stack in chains.stacks():
        name, count = chains.add(stack), pluralize(len(stack), "joint")
        report("US106.stacked", index.node(stack[0]), name=name, count=count)
    joints: list[StagePrim] = []
    for joint in model.joints:
        axes = free_axes(joint.values) if joint.type == "PhysicsJoint" else ()
        if is_supported(axes) or not chains.may_contain(joint):
            joints.append(joint)
            continue
        parts = [_along(joint, name) for name in axes]
        joints += parts
        chains.add(parts)
        report("US106.split", index.node(joint), name=joint.title, axes=", ".join(axes))
    model.joints = joints


def _along(joint: StagePrim, axis: str) -> StagePrim:
    """A part of a generic joint: with one of its free axes."""
    values = dict(joint.values)
    for other in free_axes(joint.values):
        if other != axis:
            values |= {f"limit:{other}:physics:low": 1.0, f"limit:{other}:physics:high": -1.0}
    targets = {name: paths for name, paths in joint.targets.items() if name.startswith("physics:")}
    title, path = f"{joint.title}_{axis}", f"{joint.path}{PART}{axis}"
    return structs.replace(joint, path=path, display_name=title, values=values, targets=targets)


class _Chains:
    """The chains of one model."""

    def __init__(self, index: PrimIndex, model: ModelSource) -> None:
        self.index = index
        self.model = model
        self.bodies = {body.path: body for body in model.bodies}
        self._names = Names(body.name for body in model.bodies)
        self._counts: dict[str, int] = {}
        """How many bodies without mass there are, by the paths of the bodies after them."""

    def add(self, joints: list[StagePrim]) -> str:
        """Add bodies between joints; returns the name of the body that they move."""
        first, second = self._ends(joints[0])
        body, here = self.bodies[second], first
        for joint in joints[:-1]:
            number = self._counts[second] = self._counts.get(second, -1) + 1
            name = unique_name(f"{body.name}_link{number}", self._names)
            self._names.add(name)
            link = BodySource(name, body.prim, is_own=False, link=number)
            self.model.bodies.append(link)
            self.model.ends[joint.path] = JointEnds(here, link.path, is_inner=here != first)
            here = link.path
        self.model.ends[joints[-1].path] = JointEnds(here, second, is_inner=True)
        return body.name

    def may_contain(self, joint: StagePrim) -> bool:
        """Whether a joint may be part of a chain to its second body."""
        first, second = self._ends(joint)
        is_loop = bool(joint.values.get("physics:excludeFromArticulation", False))
        is_enabled = joint.values.get("physics:jointEnabled") is not False
        return is_enabled and not is_loop and first != second and second in self.bodies

    def _ends(self, joint: StagePrim) -> tuple[str, str]:
        """The paths of the bodies of a joint; empty: the world."""
        first, second = joint_ends(self.index, joint)
        return (first.path if first is not None else "", second.path if second is not None else "")

    def stacks(self) -> Iterator[list[StagePrim]]:
        """The joints between two bodies, in the order of the file, if each of them adds an axis."""
        between: dict[tuple[str, str], list[StagePrim]] = {}
        for joint in self.model.joints:
            if joint.type in _SINGLE and self.may_contain(joint):
                between.setdefault(self._ends(joint), []).append(joint)
        for (_, second), joints in between.items():
            if len(joints) > 1 and self._add_mobility(second, joints):
                yield joints

    def _add_mobility(self, body: str, joints: list[StagePrim]) -> bool:
        """Whether the joints of a body add axes: Newton's schema states it, and MuJoCo's implies it."""
        roots = (prim for prim in self.index.prims_with(_ADDS) if ARTICULATION in prim.apis)
        stated = [prim.values[_ADDS] for prim in roots if is_in(body, prim.path)]
        return bool(stated[-1]) if stated else all(_MUJOCO_JOINT in joint.apis for joint in joints)
