"""From a file in one format to a file in another: read, written, accounted for, proved, and only then on disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exoskel.convert.report import Certificate, Refused, Report
from exoskel.diagnostics import ExoskelError
from exoskel.formats import registry
from exoskel.formats.load import Source, load
from exoskel.scene.world import Model, Scene, World
from exoskel.source.document import Document
from exoskel.source.output import Target
from exoskel.source.pausing import garbage_collection_paused

if TYPE_CHECKING:  # these are loaded with the first conversion
    from exoskel.convert.lowering import Lowering
    from exoskel.formats.registry import Format
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
    strict: bool = False,
    **options: Any,
) -> Report:
    """Convert a file, or a scene that was loaded from one, and write the output unless `output` is None.

    The format is `to`, or told by the output's ending.  `target="pyode"` writes XODE that PyODE's own reader
    understands; `approximate` allows masses there that it cannot state exactly.  `world` chooses one of several.
    `lower` takes joints that the format has no words for apart into those it has, with light bodies in between.
    With `strict`, any loss or failed check raises Refused and nothing is written.  An output whose certificate
    fails is never written.  `options` are those of `load`.
    """
    scene = source if isinstance(source, Scene) else load(source, **options)
    document = scene.documents[0] if scene.documents else None
    if not isinstance(document, Document):
        raise ExoskelError("only a scene that was read from a document can be converted; save() writes the others")
    if not scene.worlds:
        first = next((str(d) for d in scene.diagnostics if d.severity == "error"), "it is empty")
        raise ExoskelError(f"there is nothing to convert: {first}")
    path = None if output is None else Path(output)
    format = (registry.by_name(to) if to else registry.of_output(str(path or ""))).name
    if target == "pyode" and format != "xode":
        raise ExoskelError("PyODE reads XODE, so only XODE can be written for it")
    with garbage_collection_paused():
        report = _convert(_chosen(scene, world, format), document, path, format, target, lower)
    if report.has_inexact_masses and not approximate:
        raise Refused(_INEXACT, report)
    if strict and (report.losses or not report.certificate.passed):
        what = "the certificate failed" if not report.certificate.passed else _told(len(report.losses))
        raise Refused(f"{what}; nothing was written", report)
    if path is not None and report.certificate.passed:
        from exoskel.source.writing import write_atomically

        write_atomically(path, report.data)
        report.saved = True
    return report


_INEXACT = (
    "X612: PyODE's reader knows only masses of single solids, and some of these are none; "
    "approximate=True (--approximate) writes the nearest ones"
)


def _told(losses: int) -> str:
    return f"{losses} node{'s' if losses != 1 else ''} would be lost"


def _chosen(scene: Scene, name: str | None, format: str) -> Scene:
    """The scene with only the world that is asked for."""
    if name is None:
        if format == "skel" and len(scene.worlds) > 1:
            names = ", ".join(repr(world.name) for world in scene.worlds)
            raise ExoskelError(
                f"SKEL holds one world, and the scene has {len(scene.worlds)}; "
                f"choose one of {names} with --world (world=)"
            )
        return scene
    found = [world for world in scene.worlds if world.name == name]
    if not found:
        names = ", ".join(repr(world.name) for world in scene.worlds)
        raise ExoskelError(f"there is no world called {name!r}; there is {names}")
    return _only(scene, found[0])


def _only(scene: Scene, world: World) -> Scene:
    return Scene([world], scene.diagnostics, scene.documents, scene.reading, scene.extensions)


def _nodes(scene: Scene, written: Written) -> dict[int, int]:
    """The numbers of the output's elements, by the ids of the items they were written from."""
    from exoskel.scene.content import walk

    return {
        id(item): written.counterparts[id(item)].node for item, _, _ in walk(scene) if id(item) in written.counterparts
    }


def _convert(scene: Scene, document: Document, path: Path | None, format: str, target: Target, lower: bool) -> Report:
    from exoskel.convert.account import Account
    from exoskel.convert.lowering import hint
    from exoskel.formats.write import write
    from exoskel.scene.lower import KINDS

    folder = path.parent if path is not None else document.location.directory
    source = scene.reading.format
    chosen = registry.by_name(format)
    foreign: frozenset[str] = KINDS - chosen.words("NATIVE_JOINTS")
    lowering = _lowering(scene, chosen, foreign, lower)
    said = scene if lowering is None else lowering.after
    written = write(said, format, folder=folder, target=target)
    return Report(
        input=document.name,
        output=str(path) if path is not None else "",
        formats=(source, format),
        items=Account(said, document, written, source, format, lowering).fates(),
        certificate=_certificate(said, written, folder, format, lowering),
        diagnostics=scene.diagnostics,
        data=written.data,
        hint="\n".join(_hints(said, "" if lowering else hint(scene, foreign, format), target, chosen)),
        has_inexact_masses=target == "pyode" and bool(written.output.inexact),
    )


def _lowering(scene: Scene, target: Format, foreign: frozenset[str], asked: bool) -> Lowering | None:
    """Formats that have no place for other joints have them taken apart, asked or not."""
    from exoskel.convert.lowering import Lowering
    from exoskel.scene import lower

    if target.carries:
        return Lowering(scene, lambda world: lower.joints(world, foreign)) if asked else None
    lowered = target.words("lowered_joints", _unlowered)
    if not any(lowered(world) is not None for world in scene.worlds):
        return None
    return Lowering(scene, lambda world: lowered(world) or lower.joints(world, frozenset()))


def _unlowered(_: World) -> None:
    return None


def _hints(scene: Scene, unlowered: str, target: Target, format: Format) -> list[str]:
    """What the fates of single nodes do not tell."""
    found = [unlowered] if unlowered else []
    if not format.carries and not format.words("STARTS"):
        moving = [w for w in scene.worlds if any(any((*j.positions, *j.velocities)) for j in w.joints())]
        if moving:
            found.append(
                f"{format.name.upper()} has no initial state: bodies are where all joint positions are zero, at rest"
            )
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


def _certificate(
    scene: Scene, written: Written, folder: Path | None, format: str, lowering: Lowering | None
) -> Certificate:
    from exoskel.convert.certificate import certify
    from exoskel.convert.unsaid import unsaid
    from exoskel.formats.write import reread

    target = written.output.target
    chosen = registry.by_name(format)
    if not chosen.carries:
        from exoskel.convert.physical import certify as certify_physics

        passes = zip(lowering.before.worlds, lowering.passes, strict=True) if lowering is not None else ()
        return certify_physics(scene, written, chosen, list(passes))
    native = reread(written.data, format, folder, target, carried=False)
    kinds: frozenset[str] = registry.by_name(format).words("NATIVE_JOINTS")
    nodes = _nodes(scene, written) if target != "portable" else None
    approximated = frozenset(id(item) for item, _ in written.output.inexact)
    missing = unsaid(scene, written.carried, registry.by_name(format))
    found = certify(scene, written.full, native, kinds, nodes, approximated, len(missing))
    if lowering is None:
        return found
    # What PyODE reads has been held against the lowered scene by now; it is not in its order and under its names.
    return Certificate.of(found.checks + lowering.checks(written.full if nodes is None else scene))
