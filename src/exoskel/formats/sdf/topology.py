"""The kinematic tree of a model: find loop joints, and add joints for links that have none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exoskel.scene.body import Body
from exoskel.scene.item import Names, unique_name
from exoskel.scene.joint import Joint


class JointTree:
    """The joints of one model.  `report` is called for each joint that closes a loop."""

    def __init__(self, bodies: list[Body], joints: list[Joint], report: Callable[[Joint], Any]) -> None:
        self.bodies = bodies
        self.parent_joints: dict[int, Joint] = {}
        self.loops: list[Joint] = []
        self.group = {id(body): id(body) for body in bodies}
        for joint in joints:
            if self._is_parent_joint(joint):
                self.parent_joints[id(joint.child)] = joint
            else:
                joint.loop = True
                self.loops.append(joint)
                report(joint)

    def _is_parent_joint(self, joint: Joint) -> bool:
        """Whether the joint is its child's parent joint: the first one, and not part of a cycle."""
        if id(joint.child) in self.parent_joints:
            return False
        if joint.parent is not None:
            above, below = self._root(id(joint.parent)), self._root(id(joint.child))
            if above == below:
                return False
            self.group[below] = above
        return True

    def _root(self, number: int) -> int:
        while self.group[number] != number:
            self.group[number] = self.group[self.group[number]]
            number = self.group[number]
        return number

    def add_root_joints(self, fixed: Callable[[Body], bool]) -> None:
        """Add a joint for each link without one: free, or a weld if it is fixed to the world."""
        taken = Names(joint.name for joint in (*self.parent_joints.values(), *self.loops))
        for body in self.bodies:
            if id(body) not in self.parent_joints:
                name = unique_name(f"{body.name}_root", taken)
                taken.add(name)
                self.parent_joints[id(body)] = Joint(
                    name=name,
                    kind="weld" if fixed(body) else "free",
                    child=body,
                    implicit=True,
                    document=body.document,
                    node=body.node,
                )

    def ordered(self) -> list[Joint]:
        """The parent joints in the order of their links, but parents before children; then the loop joints."""
        order: list[Joint] = []
        done: set[int] = set()
        for body in self.bodies:
            chain: list[Joint] = []
            step: Body | None = body
            while step is not None and id(step) not in done:
                done.add(id(step))
                chain.append(self.parent_joints[id(step)])
                step = self.parent_joints[id(step)].parent
            order.extend(reversed(chain))
        return [*order, *self.loops]
