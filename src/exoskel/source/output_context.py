"""The folder and the target reader of a document to be written, and the mesh files written with it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

from msgspec import Struct, structs

from exoskel.diagnostics import Message
from exoskel.fates import Verdict
from exoskel.scene.item import Item
from exoskel.scene.json_codec import (
    ValueKey,
    encode_item,
    encode_json,
    encode_value,
    field_value,
    item_key,
    remember,
)
from exoskel.scene.model import Model
from exoskel.scene.shape import Mesh, Shape, Texture, texture_of
from exoskel.scene.world import Scene
from exoskel.source import meshes as mesh_files
from exoskel.source.atomic_write import TemporaryFolder
from exoskel.source.contained_files import split_path, stem_and_extension
from exoskel.source.file_access import has_content
from exoskel.source.file_lookup import SearchPaths, absolute_uri, uri_scheme
from exoskel.source.losses import Loss, loss
from exoskel.source.markup import Markup
from exoskel.source.memory_files import is_in_memory
from exoskel.source.mesh_companions import copied_extension, copied_mesh, lacks_companions
from exoskel.source.mesh_textures import file_as_obj, has_textures
from exoskel.source.numbers import GivenNumbers, round_json
from exoskel.source.source_elements import SourceElements
from exoskel.source.textures import ImageError, image_kind, png_of, read_image
from exoskel.source.usdz_archive import EXTENSION
from exoskel.spatial import Array

NodeOfDocument = tuple[int, int]
"""An element of the source: the numbers of its document and in it."""

Target = Literal["portable", "pyode", "mujoco4", "mujoco3", "newton", "dm_control", "dart", "isaac"]
"""`portable` is for any reader, with embedded data; the others are for one program, such as PyODE, which refuses
unknown elements.  Each format has its own targets."""
MeshReferences = Literal["reference", "absolute", "copy"]
"""How a document refers to mesh files: by relative paths, by absolute URIs, or to copies beside it."""

MESH_FOLDER = "meshes"
TEXTURE_FOLDER = "textures"
TEXTURE_FIELD = "material/texture"
"""The field of a shape that losses of textures name."""
_COMPILER_SECONDS = 60.0
"""For scenes that were not read from a file with limits of its own."""

PlannedFiles = dict[str, tuple[str, bytes]]
"""Names and contents of files to be written, by the names in lower case."""

MeshPaths = tuple[dict[str, Path], dict[str, str]]
"""The paths of mesh files by their references in a document, and their original references."""


class ComposedFile(Struct, frozen=True):
    """The bytes of a document, and the scene that was read back from them.

    `counterparts` are the items of that scene by the ids of those they were written from.  `elements` are the ids of
    all items that have an element of their own, read back or not.
    """

    data: bytes
    native: Scene
    counterparts: dict[int, Item]
    elements: frozenset[int]


class InnerModel(Struct, frozen=True):
    """What a nested or included model of the source became a part of: a model of the scene.

    `prefix` is how the names of its links and joints begin there.  `node` is its element.
    """

    model: Model
    prefix: str
    node: NodeOfDocument


class OutputContext:
    """The folder of a document to be written (None: unknown), its target reader and its mesh files.

    Attributes:
        losses: parts of the scene that are written approximately or not at all.
        kept: parts that are written as an extension of the format, which one reader supports.
        preserved_nodes: elements of the source that no item contains, and that are written again as they are.
        preserved_attributes: the same for attributes, by their elements and names.
        lost_attributes: attributes of preserved nodes that are not written again.
        refused_attributes: attributes of the source that the target reader refuses, so that they are not written.
        changed_nodes: elements of the source that are not written again as they are, because the scene differs.
        source_format: the format that the scene was read from, if any.
        source_copies: elements of the output that an element of the source may replace.
        source_elements: the elements of the documents of the source, for all documents that are written from it.
        frame_names: names of frames in the output, by the ids of models and worlds and their names in these.
        resolve_pose: finds the pose of an element in its default frame, where its frame is not in the output.
        inner_models: models of the source that are part of models of the scene, by the elements that state them.
        is_moved: whether links have other poses in their models than in the source, if this is known.
        carried_nodes: what becomes of elements of the source that no item contains, where the writer knows it.
        rejected: parts that are written, but that the target reader does not accept.
        companions: files to be written beside the document, by their paths from its folder.
        generated: paths of mesh files that a pass has made: they are copied in any case.
        readable: extensions of mesh files that readers support; copies of others are converted to OBJ.
        members: files inside of the document by their names, where it is an archive.
        planned_files: the companions of all documents that are written together.
        missing: references to mesh files that do not exist.
        missing_textures: the same for images of textures.
        unwritten: mesh files whose triangles are not written, with the reasons.
        origin: the folder that these references are relative to.
        confined_to: the folder in which mesh files must be in order to be read; None if they may be anywhere.
        resolves_model_uris: whether readers of the document resolve `model://` URIs.
        extension: that of the document's file, where a format has several.
        file_name: the name of the document's file, if it has one.
        state_file: the files with the initial state, if any.
        triangles: counts the triangles of mesh files that are written to the document.
        is_bare: whether the document is a model without a world, in formats that have both.
        is_part: whether some models of the source are not written to the document.
        unselected_nodes: elements of the source that only models use which are not written to the document.
        is_rotated: whether the world was rotated for another up axis.
        rotation: that of the only world, if it was rotated.
        keeps_names: whether a copy of the source keeps names that some programs refuse.
        given_numbers: numbers of the source that are written with all digits; None if all numbers are.
        compiler_seconds: the limit `Limits.seconds` when the document is read back.
    """

    def __init__(
        self,
        folder: Path | None = None,
        target: Target = "portable",
        meshes: MeshReferences = "reference",
        readable: frozenset[str] = frozenset(),
        extension: str = "",
    ) -> None:
        self.extension = extension
        self.file_name = ""
        self.state_file = ""
        self.is_bare = False
        self.is_part = False
        self.unselected_nodes: Collection[int] = ()
        self.is_rotated = False
        self.rotation: Array | None = None
        self.keeps_names = False
        self.given_numbers: GivenNumbers | None = None
        self.compiler_seconds = _COMPILER_SECONDS
        self.folder = folder
        self.target = target
        self.meshes = meshes
        self.readable = readable
        self.losses: list[Loss] = []
        self.preserved_nodes: set[int] = set()
        self.preserved_attributes: set[tuple[int, str]] = set()
        self.lost_attributes: set[tuple[int, str]] = set()
        self.refused_attributes: dict[tuple[int, str], Verdict] = {}
        self.changed_nodes: set[NodeOfDocument] = set()
        self.source_format = ""
        self.source_copies: dict[NodeOfDocument, list[Markup]] = {}
        self.source_elements = SourceElements()
        self.frame_names: dict[tuple[int, str], str | None] | None = None
        self.resolve_pose: Callable[[NodeOfDocument], str | None] = lambda _: None
        self.inner_models: dict[NodeOfDocument, list[InnerModel]] = {}
        self.is_moved = False
        self.carried_nodes: dict[NodeOfDocument, Verdict] = {}
        self.rejected: list[Loss] = []
        self.kept: list[Loss] = []
        self.companions: dict[str, bytes] = {}
        self.triangles = mesh_files.TriangleBudget()
        self.members: dict[str, bytes] = {}
        self.planned_files: PlannedFiles = {}
        self.missing: list[str] = []
        self.missing_textures: list[str] = []
        self.unwritten: dict[str, str] = {}
        self.origin: Path | None = None
        self.confined_to: Path | None = None
        self.resolves_model_uris = True
        self.generated: set[str] = set()
        self._copies: dict[str, str] = {}
        self._images: dict[tuple[str, str | None, frozenset[str]], str] = {}
        """The references to images: many shapes may have the same one."""
        self._texts: dict[ValueKey, str] = {}
        """Embedded texts by what they encode, with the same given numbers: many items may have the same one."""
        self._paths: dict[str, Path] = {}
        self._rebased: dict[str, str] = {}
        self._temporary: TemporaryFolder | None = None

    def add_loss(self, item: Item, message: Message, *fields: str, **details: Any) -> None:
        """Record that an item, or some fields of it, cannot be written as it is; see `loss`."""
        self.losses.append(loss(item, message, *fields, **details))

    @property
    def is_archive(self) -> bool:
        """Whether the document is an archive, which contains the files that it refers to."""
        return self.extension.lower() == EXTENSION

    def is_copied(self, path: str | os.PathLike[str]) -> bool:
        """Whether a file that the scene refers to is copied: on request, or because it does not last."""
        return self.meshes == "copy" or os.fspath(path) in self.generated or is_in_memory(path)

    def reference(self, mesh: Mesh, *, is_readable: bool | None = None) -> str:
        """The reference to a mesh file: that of the source where it leads to the same file, otherwise a new one.

        `is_readable` states whether readers support the file, where its extension is not enough to know.
        """
        if mesh.path is None:
            return self._reference_to_missing(mesh.uri, self.missing)
        if self.is_copied(mesh.path):
            return self._copy(mesh, mesh.path, is_readable)
        found = (
            absolute_uri(Path(mesh.path))
            if self.meshes == "absolute"
            else self._reference_to_source(mesh.uri, Path(mesh.path))
        )
        return self.openable_reference(mesh, found, is_readable=is_readable)

    def openable_reference(self, mesh: Mesh, reference: str, *, is_readable: bool | None = None) -> str:
        """The reference to a mesh file that exists, or to a copy of it if DART would not open the file by that name."""
        is_cut = self.target == "dart" and any(mark in reference.removeprefix("file:") for mark in _URI_MARKS)
        return self._copy(mesh, mesh.path, is_readable) if is_cut and mesh.path is not None else reference

    def texture_reference(self, texture: Texture, kinds: frozenset[str] = frozenset()) -> str:
        """The reference to the image of a texture, like that to a mesh file.

        With `kinds`, readers support only these kinds of images: others are written as PNG beside the document.
        Raises ImageError if that is not possible.
        """
        key = (texture.uri, texture.path, kinds)
        if key not in self._images:
            self._images[key] = self._image_reference(texture, kinds)
        return self._images[key]

    def _image_reference(self, texture: Texture, kinds: frozenset[str]) -> str:
        if texture.path is None:
            if self.is_archive:
                raise ImageError("it was not found")
            return self._reference_to_missing(texture.uri, self.missing_textures)
        path = Path(texture.path)
        is_readable = not kinds or image_kind(path, self.confined_to) in kinds
        if self.is_archive:
            return self._pack_image(path, is_readable=is_readable)
        if self.is_copied(texture.path) or not is_readable or split_path(texture.path)[1]:
            try:
                image_kind(path, self.confined_to)  # other files that a document names are not copied
                return self.copy_image(path, is_readable=is_readable)
            except ImageError:
                if not is_readable:
                    raise
                _note(texture.uri, self.missing_textures)
                return self._reference_to_source(texture.uri, path)
        if self.meshes == "absolute":
            return absolute_uri(path)
        return self._reference_to_source(texture.uri, path)

    def copy_image(self, path: Path, *, is_readable: bool) -> str:
        """The reference to a copy of an image beside the document, as PNG if it is not readable otherwise.

        Raises ImageError if that is not possible.
        """
        source = path.resolve()
        if str(source) not in self._copies:
            data = read_image(source, self.confined_to)
            data = data if is_readable else png_of(data)
            stem, extension = stem_and_extension(source)
            name = self._unused_name(stem, extension if is_readable else ".png", data, TEXTURE_FOLDER)
            self.companions[name] = data
            self._copies[str(source)] = name
            self._paths[name] = source if is_readable else self._write_temporary(name, data)
        return self._copies[str(source)]

    def _pack_image(self, path: Path, *, is_readable: bool) -> str:
        """The name of an image in the document, which is an archive.  Raises ImageError."""
        source = path.resolve()
        if str(source) not in self._copies:
            data = read_image(source, self.confined_to)
            stem, extension = stem_and_extension(source)
            data, extension = (data, extension) if is_readable else (png_of(data), ".png")
            self._copies[str(source)] = self.pack_file(f"{TEXTURE_FOLDER}/{stem}{extension}", data)
            self._paths[self._copies[str(source)]] = source
        return self._copies[str(source)]

    def pack_file(self, name: str, data: bytes) -> str:
        """Add a file to the document, which is an archive; returns its name there, with a number if it is taken."""
        folder, _, own = name.rpartition("/")
        stem, dot, extension = _UNUSUAL.sub("_", own).rpartition(".")
        taken = {one.casefold(): one for one in self.members}
        count = 1
        while (found := f"{folder}/{stem}{f'_{count}' * (count > 1)}{dot}{extension}").casefold() in taken:
            if self.members[taken[found.casefold()]] == data:
                return taken[found.casefold()]
            count += 1
        self.members[found] = data
        return found

    def copy_file(self, path: Path, data: bytes, folder: str = MESH_FOLDER) -> str:
        """The reference to a copy of a file with this content beside the document."""
        source = path.resolve()
        if str(source) not in self._copies:
            name = self._unused_name(*stem_and_extension(source), data, folder)
            self.companions[name] = data
            self._copies[str(source)] = name
            self._paths[name] = source
        return self._copies[str(source)]

    def add_file(self, name: str, data: bytes, folder: str) -> str:
        """The reference to a file with this content in a folder beside the document."""
        stem, dot, extension = name.rpartition(".")
        found = self._unused_name(stem or name, dot + extension if stem else "", data, folder)
        self.companions[found] = data
        self._paths[found] = self._write_temporary(found, data)
        return found

    def mark_files(self) -> Callable[[], None]:
        """A function that forgets the files that are added from now on."""
        companions, copies, images, paths = (
            dict(self.companions),
            dict(self._copies),
            dict(self._images),
            dict(self._paths),
        )

        def forget() -> None:
            self.companions, self._copies, self._images, self._paths = companions, copies, images, paths

        return forget

    def locate(self, reference: str, path: Path) -> None:
        """Let a reference lead to a file when the document is read back."""
        self._paths[reference] = path

    def located(self, reference: str) -> Path:
        """The file that a reference leads to when the document is read back."""
        return self._paths[reference]

    def _reference_to_source(self, uri: str, target: Path) -> str:
        """A reference to the file that the source refers to."""
        if _is_uri(uri) and uri_scheme(uri) not in self._unresolved_schemes:
            self._paths[uri.strip()] = target  # its package was found when the source was read
            return uri
        if self.folder is None or (self.folder / uri.strip()).resolve() == target.resolve():
            return uri
        return self.relative_path(target, self.folder)

    @property
    def _unresolved_schemes(self) -> tuple[str, ...]:
        """The schemes of URIs that readers of the document do not resolve."""
        if self.target == "dart":
            return ("model", "package", "file")
        return () if self.resolves_model_uris else ("model",)

    @staticmethod
    def relative_path(target: Path, folder: Path) -> str:
        """The path of a file from a folder; an absolute URI if it is on another drive."""
        try:
            return Path(os.path.relpath(target.resolve(), folder.resolve())).as_posix()
        except ValueError:  # another drive
            return absolute_uri(target)

    def _reference_to_missing(self, uri: str, missing: list[str]) -> str:
        """A reference to a file that does not exist; it leads to the same place as in the source."""
        _note(uri, missing)
        if uri_scheme(uri) or os.path.isabs(uri) or self.folder is None or self.origin is None:
            return uri
        path = self.origin / uri.strip()
        if self.meshes == "absolute":
            reference = absolute_uri(path)
        elif self.folder.resolve() == self.origin.resolve():
            return uri
        else:
            reference = self.relative_path(path, self.folder)
        self._rebased[reference] = uri
        return reference

    def loses_textures(self, mesh: Mesh, *, reads_files: bool) -> bool:
        """Whether a mesh file has textures that readers of the document do not get.

        `reads_files` states whether they read textures through the reference.  Images are copied with a mesh file that
        is not converted.
        """
        if mesh.path is None or (reads_files and not self.is_copied(mesh.path)):
            return False
        path = Path(mesh.path)
        if reads_files and (not self.readable or copied_extension(path) in self.readable):
            return lacks_companions(path, self.confined_to)
        return has_textures(path, within=self.confined_to)

    def restore(self, scene: Scene) -> Scene:
        """Replace references to missing files in a scene that was read back by those of the source."""
        for world in scene.worlds if self._rebased else ():
            for shape in (shape for body in world.bodies() for shape in body.shapes):
                mesh = shape.geometry
                if isinstance(mesh, Mesh) and mesh.path is None and mesh.uri in self._rebased:
                    shape.geometry = structs.replace(mesh, uri=self._rebased[mesh.uri])
                material, image = shape.material, texture_of(shape)
                if material is not None and image is not None and image.path is None and image.uri in self._rebased:
                    image = structs.replace(image, uri=self._rebased[image.uri])
                    shape.material = structs.replace(material, texture=image)
        return scene

    def embedded_text(self, item: Item, field: str = "") -> str:
        """The JSON text of an item, or of one field, to be embedded; references lead to the same files."""
        key = item_key(item, field)
        text = self._texts.get(key) if key is not None else None
        if text is None:
            text = self._encoded_text(item, field)
            if key is not None:
                remember(self._texts, key, text)
        return text

    def _encoded_text(self, item: Item, field: str) -> str:
        found = field_value(item, field) if field else encode_item(item)
        if isinstance(item, Shape) and isinstance(item.geometry, Mesh) and field in ("", "geometry"):
            geometry = encode_value(item.geometry) | {"uri": self.reference(item.geometry)}
            found = geometry if field else found | {"geometry": geometry}
        if isinstance(item, Shape) and field in ("", "material") and (image := texture_of(item)) is not None:
            material = encode_value(item.material)
            material["texture"]["uri"] = self.texture_reference(image)
            found = material if field else found | {"material": material}
        text = encode_json(found)
        return text if self.given_numbers is None else round_json(text, self.given_numbers)

    def empty_copy(self) -> OutputContext:
        """A context with the same settings, before anything is written."""
        copy = OutputContext(self.folder, self.target, self.meshes, self.readable, self.extension)
        copy.is_bare = self.is_bare
        copy.planned_files = self.planned_files
        copy.source_elements = self.source_elements
        copy.origin = self.origin
        copy.generated = self.generated
        copy.confined_to = self.confined_to
        copy.resolves_model_uris = self.resolves_model_uris
        copy.given_numbers = self.given_numbers
        copy.compiler_seconds = self.compiler_seconds
        copy._texts = self._texts
        return copy

    def generate_mesh(
        self,
        stem: str,
        vertices: Array,
        triangles: mesh_files.Triangles,
        *,
        is_named_by_content: bool = False,
        uvs: Array | None = None,
    ) -> Mesh:
        """A mesh whose file is written beside the document, for a geometry that its readers do not support.

        If it `is_named_by_content`, all documents in a folder share the file of the same triangles.  `uvs` are the
        places of all corners on an image.
        """
        data = mesh_files.obj_bytes(vertices, triangles, uvs)
        end = f"{crc32(data):08x}" if is_named_by_content else len(self.generated) + 1
        name, count = f"{stem}_{end}.obj", 1
        while self._is_other_file(name, data):  # other triangles with the same checksum
            count += 1
            name = f"{stem}_{end}_{count}.obj"
        path = str(self._write_temporary(name, data).resolve())
        self.generated.add(path)
        return Mesh(Path(path).name, path=path)

    # --- copies ---------------------------------------------------------------------------------------

    def _copy(self, mesh: Mesh, path: str, is_readable: bool | None) -> str:
        source = str(Path(path).resolve())
        if source not in self._copies:
            try:
                self._copies[source] = self._add(Path(source), is_readable)
            except mesh_files.MeshError:
                _note(mesh.uri, self.missing)
                return self._reference_to_source(mesh.uri, Path(path))
        return self._copies[source]

    def _add(self, source: Path, is_readable: bool | None) -> str:
        extension = copied_extension(source)
        can_copy = is_readable if is_readable is not None else not self.readable or extension in self.readable
        within = None if str(source) in self.generated else self.confined_to
        data = copied_mesh(source, within, self._add_companion) if can_copy else file_as_obj(source, within)
        name = self._unused_name(source.stem, extension if can_copy else ".obj", data)
        self.companions[name] = data
        self._paths[name] = source if can_copy else self._write_temporary(name, data)
        return name

    def _add_companion(self, name: str, content: bytes) -> str:
        """Add a file beside the copies of meshes; returns its name there."""
        made = self._unused_name(*os.path.splitext(name), content)
        self.companions[made] = content
        return made.rpartition("/")[2]

    def _unused_name(self, stem: str, extension: str, data: bytes, folder: str = MESH_FOLDER) -> str:
        """A name that no other file has or will have, also on file systems that ignore case."""
        stem = _UNUSUAL.sub("_", stem).strip() or "file"
        found, count = f"{folder}/{stem}{extension}", 1
        while not self._is_free(found, data):
            count += 1
            found = f"{folder}/{stem}_{count}{extension}"
        self.planned_files[found.casefold()] = (found, data)
        return found

    def _is_free(self, name: str, data: bytes) -> bool:
        """Whether no other file has a name or will have it."""
        if name.casefold() in self.planned_files:
            return self.planned_files[name.casefold()] == (name, data)
        path = None if self.folder is None else self.folder / name
        return path is None or not os.path.lexists(path) or has_content(path, data)

    def _write_temporary(self, name: str, data: bytes) -> Path:
        """Write a converted file to a temporary folder, for the document to be read back before it is written."""
        if self._temporary is None:
            self._temporary = TemporaryFolder()
        path = self._temporary.path / Path(name).name
        path.write_bytes(data)
        return path

    def _is_other_file(self, name: str, data: bytes) -> bool:
        """Whether a temporary file of this name has another content."""
        path = None if self._temporary is None else self._temporary.path / name
        return path is not None and path.exists() and not has_content(path, data)

    def mesh_paths(self) -> MeshPaths:
        """The paths with which the document would be read back now."""
        return dict(self._paths), dict(self._rebased)

    def read_options(self) -> dict[str, SearchPaths]:
        """Options for reading the document back before its companions are written."""
        return {"paths": SearchPaths(resolver=self._paths.get)} if self._paths else {}


def _note(uri: str, references: list[str]) -> None:
    if uri not in references:
        references.append(uri)


_URI_MARKS = ("#", "?", ":")
"""DART reads a path as a URI, where these end the path or its scheme."""
_UNUSUAL = re.compile(r'[#?%\\:*"<>|\x00-\x1f\x7f\ud800-\udfff]')
"""Characters that some readers or systems do not accept in names of files."""


def _is_uri(reference: str) -> bool:
    return "://" in reference
