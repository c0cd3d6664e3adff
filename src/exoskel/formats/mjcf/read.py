"""Read an MJCF document into a scene."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite

from msgspec import Struct

from exoskel.diagnostics import Collector
from exoskel.formats.interface import ReadOptions
from exoskel.formats.mjcf.codes import CATALOGUE
from exoskel.formats.mjcf.model.coordinates import Coordinates
from exoskel.formats.mjcf.reader.actuators import ActuatorReader
from exoskel.formats.mjcf.reader.compiled import Compiled, compile, disabled_flags, report_disabled_flags
from exoskel.formats.mjcf.reader.contact_groups import read_collision_filter
from exoskel.formats.mjcf.reader.equality import EqualityReader, find_screws
from exoskel.formats.mjcf.reader.generated_parts import find_generated_parts, generated_nodes
from exoskel.formats.mjcf.reader.joint_chains import vector
from exoskel.formats.mjcf.reader.model_groups import group_bodies
from exoskel.formats.mjcf.reader.models import DOCUMENT, ModelReader
from exoskel.formats.mjcf.reader.preprocessor import prepare
from exoskel.formats.mjcf.reader.shapes import ShapeReader
from exoskel.scene.pose import ZERO
from exoskel.scene.world import DEFAULT_TIME_STEP, Scene, SourceInfo, World
from exoskel.source.document import Document
from exoskel.source.root_check import RootCodes, parse_root, report_malformed
from exoskel.source.well_formedness import MalformedError

_ROOT_CODES = RootCodes(malformed="MJ101", root="MJ102", declarations="MJ103")


class ImportedScene(Struct):
    """A scene and the compiled document, for comparing the two; None if MuJoCo rejected it."""

    scene: Scene
    compiled: Compiled | None = None
    reader: ModelReader | None = None
    coordinates: Coordinates | None = None


def read(document: Document, options: ReadOptions) -> Scene:
    """Read a document.  Valid parts are in the scene, problems in its diagnostics."""
    return import_document(document, options).scene


def import_document(document: Document, options: ReadOptions) -> ImportedScene:
    """Read a document and return the compiled document as well."""
    document.path_style = "xpath"
    collector = Collector(CATALOGUE, document, options.strict)
    scene = Scene(documents=[document], diagnostics=collector.diagnostics, source_info=SourceInfo(format="mjcf"))
    out = ImportedScene(scene)
    tree = parse_root(document, "mujoco", options.limits, collector, _ROOT_CODES)
    if tree is not None:
        try:
            prepared = prepare(document, tree, options, collector)
        except MalformedError as problem:  # a limit that only the expanded document exceeds
            report_malformed(problem, collector, _ROOT_CODES)
            return out
        compiled = compile(prepared, collector, options.limits.seconds)
        if compiled is not None:
            out.compiled = compiled
            if options.on_compiled is not None:
                options.on_compiled(compiled.model)
            _import(out, prepared.name or "world", options, collector)
    collector.diagnostics.sort(key=lambda diagnostic: diagnostic.place.node)
    return out


def _import(out: ImportedScene, name: str, options: ReadOptions, collector: Collector) -> None:
    compiled, report = out.compiled, collector.report
    assert compiled is not None
    disabled = disabled_flags(compiled)
    report_disabled_flags(compiled, compiled.prepared.flags, report)
    generated = find_generated_parts(compiled)
    shapes = ShapeReader(compiled, report, options.limits)
    reader = ModelReader(compiled, generated, shapes, report, find_screws(compiled))
    world = World(
        name=name,
        gravity=ZERO if "gravity" in disabled else vector(compiled.model.opt.gravity),
        time_step=_time_step(compiled, report),
        document=DOCUMENT,
        node=0,
    )
    world.models += [reader.model(one) for one in group_bodies(compiled, generated)]
    out.reader, out.coordinates = reader, reader.coordinates(world)
    reader.set_state(world, out.coordinates)
    ActuatorReader(compiled, generated, reader.found, report).read()
    EqualityReader(compiled, generated, reader.found, report).read()
    if "contact" in disabled:
        for shape in (shape for body in world.bodies() for shape in body.collisions):
            shape.collidable = False
    else:
        read_collision_filter(world, compiled, reader.found, report)
        shapes.report_friction()
    out.scene.worlds.append(world)
    owners = {number: owner.joint.node for number, owner in reader.found.owners.items()}
    out.scene.source_info = SourceInfo("mjcf", generated=generated_nodes(compiled, generated, owners))


def _time_step(compiled: Compiled, report: Callable[..., None]) -> float:
    """The time step in s; MuJoCo accepts any number."""
    step = float(compiled.model.opt.timestep)
    if isfinite(step) and step > 0.0:
        return step
    report("MJ107", 0, "option", step=step, default=DEFAULT_TIME_STEP)
    return DEFAULT_TIME_STEP
