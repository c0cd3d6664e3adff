"""From a file in one format to a file in another: read, written, accounted for, proved, and only then on disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from exoskel.convert.report import Certificate, RefusedError, Report
from exoskel.convert.selection import left_out, named_model, of_model, of_world
from exoskel.diagnostics import Collector, Diagnostic, ExoskelError
from exoskel.formats import registry
from exoskel.formats.codes import CATALOGUE
from exoskel.formats.interface import Format
from exoskel.formats.load import Source, load
from exoskel.scene.lowering.up_axis import Up
from exoskel.scene.world import Model, Scene
from exoskel.source.document import Document
from exoskel.source.gc_pause import garbage_collection_paused
from exoskel.source.output_context import Meshes, OutputContext, Promised, Target

if TYPE_CHECKING:  # these are loaded with the first conversion
    from exoskel.convert.lowering_fates import LoweringFates
    from exoskel.convert.per_model_output import ModelOutput
    from exoskel.formats.write import Written


def convert(
    source: Source | Scene,
    output: str | os.PathLike[str] | None = None,
    *,
    to: str | None = None,
    target: Target = "portable",
    world: str | None = None,
    approximate: bool = False,
    lower: bool = False,
    model: str | None = None,
    up: Up | None = None,
    meshes: Meshes = "reference",
    strict: bool = False,
    **options: Any,
) -> Report:
    """Convert a file, or a scene that was loaded from one, and write the output unless `output` is None.

    The format is `to`, or told by the output's ending.  `target="pyode"` writes XODE that PyODE's own reader
    understands; `approximate` allows masses there that it cannot state exactly.  `world` and `model` choose one of
    several; URDF holds one model, so that of several each gets a document of its own in the folder `output`.  `up`
    turns the whole world so that y or z points up.  `meshes` says whether mesh files are referred to where they are,
    by relative or absolute paths, or copied beside the output, converted where the format's readers need it.
    `lower` takes joints that the format has no words for apart into those it has, with light bodies in between;
    formats that have no place for other joints have it done anyway.  With `strict`, any loss or failed check raises
    Refused and nothing is written.  An output whose certificate fails is never written.  `options` are those of
    `load`.
    """
    scene = source if isinstance(source, Scene) else load(source, **options)
    document = scene.documents[0] if scene.documents else None
    if not isinstance(document, Document):
        raise ExoskelError("only a scene that was read from a document can be converted; save() writes the others")
    if not scene.worlds:
        first = next((str(d) for d in scene.diagnostics if d.severity == "error"), "it is empty")
        raise ExoskelError(f"there is nothing to convert: {first}")
    path = None if output is None else Path(output)
    format = (registry.by_name(to) if to else registry.for_output(str(path or ""))).name
    if target == "pyode" and format != "xode":
        raise ExoskelError("PyODE reads XODE, so only XODE can be written for it")
    chosen = registry.by_name(format)
    said = of_world(scene, world, chosen)
    job = _Job(scene, document, chosen, target, lower, up, meshes, strict, approximate)
    if model is not None:
        said = of_model(said, named_model(said, model))
    elif chosen.holds_one_model and (len(said.world.models) != 1 or _is_folder(path)):
        return job.models(said, path)
    return job.whole(said, path)


def _is_folder(path: Path | None) -> bool:
    """Whether documents go into a folder: one that is there, or a name without an ending."""
    return path is not None and (path.is_dir() or not path.suffix)


class _Job(Struct, frozen=True):
    """What is asked for, apart from where it goes."""

    scene: Scene
    document: Document
    format: Format
    target: Target
    lower: bool
    up: Up | None
    meshes: Meshes
    strict: bool
    approximate: bool

    def whole(self, said: Scene, path: Path | None) -> Report:
        """One document."""
        with garbage_collection_paused():
            report = _report(self, said, _piece(self, said, path))
        self._judge(report)
        if path is not None and report.certificate.passed:
            _write(path, report.data, report.companions)
            report.saved = True
        return report

    def models(self, said: Scene, folder: Path | None) -> Report:
        """A document for each model, in a folder."""
        from exoskel.convert.per_model_output import combined, file_names

        names = [model.name for model in said.world.models]
        if not names:
            raise ExoskelError(f"{self.format.label} holds one model, and the world has none")
        if folder is not None and folder.suffix.lower() in self.format.extensions and not folder.is_dir():
            raise ExoskelError(
                f"{self.format.label} holds one model, and the world has {len(names)} "
                f"({', '.join(map(repr, names))}); choose one with --model NAME (model=), or give a folder with "
                f"--to {self.format.name} (to=) for one document each"
            )
        files = file_names(names, self.format.extensions[0])
        paths = [None if folder is None else folder / file for file in files]
        with garbage_collection_paused():
            alone = [of_model(said, model) for model in said.world.models]
            promised: Promised = {}
            parts = [_piece(self, one, path, promised) for one, path in zip(alone, paths, strict=True)]
            report = _report(self, said, combined(parts, said, folder))
        self._judge(report)
        if folder is not None and report.certificate.passed:
            folder.mkdir(parents=True, exist_ok=True)
            for part in parts:
                assert part.path is not None
                _write(part.path, part.written.data, part.written.output.companions)
            report.saved = True
        return report

    def _judge(self, report: Report) -> None:
        """Raise Refused for what was not to be."""
        if report.has_inexact_masses and not self.approximate:
            raise RefusedError(_INEXACT, report)
        if self.strict and (report.losses or not report.certificate.passed):
            what = "the certificate failed" if not report.certificate.passed else _told(len(report.losses))
            raise RefusedError(f"{what}; nothing was written", report)
        absent = sum(diagnostic.code == "FM301" for diagnostic in report.diagnostics)
        if self.strict and absent:
            raise RefusedError(
                f"{absent} mesh{'es are' if absent != 1 else ' is'} not there; nothing was written", report
            )


def _write(path: Path, data: bytes, companions: dict[str, bytes]) -> None:
    from exoskel.source.atomic_write import write_atomically
    from exoskel.source.files import has_content

    for name, content in companions.items():
        if has_content(path.parent / name, content):
            continue
        (path.parent / name).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path.parent / name, content)
    write_atomically(path, data)


_INEXACT = (
    "X612: PyODE's reader knows only masses of single solids, and some of these are none; "
    "approximate=True (--approximate) writes the nearest ones"
)


def _told(losses: int) -> str:
    return f"{losses} node{'s' if losses != 1 else ''} would be lost"


def _nodes(scene: Scene, written: Written) -> dict[int, int]:
    """The numbers of the output's elements, by the ids of the items they were written from."""
    from exoskel.scene.fields import iter_items

    return {
        id(item): written.counterparts[id(item)].node
        for item, _, _ in iter_items(scene)
        if id(item) in written.counterparts
    }


def _piece(job: _Job, chosen: Scene, path: Path | None, promised: Promised | None = None) -> ModelOutput:
    """One document, written and proved; `promised` are the files beside those that are written together with it."""
    from exoskel.convert.lowering_fates import hint
    from exoskel.convert.per_model_output import ModelOutput
    from exoskel.convert.up_axis_check import UpAxisCheck
    from exoskel.formats.write import write
    from exoskel.scene.lowering.joint_passes import KINDS

    target, format = job.target, job.format
    folder = path.parent if path is not None else job.document.location.directory
    turning = UpAxisCheck(chosen, job.up) if job.up is not None else None
    scene = chosen if turning is None else turning.after
    foreign: frozenset[str] = KINDS - format.capabilities().native_joints
    lowering = _lowering(scene, format, foreign, job.lower)
    said = scene if lowering is None else lowering.after
    ending = path.suffix.lower() if path is not None else format.extensions[0]
    output = OutputContext(folder, target, job.meshes, format.capabilities().mesh_extensions, ending)
    output.promised = promised if promised is not None else {}
    output.origin = job.document.location.directory
    output.is_part = len(chosen.worlds) < len(job.scene.worlds) or _model_count(chosen) < _model_count(job.scene)
    written = write(said, format.name, folder=folder, target=target, output=output)
    certificate = _certificate(said, written, format.name, lowering)
    if turning is not None:
        certificate = Certificate.of([*certificate.checks, *turning.checks()])
    hints = _hints(said, "" if lowering else hint(scene, foreign, format.name), target, format)
    is_turned = turning is not None and turning.is_turned
    return ModelOutput(said, written, certificate, lowering.chains if lowering else {}, hints, is_turned, path)


def _model_count(scene: Scene) -> int:
    return sum(len(world.models) for world in scene.worlds)


def _report(job: _Job, chosen: Scene, piece: ModelOutput) -> Report:
    """The account of a document, or of all the documents that a world has become."""
    from exoskel.convert.node_fates import FateRecorder

    document, written = job.document, piece.written
    source = job.scene.reading.format
    left = left_out(job.scene, chosen)
    account = FateRecorder(piece.said, document, written, source, job.format.name, piece.chains, left, piece.is_turned)
    return Report(
        input=document.name,
        output=str(piece.path) if piece.path is not None else "",
        formats=(source, job.format.name),
        items=account.fates(),
        certificate=piece.certificate,
        diagnostics=[*job.scene.diagnostics, *_missing(written.output, document)],
        data=written.data,
        hint="\n".join(piece.hints),
        has_inexact_masses=job.target == "pyode" and bool(written.output.losses),
        companions=written.output.companions,
    )


def _missing(output: OutputContext, document: Document) -> list[Diagnostic]:
    """A word for each mesh that is not there, or should have been copied and could not be."""
    collector = Collector(CATALOGUE, document)
    for uri in output.missing:
        collector.report("FM301" if output.meshes == "copy" else "FM301.reference", uri=uri)
    return collector.diagnostics


def _lowering(scene: Scene, target: Format, foreign: frozenset[str], asked: bool) -> LoweringFates | None:
    """Formats that have no place for other joints have them taken apart, asked or not."""
    from exoskel.convert.lowering_fates import LoweringFates
    from exoskel.scene.lowering import joint_passes

    if target.embeds_data:
        return LoweringFates(scene, lambda world: joint_passes.lower_joints(world, foreign)) if asked else None
    lower_joints = target.capabilities().lower_joints
    if not any(lower_joints(world) is not None for world in scene.worlds):
        return None
    return LoweringFates(scene, lambda world: lower_joints(world) or joint_passes.lower_joints(world, frozenset()))


def _hints(scene: Scene, unlowered: str, target: Target, format: Format) -> list[str]:
    """What the fates of single nodes do not tell."""
    found = [unlowered] if unlowered else []
    if not format.embeds_data and not format.capabilities().has_initial_state:
        moving = [w for w in scene.worlds if any(any((*j.positions, *j.velocities)) for j in w.joints())]
        if moving:
            found.append(f"{format.label} has no initial state: bodies are where all joint positions are zero, at rest")
    if target == "pyode":
        models = [m.name for world in scene.worlds if not world.self_collision for m in world.models if _is_touchy(m)]
        if models:
            named = ", ".join(map(repr, models[:_MOST_NAMED])) + (", …" if len(models) > _MOST_NAMED else "")
            found.append(
                f"bodies of one model pass each other ({named}), and XODE cannot say that: "
                "in a program that uses PyODE they meet, unless it leaves such contacts out"
            )
    return found


_MOST_NAMED = 3


def _is_touchy(model: Model) -> bool:
    """Whether bodies of a model could meet."""
    solid = [body for body in model.bodies if any(shape.collidable for shape in body.collisions)]
    return len(solid) > 1 and not model.static


def _certificate(scene: Scene, written: Written, format: str, lowering: LoweringFates | None) -> Certificate:
    from exoskel.convert.certificate import certify
    from exoskel.convert.embedded_check import unsaid

    target = written.output.target
    chosen = registry.by_name(format)
    if chosen.capabilities().is_picture:
        from exoskel.convert.picture_certificate import certify as certify_picture

        return certify_picture(scene, written, chosen)
    if not chosen.embeds_data:
        from exoskel.convert.physics_certificate import certify as certify_physics

        passes = zip(lowering.before.worlds, lowering.passes, strict=True) if lowering is not None else ()
        return certify_physics(scene, written, chosen, list(passes))
    kinds = registry.by_name(format).capabilities().native_joints
    nodes = _nodes(scene, written) if target != "portable" else None
    approximated = frozenset(id(loss.item) for loss in written.output.losses)
    missing = unsaid(scene, written.carried, registry.by_name(format))
    found = certify(scene, written.full, written.seen, kinds, nodes, approximated, len(missing))
    if lowering is None:
        return found
    # What PyODE reads has been held against the lowered scene by now; it is not in its order and under its names.
    return Certificate.of(found.checks + lowering.checks(written.full if nodes is None else scene))
