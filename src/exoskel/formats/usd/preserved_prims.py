"""Prims and properties of a USD file that a scene does not contain, for writing an edited scene to USD again.

They are placed in the prims of the items that they belonged to.  What refers to something that is not written is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct

from exoskel.formats.interface import ReadOptions
from exoskel.formats.usd.layer_files import LayerFiles
from exoskel.formats.usd.mapping import CAMERA, GROUP, LIGHTS, NOT_COMPOSED, SKIN, SOURCE_MAPPING
from exoskel.formats.usd.prim_transfer import Transfer, Transferred, transfer
from exoskel.formats.usd.reader.actuators import DRIVING
from exoskel.formats.usd.reader.prims import PrimIndex, is_own_file
from exoskel.formats.usd.reader.stage import StagePrim
from exoskel.formats.usd.shape_writer import SCOPE as LOOKS
from exoskel.formats.usd.source_copy import UsdSourceCopier
from exoskel.formats.usd.tree import BINARY, TEXT, Layer, Prim, to_text
from exoskel.formats.usd.usd_process import StageError, StageLimitError
from exoskel.scene.body import Body
from exoskel.scene.fields import iter_items
from exoskel.scene.item import Item
from exoskel.scene.shape import Shape
from exoskel.scene.world import Scene, World
from exoskel.source.object_document import ObjectDocument
from exoskel.source.output_context import OutputContext, Target
from exoskel.source.usdz_archive import PackageError

_SCENE, _MATERIAL, _SUBSET, _COLLISION_GROUP = "PhysicsScene", "Material", "GeomSubset", "PhysicsCollisionGroup"
_TARGETS: frozenset[Target] = frozenset({"portable", "isaac"})
_DEPENDENT = frozenset(
    {
        *("extent", "normals", "orientation", "subdivisionScheme", "velocities", "accelerations", "width", "length"),
        *("holeIndices", "cornerIndices", "cornerSharpnesses", "creaseIndices", "creaseLengths", "creaseSharpnesses"),
        *("interpolateBoundary", "faceVaryingLinearInterpolation", "triangleSubdivisionRule"),
        *("visibility", "purpose", "primvars:st", "doubleSided", "extentsHint"),
    }
)
"""Properties that depend on how a shape is written."""


class SourcePrims(Struct, frozen=True):
    """What is known of the prims of a file: the numbers of those that are items, and of those with other data.

    `metre` and `kilogram` are the units of the file.
    """

    items: frozenset[int]
    marked: frozenset[int]
    """Prims with custom data or applied schemas."""
    generated: frozenset[int]
    """Prims that the writer makes again."""
    actuators: dict[int, str]
    """The names of actuators, by the numbers of their prims."""
    tendons: dict[int, str]
    """The names of tendons, by the numbers of their prims."""
    root: str
    """The path of the prim that names the world."""
    metre: float
    kilogram: float


def source_prims(scene: Scene, index: PrimIndex, actuators: dict[int, str], tendons: dict[int, str]) -> SourcePrims:
    """What the writer has to know of the prims that a scene was read from."""
    items = frozenset(item.node for item, _, _ in iter_items(scene) if item.document == 0 and item.node > 0)
    return SourcePrims(
        items,
        frozenset(index.node(prim) for prim in index.prims if _is_marked(prim)),
        frozenset(_generated(index)),
        actuators,
        tendons,
        f"/{index.stage.default_prim or (index.prims[0].name if index.prims else '')}",
        index.metre,
        index.kilogram,
    )


def _generated(index: PrimIndex) -> Iterator[int]:
    """The numbers of the skins, of point instancers and, in files of Exoskel, of the looks."""
    yield from (index.number[path] for path in index.instances)
    is_own = is_own_file(index)
    for prim in index.prims:
        if SKIN in prim.custom or (is_own and prim.path.split("/")[2:3] == [LOOKS]):
            yield index.node(prim)


def _is_marked(prim: StagePrim) -> bool:
    own = ("Physics", "MaterialBindingAPI", "Newton", "Mjc", "PhysxJointState", "PhysxRigidBodyAPI")
    is_extended = any(not name.startswith(own) for name in prim.apis)
    return is_extended or any(not name.startswith("exoskel") for name in prim.custom)


def add_preserved(scene: Scene, layer: Layer, output: OutputContext) -> Transferred | None:
    """The new layer with what the source states and the scene does not contain; None if that is nothing.

    Records what is preserved in `output`.
    """
    document, known = scene.documents[0] if len(scene.documents) == 1 else None, scene.source_info.preserved
    if not isinstance(document, ObjectDocument) or not isinstance(known, SourcePrims) or output.target not in _TARGETS:
        return None
    found = _PreservedPrims(scene, document, known, layer, output)
    if not found.prims and not found.properties:
        return None
    wanted = Transfer(
        to_text(layer, output.given_numbers).encode(),
        found.places,
        found.bodies,
        [document.objects[node].path for node in found.prims],
        {document.objects[node].path: names for node, names in found.properties.items()},
        known.metre,
        has_other_units=(known.metre, known.kilogram) != (1.0, 1.0),
    )
    extension = output.extension.lower() if output.extension else TEXT
    files = LayerFiles(document, ReadOptions.of(scene))
    copier = UsdSourceCopier(document, ReadOptions.of(scene), output)
    try:
        form = TEXT if extension == TEXT else BINARY
        made = transfer(files.first_layer(), files.find, wanted, form, copier.relocated)
    except (StageError, StageLimitError, PackageError, OSError):
        return None
    finally:
        copier.editor.close()
    nodes = {one.path or "/": node for node, one in enumerate(document.objects)}
    output.preserved_nodes |= {nodes[path] for path in made.prims if document.objects[nodes[path]].tag != GROUP}
    groups = [nodes[path] for path in made.prims if document.objects[nodes[path]].tag == GROUP]
    lost = {(nodes[path], name) for path, name in made.lost}
    output.preserved_attributes |= {(nodes[path], name) for path, name in made.properties}
    own = {(node, name) for node in groups for name in _unknown_properties(document, None, node)}
    output.preserved_attributes |= own - lost
    output.lost_attributes |= lost
    return made


def _unknown_properties(document: ObjectDocument, item: Item | None, node: int) -> list[str]:
    """The properties of a prim that no item has."""
    tag = "" if item is not None else document.objects[node].tag
    found: list[str] = []
    for name in document.objects[node].properties:
        if name in _DEPENDENT or name.startswith("xformOp"):
            continue
        path = f"{tag}/@{name}" if tag else f"@{name}"
        row = SOURCE_MAPPING.scene_fields.find(type(item) if item is not None else None, path)
        if row is None or row.unused:
            found.append(name)
    return found


class _PreservedPrims:
    """What to copy from a source, and where."""

    def __init__(
        self, scene: Scene, document: ObjectDocument, known: SourcePrims, layer: Layer, output: OutputContext
    ) -> None:
        self.scene = scene
        self.document = document
        self.known = known
        self.objects = document.objects
        self.output = output
        self.items: dict[int, tuple[str, Item]] = {}
        """The paths of the written items, by their nodes in the source."""
        self.views: dict[str, list[str]] = {}
        """The paths of written cameras and lights, by their names."""
        self.driving: dict[tuple[str, str], str] = {}
        """The paths of written actuators and tendons, by their types and names."""
        worlds: list[str] = []
        for path, prim in layer.paths():
            item = prim.item
            worlds += [path] if isinstance(item, World) else []
            if isinstance(item, Item) and item.document == 0 and item.node > 0:
                self.items.setdefault(item.node, (path, item))
            elif item is None and (prim.type == CAMERA or prim.type in LIGHTS):
                self.views.setdefault(_title(prim), []).append(path)
            elif item is None and prim.type in DRIVING:
                self.driving[prim.type, _title(prim)] = path
        self.world = worlds[0] if len(worlds) == 1 else ""
        self.bodies = [self.objects[node].path for node, (_, item) in self.items.items() if isinstance(item, Body)]

    @cached_property
    def placed(self) -> dict[int, tuple[str, Item | None]]:
        """The paths of prims that have a counterpart, by their nodes, and their items."""
        found: dict[int, tuple[str, Item | None]] = dict(self.items)
        if self.world:
            roots = [node for node, one in enumerate(self.objects) if one.parent == 0 and one.tag == GROUP]
            main = [node for node in roots if self.objects[node].path == self.known.root]
            found |= {node: (self.world, None) for node in main if node not in found}
            scenes = [node for node, one in enumerate(self.objects) if one.tag == _SCENE]
            found |= {node: (f"{self.world}/{_SCENE}", None) for node in scenes[:1] if node not in found}
        for (number, node), views in self.scene.source_info.views.items():
            paths = [path for view in views for path in self.views.get(view.name, ())]
            if number == 0 and len(paths) == 1:
                found[node] = (paths[0], None)
        for node, name in (*self.known.actuators.items(), *self.known.tendons.items()):
            path = self.driving.get((self.objects[node].tag, name), "")
            if path and node not in found:  # those of Newton's schema are written in that of MuJoCo
                found[node] = (path, None)
        return found

    @cached_property
    def places(self) -> dict[str, str]:
        made = {self.objects[node].path: path for node, (path, _) in self.placed.items()}
        return made | ({"/": self.world} if self.world else {})

    @cached_property
    def properties(self) -> dict[int, list[str]]:
        """The properties of placed prims that the scene does not contain."""
        found: dict[int, list[str]] = {}
        for node, (_, item) in self.placed.items():
            names = _unknown_properties(self.document, item, node)
            if names or node in self.known.marked:
                found[node] = names
        return found

    @cached_property
    def prims(self) -> list[int]:
        """The prims that the scene does not contain, with the groups around them, in the order of the file."""
        groups: set[int] = set()
        found: set[int] = set()
        for node in range(1, len(self.objects)):
            if not self._is_unknown(node) or not self._has_place(node):
                continue
            found.add(node)
            groups |= set(self._groups_around(node))
        return sorted(found | groups)

    def _groups_around(self, node: int) -> Iterator[int]:
        above = self.objects[node].parent
        while above > 0 and above not in self.placed:
            if self.objects[above].tag == GROUP:
                yield above
            above = self.objects[above].parent

    def _is_unknown(self, node: int) -> bool:
        one = self.objects[node]
        if node in self.placed or node in self.known.items or node in self.known.generated or one.tag in NOT_COMPOSED:
            return False
        if node in self.known.actuators or node in self.known.tendons:  # they are in the scene
            return False
        if one.tag == GROUP:
            return node in self.known.marked or bool(_unknown_properties(self.document, None, node))
        if one.tag == _SUBSET and one.parent in self.known.items:  # it depends on the faces of the shape
            return False
        if one.tag == _COLLISION_GROUP or (0, node) in self.scene.source_info.views:
            return False
        return self._material(node) not in self.scene.source_info.users

    def _material(self, node: int) -> int:
        """The material at or around a prim, or -1."""
        while node > 0 and self.objects[node].tag != _MATERIAL:
            node = self.objects[node].parent
        return node if node > 0 else -1

    def _has_place(self, node: int) -> bool:
        """Whether the item around a prim is written; a world that was rotated has no place for others."""
        above = self.objects[node].parent
        while above > 0:
            if above in self.items:
                return not self.output.is_rotated or isinstance(self.items[above][1], Body | Shape)
            if above in self.known.items:
                return False
            above = self.objects[above].parent
        return bool(self.world) and not self.output.is_rotated


def _title(prim: Prim) -> str:
    return str(prim.metadata.get("displayName", prim.name))
