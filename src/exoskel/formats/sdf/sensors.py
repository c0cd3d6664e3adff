"""Sensors in SDFormat: those whose values a sensor of the scene has, and how they are written.

An IMU is an accelerometer, a gyroscope and an orientation; a force-torque sensor of a joint is a force and a torque; a
contact sensor of one collision shape is a touch sensor; a lidar with one ray is a rangefinder; a magnetometer is one.
Each of them has a marker on its link.  Others are not part of a scene.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite

import numpy as np
from msgspec import Struct

from exoskel.formats.sdf.codes import CATALOGUE
from exoskel.formats.sdf.context import NamedFrame, Scope, SdfContext, StatedPose, relative
from exoskel.formats.sdf.names import valid_name
from exoskel.formats.sdf.shape_elements import DART, add_pose
from exoskel.scene.body import MARKER_SIZE, Body, Marker, MarkerKind
from exoskel.scene.item import Names, qualified_name, unique_name
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.pose import Pose, Quaternion, Vector
from exoskel.scene.sensor import SceneSensor, SensorKind, SensorSource, SensorTargets, sensor_part, source_of
from exoskel.scene.shape import Box, Capsule, Cylinder, Ellipsoid, Geometry, Sphere
from exoskel.scene.tendon import TendonParts
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document, Tree
from exoskel.source.flat_tree import Node
from exoskel.source.markup import Markup, format_number
from exoskel.source.output_context import NodeOfDocument, OutputContext

SENSOR = "sensor"
_LIDARS = ("lidar", "gpu_lidar", "ray", "gpu_ray")
_AXES = ("x", "y", "z")
_RAY = Pose((0.0, 0.0, 0.0), Quaternion((0.5**0.5, 0.0, 0.5**0.5, 0.0)))
"""The marker of a lidar with one ray in the frame of the lidar: its z axis is the x axis of the lidar."""
_UPRIGHT = 1e-9
_TRUE, _FALSE = ("true", "1"), ("false", "0")


class PendingSensor(Struct, frozen=True, eq=False):
    """A sensor whose link is not placed yet; `joint` is the name of its joint, if it is that of a joint."""

    source: SdfContext
    number: int
    element: Tree
    frame: NamedFrame
    scope: Scope
    body: Body | None = None
    joint: str = ""

    @property
    def name(self) -> str:
        return (self.element.get("name") or "").strip() or SENSOR

    def number_of(self, inner: Tree) -> int:
        """The number of an element in it."""
        return self.number + next(at for at, one in enumerate(self.element.iter("*")) if one is inner)


class _SdfMeasurement(Struct, frozen=True):
    """One sensor of the scene: its kind, and where its noise is stated."""

    kind: SensorKind
    noise: str = ""
    cutoff: float = 0.0


def pending_sensors(
    source: SdfContext, nodes: Iterable[Node], scope: Scope, around: str, body: Body | None = None, joint: str = ""
) -> Iterator[PendingSensor]:
    """The sensors of a link or joint, whose frame in its scope is called `around`."""
    for node in nodes:
        element = source.elements[node.number]
        frame = NamedFrame("", source, node.number, stated_pose(source, node.number, element), default_frame=around)
        yield PendingSensor(source, node.number, element, frame, scope, body, joint)


def stated_pose(source: SdfContext, number: int, element: Tree) -> StatedPose:
    """The pose of a sensor, whose content the vocabulary does not have."""
    found = element.find("pose")
    if found is None:
        return StatedPose()
    at = number + next(at for at, one in enumerate(element.iter("*")) if one is found)
    fields: dict[str, object] = {f"@{key}": value for key, value in found.attrib.items()}
    fields["@degrees"] = (found.get("degrees") or "").strip() in _TRUE
    return source.pose(Node(number, {"pose": Node(at, fields)}))


def read_sensors(
    world: World,
    model: Model,
    found: Sequence[PendingSensor],
    taken: Names,
    made: dict[NodeOfDocument, set[SensorSource]],
) -> None:
    """Add the sensors of a placed model to a world, and to those that were `made`, by their elements."""
    joints = {joint.name: joint for joint in model.joints}
    for one in found:
        joint = joints.get(one.joint) if one.joint else None
        body = one.body if joint is None else joint.child
        placed = None if body is None else _read_sensor(one, model, body, joint)
        if placed is None or body is None:
            one.source.report("SD012", one.number, element=SENSOR)
            continue
        marker, parts = placed
        if not all(map(isfinite, (*marker.offset, *marker.quaternion))):
            one.source.report("SD012", one.number, element=SENSOR)
            continue
        marker.name = unique_name(marker.name, Names(other.name for other in body.markers))
        body.markers.append(marker)
        target = qualified_name(model.name, body.name, marker.name)
        sensors: list[SceneSensor] = []
        for part in parts:
            name = unique_name(one.name if len(parts) == 1 else f"{one.name}_{part.kind}", taken)
            taken.add(name)
            noise = _noise(one, part.noise)
            sensors.append(SceneSensor(name, part.kind, "site", target, noise=noise, cutoff=part.cutoff))
        world.sensors += sensors
        made.setdefault((one.source.number, one.number), set()).add(source_of(sensors, marker))
        kinds = ", ".join(part.kind for part in parts)
        one.source.report("SD012.sensor", one.number, name=one.name, kinds=kinds)


def _read_sensor(
    one: PendingSensor, model: Model, body: Body, joint: Joint | None
) -> tuple[Marker, list[_SdfMeasurement]] | None:
    """The marker and the parts of a sensor; None if a scene does not support it."""
    kind, element = (one.element.get("type") or "").strip(), one.element
    if kind == "force_torque":
        return None if joint is None else _force_torque(one, body, joint)
    if joint is not None:
        return None
    if kind == "contact":
        return _contact(one, body)
    marker = _marker(one, pose_in(one, body))
    if kind == "imu":
        parts = [
            _SdfMeasurement("accelerometer", "imu/linear_acceleration"),
            _SdfMeasurement("gyro", "imu/angular_velocity"),
        ]
        if _has_world_orientation(element, model, body, marker):
            parts.append(_SdfMeasurement("framequat"))
        return marker, parts
    if kind == "magnetometer":
        return marker, [_SdfMeasurement("magnetometer", "magnetometer")]
    if kind in _LIDARS:
        lidar = next((found for tag in ("lidar", "ray") if (found := element.find(tag)) is not None), None)
        if lidar is None or not _has_one_ray(lidar):
            return None
        most = number_at(lidar, "range/max", 0.0)
        marker = _marker(one, pose_in(one, body) @ _RAY)
        return marker, [_SdfMeasurement("rangefinder", str(lidar.tag), most if isfinite(most) and most > 0.0 else 0.0)]
    return None


def pose_in(one: PendingSensor, body: Body) -> Pose:
    """The pose of a sensor in its link."""
    if not one.frame.stated.relative_to and not one.joint:
        return one.frame.stated.pose
    return relative(one.scope.place(one.frame), one.scope.transform(one.scope.paths[id(body)]))


def _marker(one: PendingSensor, pose: Pose) -> Marker:
    position, rotation = pose.position, (1.0, 0.0, 0.0, 0.0) if pose.has_no_rotation else pose.quaternion
    return Marker(one.name, position, rotation, document=one.source.number, node=one.number)


def _force_torque(one: PendingSensor, body: Body, joint: Joint) -> tuple[Marker, list[_SdfMeasurement]] | None:
    settings = one.element.find("force_torque")
    frame = text_at(settings, "frame", "child")
    if frame not in ("child", SENSOR) or joint.loop or id(body) not in one.scope.paths:
        return None
    pose = pose_in(one, body)
    if text_at(settings, "measure_direction", "child_to_parent") != "parent_to_child":
        one.source.report("SD085", one.number, name=one.name)
    marker = _marker(one, Pose(pose.position) if frame == "child" else pose)
    return marker, [_SdfMeasurement("force", "force_torque/force"), _SdfMeasurement("torque", "force_torque/torque")]


def _contact(one: PendingSensor, body: Body) -> tuple[Marker, list[_SdfMeasurement]] | None:
    """The touch sensor of a contact sensor of one shape: a marker with the volume of the shape."""
    names = {(found.text or "").strip().rpartition("::")[2] for found in one.element.iterfind("contact/collision")}
    shapes = [shape for shape in body.collisions if shape.name in names]
    volume = _volume(shapes[0].geometry) if len(shapes) == len(names) == 1 else None
    if volume is None:
        return None
    marker = _marker(one, shapes[0].pose)
    marker.kind, marker.size = volume
    return marker, [_SdfMeasurement("touch")]


def _volume(geometry: Geometry) -> tuple[MarkerKind, Vector] | None:
    """The form and MuJoCo's half sizes of a geometry."""
    match geometry:
        case Box(size=(x, y, z)):
            return "box", (x / 2, y / 2, z / 2)
        case Ellipsoid(size=(x, y, z)):
            return "ellipsoid", (x / 2, y / 2, z / 2)
        case Sphere(radius=radius):
            return "sphere", (radius, *MARKER_SIZE[1:])
        case Cylinder(radius=radius, height=height):
            return "cylinder", (radius, height / 2, MARKER_SIZE[2])
        case Capsule(radius=radius, height=height):
            return "capsule", (radius, height / 2, MARKER_SIZE[2])
    return None


def _has_one_ray(lidar: Tree) -> bool:
    counts = [number_at(lidar, f"scan/{way}/samples", 1.0) for way in ("horizontal", "vertical")]
    angles = [number_at(lidar, f"scan/{way}/{end}_angle", 0.0) for way in ("horizontal", "vertical") for end in _ENDS]
    return counts == [1.0, 1.0] and not any(angles)


_ENDS = ("min", "max")


def _has_world_orientation(element: Tree, model: Model, body: Body, marker: Marker) -> bool:
    """Whether the orientation of an IMU is that in the world: by its reference, or because it starts aligned to it."""
    settings = element.find("imu")
    if text_at(settings, "enable_orientation", "true") in _FALSE:
        return False
    localization = text_at(settings, "orientation_reference_frame/localization", "")
    if localization == "CUSTOM":
        angles = settings.find("orientation_reference_frame/custom_rpy") if settings is not None else None
        is_world = angles is not None and (angles.get("parent_frame") or "").strip() == "world"
        return is_world and not any(parse_numbers((angles.text if angles is not None else "") or ""))
    if localization == "ENU" or (settings is not None and settings.get("reference_frame") == "world"):
        return True
    if localization or (settings is not None and settings.get("reference_frame", "local") != "local"):
        return False
    return _is_aligned(model, body, marker)


def _is_aligned(model: Model, body: Body, marker: Marker) -> bool:
    """Whether a marker starts with the orientation of the world."""
    rotation = model.pose.matrix() @ body.pose.matrix() @ _pose_of(marker).matrix()
    return bool(np.abs(rotation[:3, :3] - np.eye(3)).max() < _UPRIGHT)


def _pose_of(marker: Marker) -> Pose:
    return Pose(marker.offset, Quaternion(marker.quaternion))


def _noise(one: PendingSensor, path: str) -> float:
    """The standard deviation of all axes; noise that a scene does not have is reported."""
    if not path:
        return 0.0
    if one.element.find(f"{path}/noise") is not None:
        found = [one.element.find(f"{path}/noise")]
    else:
        found = [one.element.find(f"{path}/{axis}/noise") for axis in _AXES]
    values = {None if noise is None else _deviation(noise) for noise in found}
    if len(values) == 1 and (value := values.pop()) is not None:
        return value
    for noise in found:
        if noise is not None:
            one.source.report("SD012.noise", one.number_of(noise), name=one.name)
    return 0.0


def _deviation(noise: Tree) -> float | None:
    """The standard deviation of Gaussian noise without an offset; None for other noise."""
    kind = (noise.get("type") or text_at(noise, "type", "")).strip()
    others = ("mean", "bias_mean", "bias_stddev", "dynamic_bias_stddev", "precision")
    value = number_at(noise, "stddev", 0.0)
    is_plain = kind == "gaussian" and not any(number_at(noise, name, 0.0) for name in others)
    return value if is_plain and isfinite(value) and value >= 0.0 else None


def text_at(element: Tree | None, path: str, otherwise: str) -> str:
    found = element.findtext(path) if element is not None else None
    return (found or "").strip() or otherwise


def number_at(element: Tree, path: str, otherwise: float) -> float:
    found = parse_numbers(text_at(element, path, ""))
    return found[0] if found else otherwise


def parse_numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split()]
    except ValueError:
        return []


# --- writing -------------------------------------------------------------------------------------------


_TYPES: dict[str, str] = {
    "accelerometer": "imu",
    "gyro": "imu",
    "framequat": "imu",
    "force": "force_torque",
    "torque": "force_torque",
    "magnetometer": "magnetometer",
    "rangefinder": "gpu_lidar",
    "touch": "contact",
}
"""SDFormat's types of sensors by what they measure."""
_NOISES = {
    "accelerometer": "linear_acceleration",
    "gyro": "angular_velocity",
    "force": "force",
    "torque": "torque",
    "magnetometer": "",
    "rangefinder": "",
}
"""The elements that state noise, by what is measured; empty: directly in the settings of the sensor."""
_MIN_RANGE, _MAX_RANGE = 0.001, 1000.0


class SdfSensorWriter:
    """Writes the sensors of a world; `markers` are the ids of those that written sensors belong to."""

    def __init__(self, world: World, output: OutputContext) -> None:
        self.world = world
        self.output = output
        self.markers: set[int] = set()
        self._groups: dict[int, list[dict[str, SceneSensor]]] = {}
        """The sensors of one element by their kinds, by the ids of markers."""
        parts = TendonParts(world.models if world.sensors else ())
        targets = SensorTargets(parts, world.tendons, world.actuators)
        for one in world.sensors:
            kind = _TYPES.get(one.kind) if one.target_kind == "site" and not one.reference else None
            if targets.missing(one):
                continue
            if kind is None or output.target == DART:
                self._lose(one, "SD211.dart" if output.target == DART else "SD211")
                continue
            self._add(parts.sites[one.target][2], kind, one)

    def _add(self, marker: Marker, kind: str, sensor: SceneSensor) -> None:
        """Add a sensor to an element of its type that does not measure the same already."""
        groups = self._groups.setdefault(id(marker), [])
        fitting = (one for one in groups if sensor.kind not in one and _type_of(one) == kind)
        found = next(fitting, None)
        if found is None:
            groups.append({sensor.kind: sensor})
        else:
            found[sensor.kind] = sensor

    def _lose(self, sensor: SceneSensor, key: str) -> None:
        self.output.add_loss(self.world, CATALOGUE[key], sensor_part(sensor.name), is_dropped=True, kind=sensor.kind)

    def add_to(self, model: Markup) -> None:
        """Add the sensors of a model to its links and joints."""
        joints = {
            id(one.item.child): one for one in model.children if isinstance(one.item, Joint) and not one.item.loop
        }
        for link in model.children:
            body = link.item
            if not isinstance(body, Body) or not any(id(one) in self._groups for one in body.markers):
                continue
            joint = joints.get(id(body))
            taken = Names(child.attributes.get("name", "") for child in link.children)
            for marker in body.markers:
                for group in self._groups.get(id(marker), ()):
                    self._write(group, marker, link, joint, taken)

    def _write(
        self, group: dict[str, SceneSensor], marker: Marker, link: Markup, joint: Markup | None, taken: Names
    ) -> None:
        kind = _type_of(group)
        collision = _collision(link, marker) if kind == "contact" else None
        if (kind == "contact" and collision is None) or (kind == "force_torque" and joint is None):
            for one in group.values():
                self._lose(one, "SD211.contact" if kind == "contact" else "SD211.joint")
            return
        name = marker.name if id(marker) not in self.markers else f"{marker.name}_{kind}"
        name = valid_name(name, SENSOR, taken)
        made = Markup(SENSOR, {"name": name, "type": kind}, item=None if id(marker) in self.markers else marker)
        self.markers.add(id(marker))
        owner = joint if kind == "force_torque" and joint is not None else link
        pose = _pose_of(marker)
        if isinstance(owner.item, Joint):
            pose = owner.item.pose.inverse() @ pose
        if kind != "contact":
            add_pose(made, pose @ _RAY.inverse() if kind == "gpu_lidar" else pose)
        _SETTINGS[kind](made, group, collision)
        for one in group.values():
            self._report_losses(one)
        owner.children.append(made)

    def _report_losses(self, sensor: SceneSensor) -> None:
        if sensor.cutoff and sensor.kind != "rangefinder":
            self.output.add_loss(self.world, CATALOGUE["SD212.cutoff"], sensor_part(sensor.name))
        if sensor.noise and sensor.kind not in _NOISES:
            self.output.add_loss(self.world, CATALOGUE["SD212.noise"], sensor_part(sensor.name))


def _type_of(group: Mapping[str, SceneSensor]) -> str:
    return _TYPES[next(iter(group))]


def _collision(link: Markup, marker: Marker) -> Markup | None:
    """The collision whose volume a marker has."""
    for shape in link.item.collisions if isinstance(link.item, Body) else ():
        volume = _volume(shape.geometry)
        if volume is None or volume[0] != marker.kind:
            continue
        used = {"sphere": 1, "cylinder": 2, "capsule": 2}.get(marker.kind, 3)
        is_same = np.allclose(volume[1][:used], marker.size[:used], rtol=1e-9)
        if is_same and np.allclose(shape.pose.matrix(), _pose_of(marker).matrix(), atol=1e-9):
            return next((one for one in link.children if one.item is shape and one.tag == "collision"), None)
    return None


def _add_noise(element: Markup, sensor: SceneSensor | None, *, axes: Sequence[str] = _AXES) -> None:
    if sensor is None or not sensor.noise:
        return
    inside = element.add(name) if (name := _NOISES[sensor.kind]) else element
    for axis in axes:
        noise = (inside.add(axis) if axis else inside).add("noise", type="gaussian")
        noise.add("mean", "0")
        noise.add("stddev", format_number(sensor.noise))


def _add_imu(element: Markup, group: Mapping[str, SceneSensor], _: Markup | None) -> None:
    imu = element.add("imu")
    for kind in ("gyro", "accelerometer"):
        _add_noise(imu, group.get(kind))
    if "framequat" in group:
        frame = imu.add("orientation_reference_frame")
        frame.add("localization", "CUSTOM")
        frame.add("custom_rpy", "0 0 0", parent_frame="world")
    if not imu.children:
        element.children.remove(imu)


def _add_force_torque(element: Markup, group: Mapping[str, SceneSensor], _: Markup | None) -> None:
    settings = element.add("force_torque")
    settings.add("frame", SENSOR)
    settings.add("measure_direction", "parent_to_child")
    for kind in ("force", "torque"):
        _add_noise(settings, group.get(kind))


def _add_magnetometer(element: Markup, group: Mapping[str, SceneSensor], _: Markup | None) -> None:
    if group["magnetometer"].noise:
        _add_noise(element.add("magnetometer"), group["magnetometer"])


def _add_lidar(element: Markup, group: Mapping[str, SceneSensor], _: Markup | None) -> None:
    sensor = group["rangefinder"]
    lidar = element.add("lidar")
    scan = lidar.add("scan")
    for way in ("horizontal", "vertical"):
        rays = scan.add(way)
        for tag, value in (("samples", "1"), ("resolution", "1"), ("min_angle", "0"), ("max_angle", "0")):
            rays.add(tag, value)
    distance = lidar.add("range")
    distance.add("min", format_number(_MIN_RANGE))
    distance.add("max", format_number(sensor.cutoff or _MAX_RANGE))
    _add_noise(lidar, sensor, axes=("",))


def _add_contact(element: Markup, _: Mapping[str, SceneSensor], collision: Markup | None) -> None:
    assert collision is not None
    element.add("contact").add("collision", collision.attributes["name"])


_SETTINGS = {
    "imu": _add_imu,
    "force_torque": _add_force_torque,
    "magnetometer": _add_magnetometer,
    "gpu_lidar": _add_lidar,
    "contact": _add_contact,
}


def changed_sensors(scene: Scene) -> set[NodeOfDocument]:
    """The elements of sensors of the source that differ from the scene, which are not copied from it.

    The scene may have fewer of the models that include a file.  An IMU without a reference frame, which measured its
    orientation in the world, does not if it is rotated.
    """
    found = scene.source_info.sensors
    if not found:
        return set()
    rotated: set[NodeOfDocument] = set()
    present: dict[NodeOfDocument, set[SensorSource]] = {}
    for world in scene.worlds:
        targets: dict[str, list[SceneSensor]] = {}
        for sensor in world.sensors:
            targets.setdefault(sensor.target, []).append(sensor)
        for path, (model, body, marker) in TendonParts(world.models).sites.items():
            if (key := (marker.document, marker.node)) in found:
                present.setdefault(key, set()).add(source_of(targets.get(path, ()), marker))
                is_world = any(one.kind == "framequat" and not one.reference for one in targets.get(path, ()))
                if is_world and not _is_aligned(model, body, marker) and not _states_reference(scene, key):
                    rotated.add(key)
    return rotated | {key for key, sources in found.items() if not present.get(key) or not present[key] <= sources}


def rotated_sensors(scene: Scene) -> set[NodeOfDocument]:
    """The elements of IMUs that would measure something else in a rotated world, which are not copied from the source.

    Without a reference frame, an IMU measures its orientation in the world only if it starts aligned to it.
    """
    found: set[NodeOfDocument] = set()
    for (number, node), sources in scene.source_info.sensors.items():
        document = scene.documents[number]
        kinds = {kind for source in sources for _, kind, *_ in source.sensors}
        if "gyro" not in kinds or not isinstance(document, Document) or (not number and "framequat" not in kinds):
            continue
        if not _states_reference(scene, (number, node)):
            found.add((number, node))
    return found


def _states_reference(scene: Scene, key: NodeOfDocument) -> bool:
    """Whether the element of an IMU states what its orientation is relative to."""
    number, node = key
    document = scene.documents[number]
    if not isinstance(document, Document):
        return False
    outline = document.outline
    inside = range(node, outline.ends[node])
    return any(outline.tags[one] == "localization" or "reference_frame" in document.attributes(one) for one in inside)
