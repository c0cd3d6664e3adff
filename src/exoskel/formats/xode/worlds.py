"""What a world of XODE knows about gravity and the like: an extension, and PyBrain's comment."""

from __future__ import annotations

from exoskel.formats.xode.comment import MARK, Parameters, parse
from exoskel.formats.xode.context import Context
from exoskel.formats.xode.joints import ENVIRONMENT, Link
from exoskel.formats.xode.layout import Layout
from exoskel.formats.xode.values import FLOAT, POSITIVE
from exoskel.scene.world import World
from exoskel.source.document import Tree, literal_tag
from exoskel.source.flat import Node
from exoskel.source.vocabulary import ABSENT, Kind

_FIELDS = {"CFM": "cfm", "ERP": "erp", "timestep": "time_step"}
_KINDS: dict[str, Kind] = {"CFM": FLOAT, "ERP": FLOAT, "timestep": POSITIVE}


def read_world_extensions(context: Context, element: Tree, node: Node, world: World) -> None:
    """Gravity, CFM, ERP and time step, in an extension of any name directly under the world."""
    extensions = list(element.iterchildren("ext"))
    if not extensions:
        return
    numbers = {child: node.number + i for i, child in enumerate(element.iter())}
    stated: set[str] = set()
    for extension in extensions:
        for child in extension.iterchildren(tag=None):
            if not isinstance(child.tag, str):
                continue
            name = literal_tag(child)
            if name == "gravity":
                components = [_value(context, child, axis, FLOAT, numbers[child]) for axis in "xyz"]
                if None not in components:
                    x, y, z = components
                    world.gravity = (x or 0.0, y or 0.0, z or 0.0)
                    stated.add("gravity")
            elif name in _FIELDS:
                value = _value(context, child, "value", _KINDS[name], numbers[child])
                if value is not None:
                    setattr(world, _FIELDS[name], value)
                    stated.add(_FIELDS[name])
    world.given = world.given | stated


def _value(context: Context, element: Tree, name: str, kind: Kind, number: int) -> float | None:
    text = element.get(name)
    if text is None:
        context.report("X301", number, attribute_name=name, element=literal_tag(element))
        return None
    value = kind.value(text)
    if value is None:
        outcome = kind.examine(text, literal=False)
        for finding in outcome.findings:
            context.report(finding.key, number, attribute=name, token=finding.token, name=name, **finding.details)
        value = None if outcome.value is ABSENT else outcome.value
    return None if value is None else float(value)


def read_comment(context: Context) -> Parameters:
    """PyBrain's parameters; the first comment that has them counts."""
    if MARK not in context.document.text:
        return Parameters()
    for position, text in context.document.comments(MARK):
        found = parse(text)
        for number, line in found.problems:
            context.report("X905", position=position, number=number, text=line)
        return found
    return Parameters()


def affix(parameters: Parameters, links: list[Link], layout: Layout) -> list[Link]:
    """Joints and bodies that PyBrain fixes to the environment."""
    names = set(parameters.affixed)
    for link in links:
        if link.name in names and link.first != ENVIRONMENT:  # a joint with the environment on both sides is none
            link.second = ENVIRONMENT
    added = [
        Link(node=body.node, name=f"{name}_affixed", kind="weld", first=number, second=ENVIRONMENT, world=body.world)
        for number, body in enumerate(layout.bodies)
        if (name := body.node.get("@name")) in names
    ]
    return [*links, *added]
