"""From bodies tied by joints, perhaps in loops, to models with a tree each.

The rule is fixed, because names and coordinates depend on it: bodies connected by joints form a model,
called after its first body in document order.  It hangs on the environment if a joint ties it there, else
its first body floats on a free joint `NAME_root`.  The tree grows breadth first, joints in document order;
what is left closes loops.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from exoskel.formats.xode.joints import ENVIRONMENT, OdeJoint


class Assembly:
    """One model: its bodies by number, in tree order, and its joints.

    `tree` are (link, parent, child) with -1 for the environment, parents first; `root` is the body that floats
    freely (-1: none does); `loops` are what remains.
    """

    def __init__(self, members: list[int], links: list[OdeJoint]) -> None:
        self.first = min(members)
        self.root = ENVIRONMENT
        self.bodies: list[int] = []
        self.tree: list[tuple[OdeJoint, int, int]] = []
        self.loops: list[OdeJoint] = []
        self._grow(links)

    def _grow(self, links: list[OdeJoint]) -> None:
        touching: dict[int, list[OdeJoint]] = {}
        for link in links:
            touching.setdefault(link.first, []).append(link)
            touching.setdefault(link.second, []).append(link)
        reached: set[int] = set()
        start = ENVIRONMENT
        if ENVIRONMENT not in touching:
            start = self.root = self.first
            self.bodies.append(start)
        reached.add(start)
        used: set[int] = set()
        waiting = deque([start])
        while waiting:
            here = waiting.popleft()
            for link in touching.get(here, ()):
                other = link.second if link.first == here else link.first
                if other not in reached:
                    reached.add(other)
                    used.add(id(link))
                    self.tree.append((link, here, other))
                    self.bodies.append(other)
                    waiting.append(other)
        self.loops = [link for link in links if id(link) not in used]


def assemble(bodies: Sequence[int], links: Sequence[OdeJoint]) -> list[Assembly]:
    """The models that some bodies of one world make, in the order of their first bodies."""
    leader = {body: body for body in bodies}

    def find(body: int) -> int:
        while leader[body] != body:
            leader[body] = leader[leader[body]]
            body = leader[body]
        return body

    for link in links:
        if link.first >= 0 and link.second >= 0:
            one, two = find(link.first), find(link.second)
            leader[max(one, two)] = min(one, two)
    members: dict[int, list[int]] = {}
    for body in bodies:
        members.setdefault(find(body), []).append(body)
    own_links: dict[int, list[OdeJoint]] = {}
    for link in links:
        own_links.setdefault(find(link.first if link.first >= 0 else link.second), []).append(link)
    return [Assembly(group, own_links.get(first, [])) for first, group in sorted(members.items())]
