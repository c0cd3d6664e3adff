"""From a file in one format to a file in another: read, written, accounted for, proved, and only then on disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from msgspec import Struct

from exoskel.convert.account import Account
from exoskel.convert.certificate import Certificate, certify
from exoskel.diagnostics import Diagnostic, ExoskelError
from exoskel.fates import Fate, NodeFate, count
from exoskel.formats import registry
from exoskel.formats.load import Source, load
from exoskel.formats.write import Written, reread, write
from exoskel.scene.content import walk
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document
from exoskel.source.output import Target
from exoskel.source.pausing import garbage_collection_paused
from exoskel.source.writing import write_atomically


class Report(Struct):
    """What a conversion did: `data` is the output, `saved` whether it is on disk."""

    input: str
    output: str
    formats: tuple[str, str]
    items: list[NodeFate]
    certificate: Certificate
    diagnostics: list[Diagnostic]
    data: bytes
    saved: bool = False

    @property
    def nodes(self) -> int:
        return len(self.items)

    @property
    def fates(self) -> dict[str, int]:
        """How many nodes had each fate."""
        return count(self.items)

    @property
    def losses(self) -> list[NodeFate]:
        """Nodes that were dropped although they meant something, or that could only be approximated."""
        return [item for item in self.items if item.loss]

    def as_dict(self) -> dict[str, Any]:
        """The shape of `convert --json`."""
        return {
            "input": self.input,
            "output": self.output,
            "formats": list(self.formats),
            "nodes": self.nodes,
            "fates": self.fates,
            "items": [
                {"line": item.line, "path": item.path, "fate": item.fate.value, "why": item.why or None}
                for item in self.items
            ],
            "certificate": {
                "passed": self.certificate.passed,
                "checks": [
                    {"name": c.name, "max_error": c.max_error, "tolerance": c.tolerance, "passed": c.passed}
                    for c in self.certificate.checks
                ],
            },
        }


class Refused(ExoskelError):
    """A conversion that was to be strict and was not without loss; `report` tells why.  Nothing was written."""

    def __init__(self, message: str, report: Report) -> None:
        super().__init__(message)
        self.report = report


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
    with garbage_collection_paused():
        report = _convert(_chosen(scene, world, format), document, path, format, target)
    inexact = any(item.fate is Fate.APPROXIMATED for item in report.items)
    if target == "pyode" and inexact and not approximate:
        raise Refused(_INEXACT, report)
    if strict and (report.losses or not report.certificate.passed):
        what = "the certificate failed" if not report.certificate.passed else _told(len(report.losses))
        raise Refused(f"{what}; nothing was written", report)
    if path is not None and report.certificate.passed:
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
    return {
        id(item): written.counterparts[id(item)].node for item, _, _ in walk(scene) if id(item) in written.counterparts
    }


def _convert(scene: Scene, document: Document, path: Path | None, format: str, target: Target) -> Report:
    folder = path.parent if path is not None else None
    source = scene.reading.format
    written = write(scene, format, folder=folder, target=target)
    native = reread(written.data, format, folder, target, carried=False)
    kinds: frozenset[str] = registry.by_name(format).part("write", "NATIVE_JOINTS")
    nodes = _nodes(scene, written) if target != "portable" else None
    approximated = frozenset(id(item) for item, _ in written.output.inexact)
    certificate = certify(scene, written.full, native, kinds, nodes, approximated)
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
