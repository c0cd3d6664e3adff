"""Read sensors of sites, joints, tendons, actuators and bodies.

MuJoCo does not compile them: their elements are read as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

from exoskel.formats.mjcf.model.sensors import OBJECT_TYPES
from exoskel.formats.mjcf.preserved_elements import SourceElement
from exoskel.formats.mjcf.reader.compiled import Compiled
from exoskel.formats.mjcf.reader.models import FoundParts
from exoskel.formats.mjcf.reader.tendons import TendonReader, UnsupportedTendonError
from exoskel.scene.item import Names, qualified_name, unique_name
from exoskel.scene.sensor import (
    SceneSensor,
    SensorKind,
    SensorSource,
    SensorTarget,
    has_reference,
    source_of,
    target_kinds,
)
from exoskel.scene.world import World
from exoskel.source.numbers import parse_decimal

_FRAMES: dict[str, SensorTarget] = {"site": "site", "xbody": "body", "body": "inertial"}
assert set(_FRAMES) == set(OBJECT_TYPES.values())
_ABSOLUTE = ("jointpos", "tendonpos", "actuatorpos")
"""Sensors of positions, which differ if joints are not at zero in the reference pose."""
_MOST_SENSORS = 100_000


class SensorReader:
    """Sets the sensors of a world."""

    def __init__(
        self,
        compiled: Compiled,
        found: FoundParts,
        world: World,
        tendons: TendonReader,
        actuators: Mapping[str, int],
        report: Callable[..., None],
    ) -> None:
        self.compiled = compiled
        self.model: Any = compiled.model
        self.found = found
        self.world = world
        self.tendons = tendons
        self.actuators = {number: name for name, number in actuators.items()}
        self.report = report
        self.names: dict[int, str] = {}
        """The names of the sensors in the scene, by the ids of the fragments of their elements."""
        self.sources: dict[int, SensorSource] = {}
        """The sensors by the numbers of their elements in the document."""
        self._taken = Names()

    def read(self) -> None:
        collected = self.compiled.prepared.collected
        sections = [one for one in collected.elements if one[1].section == "sensor"] if collected is not None else []
        self._taken.update(str(one.element.attributes.get("name", "")) for _, one in sections)
        for key, source in sections:
            sensor = self._sensor(source) if len(self.world.sensors) < _MOST_SENSORS else None
            if sensor is None:
                named = str(source.element.attributes.get("name", ""))
                name = f" '{named}'" if named else ""
                self.report("MJ201", source.node, tag=source.element.tag, name=name, what="a sensor of this kind is")
            else:
                self.names[key] = sensor.name
                self.sources[source.node] = source_of([sensor])
                self.world.sensors.append(sensor)

    def _sensor(self, source: SourceElement) -> SceneSensor | None:
        """The sensor of an element; None if a scene does not support it."""
        tag, given = source.element.tag, {key: str(value) for key, value in source.element.attributes.items()}
        if tag not in get_args(SensorKind) or source.element.children:
            return None
        kind: SensorKind = tag  # type: ignore[assignment]
        name = given.pop("name", "")
        noise, cutoff = (parse_decimal(given.pop(key, "0").strip()) for key in ("noise", "cutoff"))
        ends = self._ends(kind, given)
        if ends is None or given or noise is None or cutoff is None or min(noise, cutoff) < 0.0:
            return None
        if not name:
            name = unique_name(tag, self._taken)
            self._taken.add(name)
        return SceneSensor(name, kind, noise=float(noise), cutoff=float(cutoff), **ends)

    def _ends(self, kind: SensorKind, given: dict[str, str]) -> dict[str, Any] | None:
        """The target and the reference of a sensor, whose attributes are removed; None if one is not supported."""
        (first, *_) = target_kinds(kind)
        if not first:
            return {}
        found: dict[str, Any] = {}
        if kind.startswith("frame"):
            target = self._frame(given, "objtype", "objname")
            reference = self._frame(given, "reftype", "refname") if "refname" in given else ("", "")
            if target is None or reference is None or (reference[1] and not has_reference(kind)):
                return None
            if target[0] not in target_kinds(kind) or reference[0] == "inertial":
                return None
            found |= {"target_kind": target[0], "target": target[1]}
            return found | {"reference_kind": reference[0], "reference": reference[1]}
        name = given.pop(first, "")
        if first == "joint":
            return self._joint(kind, name)
        path = {"site": self._site, "body": self._body, "tendon": self._tendon, "actuator": self._actuator}[first](name)
        if path is None or (kind in _ABSOLUTE and self._is_shifted(first, name)):
            return None
        return {"target_kind": first, "target": path}

    def _frame(self, given: dict[str, str], type_name: str, name: str) -> tuple[SensorTarget, str] | None:
        kind, called = _FRAMES.get(given.pop(type_name, "")), given.pop(name, "")
        path = None if kind is None else self._site(called) if kind == "site" else self._body(called)
        return None if kind is None or path is None else (kind, path)

    def _joint(self, kind: SensorKind, name: str) -> dict[str, Any] | None:
        number = self.compiled.joints.numbers.get(name)
        owner = self.found.owners.get(number) if number is not None else None
        if number is None or owner is None or self.compiled.types[number] not in ("hinge", "slide"):
            return None
        if kind in _ABSOLUTE and self.model.qpos0[self.model.jnt_qposadr[number]]:
            return None
        path = qualified_name(owner.model.name, owner.joint.name)
        return {"target_kind": "joint", "target": path, "coordinate": owner.first}

    def _is_shifted(self, kind: str, name: str) -> bool:
        """Whether the length of a tendon, or of what an actuator drives, differs in the scene."""
        if kind == "tendon":
            return bool(self.tendons.offsets.get(self.compiled.tendons.numbers[name], 0.0))
        number = self.compiled.actuators.numbers[name]
        target = int(self.model.actuator_trnid[number, 0])
        if self.world.actuator(self.actuators[number]).tendon:
            return bool(self.tendons.offsets.get(target, 0.0))
        return bool(self.model.qpos0[self.model.jnt_qposadr[target]])

    def _site(self, name: str) -> str | None:
        number = self.compiled.sites.numbers.get(name)
        try:
            return None if number is None else self.tendons.site_path(number)
        except UnsupportedTendonError:
            return None

    def _body(self, name: str) -> str | None:
        number = self.compiled.bodies.numbers.get(name)
        body = self.found.bodies.get(number) if number is not None else None
        if number is None or body is None:
            return None
        return qualified_name(self.found.models[number].name, body.name)

    def _tendon(self, name: str) -> str | None:
        number = self.compiled.tendons.numbers.get(name)
        return self.tendons.names.get(number) if number is not None else None

    def _actuator(self, name: str) -> str | None:
        number = self.compiled.actuators.numbers.get(name)
        return self.actuators.get(number) if number is not None else None
