"""Materials of MJCF that are written for the roughness, metalness and texture of shapes.

Roughness and metalness are for MuJoCo 3.2 and newer.
"""

from __future__ import annotations

from pathlib import Path

from exoskel.formats.mjcf.codes import CATALOGUE
from exoskel.formats.mjcf.names import GENERATED
from exoskel.formats.mjcf.tree import MjcfElement, Value
from exoskel.scene.shape import Material, Mesh, Plane, Shape, Texture, TriMesh
from exoskel.source.contained_files import split_path, stem_and_extension
from exoskel.source.output_context import TEXTURE_FIELD, OutputContext
from exoskel.source.textures import PNG, ImageError, image_kind, png_size, read_image

PLAIN_MATERIAL = f"{GENERATED}plain_"
"""How the name of a material starts whose shapes have no colour."""


class MjcfMaterialWriter:
    """Adds materials and their textures to a list of assets, each once."""

    def __init__(self, assets: list[MjcfElement], output: OutputContext) -> None:
        self._assets = assets
        self._output = output
        self._names: dict[tuple[Material, str, object], str] = {}
        self._textures: dict[tuple[str, str], str] = {}
        self._references: dict[str, tuple[str, bool]] = {}
        self._unpainted: set[int] = set()

    def paint(self, shape: Shape, geom: MjcfElement) -> None:
        """Set the material of a geom.  It has the colour of the geom: MuJoCo ignores a colour of default grey."""
        material, color = shape.material, geom.attributes.get("rgba")
        if material is None or material == Material():
            return
        texture = self._texture(shape, material.texture) if material.texture is not None else ""
        if not texture and material.roughness is None and material.metalness is None:
            return
        key = (material, texture, color)
        if key not in self._names:
            self._names[key] = f"{PLAIN_MATERIAL if color is None else GENERATED}material_{len(self._names)}"
            given: dict[str, Value] = {"name": self._names[key]}
            given |= {"metallic": material.metalness} if material.metalness is not None else {}
            given |= {"roughness": material.roughness} if material.roughness is not None else {}
            given |= {"rgba": color} if color is not None else {}
            given |= {"texture": texture} if texture else {}
            if texture and material.texture is not None and material.texture.repeat != (1.0, 1.0):
                given["texrepeat"] = material.texture.repeat
            self._assets.append(MjcfElement("material", given))
        geom.attributes["material"] = self._names[key]

    def _texture(self, shape: Shape, image: Texture) -> str:
        """The name of a texture in the document; empty if MuJoCo would not read its image."""
        try:
            if image.path is None:
                return self._lose(shape, "missing")
            if self._output.folder is None and self._output.meshes == "reference":
                return self._lose(shape, "folder")
            if image.path not in self._references:
                self._references[image.path] = self._reference(Path(image.path))
            reference, is_square = self._references[image.path]
        except ImageError as error:
            return self._lose(shape, "unreadable", str(error))
        kind = "cube" if is_square and not isinstance(shape.geometry, Mesh | TriMesh | Plane) else "2d"
        if (reference, kind) not in self._textures:
            name = f"{GENERATED}texture_{len(self._textures)}"
            self._textures[reference, kind] = name
            self._assets.append(MjcfElement("texture", {"name": name, "type": kind, "file": reference}))
        return self._textures[reference, kind]

    def _lose(self, shape: Shape, key: str, reason: str = "") -> str:
        if id(shape) not in self._unpainted:  # a shape may have several geoms
            self._unpainted.add(id(shape))
            message = CATALOGUE[f"MJ609.{key}"]
            self._output.add_loss(shape, message, TEXTURE_FIELD, is_dropped=True, reason=reason)
        return ""

    def _reference(self, path: Path) -> tuple[str, bool]:
        """The reference to an image, as PNG, and whether it is square, as cubes must be.  Raises ImageError."""
        output = self._output
        extension = stem_and_extension(path)[1].lower()
        is_readable = extension == ".png" and image_kind(path, output.confined_to) == PNG
        width, height = png_size(read_image(path, output.confined_to)) if is_readable else (0, 1)
        if output.meshes == "copy" or not is_readable or split_path(str(path))[1]:
            reference = output.copy_image(path, is_readable=is_readable)
            if not is_readable:
                width, height = png_size(output.companions[reference])
        elif output.meshes == "absolute" or output.folder is None:
            reference = path.resolve().as_posix()
        else:
            reference = output.relative_path(path, output.folder)
        return reference, width == height


def paint_geoms(root: MjcfElement, output: OutputContext) -> None:
    """Give materials to geoms of a scene that was read from MJCF, unless they have those of their source."""
    materials = MjcfMaterialWriter(root.child("asset").children, output)
    for geom in root.child("worldbody").iter():
        if geom.tag == "geom" and isinstance(geom.item, Shape) and "material" not in geom.attributes:
            materials.paint(geom.item, geom)
