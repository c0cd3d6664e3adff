"""Sensors of a world: what they measure, and of which site, body, joint, tendon or actuator."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Literal, get_args

from msgspec import Struct, structs

from exoskel.diagnostics import ExoskelError
from exoskel.scene.actuator import Actuator, driven_joints, drives_joint
from exoskel.scene.body import Body, Marker
from exoskel.scene.edit_tracking import CheckedValue, checks_values
from exoskel.scene.item import qualified_name
from exoskel.scene.joint import UNLIMITED
from exoskel.scene.model import Model
from exoskel.scene.pose import Pose, Quaternion
from exoskel.scene.tendon import Tendon, TendonParts, part_path

SensorKind = Literal[
    "touch", "accelerometer", "velocimeter", "gyro", "force", "torque", "magnetometer", "rangefinder",
    "jointpos", "jointvel", "jointactuatorfrc", "jointlimitpos", "jointlimitvel", "jointlimitfrc",
    "tendonpos", "tendonvel", "tendonactuatorfrc", "tendonlimitpos", "tendonlimitvel", "tendonlimitfrc",
    "actuatorpos", "actuatorvel", "actuatorfrc",
    "framepos", "framequat", "framexaxis", "frameyaxis", "framezaxis",
    "framelinvel", "frameangvel", "framelinacc", "frameangacc",
    "subtreecom", "subtreelinvel", "subtreeangmom", "clock",
]  # fmt: skip
"""What a sensor measures, with the names of MJCF."""
SensorTarget = Literal["", "site", "joint", "tendon", "actuator", "body", "inertial"]
"""What a sensor belongs to; `inertial` is a body at its centre of mass."""

_OF_SITES = frozenset(get_args(SensorKind)[:8])
_SCALAR_SITES = ("touch", "rangefinder")
_ORIENTATIONS = ("framequat", "framexaxis", "frameyaxis", "framezaxis")
"""What depends on the axes of a frame: those of the inertia of a body are not part of a scene."""
_WITHOUT_REFERENCE = ("framelinacc", "frameangacc")


def target_kinds(kind: SensorKind) -> tuple[SensorTarget, ...]:
    """What sensors of a kind may belong to."""
    if kind in _OF_SITES:
        return ("site",)
    if kind.startswith("frame"):
        return ("site", "body") if kind in _ORIENTATIONS else ("site", "body", "inertial")
    if kind.startswith("subtree"):
        return ("body",)
    for target in ("joint", "tendon", "actuator"):
        if kind.startswith(target):
            return (target,)
    return ("",)


def has_reference(kind: SensorKind) -> bool:
    """Whether sensors of a kind may measure relative to another frame."""
    return kind.startswith("frame") and kind not in _WITHOUT_REFERENCE


def value_count(kind: SensorKind) -> int:
    """How many numbers a sensor measures."""
    if kind == "framequat":
        return 4
    is_vector = (kind in _OF_SITES and kind not in _SCALAR_SITES) or kind.startswith(("frame", "subtree"))
    return 3 if is_vector else 1


class SceneSensor(CheckedValue, frozen=True):
    """A sensor of a site, joint, tendon, actuator or body; `kind` has the names of MJCF.

    `target` is a path, `model/body/marker`, `model/joint` or `model/body`, or the name of a tendon or actuator.  A
    sensor of a joint measures one coordinate.  A sensor of a frame may measure relative to a `reference`.  `noise` is
    the standard deviation that the source states, which is not added; values beyond `cutoff` are clipped, if it is
    positive.
    """

    name: str
    kind: SensorKind
    target_kind: SensorTarget = ""
    target: str = ""
    coordinate: int = 0
    reference_kind: SensorTarget = ""
    reference: str = ""
    noise: float = 0.0
    cutoff: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if checks_values() and (problem := self.problem):
            raise ExoskelError(f"sensor {self.name!r} {problem}")

    @property
    def problem(self) -> str:
        """What is wrong with it as a whole, or an empty string."""
        if self.kind not in get_args(SensorKind):
            return f"is of the unknown kind {self.kind!r}"
        known = target_kinds(self.kind)
        if self.target_kind not in known or bool(self.target) != bool(self.target_kind):
            wanted = " or ".join(one or "nothing" for one in known)
            return f"measures {self.kind} of a {self.target_kind or 'world'}, but must belong to a {wanted}"
        if self.reference_kind not in ("", "site", "body"):
            return f"must not be relative to a {self.reference_kind}"
        if bool(self.reference) != bool(self.reference_kind) or (self.reference and not has_reference(self.kind)):
            return "must not have a reference" if not has_reference(self.kind) else "must have a kind of reference"
        return ""

    def with_paths(self, body_path: Callable[[str], str], joint_path: Callable[[str], str]) -> SceneSensor:
        """The sensor with other paths of bodies and joints."""
        target, reference = (
            _mapped(kind, path, body_path, joint_path)
            for kind, path in ((self.target_kind, self.target), (self.reference_kind, self.reference))
        )
        return structs.replace(self, target=target, reference=reference)

    def __repr__(self) -> str:
        return f"SceneSensor({self.name!r}, {self.kind}, {self.target!r})"


def _mapped(kind: str, path: str, body_path: Callable[[str], str], joint_path: Callable[[str], str]) -> str:
    match kind:
        case "site":
            return part_path(path, body_path)
        case "joint":
            return joint_path(path)
        case "body" | "inertial":
            return body_path(path)
    return path


def sensor_part(name: str) -> str:
    """How losses name a sensor of a world."""
    return f"sensors/{name}"


class SensorSource(Struct, frozen=True):
    """The sensors that were read from one element, and the place of their marker, to find edits."""

    sensors: tuple[tuple[str, SensorKind, float, float], ...]
    """Names, kinds, noise and cutoff."""
    place: tuple[object, ...] = ()


def source_of(sensors: Iterable[SceneSensor], marker: Marker | None = None) -> SensorSource:
    """The values of sensors of one element."""
    rows = tuple((one.name, one.kind, one.noise, one.cutoff) for one in sensors)
    place = () if marker is None else (marker.offset, marker.quaternion, marker.kind, marker.size)
    return SensorSource(rows, place)


def known_sensors(
    sensors: Iterable[SceneSensor], models: Iterable[Model], tendons: Iterable[Tendon], actuators: Iterable[Actuator]
) -> list[SceneSensor]:
    """The sensors that measure something that exists."""
    every = list(sensors)
    targets = SensorTargets(TendonParts(models if every else ()), tendons, actuators)
    return [one for one in every if not targets.missing(one)]


def placed_sensors(
    sensors: Iterable[SceneSensor], models: Iterable[Model]
) -> list[tuple[SceneSensor, Body, tuple[float, ...]]]:
    """The sensors of sites with their bodies, and the entries of the poses of the sites."""
    every = list(sensors)
    sites = TendonParts(models if every else ()).sites
    found: list[tuple[SceneSensor, Body, tuple[float, ...]]] = []
    for one in every:
        if one.target_kind == "site" and one.target in sites:
            _, body, marker = sites[one.target]
            pose = Pose(marker.offset, Quaternion(marker.quaternion)).matrix()
            found.append((one, body, tuple(pose[:3].ravel().tolist())))
    return found


class SensorTargets:
    """What the sensors of a world may belong to."""

    def __init__(self, parts: TendonParts, tendons: Iterable[Tendon], actuators: Iterable[Actuator]) -> None:
        self.parts = parts
        self._bodies = {qualified_name(model.name, body.name) for model in parts.models for body in model.bodies}
        self._tendons = {one.name: one for one in tendons}
        every = list(actuators)
        driven = dict(driven_joints(parts.models)) if every else {}
        self._named: dict[str, Collection[str]] = {
            "tendon": self._tendons,
            "actuator": {one.name for one in every if drives_joint(one, driven) or one.tendon in self._tendons},
            "body": self._bodies,
            "inertial": self._bodies,
        }

    def unknown(self, sensor: SceneSensor) -> list[str]:
        """The paths of a sensor that refer to nothing."""
        ends = ((sensor.target_kind, sensor.target), (sensor.reference_kind, sensor.reference))
        return [path for kind, path in ends if kind and not self._is_known(sensor, kind, path)]

    def missing(self, sensor: SceneSensor) -> list[str]:
        """What a sensor measures and does not exist: paths, and the limits of a joint or tendon."""
        found = self.unknown(sensor)
        if not found and "limit" in sensor.kind and not self._has_limits(sensor):
            found.append(f"limits of {sensor.target}")
        return found

    def _has_limits(self, sensor: SceneSensor) -> bool:
        if sensor.target_kind == "tendon":
            return self._tendons[sensor.target].limits != UNLIMITED
        joint = self.parts.joints[sensor.target]
        return joint.limits_enforced and joint.dofs[sensor.coordinate].position_limits != UNLIMITED

    def _is_known(self, sensor: SceneSensor, kind: str, path: str) -> bool:
        if kind == "site":
            return path in self.parts.sites
        if kind == "joint":
            joint = self.parts.joints.get(path)
            return joint is not None and 0 <= sensor.coordinate < joint.dof_count
        return path in self._named[kind]
