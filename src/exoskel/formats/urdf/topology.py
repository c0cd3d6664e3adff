"""The tree of links: every link has one parent joint, or is a root."""

from __future__ import annotations

from collections.abc import Mapping

from exoskel.diagnostics import did_you_mean
from exoskel.formats.urdf.context import Context
from exoskel.formats.urdf.joints import JointSpec


def find_parent_joints(context: Context, links: Mapping[str, int], specs: list[JointSpec]) -> dict[str, JointSpec]:
    """Find the parent joint of each link, by the link's name; `links` are node numbers by name.

    A joint is reported and ignored if a link is unknown, if its child has a parent joint already, or if it closes a
    cycle.
    """
    parent_joints: dict[str, JointSpec] = {}
    for spec in specs:
        ends = (("parent", spec.parent), ("child", spec.child))
        missing = next(((end, name) for end, name in ends if name not in links), None)
        if missing is not None:
            end, name = missing
            hint = did_you_mean(name, links)
            context.report("UR302", spec.number, end, joint=spec.name, end=end, link=name, hint=hint)
        elif spec.child in parent_joints:
            context.report("UR303", spec.number, link=spec.child, first=parent_joints[spec.child].name, joint=spec.name)
        else:
            parent_joints[spec.child] = spec
    _cut_cycles(context, parent_joints, links)
    return parent_joints


def _cut_cycles(context: Context, parent_joints: dict[str, JointSpec], links: Mapping[str, int]) -> None:
    checked: set[str] = set()
    for start in links:
        path: list[str] = []
        on_path: set[str] = set()
        at = start
        while at not in checked and at not in on_path and at in parent_joints:
            path.append(at)
            on_path.add(at)
            at = parent_joints[at].parent
        if at in on_path:
            last = max((parent_joints[link] for link in path[path.index(at) :]), key=lambda spec: spec.number)
            context.report("UR304", last.number, joint=last.name, link=last.child)
            del parent_joints[last.child]
        checked.update(path)
        checked.add(at)


def topological_order(links: Mapping[str, int], parent_joints: Mapping[str, JointSpec]) -> list[str]:
    """Parents before children, otherwise in the order of the document."""
    order: dict[str, None] = {}
    for start in links:
        path = [start]
        while path[-1] not in order and path[-1] in parent_joints:
            path.append(parent_joints[path[-1]].parent)
        for link in reversed(path):
            order.setdefault(link)
    return list(order)
