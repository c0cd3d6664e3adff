"""Data of other programs in a glTF file: extensions and `extras`, which an edited scene is written with again.

Data is written again at the object that was read from the one with it.  Extensions with references to other objects
by number are not: the objects of the new file have other numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from exoskel.formats.gltf.extras import EXTRAS, OWN_EXTRAS, other_extras
from exoskel.scene.shape import Color, Geometry, Material, TriMesh
from exoskel.scene.world import Scene
from exoskel.source.output_context import OutputContext

EXTENSIONS = "extensions"
EXTENSION_TAG, EXTRAS_TAG = "extension", EXTRAS
"""The tags of extensions, and of extras that are not those of an object in a list."""
ObjectPlace = tuple[str | int, ...]
"""The keys and numbers that lead to a value of a document."""
_TRANSLATED = frozenset({"KHR_lights_punctual", "KHR_texture_transform"})
"""Extensions that are read, and written from the scene."""
_DECODED = frozenset(
    {
        ("meshes", "primitives", "KHR_draco_mesh_compression"),
        ("nodes", "EXT_mesh_gpu_instancing"),
        *((rows, f"{by}_meshopt_compression") for rows in ("bufferViews", "buffers") for by in ("EXT", "KHR")),
    }
)
"""Extensions of geometry that are read, with the keys of the objects that may have them."""
_BOUND = (
    "EXT_mesh_gpu_instancing",
    "EXT_meshopt_compression",
    "EXT_texture_webp",
    "KHR_animation_pointer",
    "KHR_draco_mesh_compression",
    "KHR_implicit_shapes",
    "KHR_materials_variants",
    "KHR_mesh_quantization",
    "KHR_meshopt_compression",
    "KHR_physics_rigid_bodies",
    "KHR_texture_basisu",
    "MSFT_lod",
    "MSFT_texture_dds",
)
"""Extensions whose data belongs to other objects of the file."""
_MATERIALS = "KHR_materials_"
"""How extensions start whose numbers are references only in textures."""
_POINTER = re.compile(r"#?/(?:[a-zA-Z]+)/[0-9]+(?:/|$)")
_MOST_NODES = 100_000


class PreservedValue(Struct, frozen=True):
    """One extension, or the extras of an object without a name; `node` and `attribute` are its place in the source."""

    name: str
    value: Any
    node: int
    attribute: str = ""


class MeshOrigin(Struct, frozen=True, eq=False):
    """The mesh, primitive and material that a geometry was read from, and its look there."""

    mesh: int
    primitive: int
    material: int | None
    color: Color | None
    look: Material | None


class ForeignData(Struct):
    """The data of other programs in one file, by the objects with it, and what was read from these objects."""

    values: dict[ObjectPlace, list[PreservedValue]] = field(default_factory=dict)
    largest: int = 0
    """The number of rows of the longest list of the file: larger numbers are no references."""
    required: frozenset[str] = frozenset()
    nodes: dict[int, int] = field(default_factory=dict)
    """The numbers of nodes, by their objects in the document."""
    meshes: dict[TriMesh, MeshOrigin] = field(default_factory=dict)
    scenes: dict[str, int] = field(default_factory=dict)
    """The numbers of scenes by their names."""

    def note_mesh(self, geometry: TriMesh, origin: MeshOrigin) -> None:
        """Record what a geometry was read from, if the file has data of other programs."""
        if self.values:
            self.meshes.setdefault(geometry, origin)


class ForeignValue(Struct, frozen=True):
    """An extension or extras at a place of a document."""

    place: ObjectPlace
    name: str
    value: Any

    @property
    def is_extension(self) -> bool:
        return bool(self.name)

    @property
    def path(self) -> str:
        """The path of the value in the document."""
        return "/".join(["", *map(str, self.place), *([EXTENSIONS, self.name] if self.name else [EXTRAS])])


def foreign_values(header: Mapping[str, Any], *, is_own: bool) -> list[ForeignValue]:
    """All extensions and extras that are not those of Exoskel; extensions that are read are not among them."""
    found: list[ForeignValue] = []
    waiting: list[tuple[Any, ObjectPlace]] = [(header, ())]
    while waiting:
        one, place = waiting.pop()
        if isinstance(one, list):
            waiting += [(row, (*place, number)) for number, row in enumerate(one) if isinstance(row, dict | list)]
            continue
        found += _of_object(one, place, is_own=is_own)
        inside = ((name, row) for name, row in one.items() if name not in (EXTENSIONS, EXTRAS))
        waiting += [(row, (*place, name)) for name, row in inside if isinstance(row, dict | list)]
    found.sort(key=lambda one: one.path)
    return found


def _of_object(row: Mapping[str, Any], place: ObjectPlace, *, is_own: bool) -> Iterator[ForeignValue]:
    extensions = row.get(EXTENSIONS)
    if isinstance(extensions, dict):
        for name, value in extensions.items():
            keys = tuple(one for one in place if isinstance(one, str))
            if name not in _TRANSLATED and (*keys, name) not in _DECODED:
                yield ForeignValue(place, name, value)
    if EXTRAS in row:
        value = row[EXTRAS]
        if not is_own:
            yield ForeignValue(place, "", value)
        elif others := other_extras(row, is_own=True):
            yield ForeignValue(place, "", others)


def has_row(place: ObjectPlace) -> bool:
    """Whether a place is that of an object in a list of the document."""
    return len(place) == 2 and isinstance(place[1], int)


def longest_list(header: Mapping[str, Any]) -> int:
    """The number of rows of the longest list of a document, or of an extension of it: no reference is larger."""
    largest = max((len(rows) for rows in header.values() if isinstance(rows, list)), default=0)
    waiting: list[Any] = [header.get(EXTENSIONS)]
    while waiting:
        one = waiting.pop()
        largest = max(largest, len(one)) if isinstance(one, list) else largest
        waiting += one if isinstance(one, list) else one.values() if isinstance(one, dict) else ()
    return largest


def may_refer(name: str, value: Any, largest: int) -> bool:
    """Whether an extension may refer to objects of its file by number, of which there are at most `largest`."""
    if name.startswith(_BOUND):
        return True
    is_material = name.startswith(_MATERIALS)
    waiting: list[tuple[str, Any]] = [("", value)]
    for _ in range(_MOST_NODES):
        if not waiting:
            return False
        key, one = waiting.pop()
        if isinstance(one, dict):
            waiting += one.items()
        elif isinstance(one, list):
            waiting += [(key, row) for row in one]
        elif isinstance(one, str):
            if _POINTER.match(one):
                return True
        elif type(one) is int and 0 <= one < largest and (not is_material or key == "index"):
            return True
    return True


class ForeignDataWriter:
    """Adds the data of other programs to the objects that are written for those it was read from."""

    def __init__(self, scene: Scene, output: OutputContext) -> None:
        self._output = output
        found = scene.source_info.preserved if scene.source_info.format == "gltf" else None
        self.data = found if isinstance(found, ForeignData) else ForeignData()
        self.names: set[str] = set()
        """The extensions that are written."""
        of_file = self.data.values.get((), ())
        self._lost = {one.name for one in of_file if one.name and may_refer(one.name, one.value, self.data.largest)}
        """Extensions of the whole file that are not written: what belongs to them is not either."""

    @property
    def required(self) -> list[str]:
        """The extensions that are written and that the source requires."""
        return sorted(self.names & self.data.required)

    def origin(self, geometry: Geometry) -> MeshOrigin | None:
        """What a geometry was read from."""
        return self.data.meshes.get(geometry) if self.data.meshes and isinstance(geometry, TriMesh) else None

    def material(self, geometry: Geometry, color: Color | None, look: Material | None) -> int | None:
        """The number of the material with data that a shape was read with, if it still looks like that."""
        found = self.origin(geometry)
        is_same = found is not None and (found.color, found.look) == (color, look)
        return found.material if found is not None and is_same else None

    def node(self, document: int, node: int) -> ObjectPlace | None:
        """The node of the source that an object of its document is."""
        number = self.data.nodes.get(node) if document == 0 else None
        return None if number is None else ("nodes", number)

    def scene(self, name: str) -> ObjectPlace | None:
        """The scene of the source with this name."""
        number = self.data.scenes.get(name)
        return None if number is None else ("scenes", number)

    def add(self, row: dict[str, Any], place: ObjectPlace | None) -> None:
        """Add the data of the object at a place of the source to the one that is written for it."""
        for one in self.data.values.get(place, ()) if place is not None else ():
            if one.name:
                self._add_extension(row, one)
            else:
                self._add_extras(row, one)

    def add_all(self, row: dict[str, Any], place: ObjectPlace) -> None:
        """The same, also for the objects inside of both."""
        self.add(row, place)
        for name, inner in row.items():
            if isinstance(inner, dict) and name not in (EXTENSIONS, EXTRAS):
                self.add_all(inner, (*place, name))

    def _add_extension(self, row: dict[str, Any], one: PreservedValue) -> None:
        if (
            one.name in self._lost
            or one.name in row.get(EXTENSIONS, ())
            or may_refer(one.name, one.value, self.data.largest)
        ):
            return
        row.setdefault(EXTENSIONS, {})[one.name] = one.value
        self.names.add(one.name)
        self._note(one)

    def _add_extras(self, row: dict[str, Any], one: PreservedValue) -> None:
        """Add extras.  Data with the names of those of Exoskel are not preserved."""
        own = row.get(EXTRAS)
        if own is None:
            row[EXTRAS] = one.value
        elif isinstance(one.value, dict) and not OWN_EXTRAS.intersection(one.value) and not own.keys() & one.value:
            row[EXTRAS] = {**one.value, **own}
        else:
            return
        self._note(one)

    def _note(self, one: PreservedValue) -> None:
        if one.attribute:
            self._output.preserved_attributes.add((one.node, one.attribute))
        else:
            self._output.preserved_nodes.add(one.node)
