"""The file that a scene was read from, as a file of its own in another folder or form.

A scene that was not edited is written as it was read: its file says everything, also what a scene does not contain.
Paths of other files lead to the same files from the new folder, or to copies of them.  An archive contains them.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from exoskel.diagnostics import Severity
from exoskel.fates import Fate, Verdict
from exoskel.formats.interface import NodeKey, ReadOptions, SourceCopy
from exoskel.formats.usd.layer_editor import LayerEditor
from exoskel.formats.usd.layer_files import LAYERS, LayerFiles
from exoskel.formats.usd.mapping import COMMENT
from exoskel.formats.usd.reader.stage import ROOT
from exoskel.formats.usd.text_layer import asset_tokens, replace_tokens, sublayer_paths
from exoskel.formats.usd.tree import BINARY, TEXT
from exoskel.formats.usd.usd_process import StageError, StageLimitError
from exoskel.scene.world import Scene
from exoskel.source.contained_files import path_inside
from exoskel.source.file_lookup import uri_scheme
from exoskel.source.object_document import ObjectDocument
from exoskel.source.output_context import TEXTURE_FOLDER, OutputContext
from exoskel.source.textures import MOST_BYTES, ImageError, kind_of_content
from exoskel.source.usdz_archive import EXTENSION, FIRST_LAYER, SIGNATURE, PackageError, pack

_LAYER_FOLDER = "layers"
_TEXT_START = b"#usda"
_UNREADABLE = ("US001", "US002", "US003")
_SOUNDS = (".m4a", ".mp3", ".wav")
"""Extensions of sounds that archives may contain."""
_ARGUMENTS = ":SDF_FORMAT_ARGS:"
_TILES = "<UDIM>"
_NO_COMMENTS = Verdict(Fate.DROPPED, "the binary form has no comments", harmless=True)
_RELOCATED = Verdict(Fate.LOWERED, "leads to the same file from the new document")
_LEFT_OUT = Verdict(Fate.DROPPED, "the archive does not contain the file: it is not a layer, an image or a sound")


def copy_source(scene: Scene, output: OutputContext) -> SourceCopy | None:
    """The document of an unedited scene for the folder and form of `output`; None if it cannot be used."""
    document = scene.documents[0] if len(scene.documents) == 1 else None
    if not isinstance(document, ObjectDocument) or document.is_generated:
        return None
    if any(one.severity is Severity.ERROR and one.code in _UNREADABLE for one in scene.diagnostics):
        return None
    copier = UsdSourceCopier(document, ReadOptions.of(scene), output)
    try:
        return copier.copy()
    except (OSError, PackageError, StageError, StageLimitError, ImageError, UnicodeError):
        return None
    finally:
        copier.editor.close()


_MOST_NESTED = 50
"""Layers that refer to another one each."""


class _LayerPlace(Struct, frozen=True):
    """Where a layer is written: the folder of its references, empty for that of the document, and its extension."""

    folder: str
    extension: str


class UsdSourceCopier:
    """Copies the files of a document, and finds the paths that lead to them from a new document."""

    def __init__(self, document: ObjectDocument, options: ReadOptions, output: OutputContext) -> None:
        self.document = document
        self.options = options
        self.output = output
        self.files = LayerFiles(document, options)
        self.editor = LayerEditor()
        self.first = self.files.first_layer()
        self.fates: dict[NodeKey, Verdict] = {}
        self.left_out: set[str] = set()
        """The paths of files that the archive does not contain."""
        self._copies: dict[str, str] = {}
        """The names of copies, from the folder of the document, by the keys of files."""
        self._open: set[str] = set()
        """The keys of the layers that are being copied."""

    def relocated(self, key: str, path: str) -> str:
        """The path from the new document of a file that a layer names."""
        return self._relocated(key, path, _LayerPlace("", ""))

    def copy(self) -> SourceCopy:
        """The copy of the document.  Raises StageError, StageLimitError, PackageError or OSError."""
        own_archive = self.document.data.startswith(SIGNATURE)
        if own_archive and self.output.is_archive:
            self._locate_in_archive()
            return SourceCopy(self.document.data)
        extension = self._extension(own_archive)
        data = self._layer(ROOT, self.first, _LayerPlace("", extension))
        if self.output.is_archive:
            data = pack({FIRST_LAYER: data, **self.output.members})
        self._note_comments(is_text=extension == TEXT)
        return SourceCopy(data, self.fates, is_converted=data[:4] != self.document.data[:4])

    def _extension(self, own_archive: bool) -> str:
        """The form of the new document: `.usd` allows both, and is that of the source."""
        chosen = self.output.extension.lower()
        if chosen in (TEXT, BINARY):
            return chosen
        if chosen == EXTENSION or own_archive:
            return BINARY
        return TEXT if self.first.startswith(_TEXT_START) else BINARY

    def _note_comments(self, *, is_text: bool) -> None:
        """Note the comments of a text file, which the binary form does not have."""
        comments = [node for node, one in enumerate(self.document.objects) if one.tag == COMMENT]
        if not is_text:
            self.fates.update(dict.fromkeys([(node, "") for node in comments], _NO_COMMENTS))

    def _locate_in_archive(self) -> None:
        """Let the files of the archive be found before the copy exists."""
        home = self.document.location.path
        for name in self.files.package if home else ():
            reference = posixpath.relpath(name, self.files.folder or ".")
            self.output.locate(reference, Path(path_inside(home, name)))

    # --- layers ---------------------------------------------------------------------------------------

    def _layer(self, key: str, data: bytes, place: _LayerPlace) -> bytes:
        """A layer, with the paths of files from its new place."""
        is_text, notes = data.startswith(_TEXT_START), key == ROOT
        if is_text and place.extension == TEXT and b"templateAssetPath" not in data:
            tokens = asset_tokens(data)
            paths = {one.path: self._relocated(key, one.path, place) for one in tokens}
            if notes:
                self._note_lines([one.line for one in tokens if paths[one.path] != one.path], _RELOCATED)
                self._note_lines([one.line for one in tokens if one.path in self.left_out], _LEFT_OUT)
                sublayers = sublayer_paths(data, tokens)
                if sublayers & self.left_out:
                    self.fates[0, "subLayers"] = _LEFT_OUT
                elif any(paths[one] != one for one in sublayers):
                    self.fates[0, "subLayers"] = _RELOCATED
            return replace_tokens(data, tokens, paths)
        if place.extension == (TEXT if is_text else BINARY) and not self._is_moved:
            return data
        made = self.editor.edit(data, place.extension, lambda path: self._relocated(key, path, place))
        nodes = {one.path: node for node, one in enumerate(self.document.objects)} if notes else {}
        for path, name, values in made.files:
            node = nodes.get(path.removesuffix("/"))
            if node is not None and self.left_out & {*values}:
                self.fates[node, name] = _LEFT_OUT
            elif node is not None and any(made.paths.get(value, value) != value for value in values):
                self.fates[node, name] = _RELOCATED
        return made.data

    def _note_lines(self, lines: list[int], verdict: Verdict) -> None:
        """Note the properties in these lines of the document."""
        for line in lines:
            for key in self._properties_by_line.get(line, ()):
                self.fates[key] = verdict

    @cached_property
    def _properties_by_line(self) -> Mapping[int, list[NodeKey]]:
        found: dict[int, list[NodeKey]] = {}
        for node, one in enumerate(self.document.objects):
            for name, line in one.property_lines.items():
                if name in one.properties:
                    found.setdefault(line, []).append((node, name))
        return found

    # --- paths of files -------------------------------------------------------------------------------

    @cached_property
    def _is_moved(self) -> bool:
        """Whether paths lead to other files from the new document."""
        home, folder = self.document.location.directory, self.output.folder
        if self.output.meshes != "reference" or self.files.package or self.output.is_archive:
            return True
        return home is not None and folder is not None and home.resolve() != folder.resolve()

    @property
    def _copies_files(self) -> bool:
        return self.output.meshes == "copy" or bool(self.files.package) or self.output.is_archive

    def _relocated(self, key: str, path: str, place: _LayerPlace) -> str:
        """The path of a file from the new place of a layer."""
        stem, arguments, rest = path.partition(_ARGUMENTS)
        stem, bracket, inside = stem.partition("[") if ".usdz[" in stem.lower() else (stem, "", "")
        if not stem or stem.startswith("`") or uri_scheme(stem) or not (self._is_moved or key != ROOT):
            return path
        found = self.files.locate(key, stem)
        made = self._missing(key, stem) if found is None else self._found(stem, found, place)
        return f"{made}{bracket}{inside}{arguments}{rest}"

    def _missing(self, key: str, path: str) -> str:
        """The path of a file that does not exist; names without a folder may be those of a library."""
        folder = self._folder_of(key)
        is_name = not path.startswith(".") and ("/" not in path or path.lower().endswith(".mdl"))
        if posixpath.isabs(path) or is_name or folder is None or (self._copies_files and _TILES not in path):
            return path
        return self._reference(folder / path)

    def _folder_of(self, key: str) -> Path | None:
        if self.files.package:
            return None
        return self.document.location.directory if key == ROOT else Path(key).parent

    def _found(self, path: str, key: str, place: _LayerPlace) -> str:
        if self._copies_files and (name := self._copy(key)):
            reference = posixpath.relpath(name, place.folder) if place.folder else name
            reference = reference if reference.startswith(".") else f"./{reference}"
            self._locate(reference, name)
            return reference
        if self.output.is_archive or self.files.package:
            self.left_out.add(path)
            return path
        return self._reference(Path(key))

    def _reference(self, target: Path) -> str:
        if self.output.meshes == "absolute" or self.output.folder is None:
            return target.resolve().as_posix()
        made = self.output.relative_path(target, self.output.folder)
        return made if made.startswith(".") or uri_scheme(made) else f"./{made}"

    # --- copies ---------------------------------------------------------------------------------------

    def _copy(self, key: str) -> str:
        """The name of a copy of a file, from the folder of the document; empty if it is not copied."""
        if key not in self._copies:
            self._copies[key] = self._copied(key)
        return self._copies[key]

    def _copied(self, key: str) -> str:
        most = max(self.options.limits.bytes, MOST_BYTES)
        data = self.files.content(key, most)
        name = posixpath.basename(key.replace("\\", "/"))
        if data.startswith(LAYERS):
            if key in self._open or len(self._open) >= _MOST_NESTED:
                raise StageError("layers refer to each other, or are nested too deeply")
            self._open.add(key)
            extension = TEXT if data.startswith(_TEXT_START) else BINARY
            made = self._layer(key, data, _LayerPlace(_LAYER_FOLDER, extension))
            self._open.remove(key)
            return self._add(posixpath.splitext(name)[0] + extension, made, _LAYER_FOLDER)
        is_known = bool(kind_of_content(data, name)) or name.lower().endswith(_SOUNDS)
        return self._add(name, data, TEXTURE_FOLDER) if is_known and len(data) <= most else ""

    def _add(self, name: str, data: bytes, folder: str) -> str:
        if self.output.is_archive:
            return self.output.pack_file(f"{folder}/{name}", data)
        return self.output.add_file(name, data, folder)

    def _locate(self, reference: str, name: str) -> None:
        """Let a copy be found by a reference before it is written."""
        if not self.output.is_archive:
            self.output.locate(reference, self.output.located(name))
