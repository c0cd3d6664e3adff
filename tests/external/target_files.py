"""Files that conversions write for a certain program (`--for`), and the values that they report as not exact.

What the program finds in its file must agree with the scene, except for the values that the conversion has reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
from msgspec import Struct, structs

import exoskel
from exoskel import Body, Joint, Model, Scene
from exoskel.conversion.node_fates import FateRecorder
from exoskel.conversion.output_fates import OutputFates
from exoskel.conversion.pipeline import Conversion, ConvertedDocument
from exoskel.conversion.selection import with_worlds
from exoskel.fates import LOSSES, Fate
from exoskel.formats import registry
from exoskel.formats.mjcf.file_writer import write_document
from exoskel.formats.sdf.write import write as write_sdf
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.item import qualified_name
from exoskel.scene.joint import MOTION_FIELDS
from exoskel.source.document import Document
from exoskel.source.numbers import given_numbers
from exoskel.source.output_context import OutputContext, Target
from tests.external import documents
from tests.external.documents import WrittenDocument
from tests.external.expectation import Dof, Mechanism
from tests.external.mjcf import MjcfMechanism

NOT_EXACT = LOSSES | {Fate.KEPT}
"""The fates of values that a reader may find elsewhere, differently, or not at all."""
_REFUSED = "refuses the file"
"""What the reasons for a loss contain if the program does not open the file."""
_DYNAMICS = ("stiffness", "friction", "armature")
_DRIVEN_BY_FORCES = frozenset({"force", "passive"})
_INERTIA = {"mass": ("mass",), "com": ("com",), "inertia": ("moment", "products")}


class ReportedLosses(Struct, frozen=True):
    """What a conversion reports: the names of bodies and joints in the document whose values are not exact.

    `names` are those of bodies, by quantity, and for `dofs` of joints and their fields, such as `hip/damping`.
    `refusal` is why the program does not open the file.
    """

    names: dict[str, frozenset[str]]
    refusal: str = ""

    def explain(self, quantity: str, name: str) -> bool:
        """Whether the conversion has reported a difference; mass matrices depend on all other values."""
        if quantity == "mass_matrix":
            return any(self.names[other] for other in (*_INERTIA, "pose"))
        return name in self.names.get(quantity, ())


class TargetDocument(Struct, frozen=True):
    """A document for a program, what the conversion reports, and documents with the same `key` move the same."""

    written: WrittenDocument
    losses: ReportedLosses
    key: object


def write(scene: Scene, format: str, target: Target, stem: str, folder: Path) -> Iterator[TargetDocument]:
    """The documents that a conversion writes, with copies of all meshes beside them."""
    if not scene.documents:
        scene = exoskel.load(exoskel.convert(scene, to="skel").data, format="skel", name=f"{stem}.skel")
    chosen = registry.by_name(format)
    has_one = chosen.holds_one_world or target in chosen.one_world_targets
    for number, own in enumerate([[world] for world in scene.worlds] if has_one else [scene.worlds]):
        selected = with_worlds(scene, own)
        with no_edits(), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            converted, output = _convert(scene, selected, format, target, folder)
        name = f"{stem}.{number}{chosen.extensions[0]}"
        yield _WRITERS[format](selected, target, folder, name, converted, output)


def _convert(
    scene: Scene, selected: Scene, format: str, target: Target, folder: Path
) -> tuple[ConvertedDocument, OutputFates]:
    """The converted document, and the fates of the fields of its scene."""
    document, chosen = scene.documents[0], registry.by_name(format)
    assert isinstance(document, Document)
    numbers = given_numbers(scene.documents)
    conversion = Conversion(
        scene, document, numbers, chosen, target, lower=False, up=None, meshes="copy", folder=folder
    )
    converted = conversion.write(selected, None)
    assert converted.certificate.passed, (document.name, format, target)
    recorder = FateRecorder(
        converted.scene, document, converted.written, scene.source_info.format, format, converted.chains
    )
    return converted, recorder.output


def _written(name: str, converted: ConvertedDocument, mechanism: Callable[[], Mechanism]) -> WrittenDocument:
    text = converted.written.data.decode()
    return WrittenDocument(name, text, text, frozenset(), mechanism, converted.written.output.companions)


# --- one function per format --------------------------------------------------------------------------


def _mjcf(
    selected: Scene, target: Target, folder: Path, name: str, converted: ConvertedDocument, output: OutputFates
) -> TargetDocument:
    world = selected.world
    document = write_document(world, OutputContext(folder, target, meshes="copy"))
    _, names = documents.shortened_document(world, OutputContext(folder, target, meshes="copy"))
    parts = MjcfMechanism(world, document, names)
    joints = {
        names["joint"][parts.layout.chain(model, joint)[1][0]]: joint
        for model in world.models
        for joint in (model.joints if not model.static else ())
        if joint.kind in ("revolute", "prismatic") and not joint.loop
    }
    bodies = {names["body"][qualified_name(m.name, b.name)]: (m, b) for m in world.models for b in m.bodies}
    dofs = {
        name: Dof(joint.dofs[0].position_limits if _has_limits(joint) else None, joint.dofs[0].damping)
        for name, joint in joints.items()
        if not joint.drives and joint.actuator in _DRIVEN_BY_FORCES
    }

    def mechanism() -> Mechanism:
        return structs.replace(parts.mechanism(), dofs=_with_dynamics(dofs, joints))

    reported = _losses(output, bodies, joints, converted)
    generated = _generated(parts, output)
    losses = structs.replace(
        reported,
        names={
            quantity: found | {names["body"][one] for one in generated.get(quantity, ())}
            for quantity, found in reported.names.items()
        },
    )
    key = [(one.tag, *map(one.attributes.get, ("name", "type"))) for one in document.iter()]
    structure = [row for row in key if row[0] in ("body", "joint")]
    return TargetDocument(_written(name, converted, mechanism), losses, (structure, names["body"], names["joint"]))


def _generated(mechanism: MjcfMechanism, output: OutputFates) -> dict[str, set[str]]:
    """The names of bodies that express something else, such as motors or soft skins, by the quantities reported there.

    A copy of a body that closes a loop has the inertia of the body.
    """
    found: dict[str, set[str]] = {quantity: set() for quantity in _INERTIA}
    for name in mechanism.flywheels:
        owners = [
            j for m in mechanism.world.models for j in m.joints if name.startswith(qualified_name(m.name, j.name))
        ]
        fields = [output.field(joint, field).fate for joint in owners for field in ("actuator", "drives")]
        for quantity in _INERTIA if NOT_EXACT.intersection(fields) else ():
            found[quantity].add(name)
    parts = [(name, joint.child) for name, _, joint in mechanism.hung]
    for name, body in [*parts, *((name, skin.body) for name, skin, _ in mechanism.points)]:
        for quantity, own in _INERTIA.items():
            if output.field(body, "inertia", own).fate in NOT_EXACT:
                found[quantity].add(name)
    return found


def _with_dynamics(dofs: Mapping[str, Dof], joints: Mapping[str, Joint]) -> dict[str, Dof]:
    """Limits and damping with the other dynamics, for joints that are not driven."""
    return {
        name: structs.replace(dof, dynamics={field: getattr(joints[name].dofs[0], field) for field in _DYNAMICS})
        if name in joints and not joints[name].drives and joints[name].actuator in _DRIVEN_BY_FORCES
        else dof
        for name, dof in dofs.items()
    }


def _has_limits(joint: Joint) -> bool:
    low, high = joint.dofs[0].position_limits
    return joint.limits_enforced and bool(np.isfinite((low, high)).all()) and low < high


def _sdf(
    selected: Scene, target: Target, folder: Path, name: str, converted: ConvertedDocument, output: OutputFates
) -> TargetDocument:
    root = write_sdf(selected, OutputContext(folder, target, meshes="copy"))
    text = converted.written.data.decode()
    named = documents.sdf_names(root)
    models = {e.attributes["name"]: e.item for e in root.iter() if e.tag == "model"}
    shown = {item.name: name for name, item in models.items() if isinstance(item, Model)}
    bodies, joints = {}, {}
    originals = {(m.name, b.name): b for world in selected.worlds for m in world.models for b in m.bodies}
    for model in (model for world in converted.scene.worlds for model in world.models):
        for body in model.bodies:
            original = originals.get((model.name, body.name))
            if original is not None:
                bodies[named[id(original)]] = (model, body)
        joints |= {f"{shown[model.name]}::{joint.name}": joint for joint in model.joints if not joint.loop}
    has_skins = any(body.soft is not None for world in selected.worlds for body in world.bodies())

    def mechanism() -> Mechanism:
        found = documents.sdf_mechanism(selected, root, text, folder)
        # DART's mass matrices contain the points of skins, which move on their own.
        found = structs.replace(found, moving=None) if has_skins else found
        return structs.replace(found, dofs=_with_dynamics(found.dofs, joints))

    return TargetDocument(_written(name, converted, mechanism), _losses(output, bodies, joints, converted), text)


_WRITERS: dict[str, Callable[[Scene, Target, Path, str, ConvertedDocument, OutputFates], TargetDocument]] = {
    "mjcf": _mjcf,
    "sdf": _sdf,
}


# --- fates --------------------------------------------------------------------------------------------


def _losses(
    output: OutputFates,
    bodies: Mapping[str, tuple[Model, Body]],
    joints: Mapping[str, Joint],
    converted: ConvertedDocument,
) -> ReportedLosses:
    """The names of bodies and joints whose fates are not exact, by quantity."""
    found: dict[str, frozenset[str]] = {}
    for quantity, parts in _INERTIA.items():
        found[quantity] = frozenset(
            name for name, (_, body) in bodies.items() if output.field(body, "inertia", parts).fate in NOT_EXACT
        )
    found["pose"] = frozenset(name for name, (model, body) in bodies.items() if _moves_otherwise(output, model, body))
    found["dofs"] = frozenset(
        f"{name}/{field}"
        for name, joint in joints.items()
        for field in ("position_limits", "damping", *_DYNAMICS)
        if output.field(joint, "dofs", (field,)).fate in NOT_EXACT
    )
    reasons = [loss.reason for loss in converted.written.output.losses if _REFUSED in loss.text]
    return ReportedLosses(found, next(iter(reasons), ""))


def _moves_otherwise(output: OutputFates, model: Model, body: Body | None) -> bool:
    """Whether a body, or one that it hangs on, is reported to be placed or to move differently."""
    parents = {id(joint.child): joint for joint in model.joints if not joint.loop}
    if output.field(model, "pose").fate in NOT_EXACT:
        return True
    while body is not None:
        joint = parents[id(body)]
        fields = [(body, "pose"), *((joint, field) for field in ("kind", *sorted(MOTION_FIELDS)))]
        if any(
            output.field(item, field).fate in NOT_EXACT and output.field(item, field).loss for item, field in fields
        ):
            return True
        body = joint.parent
    return False
