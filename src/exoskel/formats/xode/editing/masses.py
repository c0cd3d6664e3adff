"""Masses in the words of a document: a solid keeps its shape, and only its density or total changes."""

from __future__ import annotations

from exoskel.scene.inertia import Inertia
from exoskel.source.element_context import Elements
from exoskel.source.markup import Markup, format_number

_CLOSE = 1e-12
_STEPS = frozenset({"mass_struct", "mass_shape", "transform", "adjust", "mass"})


def adapt(elements: Elements, body: int, before: Inertia, after: Inertia, canonical: Markup | None) -> Masses:
    """The mass element of a body as it is and as it is to be."""
    nodes = [child for child in elements.children(body) if elements.tag(child) == "mass"]
    if not nodes:
        return None, canonical
    old = _mirror(elements, nodes[-1])
    factor = _factor(before, after)
    if factor is not None:
        return old, _scaled(old, factor, after.mass)
    if canonical is None:
        return old, None
    kept = [child for child in old.children if child.tag not in _STEPS]
    return old, Markup("mass", old.attributes, children=[*canonical.children, *kept])


Masses = tuple[Markup | None, Markup | None]


def _mirror(elements: Elements, node: int) -> Markup:
    """An element of the document as it stands."""
    children = [_mirror(elements, child) for child in elements.children(node)]
    return Markup(elements.tag(node), elements.attributes(node), children=children)


def _factor(before: Inertia, after: Inertia) -> float | None:
    """By what all of a mass is multiplied; None if it changes in other ways too."""
    if before.moment is None or after.moment is None or not before.mass > 0.0 or before.com != after.com:
        return None
    factor = after.mass / before.mass
    largest = max(abs(entry) for entry in after.moment)
    pairs = zip(before.moment, after.moment, strict=True)
    same = all(abs(factor * one - other) <= _CLOSE * largest for one, other in pairs)
    return factor if same and factor != 1.0 else None


def _scaled(element: Markup, factor: float, total: float | None) -> Markup:
    """A mass of another weight.  `total` is what it comes to, where that is known."""
    adjusted = max((place for place, child in enumerate(element.children) if child.tag == "adjust"), default=-1)
    weighed = [child for child in element.children[max(adjusted, 0) :] if child.tag in _STEPS - {"transform"}]
    alone = total if len(weighed) == 1 else None
    children = [
        child if place < adjusted else _scaled_step(child, factor, alone)
        for place, child in enumerate(element.children)
    ]
    return Markup(element.tag, element.attributes, element.text, children)


def _scaled_step(step: Markup, factor: float, total: float | None) -> Markup:
    if step.tag == "mass":
        return _scaled(step, factor, None)
    attributes = dict(step.attributes)
    if step.tag == "mass_shape" and "density" in attributes:
        attributes["density"] = format_number(factor * float(attributes["density"]))
    elif step.tag in ("mass_shape", "mass_struct", "adjust") and "total" in attributes:
        attributes["total"] = format_number(factor * float(attributes["total"]) if total is None else total)
    children = [
        Markup(child.tag, {name: format_number(factor * float(text)) for name, text in child.attributes.items()})
        if step.tag == "mass_struct" and child.tag == "imatrix"
        else child
        for child in step.children
    ]
    return Markup(step.tag, attributes, step.text, children)
