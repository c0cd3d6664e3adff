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

_ADDS = "newton:jointsAddMobility"
_MUJOCO_JOINT = "MjcJointAPI"
_SINGLE = frozenset({"PhysicsRevoluteJoint", "PhysicsPrismaticJoint", "PhysicsSphericalJoint"})


def add_links(index: PrimIndex, model: ModelSource, report: ReportProblem) -> None:
    """Add bodies without mass between the joints of each stack of a model."""
    for stack in _stacks(index, model):
        name, count = _add_chain(index, model, stack), pluralize(len(stack), "joint")
        report("US106.stacked", index.node(stack[0]), name=name, count=count)
    for joint in [one for one in model.joints if one.type == "PhysicsJoint" and one.path not in model.ends]:
        axes = free_axes(joint.values)
        if is_supported(axes) or not _is_in_tree(index, model, joint):
            continue
        parts = [_along(joint, name) for name in axes]
        place = model.joints.index(joint)
        model.joints[place : place + 1] = parts
        _add_chain(index, model, parts)
        report("US106.split", index.node(joint), name=joint.title, axes=", ".join(axes))


def _add_chain(index: PrimIndex, model: ModelSource, joints: list[StagePrim]) -> str:
    """Add bodies between joints; returns the name of the body that they move."""
    first, second = _ends(index, joints[0])
    body = next(one for one in model.bodies if one.path == second)
    known = sum(one.prim.path == second for one in model.bodies) - 1
    ends = [first, *(f"{second}{PART}{known + number}" for number in range(len(joints) - 1)), second]
    for number, joint in enumerate(joints):
        model.ends[joint.path] = JointEnds(ends[number], ends[number + 1], is_inner=number > 0)
        if number:
            link = known + number - 1
            model.bodies.append(BodySource(f"{body.name}_link{link}", body.prim, is_own=False, link=link))
    return body.name


def _along(joint: StagePrim, axis: str) -> StagePrim:
    """A part of a generic joint: with one of its free axes."""
    values = dict(joint.values)
    for other in free_axes(joint.values):
        if other != axis:
            values |= {f"limit:{other}:physics:low": 1.0, f"limit:{other}:physics:high": -1.0}
    targets = {name: paths for name, paths in joint.targets.items() if name.startswith("physics:")}
    title, path = f"{joint.title}_{axis}", f"{joint.path}{PART}{axis}"
    return structs.replace(joint, path=path, display_name=title, values=values, targets=targets)


def _is_in_tree(index: PrimIndex, model: ModelSource, joint: StagePrim) -> bool:
    """Whether a joint may be part of a chain to its second body."""
    first, second = _ends(index, joint)
    is_loop = bool(joint.values.get("physics:excludeFromArticulation", False))
    is_enabled = joint.values.get("physics:jointEnabled") is not False
    return is_enabled and not is_loop and first != second and any(one.path == second for one in model.bodies)


def _ends(index: PrimIndex, joint: StagePrim) -> tuple[str, str]:
    """The paths of the bodies of a joint; empty: the world."""
    first, second = joint_ends(index, joint)
    return (first.path if first is not None else "", second.path if second is not None else "")


def _stacks(index: PrimIndex, model: ModelSource) -> Iterator[list[StagePrim]]:
    """The joints between two bodies, in the order of the file, if each of them adds an axis."""
    between: dict[tuple[str, str], list[StagePrim]] = {}
    for joint in model.joints:
        if joint.type in _SINGLE and _is_in_tree(index, model, joint):
            between.setdefault(_ends(index, joint), []).append(joint)
    for (_, second), joints in between.items():
        if len(joints) > 1 and _add_mobility(index, second, joints):
            yield joints


def _add_mobility(index: PrimIndex, body: str, joints: list[StagePrim]) -> bool:
    """Whether the joints of a body add axes: Newton's schema states it, and MuJoCo's implies it."""
    roots = [prim for prim in index.prims if ARTICULATION in prim.apis and _ADDS in prim.values]
    stated = [prim.values[_ADDS] for prim in roots if is_in(body, prim.path)]
    return bool(stated[-1]) if stated else all(_MUJOCO_JOINT in joint.apis for joint in joints)
