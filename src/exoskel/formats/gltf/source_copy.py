"""The document that a scene was read from, as a document of its own in another folder, as text or binary glTF.

A scene that was not edited is written as it was read: its document says everything, also what a scene does not
contain.  The lists of the document stay as they are, so all references by number stay valid.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from exoskel.diagnostics import Severity
from exoskel.fates import Fate, Verdict
from exoskel.formats.gltf.accessors import is_text_output
from exoskel.formats.interface import NodeKey, ReadOptions, SourceCopy
from exoskel.scene.shape import Texture
from exoskel.scene.world import Scene
from exoskel.source.file_lookup import confinement, find_file
from exoskel.source.glb import BINARY, JSON, glb_chunks, glb_of_chunks
from exoskel.source.mesh_packages import buffer_content
from exoskel.source.mesh_parsing import MeshError
from exoskel.source.object_document import ObjectDocument
from exoskel.source.output_context import OutputContext
from exoskel.source.textures import ImageError, image_problem

_INSIDE = Verdict(Fate.LOWERED, "inside the new document")
_RELOCATED = Verdict(Fate.LOWERED, "leads to the same file from the new document")
_NO_CHUNKS = Verdict(Fate.APPROXIMATED, "text glTF has no chunks: those of other programs are not written")
_MAGIC = b"glTF"


def copy_source(scene: Scene, output: OutputContext) -> SourceCopy | None:
    """The document of an unedited scene for the folder of `output`; None if it cannot be used."""
    document = scene.documents[0] if len(scene.documents) == 1 else None
    if not isinstance(document, ObjectDocument):
        return None
    if any(one.severity is Severity.ERROR for one in scene.diagnostics if one.source is document):
        return None
    try:
        return _GltfCopier(document, ReadOptions.of(scene), output).copy()
    except (OSError, MeshError, ValueError, RecursionError):
        return None


class _GltfCopier:
    def __init__(self, document: ObjectDocument, options: ReadOptions, output: OutputContext) -> None:
        self.document, self.options, self.output = document, options, output
        self.within = confinement(document.location, options.paths)
        self.fates: dict[NodeKey, Verdict] = {}
        self.is_text = is_text_output(output)
        self.chunks = glb_chunks(document.data) if document.data.startswith(_MAGIC) else []
        self.header: dict[str, Any] = json.loads(self.chunks[0][1] if self.chunks else document.data)
        self.binary = next((content for kind, content in self.chunks[1:] if kind == BINARY), None)

    def copy(self) -> SourceCopy:
        """The document with references that lead to the same files, in the container that is wanted."""
        self._move_buffers()
        if self._is_moved:
            for owner, key in _references(self.header):
                self._relocate(owner, key)
        is_same = bool(self.chunks) is not self.is_text
        if is_same and not self.fates:
            return SourceCopy(self.document.data)
        if self.is_text:
            if len(self.chunks) > 1 + (self.binary is not None):
                self.fates[0, ""] = _NO_CHUNKS
            text = json.dumps(self.header, indent=2, ensure_ascii=False, allow_nan=False)
            return SourceCopy(text.encode() + b"\n", self.fates, is_converted=True)
        text = json.dumps(self.header, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        others = [one for one in self.chunks[1:] if one[0] != BINARY]
        own = [(BINARY, self.binary)] if self.binary is not None else []
        return SourceCopy(glb_of_chunks([(JSON, text.encode()), *own, *others]), self.fates, is_converted=True)

    @cached_property
    def _is_moved(self) -> bool:
        """Whether references lead to other files from the new document."""
        home, folder = self.document.location.directory, self.output.folder
        if self.output.meshes != "reference":
            return True
        return home is not None and folder is not None and home.resolve() != folder.resolve()

    # --- buffers --------------------------------------------------------------------------------------

    def _move_buffers(self) -> None:
        """Move buffers into the binary part, or into the text; in the same container, those of other files."""
        rows = self.header.get("buffers")
        for number, buffer in enumerate(rows if isinstance(rows, list) else ()):
            uri = buffer.get("uri")
            if uri is None:
                if number == 0 and self.is_text and self.binary is not None:
                    self._embed(buffer, self.binary)
            elif not self.is_text and number == 0 and self.binary is None:
                self.binary = self._content(buffer)
                del buffer["uri"]
                self.fates[0, "buffers"] = _INSIDE
            elif not uri.startswith("data:") and (self._is_moved or not self.is_text):
                self._embed(buffer, self._content(buffer))

    def _content(self, buffer: dict[str, Any]) -> bytes:
        folder = self.document.location.directory or Path()
        content = buffer_content(buffer["uri"], folder, self.options.limits.mesh_bytes, self.within)
        length = buffer.get("byteLength")
        return content[:length] if type(length) is int and length >= 0 else content

    def _embed(self, buffer: dict[str, Any], content: bytes) -> None:
        length = buffer.get("byteLength")
        content = content[:length] if type(length) is int and length >= 0 else content
        buffer["uri"] = "data:application/octet-stream;base64," + b64encode(content).decode()
        self.fates[0, "buffers"] = _INSIDE

    # --- references to other files --------------------------------------------------------------------

    def _relocate(self, owner: dict[str, Any], key: NodeKeyPath) -> None:
        reference = owner["uri"]
        written = self._reference(unquote(reference), is_image=key[:1] == ("images",))
        if written != unquote(reference):
            owner["uri"] = quote(written)
            self.fates[self._node_key(key)] = _RELOCATED

    def _reference(self, path: str, *, is_image: bool) -> str:
        """How the new document refers to a file; `path` is that from the folder of the source."""
        output = self.output
        found = find_file(path, self.document.location, self.options.paths).path
        if found is None:
            return output.texture_reference(Texture(path))
        if output.meshes == "copy" and (copied := self._copied(found, is_image=is_image)):
            return copied
        if output.meshes == "absolute" or output.folder is None:
            return found.resolve().as_posix()
        return output.relative_path(found, output.folder)

    def _copied(self, found: Path, *, is_image: bool) -> str:
        """The reference to a copy beside the new document; empty if the file is not copied."""
        if is_image and not image_problem(found, self.within):
            try:
                return self.output.copy_image(found, is_readable=True)
            except ImageError:
                return ""
        return ""

    def _node_key(self, key: NodeKeyPath) -> NodeKey:
        """The object of the document with a value, and its property."""
        path = "/" + "/".join(map(str, key[:2]))
        for node, one in enumerate(self.document.objects):
            if one.path == path and len(key) > 2:
                return node, str(key[2])
        return 0, str(key[0])


NodeKeyPath = tuple[str | int, ...]
"""The keys and places that lead to a value of a document."""


def _references(header: dict[str, Any]) -> Iterator[tuple[dict[str, Any], NodeKeyPath]]:
    """The objects that refer to a file, except buffers, and the way to the reference."""
    waiting: list[tuple[Any, NodeKeyPath]] = [(value, (name,)) for name, value in header.items() if name != "buffers"]
    while waiting:
        one, path = waiting.pop()
        if isinstance(one, dict):
            uri = one.get("uri")
            if isinstance(uri, str) and uri and not uri.startswith("data:") and "://" not in uri:
                yield one, (*path, "uri")
            waiting += [(value, (*path, name)) for name, value in one.items()]
        elif isinstance(one, list):
            waiting += [(value, (*path, place)) for place, value in enumerate(one)]
