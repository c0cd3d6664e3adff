"""Read an MJCF document into a scene, with its cameras, lights and keyframes, and the elements to preserve."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from exoskel import spatial
from exoskel.diagnostics import Collector, Severity
from exoskel.formats.interface import ReadOptions
from exoskel.formats.invalid_items import RepairedItem, repair
from exoskel.formats.macro_expansion import MacroFormat, read_expanded
from exoskel.formats.mjcf.codes import CATALOGUE
from exoskel.formats.mjcf.collision_filter import read_collision_filter
from exoskel.formats.mjcf.item_keys import PartKey, item_keys, values_by_key
from exoskel.formats.mjcf.model.coordinates import Coordinates
from exoskel.formats.mjcf.names import GENERATED, KEY, OTHER_KEY, split_path
from exoskel.formats.mjcf.preserved_elements import (
    ActuatorState,
    ExtraAttributes,
    ExtraAttributesOfItems,
    ItemReference,
    KeyframeRow,
    MocapState,
    PreservedElements,
    references,
)
from exoskel.formats.mjcf.reader.actuators import ActuatorReader
from exoskel.formats.mjcf.reader.compiled import (
    Compiled,
    compile,
    disabled_flags,
    report_disabled_flags,
    transforms,
)
from exoskel.formats.mjcf.reader.complete_document import compile_complete, own_numbers
from exoskel.formats.mjcf.reader.equality import EqualityReader, find_screws
from exoskel.formats.mjcf.reader.extra_attributes import (
    attributes_of_defaults,
    body_extras,
    geom_extras,
    joint_extras,
    most_frequent_solref,
    named_extras,
    site_extras,
)
from exoskel.formats.mjcf.reader.generated_parts import find_generated_parts, generated_nodes
from exoskel.formats.mjcf.reader.keyframe_lists import (
    OwnNumbers,
    key_elements,
    remove_invalid_keyframe_lists,
    remove_lists_of_ignored_elements,
    report_short_keyframe_lists,
)
from exoskel.formats.mjcf.reader.models import DOCUMENT, FoundParts, MjcfModelReader, group_bodies
from exoskel.formats.mjcf.reader.preprocessor import prepare
from exoskel.formats.mjcf.reader.sensors import SensorReader
from exoskel.formats.mjcf.reader.shapes import MjcfShapeReader
from exoskel.formats.mjcf.reader.tendons import EXTRA_ATTRIBUTES, TendonReader
from exoskel.formats.mjcf.reader.unread_elements import check_references, check_unread_elements
from exoskel.scene.actuator import Actuator
from exoskel.scene.body import Marker
from exoskel.scene.cameras_and_keyframes import (
    Keyframe,
    KeyframeJoint,
    LightKind,
    SceneCamera,
    SceneLight,
    TrackingMode,
    View,
)
from exoskel.scene.codes import CATALOGUE as CATALOGUE_OF_SCENES
from exoskel.scene.equality import Equality
from exoskel.scene.item import qualified_name
from exoskel.scene.pose import ZERO, Pose, Vector, vector_from_array
from exoskel.scene.sensor import SceneSensor
from exoskel.scene.shape import Shape
from exoskel.scene.source_info import SourceInfo
from exoskel.scene.tendon import Tendon
from exoskel.scene.validation import mark_invalid, world_problems
from exoskel.scene.world import DEFAULT_TIME_STEP, Scene, World
from exoskel.source.document import Document
from exoskel.source.root_check import RootCodes, parse_root, report_malformed
from exoskel.source.well_formedness import MalformedError
from exoskel.spatial import Array

_ROOT_CODES = RootCodes(malformed="MJ101", root="MJ102", declarations="MJ103")
_MACROS = MacroFormat("mjcf", "mujoco", "MJ110", CATALOGUE)


class ImportedScene(Struct):
    """A scene and the compiled document, for comparing the two; None if MuJoCo rejected it."""

    scene: Scene
    compiled: Compiled | None = None
    reader: MjcfModelReader | None = None
    coordinates: Coordinates | None = None


def read(document: Document, options: ReadOptions) -> Scene:
    """Read a document.  Valid parts are in the scene, problems in its diagnostics."""
    return read_expanded(lambda one, own: import_document(one, own).scene, document, options, _MACROS)


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
        remove_lists_of_ignored_elements(prepared, collector, lambda: _own_numbers(document, options))
        remove_invalid_keyframe_lists(prepared, collector)
        if not options.is_own:
            check_unread_elements(prepared, collector)
        compiled = compile(prepared, collector, options.limits.seconds, is_own=options.is_own)
        if compiled is not None:
            if not options.is_own:
                check_references(compiled, collector)
            report_short_keyframe_lists(prepared, compiled.model, collector)
            out.compiled = compiled
            if options.on_compiled is not None:
                options.on_compiled(compiled.model)
            with np.errstate(invalid="ignore", over="ignore"):  # invalid values are reported
                _import(out, prepared.name or "world", options, collector)
    collector.diagnostics.sort(key=lambda diagnostic: diagnostic.place.node)
    return out


def _own_numbers(document: Document, options: ReadOptions) -> OwnNumbers | None:
    complete = compile_complete(document, options)
    return None if complete is None else own_numbers(complete)


def _import(out: ImportedScene, name: str, options: ReadOptions, collector: Collector) -> None:
    compiled, report = out.compiled, collector.report
    assert compiled is not None
    disabled = disabled_flags(compiled)
    report_disabled_flags(compiled, compiled.prepared.flags, report)
    generated = find_generated_parts(compiled)
    shapes = MjcfShapeReader(compiled, report, options.limits)
    reader = MjcfModelReader(compiled, generated, shapes, report, find_screws(compiled))
    world = World(
        name=name,
        gravity=ZERO if "gravity" in disabled else vector_from_array(compiled.model.opt.gravity),
        time_step=_time_step(compiled, report),
        document=DOCUMENT,
        node=0,
    )
    world.models += [reader.model(one) for one in group_bodies(compiled, generated)]
    out.reader, out.coordinates = reader, reader.coordinates(world)
    reader.set_state(world, out.coordinates)
    tendons = TendonReader(compiled, generated, reader.found, world, report)
    tendons.read()
    actuators = ActuatorReader(compiled, generated, reader.found, world, tendons, report)
    actuators.read()
    sensors = SensorReader(compiled, reader.found, world, tendons, actuators.numbers, report)
    sensors.read()
    views = ViewReader(compiled, reader, world, report)
    views.read(out.coordinates, actuators.numbers)
    equality = EqualityReader(compiled, generated, reader.found, world, tendons, report)
    equality.read()
    if "contact" in disabled:
        for shape in (shape for body in world.bodies() for shape in body.collisions):
            shape.collidable = False
    else:
        read_collision_filter(world, compiled, reader.found, report)
        shapes.report_friction()
    out.scene.worlds.append(world)
    if not _has_valid_numbers(compiled):
        _repair_values(world, compiled, sensors, report)
    owners = {number: owner.joint.node for number, owner in reader.found.owners.items()}
    unread = {"tendon": tendons.unread, "actuator": actuators.unread, "equality": equality.unread}
    preserved = None
    if not options.is_own:  # such a scene is compared, and not written again
        preserved = _find_preserved(compiled, reader.found, unread, tendons, actuators, sensors, views)
    out.scene.source_info = SourceInfo(
        "mjcf",
        generated=generated_nodes(compiled, generated, owners),
        sensors={(0, node): {found} for node, found in sensors.sources.items()},
        views={(0, node): (found,) for node, found in views.sources.items()},
        objects={
            node: (field, name)
            for field, found in (
                ("tendons", tendons.nodes),
                ("equalities", equality.objects.nodes),
                ("keyframes", views.keyframe_nodes),
            )
            for node, name in found.items()
        },
        partly_read=actuators.partly_read_states(),
        preserved=preserved,
    )


def _has_valid_numbers(compiled: Compiled) -> bool:
    """Whether all numbers are finite and those of joints and contacts are not negative, as in most documents."""
    model = compiled.model
    arrays = (getattr(model, name) for name in dir(model) if not name.startswith("_"))
    are_finite = all(np.isfinite(one).all() for one in arrays if isinstance(one, np.ndarray) and one.dtype.kind == "f")
    not_negative = (getattr(model, name) for name in _NOT_NEGATIVE if hasattr(model, name))
    has_cameras = not model.ncam or float(model.cam_fovy.min()) > 0.0
    return are_finite and has_cameras and all(one.min(initial=0.0) >= 0.0 for one in not_negative)


_NOT_NEGATIVE = (
    *("dof_armature", "dof_frictionloss", "dof_damping", "geom_friction"),
    *("tendon_stiffness", "tendon_damping", "tendon_frictionloss", "tendon_armature", "tendon_width"),
)


def _repair_values(world: World, compiled: Compiled, sensors: SensorReader, report: Callable[..., None]) -> None:
    """Report invalid values; they and what consists of them are removed, and the rest is read."""
    repairs = repair(world)
    for one in repairs if repairs is not None else (RepairedItem(found, "") for found in world_problems(world)):
        if CATALOGUE_OF_SCENES[one.problem.key].severity is not Severity.ERROR:
            continue
        outcome = f"; {one.outcome}" if one.outcome else ""
        item = one.problem.item
        node = max(item.node, 0) if one.removed is None else _node_of(one.removed, compiled, sensors)
        report("MJ109", node, problem=[one.problem.message], outcome=[outcome])
    if repairs is None:
        mark_invalid(world)


_LISTS: dict[type, str] = {
    SceneCamera: "cameras",
    SceneLight: "lights",
    Keyframe: "keys",
    Tendon: "tendons",
    Actuator: "actuators",
    Equality: "equalities",
}
"""What a list of a world may contain, and the elements of the document."""


def _node_of(row: Any, compiled: Compiled, sensors: SensorReader) -> int:
    """The node of an element of a list of the world, by its name; 0 if it has none."""
    if isinstance(row, SceneSensor):
        nodes = (node for node, one in sensors.sources.items() if row.name in {name for name, *_ in one.sensors})
        return next(nodes, 0)
    parts = next(getattr(compiled, name) for kind, name in _LISTS.items() if isinstance(row, kind))
    number = parts.numbers.get(row.name)
    return 0 if number is None else max(parts.node(number), 0)


def _time_step(compiled: Compiled, report: Callable[..., None]) -> float:
    """The time step in s; MuJoCo accepts any number."""
    step = float(compiled.model.opt.timestep)
    if isfinite(step) and step > 0.0:
        return step
    report("MJ107", 0, "option", step=step, default=DEFAULT_TIME_STEP)
    return DEFAULT_TIME_STEP


_MODES: tuple[TrackingMode, ...] = ("fixed", "track", "trackcom", "targetbody", "targetbodycom")
_LIGHTS: tuple[LightKind, ...] = ("spot", "directional", "point", "spot")
"""Of mjtCamLight and mjtLightType; an image is read as a spot."""
_WIDEST = 179.9
"""The widest angle of view in degrees: MuJoCo refuses a stated one of 180, which may follow from the sensor size."""
_MOST_NUMBERS = 1_000_000
"""The most positions and velocities of all keyframes."""


class ViewReader:
    """Sets the cameras, lights and keyframes of a world; those that Exoskel has generated for viewers are skipped."""

    def __init__(self, compiled: Compiled, reader: MjcfModelReader, world: World, report: Callable[..., None]) -> None:
        self.compiled = compiled
        self.model: Any = compiled.model
        self.reader = reader
        self.world = world
        self.report = report
        self.actuators: Mapping[str, int] = {}
        self.sources: dict[int, View] = {}
        """Cameras and lights by their elements."""
        self.numbers: dict[str, Mapping[int, View]] = {}
        """Cameras and lights by their tags and numbers."""

    def read(self, coordinates: Coordinates, actuators: Mapping[str, int]) -> None:
        """Read all; `actuators` are MuJoCo's numbers of the actuators in the scene, by name."""
        self.actuators = actuators
        model, world = self.model, self.world
        compiled = self.compiled
        cameras = {i: self._camera(i) for i in range(model.ncam) if self._is_stated(compiled.cameras.name(i))}
        lights = {i: self._light(i) for i in range(model.nlight) if self._is_stated(compiled.lights.name(i))}
        world.cameras += cameras.values()
        world.lights += lights.values()
        self.numbers = {"camera": cameras, "light": lights}
        self.sources |= {compiled.cameras.node(i): one for i, one in cameras.items()}
        self.sources |= {compiled.lights.node(i): one for i, one in lights.items()}
        world.keyframes += self._keyframes(coordinates)

    @property
    def keyframe_nodes(self) -> dict[int, str]:
        """The names of the keyframes of the world, by their elements."""
        elements = list(key_elements(self.compiled.prepared))[_first_keyframe(self.compiled) :]
        return {key.node: one.name for key, one in zip(elements, self.world.keyframes, strict=False)}

    def _is_stated(self, name: str) -> bool:
        return not name.startswith(GENERATED)

    def _path(self, body: int) -> str:
        """The path of a body in the scene; empty for the world."""
        if body <= 0 or body not in self.reader.found.bodies:
            return ""
        return qualified_name(self.reader.found.models[body].name, self.reader.found.bodies[body].name)

    def _camera(self, number: int) -> SceneCamera:
        model = self.model
        width, height = model.cam_resolution[number].tolist()
        return SceneCamera(
            name=self.compiled.cameras.name(number),
            body=self._path(int(model.cam_bodyid[number])),
            pose=Pose.from_matrix(transforms(model.cam_pos[number], model.cam_quat[number])),
            field_of_view=min(float(model.cam_fovy[number]), _WIDEST),
            orthographic=bool(_orthographic(model)[number]),
            resolution=(int(width), int(height)),
            mode=_MODES[int(model.cam_mode[number])],
            target=self._path(int(model.cam_targetbodyid[number])),
        )

    def _light(self, number: int) -> SceneLight:
        model = self.model
        return SceneLight(
            name=self.compiled.lights.name(number),
            body=self._path(int(model.light_bodyid[number])),
            position=vector_from_array(model.light_pos[number]),
            direction=vector_from_array(model.light_dir[number]),
            kind=_LIGHTS[int(model.light_type[number])],
            active=bool(model.light_active[number]),
            casts_shadows=bool(model.light_castshadow[number]),
            diffuse=_shortest(model.light_diffuse[number]),
            ambient=_shortest(model.light_ambient[number]),
            specular=_shortest(model.light_specular[number]),
            attenuation=_shortest(model.light_attenuation[number]),
            cutoff=float(str(model.light_cutoff[number])),
            exponent=float(str(model.light_exponent[number])),
            mode=_MODES[int(model.light_mode[number])],
            target=self._path(int(model.light_targetbodyid[number])),
        )

    # --- keyframes ------------------------------------------------------------------------------------

    def _keyframes(self, coordinates: Coordinates) -> list[Keyframe]:
        """All keyframes, without the one that Exoskel has generated for the initial state."""
        model, keys = self.model, self.compiled.keys
        first = _first_keyframe(self.compiled)
        most = max(1, _MOST_NUMBERS // max(1, 2 * coordinates.count))
        if model.nkey - first > most:
            self.report("MJ310", keys.node(first), count=model.nkey - first, most=most)
        return [self._keyframe(number, coordinates) for number in range(first, min(model.nkey, first + most))]

    def _keyframe(self, number: int, coordinates: Coordinates) -> Keyframe:
        shifted = self.reader.relative(self.model.key_qpos[number])
        positions = coordinates.positions(shifted)
        velocities = coordinates.velocities(shifted, self.model.key_qvel[number])
        states: list[KeyframeJoint] = []
        first = 0
        for owner, joint in ((model, joint) for model in self.world.models for joint in model.joints):
            own = slice(first, first + joint.dof_count)
            if joint.dof_count and not owner.static:
                path = qualified_name(owner.name, joint.name)
                states.append(KeyframeJoint(path, tuple(positions[own].tolist()), tuple(velocities[own].tolist())))
            first += joint.dof_count
        controls = self.model.key_ctrl[number].tolist() if self.actuators else []
        places = ((name, self.compiled.control(own)) for name, own in self.actuators.items())
        stated = tuple((name, controls[own]) for name, own in places if own is not None and controls[own])
        has_state = [one.name for one in self.world.actuators if one.activation is not None]
        active = ((name, self.compiled.activation(self.actuators[name], number)) for name in has_state)
        activations = tuple((name, value) for name, value in active if value)
        name, time = self.compiled.keys.name(number), float(self.model.key_time[number])
        return Keyframe(name, time, tuple(states), stated, activations)


def _first_keyframe(compiled: Compiled) -> int:
    """The number of the first keyframe of the scene: Exoskel generates one for the initial state."""
    return 1 if compiled.model.nkey and compiled.keys.name(0) in (KEY, OTHER_KEY) else 0


def _orthographic(model: Any) -> Array:
    """Whether cameras are orthographic: MuJoCo 4 has the kind of projection, earlier versions a flag."""
    return np.asarray(model.cam_projection if hasattr(model, "cam_projection") else model.cam_orthographic)


def _shortest(values: Any) -> Vector:
    """Numbers in single precision as the shortest ones that round to them: those of the file."""
    x, y, z = (float(str(value)) for value in spatial.array(values).astype(np.float32))
    return (x, y, z)


# --- elements that the scene does not contain -----------------------------------------------------------

_NUMBERED = ("tendon", "actuator", "equality")


def _find_preserved(
    compiled: Compiled,
    found: FoundParts,
    unread: Mapping[str, Collection[int]],
    tendons: TendonReader,
    actuators: ActuatorReader,
    sensors: SensorReader,
    views: ViewReader,
) -> PreservedElements | None:
    """The elements that the scene has no items for, to be written back unchanged, or None.

    `unread` are the numbers of the tendons, actuators and equality constraints that were not read, `tendons`,
    `actuators`, `sensors` and `views` are those that were.
    """
    collected = compiled.prepared.collected
    if collected is None:
        return None
    fragments = list(compiled.prepared.root.iter())
    rows = {"tendon": compiled.tendons, "actuator": compiled.actuators, "equality": compiled.equalities}
    wanted = {
        id(fragments[line - 1]): number
        for section, parts in rows.items()
        for number in unread[section]
        if 0 < (line := parts.lines.get(number, 0)) <= len(fragments)
    }
    lines = ((name, compiled.actuators.lines.get(number, 0)) for name, number in actuators.numbers.items())
    actuator_names = {id(fragments[line - 1]): name for name, line in lines if 0 < line <= len(fragments)}
    rows_of_states = _keyframe_rows(compiled, len(views.world.keyframes))
    keys = item_keys(views.world.bodies())
    kept = [
        replace(one, state=_actuator_state(compiled, wanted[key], rows_of_states)) if one.section == "actuator" else one
        for key, one in collected.elements
        if key not in sensors.names and (one.section not in _NUMBERED or key in wanted)
    ]
    ranks: dict[str, Mapping[int, str]] = {"sensor": sensors.names, "actuator": actuator_names}
    order = {
        section: tuple(names.get(key, one.node) for key, one in collected.elements if one.section == section)
        for section, names in ranks.items()
    }
    names = {(kind, name) for one in kept for _, _, kind, name in references(one.element)}
    finder = _ItemFinder(compiled, found)
    return PreservedElements(
        kept,
        {key: item for key in names if (item := finder.find(*key)) is not None},
        _materials(compiled, found, keys) if any(one.element.tag == "material" for one in kept) else {},
        collected.defaults,
        collected.options,
        collected.sizes,
        collected.has_automatic_limits,
        _keyframe_names(compiled, rows_of_states),
        _mocap_states(compiled, found, rows_of_states),
        _tendon_attributes(compiled, tendons),
        order["sensor"],
        order["actuator"],
        compiled.materials,
        ExtraAttributesOfItems(
            geom_extras(compiled, found, keys),
            list(joint_extras(compiled, found)),
            body_extras(compiled, found),
            most_frequent_solref(compiled),
            attributes_of_defaults(compiled),
            site_extras(compiled, found, keys),
            named_extras(compiled, views.numbers),
        ),
    )


def _materials(compiled: Compiled, found: FoundParts, keys: Mapping[int, PartKey]) -> dict[PartKey, str]:
    """The materials of shapes and markers."""
    model: Any = compiled.model
    made: dict[PartKey, str] = {}
    if not getattr(model, "nmat", 0) or not hasattr(model, "mat"):
        return made
    parts: tuple[tuple[Mapping[int, Shape | Marker], Any], ...]
    parts = ((found.shapes, model.geom_matid), (found.markers, model.site_matid))
    for items, materials in parts:
        numbers = enumerate(materials.tolist())
        names = {number: model.mat(material).name for number, material in numbers if material >= 0}
        made |= values_by_key(items, names, keys)
    return made


def _tendon_attributes(compiled: Compiled, tendons: TendonReader) -> dict[str, ExtraAttributes]:
    """What the document states about the tendons of the scene and their items do not, by their names."""
    model = compiled.model
    found: dict[str, ExtraAttributes] = {}
    for number, name in tendons.names.items():
        stated = tendons.stated(number)
        values = tendons.extra_attributes(number)
        material = int(model.tendon_matid[number]) if hasattr(model, "mat") and not tendons.is_fixed(number) else -1
        values |= {"material": model.mat(material).name} if material >= 0 else {}
        user = np.asarray(model.tendon_user)[number]
        values |= {"user": user.tolist()} if user.any() else {}
        own = frozenset(EXTRA_ATTRIBUTES) & stated.keys()
        is_shifted = tendons.offsets[number] != 0.0
        found[name] = ExtraAttributes(values, compiled.tendons.node(number), own, is_shifted)
    return found


def _keyframe_rows(compiled: Compiled, count: int) -> list[int]:
    """The numbers of the keyframes of the initial state and of the scene; none without keyframes."""
    first = _first_keyframe(compiled)
    return [0, *range(first, first + count)] if compiled.model.nkey else []


def _keyframe_names(compiled: Compiled, numbers: Sequence[int]) -> tuple[KeyframeRow, ...]:
    """The names of some keyframes, and the nodes of those that state activations or poses of mocap bodies."""
    has_more = getattr(compiled.model, "na", 0) or getattr(compiled.model, "nmocap", 0)
    elements = list(key_elements(compiled.prepared)) if has_more else []
    nodes = {number: key.node for number, key in enumerate(elements) if not _MORE_STATES.isdisjoint(key.attributes)}
    return tuple(KeyframeRow(compiled.keys.name(number), nodes.get(number, -1)) for number in numbers)


def _mocap_states(compiled: Compiled, found: FoundParts, rows: Sequence[int]) -> dict[tuple[int, str], MocapState]:
    """The poses of mocap bodies in some keyframes; none if no keyframe states them."""
    has_mocap = bool(getattr(compiled.model, "nmocap", 0))
    keys = list(key_elements(compiled.prepared)) if rows and has_mocap else []
    if not any({"mpos", "mquat"} & key.attributes.keys() for key in keys):
        return {}
    model = compiled.model
    states: dict[tuple[int, str], MocapState] = {}
    for number, mocap in enumerate(model.body_mocapid.tolist()):
        body = found.bodies.get(number)
        if mocap >= 0 and body is not None:
            positions = np.array(model.key_mpos[rows])[:, 3 * mocap : 3 * mocap + 3]
            quaternions = np.array(model.key_mquat[rows])[:, 4 * mocap : 4 * mocap + 4]
            states[body.node, body.name] = MocapState(positions, quaternions)
    return states


_MORE_STATES = frozenset({"act", "mpos", "mquat"})
"""States of keyframes that a scene does not contain."""


def _actuator_state(compiled: Compiled, number: int, rows: Sequence[int]) -> ActuatorState:
    """The controls and activations of an actuator in some keyframes."""
    model = compiled.model
    activations = np.zeros((len(rows), 0))
    if getattr(model, "na", 0) and model.actuator_actnum[number]:
        first = int(model.actuator_actadr[number])
        activations = np.array(model.key_act[rows, first : first + int(model.actuator_actnum[number])])
    own = compiled.control_slices[number]
    controls = np.array(model.key_ctrl[rows, own]) if rows else np.zeros((0, own.stop - own.start))
    return ActuatorState(controls, activations)


class _ItemFinder:
    def __init__(self, compiled: Compiled, found: FoundParts) -> None:
        self.compiled = compiled
        self.model: Any = compiled.model
        self.found = found

    def find(self, kind: str, name: str) -> ItemReference | None:
        find = {"body": self._body, "joint": self._joint, "site": self._site, "geom": self._geom}.get(kind)
        return find(name) if find is not None else None

    def _body(self, name: str) -> ItemReference | None:
        number = self.compiled.bodies.numbers.get(name)
        body = self.found.bodies.get(number) if number is not None else None
        if number is None or body is None:
            return None
        return ItemReference(body.node, self.found.models[number].name, body.name)

    def _joint(self, name: str) -> ItemReference | None:
        number = self.compiled.joints.numbers.get(name)
        owner = self.found.owners.get(number) if number is not None else None
        if number is None or owner is None:
            return None
        is_single = self.compiled.types[number] in ("hinge", "slide")
        is_shifted = is_single and bool(self.model.qpos0[self.model.jnt_qposadr[number]])
        return ItemReference(
            owner.joint.node, owner.model.name, owner.joint.name, owner.first, is_shifted, owner.joint.kind
        )

    def _site(self, name: str) -> ItemReference | None:
        number = self.compiled.sites.numbers.get(name)
        if number is None:
            return None
        model = self.found.models.get(int(self.model.site_bodyid[number]))
        path = split_path(name)
        own = path[2] if len(path) == 3 else name
        node = self.compiled.sites.node(number)
        return ItemReference(node, model.name, own) if model is not None else None

    def _geom(self, name: str) -> ItemReference | None:
        number = self.compiled.geoms.numbers.get(name)
        if number is None:
            return None
        model = self.found.models.get(int(self.model.geom_bodyid[number]))
        node = self.compiled.geoms.node(number)
        return ItemReference(node, model.name, name) if model is not None else None
