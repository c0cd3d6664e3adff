"""The sensors of a scene as elements of MJCF, for files and for the engine."""

from __future__ import annotations

from collections.abc import Callable

from exoskel.formats.mjcf.model.tendons import TendonWriter, tendon_name
from exoskel.formats.mjcf.tree import MjcfElement, Value, joint_attributes
from exoskel.scene.item import qualified_name
from exoskel.scene.sensor import SceneSensor, SensorTargets
from exoskel.scene.tendon import TendonJoint, TendonParts
from exoskel.scene.world import World

OBJECT_TYPES = {"site": "site", "body": "xbody", "inertial": "body"}
"""MuJoCo's types of the frames that sensors measure."""


class SensorWriter:
    """Writes the sensors of a world; those that refer to something that does not exist are omitted."""

    def __init__(self, world: World, tendons: TendonWriter) -> None:
        self.tendons = tendons
        self.sensors: list[SceneSensor] = []
        self.sites: set[int] = set()
        """The ids of the markers that they measure at."""
        if world.sensors:
            self._find_parts(world, tendons)

    def _find_parts(self, world: World, tendons: TendonWriter) -> None:
        self.parts = TendonParts(world.models)
        targets = SensorTargets(self.parts, tendons.tendons, world.actuators)
        self.sensors = [one for one in world.sensors if not targets.missing(one)]
        ends = [end for one in self.sensors for end in _ends(one)]
        self.sites = {id(self.parts.sites[path][2]) for kind, path in ends if kind == "site"}

    def add_sensors(self, root: MjcfElement, joint_name: Callable[[TendonJoint], str]) -> None:
        """Add all sensors to a document; `joint_name` is the name of the MuJoCo joint of a coordinate."""
        limited = _limited_names(root) if any("limit" in one.kind for one in self.sensors) else set()
        for one in self.sensors:
            given: dict[str, Value] = {"name": one.name}
            if one.target_kind == "joint":
                given["joint"] = joint_name(TendonJoint(one.target, coordinate=one.coordinate))
            elif one.kind.startswith("frame"):
                given |= {"objtype": OBJECT_TYPES[one.target_kind], "objname": one.target}
            elif one.target_kind in ("tendon", "actuator"):
                name = tendon_name(one.target) if one.target_kind == "tendon" else qualified_name(one.target)
                given[one.target_kind] = name
            elif one.target_kind:
                given[one.target_kind] = one.target
            if one.reference_kind:
                given |= {"reftype": OBJECT_TYPES[one.reference_kind], "refname": one.reference}
            given |= {name: value for name in ("noise", "cutoff") if (value := getattr(one, name))}
            if "limit" not in one.kind or given[one.target_kind] in limited:  # MuJoCo rejects others
                root.child("sensor").add(one.kind, **given)


def _limited_names(root: MjcfElement) -> set[Value]:
    """The names of joints and tendons with limits, which differ."""
    tendons = (one.attributes for one in root.child("tendon").children)
    return {given["name"] for given in (*joint_attributes(root.child("worldbody")), *tendons) if given.get("limited")}


def _ends(sensor: SceneSensor) -> list[tuple[str, str]]:
    return [(sensor.target_kind, sensor.target), (sensor.reference_kind, sensor.reference)]
