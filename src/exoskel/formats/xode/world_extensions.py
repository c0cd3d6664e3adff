"""Reads gravity and other world parameters from extensions, and the PyBrain comment."""

from __future__ import annotations

from lxml import etree
from msgspec import Struct

from exoskel.formats.xode.context import Context
from exoskel.formats.xode.document_layout import DocumentLayout
from exoskel.formats.xode.joints import ENVIRONMENT, OdeJoint
from exoskel.formats.xode.pybrain_comment import MARK, Parameters, parse
from exoskel.formats.xode.values import FLOAT, POSITIVE
from exoskel.scene.world import World
from exoskel.source.document import Tree, split_tag
from exoskel.source.flat_tree import Node
from exoskel.source.vocabulary import Kind

OWN_EXTENSION = "world-params"
"""The extension of the XODE reference: problems in it are reported, those in other extensions are not."""


class _Parameter(Struct, frozen=True):
    """A child of a world extension: the scene field, its attributes, and their kind."""

    field: str
    attributes: tuple[str, ...] = ("value",)
    kind: Kind = FLOAT


_PARAMETERS = {
    "gravity": _Parameter("gravity", ("x", "y", "z")),
    "CFM": _Parameter("cfm"),
    "ERP": _Parameter("erp"),
    "timestep": _Parameter("time_step", kind=POSITIVE),
}


def read_world_extensions(context: Context, element: Tree, node: Node, world: World) -> None:
    """Read gravity, CFM, ERP and time step from extensions of any name directly under the world."""
    stated: set[str] = set()
    for extension in element.iterchildren("{*}ext"):
        ours = extension.get("ename", extension.get("name")) == OWN_EXTENSION
        for child in extension.iterchildren(tag=etree.Element):
            parameter = _PARAMETERS.get(_name(child, extension))
            if parameter is None:
                continue
            values = [_value(child, name, parameter.kind) for name in parameter.attributes]
            if None not in values:
                setattr(world, parameter.field, tuple(values) if len(values) > 1 else values[0])
                stated.add(parameter.field)
            elif ours:
                number = node.number + next(i for i, other in enumerate(element.iter()) if other is child)
                _report(context, child, parameter, number)
    world.given = world.given | stated


def _name(element: Tree, extension: Tree) -> str:
    """The name of a child of an extension; empty if it is in another namespace."""
    namespace, name = split_tag(element)
    return name if namespace in ("", split_tag(extension)[0]) else ""


def _value(element: Tree, name: str, kind: Kind) -> float | None:
    text = element.get(name)
    value = None if text is None else kind.value(text)
    return None if value is None else float(value)


def _report(context: Context, element: Tree, parameter: _Parameter, number: int) -> None:
    for name in parameter.attributes:
        text = element.get(name)
        if text is None:
            context.report("X301", number, attribute_name=name, element=split_tag(element)[1])
        elif parameter.kind.value(text) is None:
            for finding in parameter.kind.examine(text, literal=False).findings:
                context.report(finding.key, number, attribute=name, token=finding.token, name=name, **finding.details)


def read_pybrain_comment(context: Context) -> Parameters:
    """The PyBrain parameters from the first comment that has them."""
    if MARK not in context.document.text:
        return Parameters()
    for position, text in context.document.comments(MARK):
        parameters = parse(text)
        for number, line in parameters.problems:
            context.report("X905", position=position, number=number, text=line)
        return parameters
    return Parameters()


def attach_to_environment(parameters: Parameters, links: list[OdeJoint], layout: DocumentLayout) -> list[OdeJoint]:
    """The joints, with joints and bodies attached to the environment as the PyBrain comment states."""
    names = set(parameters.fixed)
    for link in links:
        if link.name in names and link.first != ENVIRONMENT:  # a joint must not have the environment on both sides
            link.second = ENVIRONMENT
    added = [
        OdeJoint(
            node=body.node, name=f"{name}_affixed", kind="weld", first=number, second=ENVIRONMENT, world=body.world
        )
        for number, body in enumerate(layout.bodies)
        if (name := body.node.get("@name")) in names
    ]
    return [*links, *added]
