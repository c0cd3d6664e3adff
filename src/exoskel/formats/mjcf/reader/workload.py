"""How much MuJoCo has to compile: elements, bodies and coordinates after expansion."""

from __future__ import annotations

from math import prod

from exoskel.formats.mjcf.reader.compiler import Workload
from exoskel.formats.mjcf.reader.fragment import Fragment
from exoskel.source.numbers import parse_decimal

_MULTIPLIED: dict[str, tuple[tuple[str, ...], float]] = {
    **dict.fromkeys(("replicate", "composite", "flexcomp"), (("count",), 1.0)),
    "general": (("actdim",), 1000.0),  # a class may apply it to many elements
    "mesh": (("params", "params"), 1.0),  # a generated mesh has the square of its resolution
    "hfield": (("nrow", "ncol"), 1.0 / 5.0),
}
"""Attributes that multiply an element, and the cost of each copy relative to an element."""


def multiplicity(fragment: Fragment) -> float:
    """The number of copies that MuJoCo creates of one element."""
    if fragment.tag not in _MULTIPLIED:
        return 1.0
    names, weight = _MULTIPLIED[fragment.tag]
    values = [value for name in names for value in fragment.attributes.get(name, "").split()]
    return max(1.0, weight * prod(max(1.0, abs(parse_decimal(value) or 0.0)) for value in values))


def measure(root: Fragment) -> Workload:
    """What MuJoCo has to compile.  Descendants are multiplied with their ancestors."""
    classes = _joint_classes(root)
    elements = bodies = dofs = entries = 0.0
    waiting = [(root, 1.0, "", 0.0)]
    while waiting:
        fragment, copies, inherited, above = waiting.pop()
        if fragment.tag in _MULTIPLIED:
            copies *= multiplicity(fragment)
        elements += copies
        if not fragment.children and fragment.tag != "body":
            continue
        inherited = fragment.attributes.get("childclass", inherited)
        if fragment.tag == "body":
            own = _own_dofs(fragment, classes, inherited)
            bodies += copies
            dofs += copies * own
            entries += copies * own * (above + (own + 1.0) / 2.0)
            above += own
        waiting += [(child, copies, inherited, above) for child in fragment.children]
    return Workload(elements, bodies, dofs, entries)


_DOFS = {"free": 6.0, "ball": 3.0}


def _joint_classes(root: Fragment) -> dict[str, str]:
    """The types of joints by default class; the key of the main class is empty."""
    found = {"": ""}
    waiting = [(fragment, "", True) for fragment in root.children if fragment.tag == "default"]
    while waiting:
        fragment, outer, is_main = waiting.pop()
        name = "" if is_main else fragment.attributes.get("class", "")
        found[name] = found.get(name) or found.get(outer, "")
        for child in fragment.children:
            if child.tag == "joint":
                found[name] = child.attributes.get("type", found[name])
        if is_main and "class" in fragment.attributes:
            found[fragment.attributes["class"]] = found[name]
        waiting += [(child, name, False) for child in fragment.children if child.tag == "default"]
    return found


def _own_dofs(body: Fragment, classes: dict[str, str], inherited: str) -> float:
    """The number of coordinates of a body's own joints; frames belong to the body."""
    count = 0.0
    waiting = [(child, inherited) for child in body.children]
    while waiting:
        fragment, default = waiting.pop()
        if fragment.tag == "freejoint":
            count += 6.0
        elif fragment.tag == "joint":
            kind = fragment.attributes.get("type") or classes.get(fragment.attributes.get("class", default), "")
            count += _DOFS.get(kind, 1.0)
        elif fragment.tag == "frame":
            default = fragment.attributes.get("childclass", default)
            waiting += [(child, default) for child in fragment.children]
    return count
