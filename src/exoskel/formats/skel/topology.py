"""From joints as listed to a forest: which joints stand, who gets an implicit root, and in which order."""

from __future__ import annotations

from exoskel.formats.skel.context import DOCUMENT, Context
from exoskel.scene.body import Body
from exoskel.scene.item import Names, unique_name
from exoskel.scene.joint import Joint

ROOT_NAME = "root"


def in_creation_order(context: Context, bodies: dict[str, Body], joints: list[Joint]) -> list[Joint]:
    """The joints that stand, with implicit roots, in the order in which DART builds and names them."""
    if len(bodies) == len(joints) == 1 and joints[0].parent is None and "name" in joints[0].given:
        return joints  # one body on one joint to the world: most skeletons of large files
    ordered = _Topology(context, bodies, joints).ordered()
    _tell_apart(context, ordered)
    return ordered


def _tell_apart(context: Context, joints: list[Joint]) -> None:
    """Give each joint a name of its own, in the order of creation, and say where it is not the written one."""
    taken = Names()
    parents = {id(joint.parent) for joint in joints}
    for joint in joints:
        name = joint.name
        if name in taken:
            joint.name = unique_name(name, taken)
        taken.add(joint.name)
        if joint.implicit:
            _report_root(context, joint, is_parent=id(joint.child) in parents)
        elif "name" not in joint.given:
            context.report("SK041.missing", joint.node, element="joint", name=joint.name)
        elif joint.name != name:
            context.report(
                "SK041.repeated", joint.node, attribute="name", element="joint", name=name, renamed=joint.name
            )


def _report_root(context: Context, joint: Joint, is_parent: bool) -> None:
    """Tell of a body that hangs on no joint, and what becomes of it in DART."""
    body = joint.child
    if is_parent:
        consequence = "does the same and logs errors"
    elif body.shapes or "inertia" in body.given:
        consequence = "crashes"
    else:
        consequence = "silently drops the body"
    context.report("SK074", body.node, body=body.name, joint=joint.name, consequence=consequence)


class _Topology:
    """The joints of one skeleton on their way to a forest."""

    def __init__(self, context: Context, bodies: dict[str, Body], joints: list[Joint]) -> None:
        self.context = context
        self.bodies = list(bodies.values())
        self.holder: dict[int, Joint] = {}
        self.joints = self._standing(joints)

    def ordered(self) -> list[Joint]:
        """All joints, implicit ones included, parents before children.

        Take the earliest joint not yet built; build what its parent hangs on first.  Bodies that no joint
        mentions come last.
        """
        order: list[Joint] = []
        built: set[int] = set()
        for joint in self.joints:
            chain: list[Joint] = []
            step: Joint | None = joint
            while step is not None and id(step.child) not in built:
                chain.append(step)
                built.add(id(step.child))
                if step.parent is None or id(step.parent) in built:
                    break
                step = self.holder.get(id(step.parent)) or self._implicit(step.parent)
            order.extend(reversed(chain))
        return order + [self._implicit(body) for body in self.bodies if id(body) not in built]

    def _standing(self, joints: list[Joint]) -> list[Joint]:
        """The joints that make a forest: one for each child, and no circles."""
        report = self.context.report
        standing: list[Joint] = []
        for joint in joints:
            other = self.holder.get(id(joint.child))
            if joint.parent is joint.child:
                report("SK073.self", joint.node, body=joint.child.name)
            elif other is not None:
                report("SK072", joint.node, body=joint.child.name, other=other.name)
            else:
                self.holder[id(joint.child)] = joint
                standing.append(joint)
        return self._without_circles(standing)

    def _without_circles(self, joints: list[Joint]) -> list[Joint]:
        """Cut every circle at its last joint in the document.  Each joint is walked over once."""
        walk_of: dict[int, int] = {}
        cut: set[int] = set()
        for walk, joint in enumerate(joints):
            step: Joint | None = joint
            while step is not None and id(step) not in walk_of:
                walk_of[id(step)] = walk
                step = self._above(step)
            if step is not None and walk_of[id(step)] == walk:
                cut.add(id(self._cut(step)))
        return [joint for joint in joints if id(joint) not in cut] if cut else joints

    def _above(self, joint: Joint) -> Joint | None:
        return None if joint.parent is None else self.holder.get(id(joint.parent))

    def _cut(self, member: Joint) -> Joint:
        circle = [member]
        while (above := self._above(circle[-1])) is not None and above is not member:
            circle.append(above)
        last = max(circle, key=lambda joint: joint.node)
        names = ", ".join(f"'{joint.child.name}'" for joint in circle)
        self.context.report("SK073.cycle", last.node, bodies=names)
        del self.holder[id(last.child)]
        return last

    def _implicit(self, body: Body) -> Joint:
        """The free joint of a body that hangs on none."""
        return Joint(
            name=ROOT_NAME,
            kind="free",
            child=body,
            limits_enforced=not self.context.dart,
            implicit=True,
            document=DOCUMENT,
            node=body.node,
        )
