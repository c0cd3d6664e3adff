"""The tree that joints make of links: every link hangs on one joint, or on nothing."""

from __future__ import annotations

from collections.abc import Mapping

from exoskel.diagnostics import did_you_mean
from exoskel.formats.urdf.context import Context
from exoskel.formats.urdf.joints import Tie


def holders(context: Context, links: Mapping[str, int], ties: list[Tie]) -> dict[str, Tie]:
    """The joint that holds each link, by the link's name; `links` are node numbers by name.

    Joints that name no link, hold a link that is held already, or close a circle are reported and left out.
    """
    held: dict[str, Tie] = {}
    for tie in ties:
        missing = next(((end, n) for end, n in (("parent", tie.parent), ("child", tie.child)) if n not in links), None)
        if missing is not None:
            end, name = missing
            hint = did_you_mean(name, links)
            context.report("UR302", tie.number, end, joint=tie.name, end=end, link=name, hint=hint)
        elif tie.child in held:
            context.report("UR303", tie.number, link=tie.child, first=held[tie.child].name, joint=tie.name)
        else:
            held[tie.child] = tie
    _cut_circles(context, held, links)
    return held


def _cut_circles(context: Context, held: dict[str, Tie], links: Mapping[str, int]) -> None:
    sound: set[str] = set()
    for start in links:
        path: list[str] = []
        on_path: set[str] = set()
        at = start
        while at not in sound and at not in on_path and at in held:
            path.append(at)
            on_path.add(at)
            at = held[at].parent
        if at in on_path:
            last = max((held[link] for link in path[path.index(at) :]), key=lambda tie: tie.number)
            context.report("UR304", last.number, joint=last.name, link=last.child)
            del held[last.child]
        sound.update(path)
        sound.add(at)


def in_order(links: Mapping[str, int], held: Mapping[str, Tie]) -> list[str]:
    """Parents before children, otherwise in the order of the document."""
    order: dict[str, None] = {}
    for start in links:
        path = [start]
        while path[-1] not in order and path[-1] in held:
            path.append(held[path[-1]].parent)
        for link in reversed(path):
            order.setdefault(link)
    return list(order)
