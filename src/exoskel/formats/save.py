"""Saving scenes to files."""

from __future__ import annotations

import os
from pathlib import Path

from exoskel.diagnostics import Collector, ExoskelError
from exoskel.formats import registry
from exoskel.formats.codes import CATALOGUE
from exoskel.formats.saving.canonical import canonical
from exoskel.formats.saving.errors import SaveError
from exoskel.formats.saving.patch import patched, unchanged
from exoskel.formats.saving.rebase import adopt
from exoskel.scene.world import Scene
from exoskel.source.atomic_write import write_atomically
from exoskel.source.document import Document
from exoskel.source.gc_pause import garbage_collection_paused


def save(scene: Scene, path: str | os.PathLike[str] | None = None, *, format: str | None = None) -> None:
    """Write a scene to a file, by default the one it was read from.

    In the format of its source, only what was edited changes: everything else keeps its bytes.  In another
    format, for scenes made by a program, and where an edit cannot be made in the source's own text but the target
    is another file, the output is canonical.  Either way the result is read back first, and unless that gives the
    scene again, SaveError is raised and nothing is written.

    SKEL and XODE hold everything.  MJCF, URDF and SDFormat do not: there an edited scene is written anew, as far as
    the format has words (FM201 says so among the scene's diagnostics), and `convert` tells what is lost.
    """
    own = _own_path(scene)
    if path is None and not own:
        raise ExoskelError("the scene does not come from a file of its own; say where to save it")
    target = Path(own if path is None else path)
    chosen = registry.by_name(format).name if format else _format(target, scene)
    if not registry.by_name(chosen).embeds_data:
        _save_plain(scene, chosen, target)
        return
    if not _is_patch(scene, chosen):
        write_atomically(target, canonical(scene, chosen, target.parent))
        return
    is_own = bool(own) and _is_same(target, Path(own))
    with garbage_collection_paused():
        try:
            done = patched(scene)
        except SaveError as refusal:
            write_atomically(target, _anew(scene, chosen, target, refusal, is_own))
            return
        write_atomically(target, done.data)
        if is_own:
            adopt(scene, done)
        del done


def _anew(scene: Scene, format: str, target: Path, refusal: SaveError, is_own: bool) -> bytes:
    """Canonical output for an edit that cannot be made in the source; it takes the place of no source unasked."""
    try:
        data = canonical(scene, format, target.parent)
    except SaveError as error:
        raise (refusal if is_own else error) from None
    if is_own:
        raise SaveError(f"{refusal}; save to a new file instead, which is written in canonical form") from None
    return data


def _save_plain(scene: Scene, format: str, target: Path) -> None:
    with garbage_collection_paused():
        data = unchanged(scene) if format == scene.reading.format else None
        if data is None:
            data = canonical(scene, format, target.parent)
            if scene.reading.format == format and isinstance(scene.documents[0], Document):
                collector = Collector(CATALOGUE, scene.documents[0])
                collector.report("FM201", 0, format=format.upper())
                scene.diagnostics += collector.diagnostics
    write_atomically(target, data)


def saved_bytes(scene: Scene, format: str | None = None) -> bytes:
    """What `save` would write, without writing it."""
    chosen = registry.by_name(format).name if format else scene.reading.format or "skel"
    with garbage_collection_paused():
        if not registry.by_name(chosen).embeds_data:
            kept = unchanged(scene) if chosen == scene.reading.format else None
            return canonical(scene, chosen, None) if kept is None else kept
        return patched(scene).data if _is_patch(scene, chosen) else canonical(scene, chosen, None)


def _own_path(scene: Scene) -> str:
    """The file that a scene was read from; empty for text, and for the samples, which are everybody's."""
    source = scene.documents[0] if scene.documents else None
    if not isinstance(source, Document) or source.location.is_base or source.location.uri:
        return ""
    return source.location.path


def _is_patch(scene: Scene, format: str) -> bool:
    """Whether the scene comes from one document of that format, and can be saved as an edit of it."""
    return len(scene.documents) == 1 and isinstance(scene.documents[0], Document) and format == scene.reading.format


def _is_same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _format(target: Path, scene: Scene) -> str:
    """By the ending; a document keeps its format under any ending that several formats have."""
    own = scene.reading.format
    found = registry.by_extension(str(target))
    if own and (found is None or target.suffix.lower() in registry.SHARED_EXTENSIONS):
        return own
    return registry.for_output(str(target)).name
