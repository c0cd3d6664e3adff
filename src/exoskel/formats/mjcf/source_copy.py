"""The document that a scene was read from, as a document of its own in another folder.

A scene that was not edited is written as it was read: its document says everything, also what a scene does not
contain.  Included files are inserted, and references to files lead to the same files from the new folder.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from exoskel.diagnostics import Severity
from exoskel.fates import Fate, Verdict
from exoskel.formats.interface import NodeKey, ReadOptions, SourceCopy
from exoskel.formats.mjcf.ignored_words import needs_new_document
from exoskel.formats.mjcf.preserved_elements import TEXTURE_FILES
from exoskel.formats.mjcf.reader.asset_paths import COMPILER_FOLDERS, asset_path, compiler_settings
from exoskel.formats.mjcf.unknown_words import cannot_be_copied, refuses_words
from exoskel.scene.shape import Mesh, Texture
from exoskel.scene.world import Scene
from exoskel.source.document import Document
from exoskel.source.encoding import EncodingRoundTripError
from exoskel.source.file_access import read_referenced
from exoskel.source.file_lookup import confinement, find_file
from exoskel.source.markup import RAW_TAG, Markup, UnwritableError
from exoskel.source.memory_files import MemoryFiles
from exoskel.source.output_context import OutputContext
from exoskel.source.splice import Patch
from exoskel.source.textures import ImageError

FILES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("mesh", "hfield", "skin", "flexcomp", "model"), ("file",)),
    "texture": TEXTURE_FILES,
}
"""The attributes that name files, by the tags of their elements."""
NAMED_AFTER_FILES = frozenset({"mesh", "hfield", "texture"})
"""Elements whose names are those of their files unless they state one."""
_MESHES, _IMAGES = frozenset({".obj", ".stl"}), frozenset({".png"})
"""Extensions of files whose content is checked before they are copied."""
_OTHER_FILES = frozenset({".msh", ".skn", ".bin", ".hf", ".xml", ".gmsh", ".vtk"})
_UNREADABLE = ("MJ103", "MJ104", "MJ105")
"""Declarations of entities, and files that cannot be read."""
_INSERTED = Verdict(Fate.LOWERED, "replaced by the content of the file")
_RELOCATED = Verdict(Fate.LOWERED, "leads to the same file from the new document")
_IN_REFERENCES = Verdict(Fate.LOWERED, "in the references to files")


def copy_source(scene: Scene, output: OutputContext) -> SourceCopy | None:
    """The document of an unedited scene for the folder of `output`; None if it cannot be used."""
    document = scene.documents[0] if len(scene.documents) == 1 else None
    if not isinstance(document, Document) or document.is_generated:
        return None
    problems = (one for one in scene.diagnostics if one.source is document)
    if any(one.severity is Severity.ERROR or one.key.startswith(_UNREADABLE) for one in problems):
        return None
    copier = _SourceCopier(document, ReadOptions.of(scene), output)
    try:
        found = copier.copy()
        made = Document(found.data)
        if refuses_words(output.target) and cannot_be_copied(made):
            return None
        return None if needs_new_document(made, output.target) else found
    except (OSError, EncodingRoundTripError, UnicodeError, UnwritableError):
        return None


class _SourceCopier:
    def __init__(self, document: Document, options: ReadOptions, output: OutputContext) -> None:
        self.document = document
        self.options = options
        self.output = output
        self.confined_to = confinement(document.location, options.paths)
        self.included: dict[str, Document] = {}
        """Included files by the references to them."""
        self.fates: dict[NodeKey, Verdict] = {}

    def copy(self) -> SourceCopy:
        made: dict[int, bytes] = {}
        for document in reversed(self._documents):  # files before those that include them
            made[id(document)] = self._patched(document, made)
        inserted = {
            node: len(Document(made[id(inner)]).outline.tags) - 1 for node, inner in self._includes(self.document)
        }
        numbers: list[int] | None = None
        if inserted:
            numbers = []
            for node in range(len(self.document.outline.tags)):
                numbers += [node] * inserted.get(node, 1)
        return SourceCopy(made[id(self.document)], self.fates, inserted, source_numbers=numbers)

    # --- included files -------------------------------------------------------------------------------

    def _includes(self, document: Document) -> Iterator[tuple[int, Document]]:
        """The elements that include files, and these files."""
        for node, tag in enumerate(document.outline.tags):
            if tag == "include":
                yield node, self._read_included(document.attribute_text(node, "file"))

    def _read_included(self, reference: str) -> Document:
        if reference not in self.included:
            found = find_file(reference, self.document.location, self.options.paths).path
            if found is None:
                raise OSError(0, "file not found")
            most = self.options.limits.bytes
            self.included[reference] = Document(read_referenced(found, most, self.confined_to), reference)
        return self.included[reference]

    @cached_property
    def _documents(self) -> list[Document]:
        """The document and all that it includes."""
        found = [self.document]
        for document in found:
            found += [inner for _, inner in self._includes(document)]
        return found

    @cached_property
    def _compiler(self) -> dict[str, str]:
        """The settings of all <compiler> elements."""
        return compiler_settings(
            {name: document.attribute_text(node, name) for name in document.attributes(node)}
            for document in self._documents
            for node, tag in enumerate(document.outline.tags)
            if tag == "compiler"
        )

    def _patched(self, document: Document, made: Mapping[int, bytes]) -> bytes:
        """The content of a document; `made` has that of the files that it includes, by the ids of their documents."""
        patch = Patch(document)
        for node, inner in self._includes(document):
            patch.replace(node, Markup(RAW_TAG, verbatim=_content(made[id(inner)])))
            self._note(document, node, "", _INSERTED)
            self._note(document, node, "file", _INSERTED)
        if self._is_moved:
            self._relocate(patch)
        return patch.apply() if patch else document.data

    def _note(self, document: Document, node: int, name: str, fate: Verdict) -> None:
        if document is self.document:
            self.fates[node, name] = fate

    # --- references to files --------------------------------------------------------------------------

    @cached_property
    def _is_moved(self) -> bool:
        """Whether references lead to other files from the new document."""
        home, folder = self.document.location.directory, self.output.folder
        if self.output.meshes != "reference" or isinstance(self.options.paths.resolver, MemoryFiles):
            return True
        return home is not None and folder is not None and home.resolve() != folder.resolve()

    def _relocate(self, patch: Patch) -> None:
        document = patch.document
        for node, tag in enumerate(document.outline.tags):
            if tag == "compiler":
                for name in set(COMPILER_FOLDERS) & document.attributes(node).keys():
                    patch.remove_attribute(node, name)
                    self._note(document, node, name, _IN_REFERENCES)
            for name in FILES.get(tag, ()):
                reference = document.attribute_text(node, name)
                if reference:
                    self._relocate_reference(patch, node, name, reference)

    def _relocate_reference(self, patch: Patch, node: int, name: str, reference: str) -> None:
        document, tag = patch.document, patch.document.outline.tags[node]
        path = asset_path(tag, reference, self._compiler)
        found = find_file(path, self.document.location, self.options.paths).path
        written = self._reference(tag, path, found)
        if written == reference:
            return
        patch.set_attribute(node, name, written)
        self._note(document, node, name, _RELOCATED)
        own_name = _stem(reference)
        if tag in NAMED_AFTER_FILES and not document.attribute_text(node, "name") and _stem(written) != own_name:
            patch.set_attribute(node, "name", own_name)

    def _reference(self, tag: str, path: str, found: Path | None) -> str:
        """How the new document refers to a file; `path` is that from the folder of the source."""
        output = self.output
        if found is None:
            return output.texture_reference(Texture(path)) if tag == "texture" else path
        if output.is_copied(found) and (copied := self._copy(tag, path, found)):
            return copied
        if output.meshes == "absolute" or output.folder is None:
            return found.resolve().as_posix()
        return output.relative_path(found, output.folder)

    def _copy(self, tag: str, path: str, found: Path) -> str:
        """The reference to a copy beside the new document; empty if the file is not copied."""
        extension = found.suffix.lower()
        if extension in _IMAGES:
            try:
                return self.output.copy_image(found, is_readable=True)
            except ImageError:
                return ""
        if extension in _MESHES:
            return self.output.reference(Mesh(path, path=str(found)), is_readable=True)
        if tag == "model" or extension not in _OTHER_FILES:  # a model may name files itself
            return ""
        data = read_referenced(found, self.options.limits.mesh_bytes, self.confined_to)
        return self.output.copy_file(found, data)


def _content(data: bytes) -> str:
    """What the root element of a document contains."""
    document = Document(data)
    text, scan = document.text, document.scan
    start = scan.tag_end(0)
    if text[start - 2 : start] == b"/>":
        return ""
    return text[start : text.rfind(b"</")].decode(scan.codec).replace("\r\n", "\n").strip()


def _stem(reference: str) -> str:
    return posixpath.splitext(posixpath.basename(reference))[0]
