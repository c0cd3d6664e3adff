"""The whole document as MuJoCo compiles it, also with deformable bodies and plugins of actuators.

A scene does not have these, and keyframes state their numbers among those of other elements.
"""

from __future__ import annotations

from msgspec import Struct

from exoskel.diagnostics import Collector
from exoskel.formats.interface import ReadOptions
from exoskel.formats.mjcf.codes import CATALOGUE
from exoskel.formats.mjcf.model.coordinates import SIZES
from exoskel.formats.mjcf.reader.compiled import Compiled, compile
from exoskel.formats.mjcf.reader.keyframe_lists import OwnNumbers, remove_invalid_keyframe_lists
from exoskel.formats.mjcf.reader.preprocessor import GENERATORS, prepare
from exoskel.source.document import Document
from exoskel.source.well_formedness import MalformedError


class StateElements(Struct, frozen=True):
    """The elements that the numbers of keyframes belong to: the owners of joints and of actuators, by their numbers."""

    joints: list[int]
    actuators: list[int]


def compile_complete(document: Document, options: ReadOptions) -> Compiled | None:
    """Compile a document with all that has coordinates; None if this is not possible."""
    again = Document(document.data, document.name, document.location)
    collector = Collector(CATALOGUE, again, options.strict)
    try:
        prepared = prepare(again, again.parse(options.limits), options, collector, is_complete=True)
    except MalformedError:
        return None
    if prepared.ignored_states or prepared.lacks_files:
        return None
    remove_invalid_keyframe_lists(prepared, collector)
    return compile(prepared, collector, options.limits.seconds)


def own_numbers(compiled: Compiled) -> OwnNumbers:
    """The places in keyframes of what a scene may have: not of deformable bodies and plugins."""
    model, places = compiled.model, {name: list[int]() for name in ("qpos", "qvel", "act", "ctrl")}
    for number, kind in enumerate(compiled.types):
        if compiled.bodies.node(int(model.jnt_bodyid[number])) >= 0:
            first, speed = int(model.jnt_qposadr[number]), int(model.jnt_dofadr[number])
            places["qpos"] += range(first, first + SIZES[kind][0])
            places["qvel"] += range(speed, speed + SIZES[kind][1])
    tags = [fragment.tag for fragment in compiled.prepared.root.iter()]
    for number, controls in enumerate(compiled.control_slices):
        line = compiled.actuators.lines.get(number, 0)
        if line and tags[line - 1] != "plugin":
            places["ctrl"] += range(controls.start, controls.stop)
            first = int(model.actuator_actadr[number])
            places["act"] += range(first, first + int(model.actuator_actnum[number]) if first >= 0 else first)
    counts = {"qpos": model.nq, "qvel": model.nv, "act": model.na, "ctrl": model.nu}
    return OwnNumbers(places, {name: int(count) for name, count in counts.items()})


def state_elements(compiled: Compiled, document: Document) -> StateElements:
    """The elements of joints and actuators; of joints that are generated, the element that generates their body."""
    tags = document.outline.tags
    makers = {f"{document.attribute_text(node, 'name')}_": node for node, tag in enumerate(tags) if tag in GENERATORS}
    joints = [compiled.joints.node(number) for number in range(len(compiled.types))]
    for number, node in enumerate(joints):
        body = int(compiled.model.jnt_bodyid[number])
        if node < 0:
            name = compiled.bodies.name(body)
            owner = compiled.bodies.node(body)
            joints[number] = owner if owner >= 0 else next((n for p, n in makers.items() if name.startswith(p)), -1)
    return StateElements(joints, [compiled.actuators.node(number) for number in range(len(compiled.control_slices))])
