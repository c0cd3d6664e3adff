"""Groups bodies that are connected by joints into models with a kinematic tree each.

The rule is fixed, because names and coordinates depend on it.  Bodies connected by joints form a model, named
after its first body in document order.  If a joint connects the model to the environment, the environment is the
root; otherwise the first body gets a free joint `NAME_root`.  The tree is built breadth first, with joints in
document order.  The remaining joints close loops.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from exoskel.formats.xode.joints import ENVIRONMENT, OdeJoint


class Assembly:
    """One model: its bodies by number, in tree order, and its joints.

    `tree` holds (link, parent, child) with -1 for the environment, parents first.  `root` is the body with a free
    joint (-1: no body).  `loops` are the remaining joints.
    """

    def __init__(self, members: list[int], links: list[OdeJoint]) -> None:
        self.first = min(members)
        self.root = ENVIRONMENT
        self.bodies: list[int] = []
        self.tree: list[tuple[OdeJoint, int, int]] = []
        self.loops: list[OdeJoint] = []
        self._build_tree(links)

    def _build_tree(self, links: list[OdeJoint]) -> None:
        by_body: dict[int, list[OdeJoint]] = {}
        for link in links:
            by_body.setdefault(link.first, []).append(link)
            by_body.setdefault(link.second, []).append(link)
        reached: set[int] = set()
        start = ENVIRONMENT
        if ENVIRONMENT not in by_body:
            start = self.root = self.first
            self.bodies.append(start)
        reached.add(start)
        used: set[int] = set()
        queue = deque([start])
        while queue:
            body = queue.popleft()
            for link in by_body.get(body, ()):
                other = link.second if link.first == body else link.first
                if other not in reached:
                    reached.add(other)
                    used.add(id(link))
                    self.tree.append((link, body, other))
                    self.bodies.append(other)
                    queue.append(other)
        self.loops = [link for link in links if id(link) not in used]


def assemble(bodies: Sequence[int], links: Sequence[OdeJoint]) -> list[Assembly]:
    """The models formed by bodies of one world, in the order of their first bodies."""
    representative = {body: body for body in bodies}

    def find(body: int) -> int:
        while representative[body] != body:
            representative[body] = representative[representative[body]]
            body = representative[body]
        return body

    for link in links:
        if link.first >= 0 and link.second >= 0:
            first, second = find(link.first), find(link.second)
            representative[max(first, second)] = min(first, second)
    members: dict[int, list[int]] = {}
    for body in bodies:
        members.setdefault(find(body), []).append(body)
    own_links: dict[int, list[OdeJoint]] = {}
    for link in links:
        own_links.setdefault(find(link.first if link.first >= 0 else link.second), []).append(link)
    return [Assembly(group, own_links.get(first, [])) for first, group in sorted(members.items())]
