"""From a file in one format to a file in another: read, written, accounted for, proved, and only then on disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exoskel.convert.report import Refused, Report
from exoskel.diagnostics import ExoskelError
from exoskel.fates import Fate
from exoskel.formats import registry
from exoskel.formats.load import Source, load
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document
from exoskel.source.output import Target
from exoskel.source.pausing import garbage_collection_paused

if TYPE_CHECKING:  # these are loaded with the first conversion
    from exoskel.formats.write import Written


def convert(
    source: Source | Scene,
    output: str | os.PathLike[str] | None = None,
    *,
    to: str | None = None,
    target: Target = "portable",
    world: str | None = None,
    approximate: bool = False,
    strict: bool = False,
    **options: Any,
) -> Report:
    """Convert a file, or a scene that was loaded from one, and write the output unless `output` is None.

    The format is `to`, or told by the output's ending.  `target="pyode"` writes XODE that PyODE's own reader
    understands; `approximate` allows masses there that it cannot state exactly.  `world` chooses one of several.
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
    format = registry.by_name(to).name if to else _format_of(path)
    if target == "pyode" and format != "xode":
        raise ExoskelError("PyODE reads XODE, so only XODE can be written for it")
    with garbage_collection_paused():
        report = _convert(_chosen(scene, world, format), document, path, format, target)
    inexact = any(item.fate is Fate.APPROXIMATED for item in report.items)
    if target == "pyode" and inexact and not approximate:
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


def _format_of(path: Path | None) -> str:
    ending = path.suffix.lower() if path is not None else ""
    for one in registry.FORMATS:
        if ending in one.endings:
            return one.name
    known = ", ".join(ending for one in registry.FORMATS for ending in one.endings)
    raise ExoskelError(f"the format of {str(path)!r} cannot be told by its ending; the endings are {known}")


def _chosen(scene: Scene, name: str | None, format: str) -> Scene:
    """The scene with only the world that is asked for."""
    if name is None:
        if format == "skel" and len(scene.worlds) > 1:
            names = ", ".join(repr(world.name) for world in scene.worlds)
            raise ExoskelError(f"SKEL holds one world, and the scene has {len(scene.worlds)}; choose one of {names}")
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


def _convert(scene: Scene, document: Document, path: Path | None, format: str, target: Target) -> Report:
    from exoskel.convert.account import Account
    from exoskel.convert.certificate import certify
    from exoskel.convert.unsaid import unsaid
    from exoskel.formats.write import reread, write

    folder = path.parent if path is not None else document.location.directory
    source = scene.reading.format
    written = write(scene, format, folder=folder, target=target)
    native = reread(written.data, format, folder, target, carried=False)
    kinds: frozenset[str] = registry.by_name(format).part("write", "NATIVE_JOINTS")
    nodes = _nodes(scene, written) if target != "portable" else None
    approximated = frozenset(id(item) for item, _ in written.output.inexact)
    missing = unsaid(scene, written.carried, registry.by_name(format))
    certificate = certify(scene, written.full, native, kinds, nodes, approximated, len(missing))
    fates = Account(scene, document, written, source, format).fates()
    return Report(
        input=document.name,
        output=str(path) if path is not None else "",
        formats=(source, format),
        items=fates,
        certificate=certificate,
        diagnostics=scene.diagnostics,
        data=written.data,
    )
