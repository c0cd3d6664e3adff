"""Turns the joints of a skeleton into a forest: drops invalid ones, adds free joints, and orders them."""

from __future__ import annotations

from exoskel.formats.skel.context import DOCUMENT, Context
from exoskel.scene.body import Body
from exoskel.scene.item import Names, unique_name
from exoskel.scene.joint import Joint

ROOT_NAME = "root"


def order_joints(context: Context, bodies: dict[str, Body], joints: list[Joint]) -> list[Joint]:
    """The valid joints and the added free joints, in the order in which DART builds and names them."""
    if len(bodies) == len(joints) == 1 and joints[0].parent is None and "name" in joints[0].given:
        return joints  # one body with one joint to the world: most skeletons of large files
    ordered = _JointForest(context, bodies, joints).ordered_joints()
    _make_names_unique(context, ordered)
    return ordered


def _make_names_unique(context: Context, joints: list[Joint]) -> None:
    """Give each joint a unique name, in creation order, and report every changed name."""
    taken = Names()
    parents = {id(joint.parent) for joint in joints}
    for joint in joints:
        name = joint.name
        if name in taken:
            joint.name = unique_name(name, taken)
        taken.add(joint.name)
        if joint.implicit:
            _report_missing_joint(context, joint, is_parent=id(joint.child) in parents)
        elif "name" not in joint.given:
            context.report("SK041.missing", joint.node, element="joint", name=joint.name)
        elif joint.name != name:
            context.report(
                "SK041.repeated", joint.node, attribute="name", element="joint", name=name, renamed=joint.name
            )


def _report_missing_joint(context: Context, joint: Joint, is_parent: bool) -> None:
    """Report a body without a joint, and what DART does with it."""
    body = joint.child
    if is_parent:
        consequence = "does the same and logs errors"
    elif body.shapes or "inertia" in body.given:
        consequence = "crashes"
    else:
        consequence = "silently drops the body"
    context.report("SK074", body.node, body=body.name, joint=joint.name, consequence=consequence)


class _JointForest:
    """Builds the forest of one skeleton's joints.  `parent_joints` maps the id of a body to its parent joint."""

    def __init__(self, context: Context, bodies: dict[str, Body], joints: list[Joint]) -> None:
        self.context = context
        self.bodies = list(bodies.values())
        self.parent_joints: dict[int, Joint] = {}
        self.joints = self._valid_joints(joints)

    def ordered_joints(self) -> list[Joint]:
        """All joints, implicit ones included, parents before children.

        Take the earliest joint not yet built; build the joints of its ancestors first.  Bodies that no joint
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
                step = self.parent_joints.get(id(step.parent)) or self._free_joint(step.parent)
            order.extend(reversed(chain))
        return order + [self._free_joint(body) for body in self.bodies if id(body) not in built]

    def _valid_joints(self, joints: list[Joint]) -> list[Joint]:
        """The joints that form a forest: one for each child body, and no cycles."""
        report = self.context.report
        valid: list[Joint] = []
        for joint in joints:
            other = self.parent_joints.get(id(joint.child))
            if joint.parent is joint.child:
                report("SK073.self", joint.node, body=joint.child.name)
            elif other is not None:
                report("SK072", joint.node, body=joint.child.name, other=other.name)
            else:
                self.parent_joints[id(joint.child)] = joint
                valid.append(joint)
        return self._remove_cycles(valid)

    def _remove_cycles(self, joints: list[Joint]) -> list[Joint]:
        """Cut every cycle at its last joint in the document.  Each joint is visited once."""
        visited_in: dict[int, int] = {}
        cut: set[int] = set()
        for walk, joint in enumerate(joints):
            step: Joint | None = joint
            while step is not None and id(step) not in visited_in:
                visited_in[id(step)] = walk
                step = self._parent_joint(step)
            if step is not None and visited_in[id(step)] == walk:
                cut.add(id(self._cut_cycle(step)))
        return [joint for joint in joints if id(joint) not in cut] if cut else joints

    def _parent_joint(self, joint: Joint) -> Joint | None:
        return None if joint.parent is None else self.parent_joints.get(id(joint.parent))

    def _cut_cycle(self, member: Joint) -> Joint:
        cycle = [member]
        while (above := self._parent_joint(cycle[-1])) is not None and above is not member:
            cycle.append(above)
        last = max(cycle, key=lambda joint: joint.node)
        names = ", ".join(f"'{joint.child.name}'" for joint in cycle)
        self.context.report("SK073.cycle", last.node, bodies=names)
        del self.parent_joints[id(last.child)]
        return last

    def _free_joint(self, body: Body) -> Joint:
        """The free joint of a body that has no joint."""
        return Joint(
            name=ROOT_NAME,
            kind="free",
            child=body,
            limits_enforced=not self.context.dart,
            implicit=True,
            document=DOCUMENT,
            node=body.node,
        )
