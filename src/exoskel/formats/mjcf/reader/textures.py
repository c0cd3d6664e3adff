"""Textures of MJCF that are images in files, and the materials that have them.

A texture of a scene is one image.  Builtin patterns, skyboxes and cubes of several images are not read.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from exoskel.formats.mjcf.preserved_elements import NumberedElement

_KINDS = ("2d", "cube")
_ROLES = ("rgb", "rgba")
"""The roles of layers that have the colours of a material."""


class ImageFile(Struct, frozen=True):
    """The image of a texture: the path relative to the document's folder, and that of the file (None: not found)."""

    uri: str
    path: str | None


FindImage = Callable[[NumberedElement], ImageFile]


def image_reference(attributes: Mapping[str, str]) -> str:
    """The file of a texture that is one image; empty for others."""
    is_plain = attributes.get("builtin", "none") == "none" and attributes.get("type", "cube") in _KINDS
    is_single = not attributes.get("gridsize") or attributes["gridsize"].split() == ["1", "1"]
    return attributes.get("file", "") if is_plain and is_single else ""


def texture_name(attributes: Mapping[str, str]) -> str:
    """The name of a texture: by default, that of its file."""
    return attributes.get("name", "") or posixpath.splitext(posixpath.basename(attributes.get("file", "")))[0]


def is_color_layer(attributes: Mapping[str, str]) -> bool:
    """Whether a layer of a material has its colours."""
    return attributes.get("role", "") in _ROLES


class MaterialImages:
    """The images of materials by the names of these, and the ids of the elements that state them."""

    def __init__(self, root: NumberedElement, find: FindImage) -> None:
        self.images: dict[str, ImageFile] = {}
        self.elements: set[int] = set()
        assets = [child for section in root.children if section.tag == "asset" for child in section.children]
        textures = {
            texture_name(one.attributes): one
            for one in assets
            if one.tag == "texture" and image_reference(one.attributes)
        }
        materials = [one for one in assets if one.tag == "material"] if textures else []
        classes = dict(_default_textures(root)) if materials else {}
        found: dict[str, ImageFile] = {}
        for material in materials:
            layer = next((one for one in material.children if is_color_layer(one.attributes)), None)
            inherited = classes.get(material.attributes.get("class", ""), classes.get("", ""))
            name = (layer or material).attributes.get("texture", "" if layer is not None else inherited)
            texture = textures.get(name)
            if texture is None:
                continue
            if name not in found:
                found[name] = find(texture)
            self.images[material.attributes.get("name", "")] = found[name]
            self.elements |= {id(texture)} | ({id(layer)} if layer is not None else set())


def _default_textures(root: NumberedElement) -> Iterator[tuple[str, str]]:
    """The textures that default classes state for materials, by the names of classes; empty: for all."""
    waiting = [(one, "", "") for one in root.children if one.tag == "default"]
    while waiting:
        default, name, inherited = waiting.pop()
        own = [
            one.attributes["texture"]
            for one in default.children
            if one.tag == "material" and "texture" in one.attributes
        ]
        texture = own[-1] if own else inherited
        yield name, texture
        if not name:
            yield default.attributes.get("class", "main"), texture
        waiting += [(one, one.attributes.get("class", ""), texture) for one in default.children if one.tag == "default"]
