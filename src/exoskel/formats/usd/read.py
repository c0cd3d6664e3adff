"""Read a USD file with UsdPhysics into a scene.

usd-core composes the stage; values of the schemas of UsdPhysics, Newton, MuJoCo and PhysX that a scene has a place for
are read.  Lengths become m and masses kg, whatever units the file states.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isfinite, isnan
from typing import Any

import numpy as np
from msgspec import structs

from exoskel import spatial
from exoskel.diagnostics import Collector, Severity, repeats
from exoskel.formats.interface import ReadOptions
from exoskel.formats.invalid_items import SKIPPED, repair
from exoskel.formats.usd.codes import CATALOGUE
from exoskel.formats.usd.collision_filter import FilterReader
from exoskel.formats.usd.layer_files import LAYERS, LayerFiles
from exoskel.formats.usd.mapping import COMMENT, GROUP, GROUP_TYPES, UNREAD_TYPES, USED
from exoskel.formats.usd.preserved_prims import source_prims
from exoskel.formats.usd.reader.actuators import DRIVING, ActuatorPrimReader, DrivenJoint, DrivingPrims
from exoskel.formats.usd.reader.bodies import UsdBodyReader
from exoskel.formats.usd.reader.cameras_and_lights import UsdViewReader, ViewBody
from exoskel.formats.usd.reader.joint_prims import DriveReader, JointPrimReader
from exoskel.formats.usd.reader.joints import UsdJointReader, sort_joints
from exoskel.formats.usd.reader.mass import read_inertia
from exoskel.formats.usd.reader.prims import (
    COLLIDER,
    GPRIMS,
    BodySource,
    ModelSource,
    PrimIndex,
    WorldSource,
    is_own_file,
    layout,
    own_layout,
)
from exoskel.formats.usd.reader.shape_prims import ShapePrimReader
from exoskel.formats.usd.reader.stacked_joints import add_links
from exoskel.formats.usd.reader.stage import Stage, StagePrim, is_available, open_stage
from exoskel.formats.usd.reader.tendon_paths import tendon_shapes, tendon_sites
from exoskel.formats.usd.reader.unused_properties import unused_properties
from exoskel.formats.usd.reader.value_types import has_type, is_finite_property
from exoskel.formats.usd.text_layer import comment_lines, prim_positions
from exoskel.formats.usd.usd_process import StageError, StageLimitError
from exoskel.scene.body import Body, BodyState
from exoskel.scene.equality import Equality
from exoskel.scene.inertia import NO_MOMENT, Inertia
from exoskel.scene.item import Item, qualified_name
from exoskel.scene.joint import Joint
from exoskel.scene.kinematics import Kinematics, Twist, initial_twists
from exoskel.scene.model import Model
from exoskel.scene.pose import Vector
from exoskel.scene.source_info import SourceInfo
from exoskel.scene.validation import find_invalid
from exoskel.scene.world import DEFAULT_TIME_STEP, Scene, World
from exoskel.source.document import Document
from exoskel.source.object_document import ObjectDocument, SourceObject
from exoskel.source.usdz_archive import SIGNATURE, PackageError

_GRAVITY = 9.81
_GROUP, _MEMBERS = "PhysicsCollisionGroup", "collection:colliders:includes"
_GRAVITY_FLAGS = ("newton:gravityEnabled", "mjc:flag:gravity")
_VELOCITIES = ("physics:velocity", "physics:angularVelocity")
_APART = 1e-4
"""How far a body may be from where its joint puts it, relative to its distance from the origin."""
_GENERATED_NAME = re.compile(r"(visual|collision)_[0-9]+$")
"""The name of a prim whose shape has no name."""
_TIME_STEPS = ("newton:timeStepsPerSecond", "physxScene:timeStepsPerSecond")


def read(document: Document, options: ReadOptions) -> Scene:
    """Read a document.  Valid parts are in the scene, problems in its diagnostics."""
    finder = LayerFiles(document, options)
    collector = Collector(CATALOGUE, document, options.strict)
    scene = Scene(documents=[document], diagnostics=collector.diagnostics, source_info=SourceInfo(format="usd"))
    stage = _open(document, options, collector, finder)
    if stage is None:
        return scene
    index = PrimIndex(stage)
    source = ObjectDocument(document, list(_objects(index, document.data)))
    collector.source = source
    scene.documents = [source]
    source.included = finder.files
    for path in finder.missing:
        collector.report("US101", 0, path=path)
    for problem in stage.problems:
        collector.report("US102", 0, problem=[problem])  # a list is not shortened
    _remove_invalid_numbers(index, collector)
    reader = _StageReader(index, collector, finder)
    reader.read(scene)
    source.unused = unused_properties(index)
    prims = source_prims(scene, index, reader.actuators, reader.tendons)
    objects = {
        node: (field, name)
        for field, found in (("actuators", reader.actuators), ("tendons", reader.tendons))
        for node, name in found.items()
    }
    scene.source_info = structs.replace(scene.source_info, preserved=prims, objects=objects)
    _repair_values(scene, index, collector)
    collector.diagnostics.sort(key=lambda diagnostic: diagnostic.place.node)
    return scene


def _open(document: Document, options: ReadOptions, collector: Collector, finder: LayerFiles) -> Stage | None:
    if not is_available():
        collector.report("US001", what="reading USD")
    elif len(document.data) > options.limits.bytes:
        collector.report("US003", limit=f"{options.limits.bytes} bytes")
    elif not document.data.startswith((*LAYERS, SIGNATURE)):
        collector.report("US002", reason="it starts with neither '#usda' nor 'PXR-USDC'")
    else:
        try:
            return open_stage(finder.first_layer(), finder.find, finder.folder)
        except (StageError, PackageError) as problem:
            collector.report("US002", reason=str(problem))
        except StageLimitError as problem:
            collector.report("US003", limit=str(problem))
    return None


def _remove_invalid_numbers(index: PrimIndex, collector: Collector) -> None:
    """Report and remove values that are not numbers or have another type, and places that are not finite."""
    for prim in index.prims:
        for name, value in list(prim.values.items()):
            numbers = value if isinstance(value, list | tuple) else [value]
            if not has_type(name, value):
                collector.report("US004.type", index.node(prim), attribute=name, name=name)
                del prim.values[name]
            elif any(isinstance(number, float) and isnan(number) for number in numbers):
                collector.report("US004", index.node(prim), attribute=name, name=name)
                del prim.values[name]
            elif is_finite_property(name) and not all(map(isfinite, numbers)):
                collector.report("US004.infinite", index.node(prim), attribute=name, name=name)
                del prim.values[name]
            elif name in _NOT_NEGATIVE and value < 0.0:
                collector.report("US004.negative", index.node(prim), attribute=name, name=name, value=value)
                del prim.values[name]
        if not all(map(isfinite, prim.place)):
            collector.report("US004.place", index.node(prim), name=prim.title)
            prim.place = np.eye(4).ravel().tolist()


_NOT_NEGATIVE = frozenset({"physics:mass", "physics:density"})
_STATED = {
    "size": ("size", "radius"),
    "radius": ("radius", "radiusBottom"),
    "vertices": ("points",),
    "triangles": ("faceVertexIndices",),
    "friction": ("physics:dynamicFriction",),
    "restitution": ("physics:restitution",),
    "mass": ("physics:mass",),
    "com": ("physics:centerOfMass",),
    "moment": ("physics:diagonalInertia", "newton:inertia"),
}
"""The properties from which values of a scene come, by the last words of their names."""


def _repair_values(scene: Scene, index: PrimIndex, collector: Collector) -> None:
    """Report and remove what is invalid in the scene, such as a sphere without a radius; the rest is read."""
    prims = {number: index.by_path[path] for path, number in index.number.items() if path in index.by_path}
    reported: set[tuple[int, str]] = set()
    for world in scene.worlds:
        repairs = repair(world)
        for one in repairs or ():
            node = max(one.problem.item.node, 0)
            prim = prims.get(node)
            names = _STATED.get(one.field, (one.field,))
            name = next((name for name in names if prim is not None and name in prim.properties), "")
            if (node, one.field) not in reported:
                reported.add((node, one.field))
                key = "US004.skipped" if one.outcome == SKIPPED else "US004.replaced"
                path = prim.path if prim is not None else index.stage.default_prim
                what, wanted = [one.problem.message], [f"{name or one.field} to {one.expected}"]
                collector.report(
                    key,
                    node,
                    attribute=name if key == "US004.replaced" else "",
                    path=[path],
                    problem=what,
                    wanted=wanted,
                )
    problems = [found for found in find_invalid(scene) if found.severity is Severity.ERROR]
    for found in problems:
        collector.report("US004.scene", found.place.node, problem=[found.message])
    if problems:
        scene.worlds.clear()


def _objects(index: PrimIndex, data: bytes) -> Iterator[SourceObject]:
    """The layer and all prims, as objects of the document."""
    positions = prim_positions(data)
    yield SourceObject("layer", -1, "", tuple(index.stage.metadata), 1 if positions else 0)
    for prim in index.prims:
        above = prim.path.rpartition("/")[0]
        path = prim.path
        while path and path not in positions:
            path = path.rpartition("/")[0]
        line, lines = positions.get(path, (0, {}))
        tag = GROUP if prim.type in GROUP_TYPES else prim.type
        own = lines if path == prim.path else {}
        yield SourceObject(tag, index.number.get(above, 0), prim.path, tuple(prim.properties), line, own)
    for part in index.stage.unread:
        line, _ = positions.get(part.path.partition("{")[0], (0, {}))
        yield SourceObject(USED if part.is_used else part.kind, 0, part.path, (), line)
    for number, line in enumerate(comment_lines(data), 1):
        yield SourceObject(COMMENT, 0, f"comment[{number}]", (), line)


class _StageReader:
    """The worlds of a stage."""

    def __init__(self, index: PrimIndex, collector: Collector, files: LayerFiles) -> None:
        self.index = index
        self.files = files
        self.report = collector.report
        self.is_own = is_own_file(index)
        self.equalities: list[Equality] = []
        """Those between joints of the current world."""
        self.driven: dict[str, DrivenJoint] = {}
        """Joints by the paths of their prims."""
        self.actuators: dict[int, str] = {}
        """The names of actuators, by the numbers of their prims."""
        self.tendons: dict[int, str] = {}
        """The names of tendons, by the numbers of their prims."""
        self.view_bodies: dict[str, ViewBody] = {}
        """The bodies that may have cameras and lights, by the paths of their prims."""

    def read(self, scene: Scene) -> None:
        worlds = own_layout(self.index) if self.is_own else [layout(self.index)]
        shapes = ShapePrimReader(self.index, self.report, self.files.locate_texture, is_own=self.is_own)
        scene.worlds += [self._world(source, shapes) for source in worlds]
        shapes.report_hidden()
        views = UsdViewReader(self.index, self.report, is_own=self.is_own)
        roots = ["" if source.prim is None else source.prim.path for source in worlds]
        views.read_views(dict(zip(roots, scene.worlds, strict=True)), self.view_bodies)
        scene.source_info = structs.replace(scene.source_info, views=views.views, users=self._users())
        self._report_unread(scene)

    def _users(self) -> dict[int, set[int]]:
        """The materials and collision groups of shapes, and the shapes that have them."""
        groups: dict[str, list[str]] = {}
        for prim in self.index.prims:
            for path in prim.targets.get(_MEMBERS, ()) if prim.type == _GROUP else ():
                groups.setdefault(path, []).append(prim.path)
        found: dict[int, set[int]] = {}
        for prim in (one for one in self.index.prims if one.type in GPRIMS):
            around = (prim.path, *(one.path for one in self.index.ancestors(prim.path))) if groups else ()
            used = (*prim.materials.values(), *(group for path in around for group in groups.get(path, ())))
            for path in used:
                if path in self.index.number:
                    found.setdefault(self.index.number[path], set()).add(self.index.node(prim))
        for path, expanded in self.index.instances.items():
            copies = {self.index.node(one) for one in expanded.prims}
            found[self.index.number[path]] = copies
        return found

    def _report_unread(self, scene: Scene) -> None:
        stage = self.index.stage
        if stage.meters_per_unit is None:
            self.report("US103", 0)
        animated = [prim for prim in self.index.prims if prim.animated]
        if animated:
            first = animated[0]
            node = self.index.node(first)
            self.report("US111", node, attribute=first.animated[0], repeats=repeats(len(animated)))
            further = frozenset((self.index.node(prim), name) for prim in animated for name in prim.animated)
            scene.source_info = structs.replace(scene.source_info, also_reported={"US111": further})
        for prim in self.index.prims:
            node = self.index.node(prim)
            if COLLIDER in prim.apis and prim.type not in GPRIMS and not self._has_colliders(prim):
                self.report("US113.collider", node, name=prim.title, kind=prim.type or "''")
            elif prim.path in stage.invalid_instancers:
                self.report("US113.instancer", node, name=prim.title, reason=stage.invalid_instancers[prim.path])
            elif prim.type in UNREAD_TYPES and prim.path not in self.index.instances:
                self.report("US113", node, kind=prim.type)

    def _has_colliders(self, prim: StagePrim) -> bool:
        """Whether a prim has colliders inside that are read."""
        waiting = [prim.path]
        while waiting:
            inside = self.index.children.get(waiting.pop(), ())
            if any(COLLIDER in one.apis and one.type in GPRIMS for one in inside):
                return True
            waiting += [one.path for one in inside]
        return False

    def _world(self, source: WorldSource, shapes: ShapePrimReader) -> World:
        if source.scene is None:
            self.report("US103.scene", 0)
        for further in source.further_scenes:
            self.report("US103.several", self.index.node(further))
        world = World(
            name=source.name,
            gravity=self._gravity(source.scene),
            time_step=_time_step(source.scene),
            document=0,
            node=self.index.node(source.prim) if source.prim is not None else 0,
        )
        bodies = UsdBodyReader()
        for one in () if self.is_own else source.models:
            add_links(self.index, one, self.report)
        models = [(one, self._model(one, bodies, shapes)) for one in source.models]
        joints = UsdJointReader(bodies)
        bodies.finish()
        for one, model in models:
            model.joints = self._joints(one, model, joints, DriveReader(world.time_step, self.report))
        joints.finish()
        for joint in joints.elsewhere:
            self.report("US106.welded", joint.node, name=joint.name, body=joint.child.name)
        world.models += [model for _, model in models]
        for one, model in models:
            for body, own in zip(model.bodies, one.bodies, strict=True):
                if own.link < 0:
                    read_inertia(self.index, own, body, self.report)
                else:
                    body.inertia = Inertia(mass=0.0, moment=NO_MOMENT)
            model.bodies = [joint.child for joint in model.joints if not joint.loop]  # parents before children
        root = source.prim.path if source.prim is not None else ""
        FilterReader(self.index, world, models, bodies.by_path(), shapes.by_path, self.report).read(root)
        world.equalities += self.equalities
        self.equalities = []
        self._read_actuators(world, root if self.is_own else "")
        self._check_poses(world, bodies)
        if not self.is_own:
            self._check_velocities(world, bodies)
        return world

    def _read_actuators(self, world: World, root: str) -> None:
        """Read the actuators and tendons of a world; in files of Exoskel, they are in its prim at `root`."""
        index = self.index
        prims = [one for one in index.prims if one.type in DRIVING and one.path.startswith(f"{root}/")]
        if not prims:
            return

        def path_of(item: Item) -> str:
            return index.prims[item.node - 1].path

        known = DrivingPrims(
            prims,
            index.node,
            self.driven,
            tendon_sites(world, path_of),
            tendon_shapes(world, path_of),
            index.metre,
            index.kilogram,
        )
        reader = ActuatorPrimReader(known, world, self.report)
        reader.read()
        self.actuators |= reader.nodes
        self.tendons |= reader.tendon_nodes

    def _gravity(self, scene: StagePrim | None) -> Vector:
        found = scene.values if scene is not None else {}
        if not all(found.get(name, True) for name in _GRAVITY_FLAGS):
            return (0.0, 0.0, 0.0)
        direction = spatial.array(found.get("physics:gravityDirection", (0.0, 0.0, 0.0)))
        size = float(found.get("physics:gravityMagnitude", -1.0))
        length = float(np.linalg.norm(direction))
        if not length:
            direction, length = -np.eye(3)["XYZ".find(self.index.stage.up_axis)], 1.0
        strength = size * self.index.metre if isfinite(size) and size >= 0.0 else _GRAVITY
        x, y, z = (direction / length * strength).tolist()
        return (x + 0.0, y + 0.0, z + 0.0)

    # --- models ---------------------------------------------------------------------------------------

    def _model(self, source: ModelSource, bodies: UsdBodyReader, shapes: ShapePrimReader) -> Model:
        node = self.index.node(source.prim) if source.prim is not None else -1
        model = Model(name=source.name, static=source.is_static, document=0, node=node)
        model.bodies += [self._body(one, bodies, shapes) for one in source.bodies]
        for one, body in zip(source.bodies, model.bodies, strict=True):
            if one.is_own:
                place = self.index.placement(one.prim).rigid
                self.view_bodies[one.prim.path] = ViewBody(qualified_name(model.name, body.name), place)
        return model

    def _body(self, source: BodySource, bodies: UsdBodyReader, shapes: ShapePrimReader) -> Body:
        prim = source.prim
        node = self.index.node(prim) if source.is_own else -1
        compensated = float(prim.values.get("mjc:body:gravcomp", 0.0))
        if compensated not in (0.0, 1.0):
            self.report("US116", node, attribute="mjc:body:gravcomp", name=source.name, share=compensated)
        is_light = prim.values.get("physxRigidBody:disableGravity") or compensated == 1.0
        body = Body(name=source.name, gravity=not is_light, document=0, node=node)
        if prim.values.get("physics:startsAsleep"):
            body.state = BodyState(enabled=False)
        place = self.index.placement(prim)
        if source.is_own and place.is_sheared:
            self.report("US104.body", node, name=source.name)
        metre = self.index.metre
        frame = place.rigid if source.is_own or source.link >= 0 else np.eye(4)
        found: dict[str, Any] = {
            "xformOp:translate": tuple(frame[:3, 3].tolist()),
            "xformOp:orient": tuple(spatial.quaternion(frame[:3, :3]).tolist()),
            "physics:centerOfMass": self._centre(prim, place.stretch),
            "physics:velocity": tuple(metre * x for x in prim.values.get("physics:velocity", (0.0, 0.0, 0.0))),
            "physics:angularVelocity": tuple(prim.values.get("physics:angularVelocity", (0.0, 0.0, 0.0))),
        }
        bodies.add(source.path, body, found, [])
        shapes.read(source, body, frame)
        if self.is_own:
            for shape in body.shapes:
                shape.name = "" if _GENERATED_NAME.fullmatch(shape.name) else shape.name
        return body

    @staticmethod
    def _centre(prim: StagePrim, stretch: spatial.Array) -> tuple[float, ...]:
        centre = prim.values.get("physics:centerOfMass", (0.0, 0.0, 0.0))
        return tuple((stretch @ spatial.array(centre)).tolist()) if all(map(isfinite, centre)) else (0.0, 0.0, 0.0)

    def _joints(self, source: ModelSource, model: Model, joints: UsdJointReader, drives: DriveReader) -> list[Joint]:
        numbers = {body.path: joints.bodies.number[body.path] for body in source.bodies}
        prims = JointPrimReader(self.index, numbers, self.report)
        sources = prims.sources(source) if not model.static else []
        made = joints.create(sources)
        by_path = {one.path: joint for joint, one in zip(made, sources, strict=True)}
        for joint, one in zip(made, sources, strict=True):
            joint.document, joint.node = 0, one.node
            drives.read(joint, one)
            self.driven[one.path] = DrivenJoint(qualified_name(model.name, joint.name), joint, one.found)
            if one.follows in by_path:
                self.equalities.append(_equality(model, joint, by_path[one.follows], one.polynomial))
        with_joint = {id(joint.child) for joint in made if not joint.loop}
        for own, body in zip(source.bodies, model.bodies, strict=True):
            if id(body) in with_joint:
                if own.prim.values.get("physics:kinematicEnabled") and not model.static:
                    self.report(
                        "US112.joint", self.index.node(own.prim), attribute="physics:kinematicEnabled", name=body.name
                    )
                continue
            is_fixed = model.static or bool(own.prim.values.get("physics:kinematicEnabled"))
            if is_fixed and not model.static:
                self.report("US112", self.index.node(own.prim), attribute="physics:kinematicEnabled", name=body.name)
            joint = joints.floating_joint(own.path, own.prim.custom, static=is_fixed)
            joint.document, joint.node = 0, body.node
            joint.implicit = "exoskelJoint" not in own.prim.custom
            made.append(joint)
        return sort_joints(model, made)

    def _check_poses(self, world: World, bodies: UsdBodyReader) -> None:
        """Report bodies that are not where their joints put them."""
        if not bodies.bodies:
            return
        poses = Kinematics(world.models).poses()
        order = {id(body): i for i, body in enumerate(world.bodies())}
        for path, number in bodies.number.items():
            if path not in self.index.number:  # a body between joints
                continue
            mine, theirs = poses[order[id(bodies.bodies[number])]], bodies.places[number]
            if np.abs(mine - theirs).max() > _APART * (1.0 + np.abs(theirs).max()):
                self.report("US106.apart", self.index.number[path], name=bodies.bodies[number].name)

    def _check_velocities(self, world: World, bodies: UsdBodyReader) -> None:
        """Report bodies that do not move as they state, because the velocities of their joints are others."""
        if not bodies.bodies:
            return
        still: Twist = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        moving = initial_twists(world.models, Kinematics(world.models))
        for path, number in bodies.number.items():
            if path not in self.index.number:
                continue
            body = bodies.bodies[number]
            mine = np.array(moving.get(id(body), still))
            for name, own, stated in zip(_VELOCITIES, mine, (bodies.speeds[number], bodies.spins[number]), strict=True):
                if name in self.index.by_path[path].values and np.abs(own - stated).max() > _APART * (
                    1.0 + np.abs(stated).max()
                ):
                    self.report("US106.moving", self.index.number[path], attribute=name, name=body.name)


def _equality(model: Model, joint: Joint, leader: Joint, polynomial: tuple[float, ...]) -> Equality:
    """The constraint of MuJoCo's schema that a mimic cannot express."""
    target, other = (qualified_name(model.name, one.name) for one in (joint, leader))
    return Equality(f"{joint.name}_equality", "joint", "joint", target, other, polynomial=polynomial)


def _time_step(scene: StagePrim | None) -> float:
    found = scene.values if scene is not None else {}
    step = float(found.get("mjc:option:timestep", 0.0))
    rates = [float(found[name]) for name in _TIME_STEPS if name in found]
    if not step > 0.0 and rates and rates[0] > 0.0:
        step = 1.0 / rates[0]
    return step if isfinite(step) and step > 0.0 else DEFAULT_TIME_STEP
