"""One conversion: the passes before writing, the written document, its certificate, and the report."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct, field, structs

from exoskel.conversion.comparison import PlacedWorlds, Row, SceneComparison, check, largest, worst_rows
from exoskel.conversion.copied_fates import copied_fates
from exoskel.conversion.edited_values import EditedFateRecorder
from exoskel.conversion.embedded_certificate import compare as compare_embedded
from exoskel.conversion.node_fates import FateRecorder
from exoskel.conversion.passes import JointLowering, MeshDecomposition, UpAxisRotation, lowering_hint
from exoskel.conversion.physics_certificate import compare as compare_physics
from exoskel.conversion.physics_certificate import tolerances
from exoskel.conversion.report import Certificate, Check, Report
from exoskel.conversion.selection import find_unselected, unselected_nodes, with_worlds
from exoskel.conversion.view_checks import view_rows
from exoskel.diagnostics import Collector, Diagnostic
from exoskel.formats.comments_and_extensions import combine_included
from exoskel.formats.interface import Format, ReadOptions
from exoskel.formats.lowered_actuators import lacks_actuators, without_actuators
from exoskel.formats.saving.changes import SourceChanges
from exoskel.formats.saving.patch import changes_of_selection, changes_since_reading, is_unedited
from exoskel.formats.shared_codes import CATALOGUE
from exoskel.formats.write import Written, embeds_data, write
from exoskel.scene.fields import relative_difference, transform_differences
from exoskel.scene.lowering import joint_passes
from exoskel.scene.lowering.joint_passes import Chain
from exoskel.scene.lowering.up_axis import Up, up_axis
from exoskel.scene.merge import with_models
from exoskel.scene.model import Model
from exoskel.scene.pose import pose_matrices
from exoskel.scene.summary import moments
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document
from exoskel.source.file_lookup import confinement
from exoskel.source.losses import with_owners
from exoskel.source.numbers import GivenNumbers
from exoskel.source.output_context import MeshReferences, OutputContext, PlannedFiles, Target
from exoskel.source.source_elements import SourceElements


def certify(scene: Scene, written: Written, target: Format, lowering: JointLowering | None = None) -> Certificate:
    """Compare a scene with its output, in the way that the format allows.

    `lowering` is the pass that made `scene`; the scene before it is compared as well.
    """
    is_picture = target.capabilities().is_picture
    if is_picture:
        rows = _compare_pictures(scene, written)
    elif target.embeds_data:
        rows = compare_embedded(scene, written, target)
    else:
        rows = compare_physics(scene, written, target)
    allowed = tolerances(scene, target)
    checks = [check(name, error, allowed[name]) for name, error in rows]
    if lowering is not None and not is_picture:
        checks += lowering.checks_of_output(written) if target.embeds_data else lowering.checks()
    return Certificate.of(checks)


def _compare_pictures(scene: Scene, written: Written) -> list[Row]:
    """Compare a scene with a picture of it: poses in the initial state, and the data stored as extras."""
    pairs = zip(scene.worlds, written.native.worlds, strict=True)
    return worst_rows(row for mine, theirs in pairs for row in _compare_picture(mine, theirs, written))


def _compare_picture(mine: World, theirs: World, written: Written) -> list[Row]:
    bodies, others = list(mine.bodies()), list(theirs.bodies())
    if len(bodies) != len(others):
        return [("bodies", np.inf)]
    inexact = {id(loss.item) for loss in written.output.losses}
    exact = [i for i, body in enumerate(bodies) if id(body) not in inexact]
    comparison = SceneComparison(PlacedWorlds([mine]), PlacedWorlds([theirs]), list(zip(bodies, others, strict=True)))
    masses = ([side[i].mass for i in exact] for side in (bodies, others))
    inertias = (moments([side[i] for i in exact]).tolist() for side in (bodies, others))
    settings = ((world.gravity, world.time_step) for world in (mine, theirs))
    lost = {field for loss in written.output.losses if loss.item is mine for field in loss.fields}
    return [
        ("bodies", 0.0),
        ("poses in the initial state", comparison.initial_poses()),
        ("poses of shapes", _shape_pose_difference(mine, theirs, written)),
        ("masses in extras", relative_difference(*masses)),
        ("moments of inertia in extras", relative_difference(*inertias)),
        ("gravity and time step", relative_difference(*settings)),
        *view_rows(mine, theirs, lost, written.counterparts),
    ]


def _shape_pose_difference(mine: World, theirs: World, written: Written) -> float:
    """How far shapes are from their poses in their bodies; infinite where some are missing."""
    worst = 0.0
    for body, other in zip(mine.bodies(), theirs.bodies(), strict=True):
        own = [shape for shape in body.shapes if id(shape) in written.elements]
        found = other.visuals
        if body.soft is not None and len(found) == len(own) + 1:
            found = found[:-1]  # the skin
        if len(own) != len(found):
            return np.inf
        if own:
            poses = pose_matrices([s.pose for s in own]), pose_matrices([s.pose for s in found])
            worst = max(worst, largest(transform_differences(*poses)))
    return worst


# --- the conversion ------------------------------------------------------------------------------------


_MAX_NAMED = 3


class ConvertedDocument(Struct, frozen=True):
    """A document that was written from a scene, and is not saved yet.

    `scene` is the scene as it was written, with joints lowered.  `chains` are the lowered joints, by the ids of their
    last links.  `parts` are the numbers of convex parts of meshes, by their documents and elements.
    """

    scene: Scene
    written: Written
    certificate: Certificate
    chains: Mapping[int, Chain]
    hints: list[str]
    moved_axes: frozenset[int]
    path: Path | None
    parts: Mapping[tuple[int, int], int] = {}


class Conversion(Struct, frozen=True):
    """A conversion and its options; `scene` is everything that was read from `document`.

    `given_numbers` are those of its documents that are written with all digits.  `folder` is the folder that references
    are relative to in documents without a path.  If `is_split`, documents are models without a world.
    """

    scene: Scene
    document: Document
    given_numbers: GivenNumbers
    format: Format
    target: Target
    lower: bool
    up: Up | None
    meshes: MeshReferences
    decompose: bool = False
    folder: Path | None = None
    is_split: bool = False
    source_elements: SourceElements = field(default_factory=SourceElements)

    def write(
        self, selected: Scene, path: Path | None, planned: PlannedFiles | None = None, *, may_copy: bool = True
    ) -> ConvertedDocument:
        """Write and certify a selection of the scene as one document.

        `planned` are the companion files of all documents that are written together.  The source is copied if that is
        possible, unless `may_copy` is false.  Computed numbers are rounded,
        unless these digits are too few for the certificate: those of angles are where coordinates are large.
        """
        output = self._output_context(selected, path, planned)
        rounded = self._write(selected, output, path, planned, may_copy=may_copy)
        if rounded.certificate.passed:
            return rounded
        output = self._output_context(selected, path, planned)
        output.given_numbers = None
        exact = self._write(selected, output, path, planned, may_copy=may_copy)
        return exact if exact.certificate.passed else rounded

    def _write(
        self,
        selected: Scene,
        output: OutputContext,
        path: Path | None,
        planned: PlannedFiles | None,
        *,
        may_copy: bool = True,
    ) -> ConvertedDocument:
        decomposition = self._decompose_meshes(selected, output)
        decomposed = selected if decomposition is None else decomposition.after
        rotation = UpAxisRotation(decomposed, self.up, self._up_axes(decomposed)) if self.up is not None else None
        rotated = decomposed if rotation is None else rotation.after
        output.is_rotated = rotation is not None and any(one is not None for one in rotation.passes)
        if rotation is not None and len(rotation.passes) == 1 and rotation.passes[0] is not None:
            output.rotation = rotation.passes[0].rotation
        unsupported = joint_passes.KINDS - self.format.capabilities().native_joints
        changes = None
        if may_copy and decomposition is None:
            if rotation is not None and output.is_rotated:
                rotated = rotation.with_rotated_shapes() if self._can_rotate_source(output) else rotated
            changes = self._changes_of_source(rotated if output.is_rotated else selected, output)
        if changes is None and not embeds_data(self.format, self.target):  # a copy has the actuators of its source
            rotated = without_actuators(rotated, self.format, output).scene
        is_source = changes is not None and not changes and self.target in self.format.capabilities().copy_targets
        lowered = self._lower_joints(rotated, unsupported)
        lowering = None if is_source else lowered
        scene = rotated if lowering is None else lowering.after
        worlds = {id(before): after for before, after in zip(rotated.worlds, scene.worlds, strict=True)}
        output.losses[:] = with_owners(output.losses, lambda item: worlds.get(id(item), item))
        written = write(
            scene,
            self.format.name,
            folder=output.folder,
            target=self.target,
            output=output,
            changes=changes if lowering is None else None,
        )
        needs_other_scene = output.is_rotated or lacks_actuators(scene, self.format, self.target)
        if changes is not None and written.copy is None and needs_other_scene:
            again = self._output_context(selected, path, planned)
            again.given_numbers = output.given_numbers
            return self._write(selected, again, path, planned, may_copy=False)
        if is_source and written.copy is None and not (self.format.is_xml and lowered is None):  # a new document
            again = self._output_context(selected, path, planned)
            again.given_numbers = output.given_numbers
            return self._write(selected, again, path, planned, may_copy=False)
        certificate = certify(scene, written, self.format, lowering)
        if rotation is not None:
            certificate = Certificate.of([*certificate.checks, *rotation.checks()])
        if decomposition is not None:
            certificate = Certificate.of([*certificate.checks, *decomposition.checks()])
        if not certificate.passed and written.copy is not None and written.copy.is_edited:
            again = self._output_context(selected, path, planned)
            again.given_numbers = output.given_numbers
            return self._write(selected, again, path, planned, may_copy=False)
        hints = self._hints(
            scene, output.state_file, "" if lowering else lowering_hint(rotated, unsupported, self.format.label)
        )
        chains = lowering.chains if lowering else {}
        moved_axes = rotation.moved_axes if rotation is not None else frozenset()
        parts = decomposition.parts if decomposition is not None else {}
        return ConvertedDocument(scene, written, certificate, chains, hints, moved_axes, path, parts)

    def _changes_of_source(self, selected: Scene, output: OutputContext) -> SourceChanges | None:
        """How a selection differs from what was read; None if a copy of the source cannot express it."""
        capabilities = self.format.capabilities()
        if capabilities.copy_source is None or self.scene.source_info.format != self.format.name:
            return None
        if output.is_rotated and not self._can_rotate_source(output):
            return None
        worlds = zip(selected.worlds, self.scene.worlds, strict=False)
        is_all = len(selected.worlds) == len(self.scene.worlds) and all(one is other for one, other in worlds)
        if is_all:
            return changes_since_reading(self.scene)
        if output.is_rotated:
            return changes_of_selection(self.scene, selected, is_part=False)
        return changes_of_selection(self.scene, selected) if capabilities.edit_source is not None else None

    def _can_rotate_source(self, output: OutputContext) -> bool:
        """Whether a copy of the source may express another up axis."""
        has_rotation = output.rotation is not None and not output.is_part
        is_same = self.scene.source_info.format == self.format.name
        return has_rotation and is_same and self.format.capabilities().insert_items is not None

    def _decompose_meshes(self, scene: Scene, output: OutputContext) -> MeshDecomposition | None:
        """Decompose concave meshes on request; parts become files in formats that have no triangles of their own."""
        if not self.decompose:
            return None
        shapes = self.format.capabilities().shapes
        as_files = "mesh" in shapes and "trimesh" not in shapes
        found = MeshDecomposition(scene, output.confined_to, as_files=as_files)
        if found.files is not None:
            output.generated = found.files.paths
        return found

    def _output_context(self, selected: Scene, path: Path | None, planned: PlannedFiles | None) -> OutputContext:
        folder = path.parent if path is not None else self.folder or self.document.location.directory
        extension = path.suffix.lower() if path is not None else self.format.extensions[0]
        readable = self.format.capabilities().mesh_extensions
        output = OutputContext(folder, self.target, self.meshes, readable, extension)
        output.file_name = path.name if path is not None else ""
        output.is_bare = self.is_split
        output.planned_files = planned if planned is not None else {}
        output.source_elements = self.source_elements
        output.origin = self.document.location.directory
        output.given_numbers = self.given_numbers
        if self.scene.options is not None:
            options = ReadOptions.of(self.scene)
            output.confined_to = confinement(self.document.location, options.paths)
            output.compiler_seconds = options.limits.seconds
        is_smaller = _model_count(selected) < _model_count(self.scene)
        output.is_part = len(selected.worlds) < len(self.scene.worlds) or is_smaller
        find_dependents = self.format.source_mapping().find_dependents
        if output.is_part and find_dependents is not None and self.scene.source_info.format == self.format.name:
            output.unselected_nodes = find_dependents(self.document, unselected_nodes(self.scene, selected))
        return output

    def _lower_joints(self, scene: Scene, unsupported: frozenset[str]) -> JointLowering | None:
        """Lower joints on request; formats without embedded data need it anyway."""
        if self.format.embeds_data:
            if not self.lower:
                return None
            return JointLowering(scene, lambda world: joint_passes.lower_joints(world, unsupported))
        lower = self.format.capabilities().lower_joints
        if not any(lower(world) is not None for world in scene.worlds):
            return None
        return JointLowering(scene, lambda world: lower(world) or joint_passes.lower_joints(world, frozenset()))

    def _up_axes(self, selected: Scene) -> list[str]:
        """The axes that point up in some worlds: a plane in a model that was not selected may tell."""
        whole = {world.name: world for world in self.scene.worlds}
        return [up_axis(whole.get(world.name, world)) for world in selected.worlds]

    def _hints(self, scene: Scene, state_file: str, lowering: str) -> list[str]:
        """Hints about the whole conversion."""
        found = [lowering] if lowering else []
        wanted = self.format.up_axis
        lying = sorted({*self._up_axes(scene)} - {"", wanted})
        if wanted and lying and self.up is None:
            found.append(f"{lying[0]} points up, but {self.format.label} expects {wanted} up: use --up {wanted} (up=)")
        loses_state = not self.format.embeds_data and not self.format.capabilities().has_initial_state
        if state_file and loses_state:
            found.append(f"{self.format.label} has no initial state: it is in {state_file}, which Exoskel reads")
        elif loses_state and _moves_initially(scene):
            found.append(f"{self.format.label} has no initial state: all joint positions and velocities start at zero")
        if self.target == "pyode":
            found += _self_collision_hints(scene)
        return found

    def report(self, selected: Scene, converted: ConvertedDocument) -> Report:
        """The report on one document, or on all documents that the models of a world became."""
        document, written = self.document, converted.written
        source = self.scene.source_info.format
        edits = None if is_unedited(self.scene) else changes_since_reading(self.scene)
        changes = edits.changes if edits is not None else None
        recorder = (EditedFateRecorder if changes else FateRecorder)(
            converted.scene,
            document,
            written,
            source,
            self.format.name,
            converted.chains,
            unselected_nodes(self.scene, selected),
            converted.moved_axes,
            converted.parts,
        )
        if isinstance(recorder, EditedFateRecorder) and edits is not None and edits.changes and edits.base is not None:
            recorder.note_edits(self.scene, edits.changes, edits.base)
        items = (
            recorder.fates()
            if written.copy is None
            else copied_fates(document, written.copy, is_part=written.output.is_part)
        )
        return Report(
            input=document.name,
            output=str(converted.path) if converted.path is not None else "",
            formats=(source, self.format.name),
            items=items,
            certificate=converted.certificate,
            diagnostics=[*self.scene.diagnostics, *_missing_meshes(written.output, document)],
            data=written.data,
            hint="\n".join(converted.hints),
            has_inexact_masses=self.target == "pyode" and bool(written.output.losses),
            companions=written.output.companions,
            unselected=find_unselected(self.scene, selected),
            refusals=_refusals(written.output),
        )


def _refusals(output: OutputContext) -> list[str]:
    """Why the target reader refuses the document, each reason once."""
    refused = [*output.rejected, *(loss for loss in output.losses if loss.is_refused)]
    return list(dict.fromkeys(loss.reason for loss in refused))


def _model_count(scene: Scene) -> int:
    return sum(len(world.models) for world in scene.worlds)


def _missing_meshes(output: OutputContext, document: Document) -> list[Diagnostic]:
    """A diagnostic for each mesh or texture that is missing or cannot be copied or written."""
    collector = Collector(CATALOGUE, document)
    for uri in output.missing:
        collector.report("FM301" if output.meshes == "copy" else "FM301.reference", uri=uri)
    for uri in output.missing_textures:
        collector.report("FM301.image" if output.meshes == "copy" else "FM301.texture", uri=uri)
    for path, reason in output.unwritten.items():
        collector.report("FM302", file=os.path.basename(path), reason=reason)
    return collector.diagnostics


def _moves_initially(scene: Scene) -> bool:
    """Whether joints have an initial state that is not zero; static models are written at theirs."""
    moving = (model for world in scene.worlds for model in world.models if not model.static)
    return any(any((*joint.positions, *joint.velocities)) for model in moving for joint in model.joints)


def _self_collision_hints(scene: Scene) -> list[str]:
    models = [m.name for world in scene.worlds if not world.self_collision for m in world.models if _can_collide(m)]
    if not models:
        return []
    named = ", ".join(map(repr, models[:_MAX_NAMED])) + (", …" if len(models) > _MAX_NAMED else "")
    return [
        f"bodies of the same model do not collide ({named}), which XODE cannot express: "
        "in PyODE they collide unless your program ignores these contacts"
    ]


def _can_collide(model: Model) -> bool:
    """Whether bodies of a model could collide with each other."""
    solid = [body for body in model.bodies if any(shape.collidable for shape in body.collisions)]
    return len(solid) > 1 and not model.static


def combine_documents(documents: Sequence[ConvertedDocument], whole: Scene, folder: Path | None) -> ConvertedDocument:
    """The documents of all models of a world as if they were one, for one report."""
    checks = [
        Check(f"{one.scene.world.models[0].name}: {check.name}", check.max_error, check.tolerance, check.passed)
        for one in documents
        for check in one.certificate.checks
    ]
    world = with_models(documents[0].scene.world, [model for one in documents for model in one.scene.world.models])
    world.tendons, world.sensors = list(whole.world.tendons), list(whole.world.sensors)  # models may have none of them
    world.equalities = list(whole.world.equalities)
    return ConvertedDocument(
        scene=with_worlds(whole, [world]),
        written=_combine_written([one.written for one in documents], world),
        certificate=Certificate.of(checks),
        chains={key: chain for one in documents for key, chain in one.chains.items()},
        hints=list(dict.fromkeys(hint for one in documents for hint in one.hints)),
        moved_axes=documents[0].moved_axes,
        path=folder,
        parts={key: count for one in documents for key, count in one.parts.items()},
    )


def _combine_written(parts: Sequence[Written], world: World) -> Written:
    first = parts[0]
    output = first.output.empty_copy()
    for part in parts:
        output.losses += [loss for loss in part.output.losses if not isinstance(loss.item, World)]
        output.kept += part.output.kept
        output.missing += [uri for uri in part.output.missing if uri not in output.missing]
        images = part.output.missing_textures
        output.missing_textures += [uri for uri in images if uri not in output.missing_textures]
        output.unwritten |= part.output.unwritten
        output.carried_nodes |= part.output.carried_nodes
        output.companions |= part.output.companions
    of_world = [loss for part in parts for loss in part.output.losses if isinstance(loss.item, World)]
    for loss in (structs.replace(loss, item=world) for loss in of_world):
        if loss not in output.losses:  # most are the same in all parts
            output.losses.append(loss)
    found = {key: item for part in parts for key, item in part.counterparts.items()}
    found[id(world)] = first.native.worlds[0]
    preserved = structs.replace(
        first.preserved,
        comments=set().union(*(part.preserved.comments for part in parts)),
        unknown=set().union(*(part.preserved.unknown for part in parts)),
        moved={node: found for part in parts for node, found in part.preserved.moved.items()},
        attributes=set().union(*(part.preserved.attributes for part in parts)),
        included=combine_included([part.preserved for part in parts]),
    )
    return structs.replace(
        first,
        data=b"".join(part.data for part in parts),
        counterparts=found,
        output=output,
        preserved=preserved,
        elements=frozenset().union(*(part.elements for part in parts)),
    )
