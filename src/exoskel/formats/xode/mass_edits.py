"""Edits the mass elements of a document: a solid keeps its shape, and only its density or total mass changes."""

from __future__ import annotations

from exoskel.scene.inertia import Inertia
from exoskel.source.element_context import Elements
from exoskel.source.markup import Markup, format_number

_CLOSE = 1e-12
_STEPS = frozenset({"mass_struct", "mass_shape", "transform", "adjust", "mass"})


def adapt(elements: Elements, body: int, before: Inertia, after: Inertia, canonical: Markup | None) -> Masses:
    """The mass element of a body before and after the edit."""
    nodes = [child for child in elements.children(body) if elements.tag(child) == "mass"]
    if not nodes:
        return None, canonical
    old = _markup(elements, nodes[-1])
    factor = _factor(before, after)
    if factor is not None:
        return old, _scale(old, factor, after.mass)
    if canonical is None:
        return old, None
    others = [child for child in old.children if child.tag not in _STEPS]
    return old, Markup("mass", old.attributes, children=[*canonical.children, *others])


Masses = tuple[Markup | None, Markup | None]


def _markup(elements: Elements, node: int) -> Markup:
    """An element of the document as markup."""
    children = [_markup(elements, child) for child in elements.children(node)]
    return Markup(elements.tag(node), elements.attributes(node), children=children)


def _factor(before: Inertia, after: Inertia) -> float | None:
    """The factor between two inertias; None if they differ by more than a factor."""
    if before.moment is None or after.moment is None or not before.mass > 0.0 or before.com != after.com:
        return None
    factor = after.mass / before.mass
    largest = max(abs(entry) for entry in after.moment)
    pairs = zip(before.moment, after.moment, strict=True)
    same = all(abs(factor * one - other) <= _CLOSE * largest for one, other in pairs)
    return factor if same and factor != 1.0 else None


def _scale(element: Markup, factor: float, total: float | None) -> Markup:
    """A mass element multiplied by a factor.  `total` is the resulting mass, if known."""
    last_adjust = max((index for index, child in enumerate(element.children) if child.tag == "adjust"), default=-1)
    steps = [child for child in element.children[max(last_adjust, 0) :] if child.tag in _STEPS - {"transform"}]
    only_total = total if len(steps) == 1 else None
    children = [
        child if index < last_adjust else _scale_step(child, factor, only_total)
        for index, child in enumerate(element.children)
    ]
    return Markup(element.tag, element.attributes, element.text, children)


def _scale_step(step: Markup, factor: float, total: float | None) -> Markup:
    if step.tag == "mass":
        return _scale(step, factor, None)
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
