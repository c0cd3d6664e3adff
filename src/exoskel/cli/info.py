"""`exoskel info`: show the contents of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from exoskel.cli import terminal
from exoskel.cli.flags import ReadFlags, read_scene
from exoskel.cli.parameters import Argument
from exoskel.diagnostics import has_errors, pluralize, printable
from exoskel.formats import registry
from exoskel.scene.body import Body
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.summary import summarize
from exoskel.scene.world import Scene, World
from exoskel.source.numbers import given_numbers, round_value

if TYPE_CHECKING:
    from rich.tree import Tree

_MAX_MODELS = 30
_MAX_NAMES = 8
"""The number of actuators, cameras and others of one kind whose names are listed."""
_MAX_BODIES = 200


def info(
    file: Annotated[str, Argument(help="File to read; `-` is standard input.")],
    /,
    *,
    json: Annotated[bool, Argument(help="Print all contents as JSON.")] = False,
    flags: ReadFlags | None = None,
) -> int:
    """Show the contents of a file: worlds, models, bodies, joints, masses, degrees of freedom.

    Exit code 0: the file has no errors. 1: it has errors; the valid parts are shown. 2: it could not be opened.
    """
    scene = read_scene(file, flags)
    with terminal.spinner("measuring", after=terminal.NOTICEABLE):
        summary = summarize(scene)
    if json:
        terminal.write_json(round_value(summary, given_numbers(scene.documents)))
    else:
        _show(scene, summary)
    return int(has_errors(scene.diagnostics))


def _show(scene: Scene, summary: dict[str, Any]) -> None:
    console = terminal.console()
    source = scene.source_info
    name = scene.source.name if scene.source else "<scene>"
    version = f" {_safe(source.format_version)}" if source.format_version else ""
    option = "dialect" if registry.by_name(source.format).has_pyode_dialect else "semantics"
    semantics = f", {option}: {source.semantics}" if source.semantics else ""
    console.print(f"[bold]{_safe(name)}[/]: {source.format.upper()}{version}{semantics}")
    for world in scene.worlds:
        console.print(_world(world))
    totals = summary["totals"]
    parts = [
        pluralize(totals["models"], "model"),
        pluralize(totals["bodies"], "body", "bodies"),
        pluralize(totals["joints"], "joint"),
        pluralize(totals["dofs"], "degree of freedom", "degrees of freedom"),
        f"{totals['mass']:.6g} kg",
    ]
    console.print(", ".join(parts))
    if scene.diagnostics:
        console.print(f"{terminal.tally(scene.diagnostics)} (see `exoskel check`)")


def _world(world: World) -> Tree:
    from rich.tree import Tree

    gravity = " ".join(f"{value:g}" for value in world.gravity)
    detector = f", detector {_safe(world.collision_detector)}" if world.collision_detector else ""
    label = f"world [bold]{_safe(world.name)}[/]  [dim]gravity {gravity} m/s², step {world.time_step:g} s{detector}[/]"
    tree = Tree(label, guide_style="dim")
    for model in world.models[:_MAX_MODELS]:
        tree.add(_model(model))
    if len(world.models) > _MAX_MODELS:
        tree.add(f"[dim]… and {len(world.models) - _MAX_MODELS} more models (--json lists all)[/]")
    for kind, names in _devices(world).items():
        shown = ", ".join(map(_safe, names[:_MAX_NAMES])) + (", …" if len(names) > _MAX_NAMES else "")
        tree.add(f"[cyan]{pluralize(len(names), kind)}[/] [dim]{shown}[/]")
    return tree


def _devices(world: World) -> dict[str, list[str]]:
    """The names of what the world has besides models, by kind."""
    found = {
        "actuator": [one.name for one in world.actuators],
        "tendon": [one.name for one in world.tendons],
        "sensor": [one.name for one in world.sensors],
        "equality constraint": [one.name for one in world.equalities],
        "camera": [one.name for one in world.cameras],
        "light": [one.name for one in world.lights],
        "keyframe": [one.name for one in world.keyframes],
    }
    return {kind: [name or "(unnamed)" for name in names] for kind, names in found.items() if names}


def _model(model: Model) -> Tree:
    from rich.tree import Tree

    static = " [yellow]static[/]" if model.static else ""
    bodies = pluralize(len(model.bodies), "body", "bodies")
    label = f"[bold green]{_safe(model.name)}[/]{static}  [dim]{bodies}, {model.dof_count} dof, {model.mass:.6g} kg[/]"
    tree = Tree(label, guide_style="dim")
    branches: dict[int, Tree] = {}
    for joint in [joint for joint in model.joints if not joint.loop][:_MAX_BODIES]:
        branch = branches.get(id(joint.parent), tree)
        branches[id(joint.child)] = branch.add(_joint(joint) + _body(joint.child))
    if len(model.bodies) > _MAX_BODIES:
        tree.add(f"[dim]… and {len(model.bodies) - _MAX_BODIES} more bodies (--json lists all)[/]")
    for joint in model.joints:
        if joint.loop:
            tree.add(f"[magenta]loop[/] {_joint(joint)}{_safe(joint.child.name)}")
    return tree


def _joint(joint: Joint) -> str:
    freedom = f" {joint.dof_count}" if joint.dof_count else ""
    return f"[cyan]{joint.kind}{freedom}[/] [dim]{_safe(joint.name)}[/] → "


def _body(body: Body) -> str:
    shapes = f"{len(body.visuals)} visual, {len(body.collisions)} collision"
    soft = f", soft ({body.soft.point_count} points)" if body.soft else ""
    return f"[bold]{_safe(body.name)}[/]  [dim]{body.mass:.6g} kg, {shapes}{soft}[/]"


def _safe(text: str) -> str:
    """Escape control characters and markup in a name that comes from a file."""
    from rich.markup import escape

    return escape(printable(text))
