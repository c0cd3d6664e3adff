"""Conversion from a file in one format to a file in another: read, write, certify, and only then save."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from exoskel.conversion.extreme_numbers import ExtremeNumberError, find_harmful_numbers, report_extreme_numbers
from exoskel.conversion.report import RefusedError, Report
from exoskel.conversion.selection import file_names, find_model, select_model, select_world
from exoskel.diagnostics import ExoskelError, pluralize
from exoskel.formats import registry
from exoskel.formats.interface import Format
from exoskel.formats.load import Source, load, source_files
from exoskel.formats.saving.patch import is_unedited
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.lowering.up_axis import Up
from exoskel.scene.merge import with_bodies_in_order, without_unknown_references
from exoskel.scene.validation import require_valid
from exoskel.scene.world import Scene, SceneLike, as_scene
from exoskel.source.atomic_write import FileChangedError, make_folder, write_atomically
from exoskel.source.document import Document, garbage_collection_paused
from exoskel.source.file_access import case_key, has_content, is_same_file
from exoskel.source.markup import UnwritableError
from exoskel.source.numbers import given_numbers
from exoskel.source.output_context import MeshReferences, OutputContext, PlannedFiles, Target

if TYPE_CHECKING:
    from exoskel.conversion.pipeline import Conversion, ConvertedDocument


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
    split: bool = False,
    up: Up | None = None,
    meshes: MeshReferences = "reference",
    strict: bool = False,
    overwrite: bool = False,
    protected: Collection[Path] = (),
    folder: Path | None = None,
    **options: Any,
) -> Report:
    """Convert a file, scene, world or model, and write the output unless `output` is None.

    A scene that does not come from a file is first written as a document in memory: SKEL, or XODE for several worlds.
    The fates are those of its nodes.  The format of the output is `to`, or follows from the extension of `output`.  An
    output whose certificate fails is never written.

    - `target` writes for one program.  `pyode` is XODE that PyODE's own reader understands; `approximate` allows
      masses there that it cannot express exactly.  `mujoco4`, `mujoco3`, `newton`, `dm_control`, `dart` and `isaac`
      are MJCF.  `dart` is also SDFormat 1.6 that DART's reader understands, `isaac` also USD with drives of joints.
    - An `output` that is a folder, or ends with a slash, gets a file with the name of the input.
    - `world` and `model` choose one of several.  A URDF file contains one model: a scene with several becomes
      one document per model in the folder `output`.
    - `split` writes one document per model in SDF, too: a `model` without a world, as DART's `readSkeleton` reads it.
    - `up` rotates the whole world so that y or z points up.
    - `meshes` controls references to mesh files: relative paths, absolute paths, or copies beside the output.  Copies
      are converted where readers of the format need it.
    - `lower` replaces joints that the format does not support with chains of supported ones and light bodies.  Formats
      without embedded data always do so.
    - `decompose` replaces concave meshes that collide with convex parts, by CoACD.  Many engines would collide their
      convex hulls.
    - `strict` raises `RefusedError` for any loss or failed check, and writes nothing.
    - `overwrite` allows an output that is a file of the input, or one of the `protected` files.
    - Without an `output`, references in `Report.data` are relative to `folder`, by default that of the input.  With a
      `folder`, the data is one document: several models that need one each are refused.
    - `options` are those of `load`.
    """
    from exoskel.conversion.pipeline import Conversion, combine_documents

    with garbage_collection_paused():  # it would only examine what is freed at the end
        scene, document = _document_to_convert(source, options)
        path = None if output is None else Path(output)
        format = registry.by_name(to) if to else _format_of_output(output, split=split)
        if not is_unedited(scene):
            scene = _as_documents_state(scene, format)
        _check_split(format, split=split)
        makes_file = not (format.holds_one_model or split)
        own_folder = path if makes_file and _names_folder(os.fspath(output or "")) else None
        if own_folder is not None:
            path = own_folder / f"{Path(document.name).name.split('.')[0] or 'scene'}{format.extensions[0]}"
        _check_target(target, format)

        def select(whole: Scene) -> Scene:
            chosen = select_world(whole, world, format, target, split=split)
            return chosen if model is None else select_model(chosen, find_model(chosen, model))

        selected = select(scene)
        is_split = model is None and (
            split or (format.holds_one_model and (len(selected.world.models) != 1 or _is_folder(path)))
        )
        if is_split and folder is not None and (len(selected.world.models) != 1 or format.holds_one_model):
            _refuse_several(format, [one.name for one in selected.world.models])
        given = given_numbers(scene.documents)
        conversion = Conversion(scene, document, given, format, target, lower, up, meshes, decompose, folder, split)
        quiet = np.errstate(over="ignore", invalid="ignore", divide="ignore")  # the certificate finds what overflows
        with no_edits(), quiet:  # the scene stays as it is
            try:
                if is_split:
                    documents = _write_models(conversion, selected, path)
                    whole = combine_documents(documents, selected, path)
                else:
                    documents = [whole := conversion.write(selected, path)]
            except UnwritableError:
                _raise_for_extreme_numbers(conversion, select)
                raise
            report = conversion.report(selected, whole)
            if not report.certificate.passed:
                _raise_for_extreme_numbers(conversion, select)
        _raise_if_refused(report, format, strict=strict, approximate=approximate)
        sources = source_files(scene)
        if not overwrite:
            _check_overwriting(documents, [*sources, *protected])
        if path is not None and report.certificate.passed:
            if is_split or own_folder is not None:
                make_folder(own_folder or path)
            for one in documents:
                _save(one, sources, scene)
            report.saved = True
        return report


def _raise_for_extreme_numbers(conversion: Conversion, select: Callable[[Scene], Scene]) -> None:
    """Raise ExtremeNumberError if numbers of the input explain why it cannot be converted exactly."""
    found = find_harmful_numbers(conversion, select) or report_extreme_numbers(
        conversion.scene, conversion.format.label
    )
    if found:
        raise ExtremeNumberError(found)


def _format_of_output(output: str | os.PathLike[str] | None, *, split: bool) -> Format:
    """The format that the extension of the output stands for; folders have none."""
    name = os.fspath(output or "")
    if name and (_names_folder(name) or (split and not Path(name).suffix)):
        formats = _formats_of_models() if split else "FORMAT"
        raise ExoskelError(f"the output {name!r} is a folder, which states no format; use --to {formats} (to=)")
    return registry.for_output(str(Path(name)) if name else "")


def _formats_of_models() -> str:
    """The formats whose files can contain a model without a world, as in `urdf or sdf`."""
    return " or ".join(one.name for one in registry.FORMATS if one.holds_one_model or one.can_hold_one_model)


def _check_target(target: Target, format: Format) -> None:
    if target == "portable" or target in format.targets:
        return
    if target not in get_args(Target):
        raise ExoskelError(f"unknown target {target!r}; choose one of {', '.join(get_args(Target))}")
    others = " or ".join(one.name for one in registry.FORMATS if target in one.targets)
    known = f"; {format.label} is written for {', '.join(format.targets)}" if format.targets else ""
    raise ExoskelError(
        f"{format.label} is not written for {target!r}{known}; use --to {others} (to=) with --for {target} (target=)"
    )


def _check_split(format: Format, *, split: bool) -> None:
    if split and not (format.holds_one_model or format.can_hold_one_model):
        raise ExoskelError(
            f"--split (split=) writes one file per model, but {format.label} files contain a world; "
            f"use --to {_formats_of_models()} (to=)"
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

    scene, unknown = without_unknown_references(scene)
    format = registry.for_whole_scene(len(scene.worlds))
    folder = Path.cwd()
    data = write(scene, format.name, folder=folder, output=OutputContext(folder, meshes="absolute")).data
    read = load(data, format=format.name, name=_NO_FILE, base=folder)
    document = read.documents[0]
    assert isinstance(document, Document)
    if problem := match(scene, read).problem:
        raise ExoskelError(f"the scene cannot be written as {format.label} without changes: {problem}")
    read.diagnostics += unknown
    return read, document


def _as_documents_state(scene: Scene, format: Format) -> Scene:
    """An edited scene without what no document states: references to removed items, which are reported.

    In formats with embedded data, bodies are in the order of their joints.
    """
    known, unknown = without_unknown_references(scene)
    made = with_bodies_in_order(known) if format.embeds_data else scene  # other certificates omit these references
    if made is scene and not unknown:
        return scene
    made = copy(made)
    made.diagnostics = [*scene.diagnostics, *unknown]
    return made


_NO_FILE = "<scene>"
"""The name of the document that a scene without a file is written as."""


def _check_overwriting(documents: list[ConvertedDocument], sources: list[Path]) -> None:
    existing: dict[str, list[Path]] = {}
    for source in sources:
        existing.setdefault(case_key(source.resolve()), []).append(source)
    for output in (path for document in documents for path in _changed_files(document)):
        similar = existing.get(case_key(output.resolve()), [])
        for same in (one for one in similar if is_same_file(one, output)):
            raise ExoskelError(
                f"the output would overwrite its input {str(same)!r}; "
                "choose another file, or use --overwrite (overwrite=True)"
            )


def _changed_files(document: ConvertedDocument) -> list[Path]:
    """The files that are written: the document, and companions that do not have this content yet."""
    path = document.path
    if path is None:
        return []
    companions = ((path.parent / name, data) for name, data in document.written.output.companions.items())
    return [path, *(companion for companion, data in companions if not has_content(companion, data))]


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
    is_file = folder is not None and folder.suffix.lower() in format.extensions and not folder.is_dir()
    if models and is_file and not format.holds_one_model:
        raise ExoskelError("one file per model needs a folder as output, not a file (--split, split=)")
    if not models or is_file:
        _refuse_several(format, models)


def _refuse_several(format: Format, models: list[str]) -> None:
    """Refuse to write models to one file of a format whose files contain one."""
    if not models:
        raise ExoskelError(f"{format.label} files contain one model, but the world has none")
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
    if report.refusals:
        raise RefusedError(f"{report.refusals[0]}; nothing was written", report)
    if report.losses:
        raise RefusedError(f"{pluralize(len(report.losses), 'node')} would be lost; nothing was written", report)
    missing = sum(diagnostic.code == "FM301" for diagnostic in report.diagnostics)
    if missing:
        raise RefusedError(f"{pluralize(missing, 'mesh', 'meshes')} cannot be found; nothing was written", report)


def _save(document: ConvertedDocument, sources: list[Path], scene: Scene) -> None:
    """Write a document and its companions; a file of the input that another program has changed is left as it is."""
    path = document.path
    assert path is not None
    companions = document.written.output.companions
    for companion in _changed_files(document)[1:]:
        if companion.parent != path.parent:
            make_folder(companion.parent)
        write_atomically(companion, companions[companion.relative_to(path.parent).as_posix()], sources=sources)
    own = next((one for one in scene.documents if isinstance(one, Document) and _is_file_of(one, path)), None)
    expected = None if own is None else own.overwritten_with or own.stored
    try:
        write_atomically(path, document.written.data, expected, sources=sources)
    except FileChangedError:
        raise FileChangedError(
            f"cannot write {str(path)!r}: another program has changed the file since it was read; convert it again"
        ) from None
    if own is not None:
        own.overwritten_with = document.written.data


def _is_file_of(document: Document, path: Path) -> bool:
    location = document.location
    return bool(location.path) and not location.is_base and is_same_file(Path(location.path), path)
