"""Where a document is going to be, and the files that go with it."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal
from urllib.parse import quote

import numpy as np
from msgspec import Struct, structs

from exoskel.scene.item import Item
from exoskel.scene.json_codec import encode_item, encode_json, encode_value, field_value
from exoskel.scene.shape import Mesh, Shape
from exoskel.scene.world import Scene
from exoskel.source import meshes as mesh_files
from exoskel.source.files import has_content
from exoskel.source.location import SearchPaths, uri_scheme
from exoskel.source.markup import format_number

Target = Literal["portable", "pyode"]
"""For any reader, with everything carried along; or for PyODE's, which refuses what it does not know."""
Meshes = Literal["reference", "absolute", "copy"]
"""How a document refers to mesh files: by paths from its folder, by absolute ones, or to copies beside it."""

MESH_FOLDER = "meshes"

Promised = dict[str, tuple[str, bytes]]
"""Names and contents of files that are going to be written, by the names in small letters."""

Circumstances = tuple[dict[str, Path], dict[str, str]]
"""All that a reading of a document depends on, beside its text: where files are, and how the source calls them."""


class Composed(Struct, frozen=True):
    """A document that is no XML: its bytes, and the scene that they were read back as.

    `counterparts` are the parts of that scene, by the ids of those they were written from; `elements` are the ids of
    all parts that have an element of their own, read back or not.
    """

    data: bytes
    native: Scene
    counterparts: dict[int, Item]
    elements: frozenset[int]


class Loss(Struct, frozen=True):
    """A part of a scene that is written approximately or left out.

    `text` is the reason, for people.  `fields` are the fields of the item that it concerns; for a joint these may also
    be fields of its degrees of freedom.  No fields: the item as a whole.  `code` is the code in the format's catalogue
    of messages, where it has one.
    """

    item: Item
    text: str
    fields: tuple[str, ...] = ()
    code: str = ""

    @property
    def reason(self) -> str:
        """The text, followed by the code."""
        return f"{self.text} ({self.code})" if self.code else self.text


class OutputContext:
    """The folder of a document to be written (None: nowhere yet), and for whom it is written.

    `losses` lists the parts of the scene that are written approximately or not at all, `refused` those that are written
    but that the reader in question cannot take.  With `meshes="copy"`, `companions` are the
    files to be put beside the document, by their paths from its folder; files with other endings than the `readable`
    ones are converted.  `promised` are those of all documents that are written together.  `missing` are references to
    meshes that are not there; `origin` is the folder that such references start from.  `knows_models` says whether the
    readers of the document take `model://`.  `ending` is that of the document's file, where a format has several.
    `is_part` is set where the document holds some models of its source and others do not go into it.
    """

    def __init__(
        self,
        folder: Path | None = None,
        target: Target = "portable",
        meshes: Meshes = "reference",
        readable: frozenset[str] = frozenset(),
        ending: str = "",
    ) -> None:
        self.ending = ending
        self.is_part = False
        self.folder = folder
        self.target = target
        self.meshes = meshes
        self.readable = readable
        self.losses: list[Loss] = []
        self.refused: list[Loss] = []
        self.companions: dict[str, bytes] = {}
        self.promised: Promised = {}
        self.missing: list[str] = []
        self.origin: Path | None = None
        self.knows_models = True
        self._copies: dict[str, str] = {}
        self._places: dict[str, Path] = {}
        self._rebased: dict[str, str] = {}
        self._converted: TemporaryDirectory[str] | None = None

    def add_loss(self, item: Item, text: str, *fields: str, code: str = "") -> None:
        """Record that an item, or some fields of it, cannot be written as it is."""
        self.losses.append(Loss(item, text, fields, code))

    def reference(self, mesh: Mesh, *, is_readable: bool | None = None) -> str:
        """How the document refers to a mesh: as before where that leads to the same file, else anew.

        `is_readable` says whether readers take the file, where its ending does not tell.
        """
        if mesh.path is None:
            return self._missed(mesh.uri)
        if self.meshes == "copy":
            return self._copy(mesh, mesh.path, is_readable)
        if self.meshes == "absolute":
            return _absolute(Path(mesh.path))
        target = Path(mesh.path)
        if _is_uri(mesh.uri) and (self.knows_models or uri_scheme(mesh.uri) != "model"):
            self._places[mesh.uri.strip()] = target  # packages are where the reader of the source found them
            return mesh.uri
        if self.folder is None or (self.folder / mesh.uri.strip()).resolve() == target.resolve():
            return mesh.uri
        return self._from_folder(target, self.folder)

    @staticmethod
    def _from_folder(target: Path, folder: Path) -> str:
        try:
            return Path(os.path.relpath(target.resolve(), folder.resolve())).as_posix()
        except ValueError:  # another drive
            return _absolute(target)

    def _missed(self, uri: str) -> str:
        """A reference to a file that is not there, which is still to be looked for where it was."""
        self._miss(uri)
        if uri_scheme(uri) or os.path.isabs(uri) or self.folder is None or self.origin is None:
            return uri
        place = self.origin / uri.strip()
        if self.meshes == "absolute":
            made = _absolute(place)
        elif self.folder.resolve() == self.origin.resolve():
            return uri
        else:
            made = self._from_folder(place, self.folder)
        self._rebased[made] = uri
        return made

    def restore(self, scene: Scene) -> Scene:
        """A scene that was read back, with references to files that are not there as the source has them."""
        for world in scene.worlds if self._rebased else ():
            for shape in (shape for body in world.bodies() for shape in body.shapes):
                mesh = shape.geometry
                if isinstance(mesh, Mesh) and mesh.path is None and mesh.uri in self._rebased:
                    shape.geometry = structs.replace(mesh, uri=self._rebased[mesh.uri])
        return scene

    def carried(self, item: Item, field: str = "") -> str:
        """How an item, or one field of it, is carried along, with references that lead to the same files."""
        found = field_value(item, field) if field else encode_item(item)
        if isinstance(item, Shape) and isinstance(item.geometry, Mesh) and field in ("", "geometry"):
            geometry = encode_value(item.geometry) | {"uri": self.reference(item.geometry)}
            found = geometry if field else found | {"geometry": geometry}
        return encode_json(found)

    def anew(self) -> OutputContext:
        """The same, before anything is written."""
        made = OutputContext(self.folder, self.target, self.meshes, self.readable, self.ending)
        made.promised, made.origin, made.knows_models = self.promised, self.origin, self.knows_models
        return made

    # --- copies ---------------------------------------------------------------------------------------

    def _copy(self, mesh: Mesh, path: str, is_readable: bool | None) -> str:
        source = str(Path(path).resolve())
        if source not in self._copies:
            try:
                self._copies[source] = self._add(Path(source), is_readable)
            except (OSError, mesh_files.MeshError):
                self._miss(mesh.uri)
                return mesh.uri
        return self._copies[source]

    def _miss(self, uri: str) -> None:
        if uri not in self.missing:
            self.missing.append(uri)

    def _add(self, source: Path, is_readable: bool | None) -> str:
        ending = source.suffix.lower()
        keep = is_readable if is_readable is not None else not self.readable or ending in self.readable
        data = source.read_bytes() if keep else _as_obj(source)
        name = self._fresh(source.stem, ending if keep else ".obj", data)
        self.companions[name] = data
        self._places[name] = source if keep else self._kept(name, data)
        return name

    def _fresh(self, stem: str, ending: str, data: bytes) -> str:
        """A name under which nothing else is or is going to be, also where letters of both cases are the same."""
        found, count = f"{MESH_FOLDER}/{stem}{ending}", 1
        while not self._is_free(found, data):
            count += 1
            found = f"{MESH_FOLDER}/{stem}_{count}{ending}"
        self.promised[found.casefold()] = (found, data)
        return found

    def _is_free(self, name: str, data: bytes) -> bool:
        """Whether no file is there under a name, or will be, but this very one."""
        if name.casefold() in self.promised:
            return self.promised[name.casefold()] == (name, data)
        place = None if self.folder is None else self.folder / name
        return place is None or not os.path.lexists(place) or has_content(place, data)

    def _kept(self, name: str, data: bytes) -> Path:
        """A converted file on disk, for the document to be read back before anything is written."""
        if self._converted is None:
            self._converted = TemporaryDirectory(prefix="exoskel_")
        path = Path(self._converted.name) / Path(name).name
        path.write_bytes(data)
        return path

    def circumstances(self) -> Circumstances:
        """Those in which the document would be read back now."""
        return dict(self._places), dict(self._rebased)

    def reading(self) -> dict[str, Any]:
        """Options for reading the document back while the files that go with it are not there yet."""
        return {"paths": SearchPaths(resolver=self._places.get)} if self._places else {}


def _as_obj(source: Path) -> bytes:
    """The triangles of a mesh file as OBJ, every digit kept; colours behind the vertices, as most readers know them."""
    vertices, triangles, colors = mesh_files.load_colored_triangles(source)
    points = vertices if colors is None else np.hstack([vertices, colors[:, :3]])
    lines = [f"v {' '.join(map(format_number, point))}\n" for point in points.tolist()]
    lines += [f"f {a} {b} {c}\n" for a, b, c in (triangles + 1).tolist()]
    return "".join(lines).encode()


def _absolute(path: Path) -> str:
    return "file://" + quote(path.resolve().as_posix())


def _is_uri(reference: str) -> bool:
    return "://" in reference
