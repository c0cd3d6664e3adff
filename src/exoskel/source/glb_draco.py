"""The primitives of a glTF file that are compressed with Draco: their rows become those of their accessors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exoskel.source import draco
from exoskel.source.draco import DracoError, DracoMesh
from exoskel.source.glb_accessors import GlbAccessors, MalformedGltfError

EXTENSION = "KHR_draco_mesh_compression"
PrimitivePlace = tuple[int, int]
"""The number of a mesh, and that of a primitive in it."""
_TRIANGLES = 4
MISSING = "DracoPy is not installed"


def compressed_primitives(file: GlbAccessors) -> Iterator[tuple[PrimitivePlace, dict[str, Any]]]:
    """The primitives whose rows are only in the compressed data."""
    for number, mesh in enumerate(file.rows("meshes")):
        stated = mesh.get("primitives")
        for place, one in enumerate(stated if isinstance(stated, list) else []):
            if isinstance(one, dict) and isinstance(_extension(one), dict) and not _has_rows(file, one):
                yield (number, place), one


def _extension(primitive: dict[str, Any]) -> Any:
    extensions = primitive.get("extensions")
    return extensions.get(EXTENSION) if isinstance(extensions, dict) else None


def _attributes(owner: Any) -> dict[str, Any]:
    found = owner.get("attributes")
    return found if isinstance(found, dict) else {}


def _has_rows(file: GlbAccessors, primitive: dict[str, Any]) -> bool:
    return file.has_content(_attributes(primitive).get("POSITION"))


def decode_primitives(file: GlbAccessors) -> dict[PrimitivePlace, str]:
    """Decode all primitives that are compressed; returns why others cannot be decoded."""
    found = dict(compressed_primitives(file))
    if not found:
        return {}
    if not draco.is_available():
        return dict.fromkeys(found, MISSING)
    problems: dict[PrimitivePlace, str] = {}
    blocks: dict[PrimitivePlace, bytes] = {}
    for place, primitive in found.items():
        try:
            blocks[place] = file.view_content(_extension(primitive).get("bufferView"))
        except MalformedGltfError as problem:
            problems[place] = str(problem)
    different = dict.fromkeys(blocks.values())
    decoded = dict(zip(different, draco.decode_blocks(list(different)), strict=True)) if different else {}
    for place, block in blocks.items():
        try:
            _set_rows(file, found[place], decoded[block])
        except DracoError as problem:
            problems[place] = str(problem)
    return problems


def _set_rows(file: GlbAccessors, primitive: dict[str, Any], mesh: DracoMesh | DracoError) -> None:
    """Let the accessors of a primitive have the rows of a decoded mesh.  Raises DracoError."""
    if isinstance(mesh, DracoError):
        raise mesh
    if primitive.get("mode", _TRIANGLES) != _TRIANGLES:
        raise DracoError("it is not a list of triangles")
    rows: dict[Any, NDArray[Any]] = {primitive.get("indices"): mesh.indices}
    stated = _attributes(primitive)
    for name, number in _attributes(_extension(primitive)).items():
        if name in stated:
            rows[stated[name]] = mesh.attributes.get(number, np.empty((0, 0)))
    for accessor, values in rows.items():
        if not file.component(accessor) or file.width(accessor) != values.shape[1]:
            raise DracoError(f"its data does not fit accessor {accessor}")
    if stated.get("POSITION") not in rows:
        raise DracoError("its data has no positions")
    file.decoded.update({accessor: values for accessor, values in rows.items() if not file.has_content(accessor)})
