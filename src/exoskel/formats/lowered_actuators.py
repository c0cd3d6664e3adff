"""Scenes for formats without actuators: what becomes of each actuator, and the losses that say so."""

from __future__ import annotations

from msgspec import Struct

from exoskel.formats.interface import Format
from exoskel.formats.shared_codes import CATALOGUE
from exoskel.scene.item import Item
from exoskel.scene.lowering.actuators import LoweredActuator, actuator_part, lower_actuators, state_parts
from exoskel.scene.world import Scene, World
from exoskel.source.output_context import OutputContext, Target


class LoweredScene(Struct, frozen=True):
    """A scene for a format without actuators, and the items that copies replace, by the ids of the copies."""

    scene: Scene
    originals: dict[int, Item] = {}


def without_actuators(scene: Scene, format: Format, output: OutputContext) -> LoweredScene:
    """Lower the actuators of a scene, if the format has none, and record what becomes of them."""
    capabilities = format.capabilities()
    if not lacks_actuators(scene, format, output.target):
        return LoweredScene(scene)
    passes = [lower_actuators(world, capabilities.motor_joints) for world in scene.worlds]
    if all(done.world is world for done, world in zip(passes, scene.worlds, strict=True)):
        return LoweredScene(scene)
    for done in passes:
        for one in done.actuators:
            _record_lowered(one, done.world, output)
    originals = {key: item for done in passes for key, item in done.originals.items()}
    lowered = Scene([done.world for done in passes], scene.diagnostics, scene.documents, scene.source_info)
    lowered.extensions, lowered.options = scene.extensions, scene.options
    return LoweredScene(lowered, originals)


def lacks_actuators(scene: Scene, format: Format, target: Target) -> bool:
    """Whether a scene has actuators and a format, for a program, does not have all of their kinds."""
    capabilities = format.capabilities()
    has_all = (World, "actuators") in capabilities.fields and not capabilities.motor_joints
    has_all = has_all and target not in capabilities.targets_without_actuators
    return not has_all and any(world.actuators for world in scene.worlds)


def _record_lowered(one: LoweredActuator, world: World, output: OutputContext) -> None:
    """Record what an actuator of a world became."""
    parts = (actuator_part(one.actuator.name), *state_parts(one.actuator))
    if one.result == "dropped":
        key = "FM305.tendon" if one.actuator.tendon else "FM305.integrator" if one.grows else "FM305.dropped"
        output.add_loss(world, CATALOGUE[key], *parts, is_dropped=True, control=one.control)
        return
    if one.loses_activation:
        output.add_loss(world, CATALOGUE["FM305.activation"], *parts, is_dropped=True, changes_effect=True)
    if one.result == "motor":
        if one.changes_control:
            output.add_loss(world, CATALOGUE["FM305.motor"], *parts)
        if one.fixes_control:
            output.add_loss(world, CATALOGUE["FM305.control"], *parts, changes_effect=True, control=one.control)
        return
    if one.result == "nothing" and not one.fixes_control:
        output.add_loss(world, CATALOGUE["FM305.nothing"], *parts, is_dropped=True)
        return
    if one.result == "force limits":
        output.add_loss(world, CATALOGUE["FM305"], *parts, "force_limits")
    if one.result == "spring":
        fields = one.dof_fields
        output.add_loss(world, CATALOGUE["FM305.spring"], *parts, *fields, changes_effect=True, control=one.control)
    elif one.fixes_control:
        output.add_loss(world, CATALOGUE["FM305.force"], *parts, "force", changes_effect=True, control=one.control)
    if one.loses_limits:
        output.add_loss(world, CATALOGUE["FM305.limits"], *parts, is_dropped=True)
