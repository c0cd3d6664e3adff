"""Read tendons: fixed tendons of hinges and slides, and spatial tendons over sites, geoms and pulleys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from exoskel.formats.mjcf.model.joints import UNLIMITED_RANGE
from exoskel.formats.mjcf.names import plain_name, split_path
from exoskel.formats.mjcf.reader.compiled import Compiled, disabled_flags
from exoskel.formats.mjcf.reader.fragment import Fragment
from exoskel.formats.mjcf.reader.generated_parts import GeneratedParts
from exoskel.formats.mjcf.reader.models import FoundParts
from exoskel.formats.mjcf.tree import Value
from exoskel.scene.body import Body
from exoskel.scene.item import Names, qualified_name, unique_name
from exoskel.scene.joint import UNLIMITED, Interval
from exoskel.scene.shape import Shape
from exoskel.scene.tendon import Tendon, TendonJoint, TendonPoint
from exoskel.scene.world import World

_JOINT, _PULLEY, _SITE, _SPHERE, _CYLINDER = 1, 2, 3, 4, 5
"""Values of mjtWrap."""
_SOLVER = {
    "solreflimit": ("tendon_solref_lim", (0.02, 1.0)),
    "solimplimit": ("tendon_solimp_lim", (0.9, 0.95, 0.001, 0.5, 2.0)),
    "solreffriction": ("tendon_solref_fri", (0.02, 1.0)),
    "solimpfriction": ("tendon_solimp_fri", (0.9, 0.95, 0.001, 0.5, 2.0)),
    "margin": ("tendon_margin", 0.0),
    "width": ("tendon_width", 0.003),
    "group": ("tendon_group", 0),
    "rgba": ("tendon_rgba", (0.5, 0.5, 0.5, 1.0)),
}
"""Attributes that a scene does not contain, with MuJoCo's fields and defaults."""
EXTRA_ATTRIBUTES = (*_SOLVER, "material", "user")
"""Attributes of tendons that are preserved from MJCF to MJCF."""


class UnsupportedTendonError(Exception):
    """Why a tendon is not read."""


class TendonReader:
    """Sets the tendons of a world."""

    def __init__(
        self,
        compiled: Compiled,
        generated: GeneratedParts,
        found: FoundParts,
        world: World,
        report: Callable[..., None],
    ) -> None:
        self.compiled = compiled
        self.model: Any = compiled.model
        self.generated = generated
        self.found = found
        self.world = world
        self.report = report
        self.disabled = disabled_flags(compiled)
        self.unread: list[int] = []
        """The numbers of tendons that are not part of the scene."""
        self.names: dict[int, str] = {}
        """The names in the scene, by MuJoCo's numbers."""
        self.offsets: dict[int, float] = {}
        """The length in the scene minus that in the document, by MuJoCo's numbers: joints are zero in a scene."""
        self._taken = Names()

    def read(self) -> None:
        for number in range(self.model.ntendon):
            if number in self.generated.tendons:
                continue
            try:
                tendon = self._tendon(number)
            except UnsupportedTendonError as reason:
                self.unread.append(number)
                parts = self.compiled.tendons
                self.report("MJ404", parts.node(number), tendon=parts.quoted(number), reason=str(reason))
                continue
            self.names[number] = tendon.name
            self.world.tendons.append(tendon)

    @property
    def nodes(self) -> dict[int, str]:
        """The names of the tendons in the scene, by their elements."""
        return {self.compiled.tendons.node(number): name for number, name in self.names.items()}

    def extra_attributes(self, number: int) -> dict[str, Value]:
        """What the document states besides the tendon of the scene: solver settings and appearance."""
        found: dict[str, Value] = {}
        for attribute, (field, default) in _SOLVER.items():
            if attribute in _APPEARANCE and self.is_fixed(number):
                continue
            values = np.asarray(getattr(self.model, field)[number])
            if not np.array_equal(values.astype(np.float32), np.asarray(default, dtype=np.float32)):
                found[attribute] = _shortest(values)
        return found

    def is_fixed(self, number: int) -> bool:
        """Whether a tendon is a sum of coordinates of joints; such a tendon is not drawn."""
        kinds = getattr(self.model, "wrap_type", None)
        return kinds is None or int(kinds[int(self.model.tendon_adr[number])]) == _JOINT

    def _tendon(self, number: int) -> Tendon:
        model = self.model
        if any(np.any(getattr(model, name)[number]) for name in _NONLINEAR if hasattr(model, name)):
            raise UnsupportedTendonError("its spring or damper is not linear")
        first = int(model.tendon_adr[number])
        parts = range(first, first + int(model.tendon_num[number]))
        kinds = [int(model.wrap_type[one]) for one in parts] if hasattr(model, "wrap_type") else [_JOINT] * len(parts)
        joints: tuple[TendonJoint, ...] = ()
        path: tuple[TendonPoint, ...] = ()
        offset = 0.0
        if kinds and kinds[0] == _JOINT:
            joints = tuple(self._joint(int(model.wrap_objid[one]), float(model.wrap_prm[one])) for one in parts)
            offset = -sum(float(model.wrap_prm[one]) * self._reference(int(model.wrap_objid[one])) for one in parts)
        else:
            path = tuple(self._point(kind, one) for kind, one in zip(kinds, parts, strict=True))
        self.offsets[number] = offset
        given = self.compiled.tendons.name(number)
        name = unique_name(plain_name(given) or "tendon", self._taken)
        self._taken.add(name)
        return Tendon(name, joints, path, **self._values(number, offset))

    def _values(self, number: int, offset: float) -> dict[str, Any]:
        model, disabled = self.model, self.disabled
        stiffness = 0.0 if "spring" in disabled else float(model.tendon_stiffness[number])
        low, high = (offset + float(one) for one in model.tendon_lengthspring[number])
        has_limits = bool(model.tendon_limited[number]) and "limit" not in disabled
        has_forces = bool(getattr(model, "tendon_actfrclimited", np.zeros(model.ntendon))[number])
        return {
            "stiffness": stiffness,
            "damping": 0.0 if "damper" in disabled else float(model.tendon_damping[number]),
            "friction": 0.0 if "frictionloss" in disabled else float(model.tendon_frictionloss[number]),
            "armature": float(getattr(model, "tendon_armature", np.zeros(model.ntendon))[number]),
            "rest_length": (low, high) if stiffness and self._states_length(number) else None,
            "limits": _range(model.tendon_range[number], offset) if has_limits else UNLIMITED,
            "force_limits": _range(model.tendon_actfrcrange[number], 0.0) if has_forces else UNLIMITED,
        }

    def _states_length(self, number: int) -> bool:
        """Whether the rest length is not the one that MuJoCo computes where the springs of all joints rest."""
        if self._has_other_rest or "springlength" in self.stated(number):
            return True
        root = self.compiled.prepared.root
        return any(one.tag == "tendon" and "springlength" in one.attributes for one in self._defaults(root))

    @cached_property
    def _has_other_rest(self) -> bool:
        """Whether a joint without a spring has a rest position, which a scene does not contain."""
        model = self.model
        places = model.jnt_qposadr[np.isin(model.jnt_type, _ONE_COORDINATE) & (model.jnt_stiffness == 0.0)]
        return not np.array_equal(model.qpos_spring[places], model.qpos0[places])

    @staticmethod
    def _defaults(root: Fragment) -> Iterator[Fragment]:
        for section in (one for one in root.children if one.tag == "default"):
            yield from section.iter()

    def stated(self, number: int) -> Mapping[str, str]:
        """The attributes of the element of a tendon itself."""
        line = self.compiled.tendons.lines.get(number, 0)
        return self._fragments[line - 1].attributes if 0 < line <= len(self._fragments) else {}

    @cached_property
    def _fragments(self) -> list[Fragment]:
        return list(self.compiled.prepared.root.iter())

    def _joint(self, number: int, coefficient: float) -> TendonJoint:
        owner = self.found.owners.get(number)
        if owner is None:
            raise UnsupportedTendonError("one of its joints is not part of the scene")
        return TendonJoint(qualified_name(owner.model.name, owner.joint.name), coefficient, owner.first)

    def _reference(self, joint: int) -> float:
        return float(self.model.qpos0[self.model.jnt_qposadr[joint]])

    def _point(self, kind: int, wrap: int) -> TendonPoint:
        model, number = self.model, int(self.model.wrap_objid[wrap])
        if kind == _PULLEY:
            return TendonPoint(divisor=float(model.wrap_prm[wrap]))
        if kind == _SITE:
            return TendonPoint(site=self.site_path(number))
        side = int(model.wrap_prm[wrap])
        return TendonPoint(shape=self._shape_path(number), side_site=self.site_path(side) if side >= 0 else "")

    def site_path(self, number: int) -> str:
        """The path of a site in the scene."""
        body = int(self.model.site_bodyid[number])
        path, found = self._body(body)
        name = self.compiled.sites.name(number)
        split = split_path(name)
        own = (split[2] if len(split) == 3 else name) or f"site_{number}"
        if sum(marker.name == own for marker in found.markers) != 1:
            raise UnsupportedTendonError("one of its sites is not part of the scene")
        return f"{path}/{qualified_name(own)}"

    def _shape_path(self, number: int) -> str:
        path, body = self._body(int(self.model.geom_bodyid[number]))
        node, name = self.compiled.geoms.node(number), self.compiled.geoms.name(number)
        label = _shape_label(body, lambda shape: shape.node == node and shape.name in ("", plain_name(name)))
        if not label:
            raise UnsupportedTendonError("one of its geoms is not part of the scene")
        return f"{path}/{label}"

    def _body(self, number: int) -> tuple[str, Body]:
        body, model = self.found.bodies.get(number), self.found.models.get(number)
        if body is None or model is None:
            raise UnsupportedTendonError("one of its bodies is not part of the scene")
        return qualified_name(model.name, body.name), body


_ONE_COORDINATE = (2, 3)
"""Values of mjtJoint: slide and hinge."""
_APPEARANCE = ("width", "rgba")
"""What only spatial tendons have."""
_NONLINEAR = ("tendon_stiffnesspoly", "tendon_dampingpoly", "tendon_springyield")


def _shape_label(body: Body, is_meant: Callable[[Shape], bool]) -> str:
    """The name of the one shape that is meant, or its number; empty if there is not exactly one."""
    every = [("collision", number, shape) for number, shape in enumerate(body.collisions)]
    every += [("visual", number, shape) for number, shape in enumerate(body.visuals)]
    found = [one for one in every if is_meant(one[2])]
    if len(found) != 1:
        return ""
    kind, number, shape = found[0]
    is_unique = sum(one.name == shape.name for _, _, one in every) == 1
    return qualified_name(shape.name) if shape.name and is_unique else f"{kind}{number}"


def _shortest(values: Any) -> Value:
    """Numbers as in the file: those in single precision as the shortest ones that round to them."""
    if values.dtype == np.float32:
        return [float(str(one)) for one in values]
    found: Value = values.tolist()
    return found


def _range(limits: Any, offset: float) -> Interval:
    low, high = limits.tolist()
    return (
        -inf if low <= -UNLIMITED_RANGE else low + offset,
        inf if high >= UNLIMITED_RANGE else high + offset,
    )
