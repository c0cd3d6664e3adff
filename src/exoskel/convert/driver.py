"""Conversion from a file in one format to a file in another: read, write, certify, and only then save."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exoskel.convert.report import RefusedError, Report
from exoskel.convert.selection import file_names, find_model, select_model, select_world
from exoskel.diagnostics import ExoskelError, pluralize
from exoskel.formats import registry
from exoskel.formats.interface import Format
from exoskel.formats.load import Source, load
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.fields import iter_items
from exoskel.scene.lowering.up_axis import Up
from exoskel.scene.shape import Mesh, Shape
from exoskel.scene.validation import require_valid
from exoskel.scene.world import Scene, SceneLike, as_scene
from exoskel.source.atomic_write import make_folder, write_atomically
from exoskel.source.document import Document
from exoskel.source.gc_pause import garbage_collection_paused
from exoskel.source.output_context import MeshReferences, OutputContext, PlannedFiles, Target

if TYPE_CHECKING:  # loaded with the first conversion
    from exoskel.convert.conversion import Conversion, ConvertedDocument


def convert(
    source: Source | SceneLike,
    output: str | os.PathLike[str] | None = None,
    *,
    to: str | None = None,
    target: Target = "portable",
    world: str | None = None,
    approximate: bool = False,
    lower: bool = False,
    decompose: bool = False,
    model: str | None = None,
    up: Up | None = None,
    meshes: MeshReferences = "reference",
    strict: bool = False,
    overwrite: bool = False,
    protected: Collection[Path] = (),
    **options: Any,
) -> Report:
    """Convert a file, scene, world or model, and write the output unless `output` is None.

    What does not come from a file is first written as a document in memory: SKEL, or XODE for several worlds.  The
    fates are those of its nodes.  The format of the output is `to`, or follows from the extension of `output`.  An
    output whose certificate fails is never written.

    - `target` writes for one program.  `pyode` is XODE that PyODE's own reader understands; `approximate` allows
      masses there that it cannot express exactly.  `mujoco4`, `mujoco3`, `newton`, `dm_control`, `dart` and `isaac`
      are MJCF.  `dart` is also SDFormat 1.6 that DART's reader understands.
    - An `output` that is a folder, or ends with a slash, gets a file with the name of the input.
    - `world` and `model` choose one of several.  A URDF file contains one model: a scene with several becomes
      one document per model in the folder `output`.
    - `up` rotates the whole world so that y or z points up.
    - `meshes` controls references to mesh files: relative paths, absolute paths, or copies beside the output.  Copies
      are converted where readers of the format need it.
    - `lower` replaces joints that the format does not support with chains of supported ones and light bodies.  Formats
      without embedded data always do so.
    - `decompose` replaces concave meshes that collide with convex parts, by CoACD.  Many engines would collide their
      convex hulls.
    - `strict` raises `RefusedError` for any loss or failed check, and writes nothing.
    - `overwrite` allows an output that is a file of the input, or one of the `protected` files.
    - `options` are those of `load`.
    """
    from exoskel.convert.conversion import Conversion, combine_documents

    scene, document = _document_to_convert(source, options)
    path = None if output is None else Path(output)
    format = registry.by_name(to) if to else registry.for_output(str(path or ""))
    folder = path if not format.holds_one_model and _names_folder(os.fspath(output or "")) else None
    if folder is not None:
        path = folder / f"{Path(document.name).name.split('.')[0] or 'scene'}{format.extensions[0]}"
    _check_target(target, format)
    selected = select_world(scene, world, format)
    if model is not None:
        selected = select_model(selected, find_model(selected, model))
    is_split = model is None and format.holds_one_model and (len(selected.world.models) != 1 or _is_folder(path))
    conversion = Conversion(scene, document, format, target, lower, up, meshes, decompose)
    with garbage_collection_paused(), no_edits():  # the scene stays as it is
        if is_split:
            documents = _write_models(conversion, selected, path)
            whole = combine_documents(documents, selected, path)
        else:
            documents = [whole := conversion.write(selected, path)]
        report = conversion.report(selected, whole)
    _raise_if_refused(report, format, strict=strict, approximate=approximate)
    if not overwrite:
        _check_overwriting(documents, [*source_files(scene), *protected])
    if path is not None and report.certificate.passed:
        if is_split or folder is not None:
            make_folder(folder or path)
        for one in documents:
            _save(one)
        report.saved = True
    return report


def _check_target(target: Target, format: Format) -> None:
    if target == "portable" or target in format.targets:
        return
    others = " or ".join(one.name for one in registry.FORMATS if target in one.targets)
    known = f"; {format.label} is written for {', '.join(format.targets)}" if format.targets else ""
    raise ExoskelError(
        f"{format.label} is not written for {target!r}{known}; use --to {others} (to=) with --for {target} (target=)"
    )


def _document_to_convert(source: Source | SceneLike, options: dict[str, Any]) -> tuple[Scene, Document]:
    """The scene to convert, and the document it was read from; a scene without one is written and read first."""
    scene = as_scene(source) if isinstance(source, SceneLike) else load(source, **options)
    if not scene.worlds:
        first = next((str(d) for d in scene.diagnostics if d.severity == "error"), "the file is empty")
        raise ExoskelError(f"nothing to convert: {first}")
    require_valid(scene)
    document = scene.documents[0] if scene.documents else None
    if isinstance(document, Document):
        return scene, document
    from exoskel.formats.saving.verification import match
    from exoskel.formats.write import write

    format = registry.for_whole_scene(len(scene.worlds))
    folder = Path.cwd()
    data = write(scene, format.name, folder=folder, output=OutputContext(folder, meshes="absolute")).data
    read = load(data, format=format.name, name=_NO_FILE, base=folder)
    document = read.documents[0]
    assert isinstance(document, Document)
    if problem := match(scene, read).problem:
        raise ExoskelError(f"the scene cannot be written as {format.label} without changes: {problem}")
    return read, document


_NO_FILE = "<scene>"
"""The name of the document that a scene without a file is written as."""


def source_files(scene: Scene) -> list[Path]:
    """The files that a scene was read from, with the files they include and the meshes they use."""
    locations = [document.location for document in scene.documents if isinstance(document, Document)]
    files = [location.path for location in locations if location.path and not location.is_base]
    shapes = (item for item, _, _ in iter_items(scene) if isinstance(item, Shape))
    meshes = (shape.geometry.path for shape in shapes if isinstance(shape.geometry, Mesh))
    included = (path for document in scene.documents if isinstance(document, Document) for path in document.included)
    return [Path(path) for path in dict.fromkeys((*files, *included, *meshes)) if path]


def _check_overwriting(documents: list[ConvertedDocument], sources: list[Path]) -> None:
    existing = {source.resolve(): source for source in sources}
    for document in documents:
        if document.path is not None and (source := existing.get(document.path.resolve())) is not None:
            raise ExoskelError(
                f"the output would overwrite its input {str(source)!r}; "
                "choose another file, or use --overwrite (overwrite=True)"
            )


def _names_folder(output: str) -> bool:
    """Whether the output is a folder for a file of its own: one that exists, or a name that ends with a slash."""
    return output.endswith(("/", os.sep)) or os.path.isdir(output)


def _is_folder(path: Path | None) -> bool:
    """Whether the output is a folder: one that exists, or a name without an extension."""
    return path is not None and (path.is_dir() or not path.suffix)


def _write_models(conversion: Conversion, selected: Scene, folder: Path | None) -> list[ConvertedDocument]:
    """One document per model, in a folder."""
    format = conversion.format
    models = selected.world.models
    _check_folder(format, [model.name for model in models], folder)
    files = file_names([model.name for model in models], format.extensions[0])
    planned: PlannedFiles = {}
    return [
        conversion.write(select_model(selected, model), None if folder is None else folder / file, planned)
        for model, file in zip(models, files, strict=True)
    ]


def _check_folder(format: Format, models: list[str], folder: Path | None) -> None:
    if not models:
        raise ExoskelError(f"{format.label} files contain one model, but the world has none")
    if folder is not None and folder.suffix.lower() in format.extensions and not folder.is_dir():
        names = ", ".join(map(repr, models))
        raise ExoskelError(
            f"{format.label} files contain one model, but the world has {len(models)} ({names}); "
            f"choose one with --model NAME (model=), or pass a folder and --to {format.name} (to=) for one file each"
        )


def _raise_if_refused(report: Report, format: Format, *, strict: bool, approximate: bool) -> None:
    if report.has_inexact_masses and not approximate:
        message = format.catalogue()["X612"]
        raise RefusedError(f"{message.text}; {message.hint} ({message.code})", report)
    if not strict:
        return
    if not report.certificate.passed:
        raise RefusedError("the certificate failed; nothing was written", report)
    if report.losses:
        raise RefusedError(f"{pluralize(len(report.losses), 'node')} would be lost; nothing was written", report)
    missing = sum(diagnostic.code == "FM301" for diagnostic in report.diagnostics)
    if missing:
        raise RefusedError(f"{pluralize(missing, 'mesh', 'meshes')} cannot be found; nothing was written", report)


def _save(document: ConvertedDocument) -> None:
    from exoskel.source.file_access import has_content

    path = document.path
    assert path is not None
    for name, content in document.written.output.companions.items():
        companion = path.parent / name
        if not has_content(companion, content):
            make_folder(companion.parent)
            write_atomically(companion, content)
    write_atomically(path, document.written.data)
