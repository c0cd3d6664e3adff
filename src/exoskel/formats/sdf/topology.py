"""From joints as listed to a forest: which of them close loops, and what holds the links that none does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exoskel.scene.body import Body
from exoskel.scene.item import Names, unique_name
from exoskel.scene.joint import Joint


class Forest:
    """The joints of one model.  `report` says of a joint that it closes a loop."""

    def __init__(self, bodies: list[Body], joints: list[Joint], report: Callable[[Joint], Any]) -> None:
        self.bodies = bodies
        self.holder: dict[int, Joint] = {}
        self.loops: list[Joint] = []
        self.group = {id(body): id(body) for body in bodies}
        for joint in joints:
            if self._holds(joint):
                self.holder[id(joint.child)] = joint
            else:
                joint.loop = True
                self.loops.append(joint)
                report(joint)

    def _holds(self, joint: Joint) -> bool:
        """Whether the joint holds its child: nothing else does, and the parent does not hang on the child."""
        if id(joint.child) in self.holder:
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

    def hold(self, fixed: Callable[[Body], bool]) -> None:
        """Give each link that no joint holds one of its own: free, or a weld if it is fixed to the world."""
        taken = Names(joint.name for joint in (*self.holder.values(), *self.loops))
        for body in self.bodies:
            if id(body) not in self.holder:
                name = unique_name(f"{body.name}_root", taken)
                taken.add(name)
                self.holder[id(body)] = Joint(
                    name=name,
                    kind="weld" if fixed(body) else "free",
                    child=body,
                    implicit=True,
                    document=body.document,
                    node=body.node,
                )

    def ordered(self) -> list[Joint]:
        """The holders in the order of their links, but parents before children; then the loops."""
        order: list[Joint] = []
        done: set[int] = set()
        for body in self.bodies:
            chain: list[Joint] = []
            step: Body | None = body
            while step is not None and id(step) not in done:
                done.add(id(step))
                chain.append(self.holder[id(step)])
                step = self.holder[id(step)].parent
            order.extend(reversed(chain))
        return [*order, *self.loops]
