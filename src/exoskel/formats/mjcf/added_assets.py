"""The meshes, materials and textures of elements that are added to a document."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from exoskel.formats.mjcf.added_names import AddedNames
from exoskel.formats.mjcf.default_values import DocumentDefaults
from exoskel.formats.mjcf.materials import PLAIN_MATERIAL, MjcfMaterialWriter
from exoskel.formats.mjcf.names import GENERATED
from exoskel.formats.mjcf.reader.asset_paths import asset_path
from exoskel.formats.mjcf.shape_edits import CannotEditError
from exoskel.formats.mjcf.tree import MjcfElement
from exoskel.scene.shape import Shape
from exoskel.source.document import Document
from exoskel.source.output_context import OutputContext

_GREY = (0.5, 0.5, 0.5, 1.0)
"""MuJoCo's default colour of geoms."""
_OF_SHAPES = {"name", "rgba", "texture", "texrepeat", "metallic", "roughness"}
"""Attributes of materials that shapes of a scene have."""


class AddedAssets:
    """Collects the assets that new elements refer to; `written` is the new document that has them."""

    def __init__(
        self,
        document: Document,
        names: AddedNames,
        compiler: Mapping[str, str],
        written: MjcfElement,
        output: OutputContext,
        defaults: DocumentDefaults,
    ) -> None:
        self.document = document
        self.names = names
        self.compiler = compiler
        self.new: list[MjcfElement] = []
        self.written = {(one.tag, str(one.attributes["name"])): one for one in written.child("asset").children}
        self.has_material = "material" in defaults.stated.get("geom", ())
        self._painted: list[MjcfElement] = []
        """Materials and textures with names of their own, before they are in the document."""
        self._paint = MjcfMaterialWriter(self._painted, output).paint
        self._found: dict[tuple[str, str], str] = {}
        self._plain: dict[object, str] = {}

    def name(self, kind: str, name: str) -> str:
        """The name in the document of an asset of the new document."""
        if (kind, name) not in self._found:
            element = self.written.get((kind, name))
            if element is None:
                return name if (kind, name) in {(one.tag, one.attributes["name"]) for one in self.new} else ""
            self._found[kind, name] = self._add(element)
        return self._found[kind, name]

    def _add(self, element: MjcfElement) -> str:
        name = self.names.choose_plain(element.tag, str(element.attributes["name"]))
        element.attributes["name"] = name
        for attribute in ("file",) if "file" in element.attributes else ():
            element.attributes[attribute] = self._reference(element.tag, str(element.attributes[attribute]))
        self.new.append(element)
        return name

    def _reference(self, tag: str, path: str) -> str:
        """How an element of the document refers to a file; `path` is that from the folder of the document."""
        folder = self.compiler.get("texturedir" if tag == "texture" else "meshdir", "")
        found = path if posixpath.isabs(path) or not folder else posixpath.relpath(path, folder)
        if posixpath.normpath(asset_path(tag, found, self.compiler)) != posixpath.normpath(path):
            raise CannotEditError
        return found

    # --- materials ------------------------------------------------------------------------------------

    def complete(self, geom: MjcfElement) -> None:
        """Give a new geom the material of its shape, or a plain one if the author's default class has another."""
        if isinstance(geom.item, Shape) and (name := self._material(geom.item, geom)):
            geom.attributes["material"] = name
        elif self.has_material and "material" not in geom.attributes:
            color = geom.attributes.get("rgba")
            key = None if color is None else tuple(color)  # type: ignore[arg-type]
            if key not in self._plain:
                wanted = f"{PLAIN_MATERIAL if color is None else GENERATED}material"
                made = MjcfElement("material", {"name": wanted, "rgba": _GREY if color is None else color})
                self._plain[key] = self._add(made)
            geom.attributes["material"] = self._plain[key]

    def _material(self, shape: Shape, geom: MjcfElement) -> str:
        """The name in the document of the material of a shape; empty if it needs none."""
        self._paint(shape, geom)
        name = str(geom.attributes.pop("material", ""))
        if not name:
            return ""
        if ("material", name) not in self._found:
            made = self._find_painted("material", name)
            if texture := str(made.attributes.get("texture", "")):
                if ("texture", texture) not in self._found:
                    self._found["texture", texture] = self._add(self._find_painted("texture", texture))
                made.attributes["texture"] = self._found["texture", texture]
            self._found["material", name] = self._add(made)
        return self._found["material", name]

    def _find_painted(self, tag: str, name: str) -> MjcfElement:
        return next(one for one in self._painted if one.tag == tag and one.attributes["name"] == name)

    def material_like(self, shape: Shape, stated: str) -> str:
        """The name of a new material of a shape that is already there: the author's with the edited values."""
        color = {} if shape.color is None else {"rgba": shape.color}
        name = self._material(shape, MjcfElement("geom", dict(color)))
        if not name:
            raise CannotEditError
        made = next(one for one in self.new if one.tag == "material" and one.attributes["name"] == name)
        tags, ends = self.document.outline.tags, self.document.outline.ends
        nodes = [
            node
            for node, tag in enumerate(tags)
            if tag == "material" and self.document.attribute_text(node, "name") == stated
        ]
        if not stated or not nodes or "class" in self.document.attributes(nodes[0]):
            return name
        if ends[nodes[0]] > nodes[0] + 1:  # layers
            raise CannotEditError
        kept = self.document.attributes(nodes[0]).keys() - _OF_SHAPES
        before = {key: self.document.attribute_text(nodes[0], key) for key in sorted(kept)}
        made.attributes = {**before, **made.attributes}
        return name
