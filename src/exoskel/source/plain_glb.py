"""Binary glTF files whose triangles trimesh reads right.

trimesh does not divide normalized integers, and ignores fans, rows that are stated one by one, compression, and
instances.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from exoskel.source import draco, glb_draco
from exoskel.source.glb import glb_parts, header_bytes, join_glb
from exoskel.source.glb_accessors import AccessorArray, GlbAccessors, MalformedGltfError
from exoskel.source.glb_instances import has_instances, instance_count, instance_values

_SIGNS = (b'"normalized"', b'"sparse"', b'"mode"', b"compression", b"_gpu_instancing")
"""What the header of a file contains that may have to be changed."""
_PLACES = {"POSITION": 3, "TEXCOORD_0": 2}
_COLOR = "COLOR_0"
_LIST, _FAN = 4, 6
_KINDS: dict[int, tuple[int, str]] = {1: (5125, "SCALAR"), 2: (5126, "VEC2"), 3: (5126, "VEC3"), 4: (5126, "VEC4")}
_NODE_SIZE = 100
_LEAST_LIMIT, _MOST_COPIES = 2**20, 16
"""How large a file may become: floats are four times as large as bytes, and accessors may overlap."""


class CompressedMeshError(Exception):
    """The triangles of a file are compressed; the message is the reason."""


def plain_glb(data: bytes) -> bytes:
    """A GLB file with the same triangles, without what trimesh does not read.  Raises CompressedMeshError."""
    text = header_bytes(data)
    if not any(sign in text for sign in _SIGNS):
        return data
    header, binary = glb_parts(data)
    if header is None:
        return data  # trimesh gives the reason
    try:
        return _PlainFile(header, binary, max(_LEAST_LIMIT, _MOST_COPIES * len(data))).changed() or data
    except (MalformedGltfError, KeyError, IndexError, TypeError, AttributeError):
        return data  # the same


class _PlainFile:
    def __init__(self, header: dict[str, Any], binary: bytes, most: int) -> None:
        self.file = GlbAccessors(header, binary)
        self._added = bytearray(binary + bytes(-len(binary) % 4))
        self._most = most + len(binary)
        self._done: dict[int, int] = {}
        """The new numbers of accessors."""

    def changed(self) -> bytes | None:
        """The file; None if nothing has to be changed."""
        problems = glb_draco.decode_primitives(self.file)
        for place, primitive in self._primitives():
            self._check_compression(primitive, problems.get(place, ""))
        start = len(self._added)
        for _, primitive in self._primitives():
            self._drop_compressed(primitive)
            for name, width in _PLACES.items():
                self._replace(primitive["attributes"], name, width)
            self._replace(primitive["attributes"], _COLOR, self.file.width(primitive["attributes"].get(_COLOR)))
            self._replace(primitive, "indices", 1)
            if primitive.get("mode") == _FAN:
                self._replace_fan(primitive)
        has_new_nodes = self._expand_instances()
        if len(self._added) == start and not has_new_nodes:
            return None
        self._empty_compressed()
        header = self.file.header
        header["buffers"][0]["byteLength"] = len(self._added)
        return join_glb(header, bytes(self._added))

    def _primitives(self) -> Iterator[tuple[glb_draco.PrimitivePlace, dict[str, Any]]]:
        for number, mesh in enumerate(self.file.rows("meshes")):
            for place, one in enumerate(mesh["primitives"]):
                if "POSITION" in one["attributes"]:
                    yield (number, place), one

    def _check_compression(self, primitive: dict[str, Any], problem: str) -> None:
        """Check that the triangles of a primitive can be decoded.  Raises CompressedMeshError."""
        places = (primitive["attributes"]["POSITION"], primitive.get("indices"))
        damaged = [(one, reason) for one in places if (reason := self.file.decoding_problem(one))]
        if problem == glb_draco.MISSING:
            raise CompressedMeshError(
                f"its triangles are compressed with {glb_draco.EXTENSION}: install DracoPy ({draco.INSTALL})"
            )
        if problem or damaged:
            name, reason = (
                (glb_draco.EXTENSION, problem) if problem else (self.file.compression(damaged[0][0]), damaged[0][1])
            )
            raise CompressedMeshError(f"its triangles are compressed with {name}, and {reason}")

    def _is_compressed(self, number: Any) -> bool:
        return number in self.file.decoded or bool(self.file.compression(number))

    def _drop_compressed(self, primitive: dict[str, Any]) -> None:
        """Remove compressed attributes that have no effect on triangles and colours."""
        attributes = primitive["attributes"]
        if any(self.file.compression(one) or not self.file.has_content(one) for one in attributes.values()):
            kept = (*_PLACES, _COLOR)
            primitive["attributes"] = {name: number for name, number in attributes.items() if name in kept}
        if isinstance(primitive.get("extensions"), dict):
            primitive["extensions"].pop(glb_draco.EXTENSION, None)

    def _empty_compressed(self) -> None:
        """Let compressed views, and the accessors in them, have some other content: nothing uses them any more."""
        header = self.file.header
        for accessor in self.file.rows("accessors"):
            if self.file.row("bufferViews", accessor.get("bufferView")).get("buffer", 0) != 0:
                del accessor["bufferView"]
                accessor["count"] = 1
        for view in self.file.rows("bufferViews"):
            if view.get("buffer", 0) != 0:
                view.clear()
                view |= {"buffer": 0, "byteLength": 0}
        header["buffers"] = header.get("buffers", [{}])[:1]

    def _expand_instances(self) -> bool:
        """Let each instance of a mesh be a node of its own; returns whether there are any."""
        nodes = self.file.rows("nodes")
        found = [node for node in nodes if has_instances(node)]
        for node in found:
            self._check_size(_NODE_SIZE * instance_count(self.file, node))
            values = instance_values(self.file, node)
            rows = zip(*(values[name].tolist() for name in ("TRANSLATION", "ROTATION", "SCALE")), strict=True)
            mesh, first = node.pop("mesh"), len(nodes)
            nodes += [{"mesh": mesh, "translation": t, "rotation": r, "scale": s} for t, r, s in rows]
            node["children"] = [*node.get("children", []), *range(first, len(nodes))]
        return bool(found)

    def _replace(self, owner: dict[str, Any], name: str, width: int) -> None:
        """Let an accessor with fractions as whole numbers, with compressed rows or those stated one by one be plain."""
        number = owner.get(name)
        accessor = self.file.row("accessors", number)
        is_plain = not ("sparse" in accessor or accessor.get("normalized") is True or self._is_compressed(number))
        if type(number) is not int or is_plain:
            return
        if number not in self._done:
            rows = self.file.decoded.get(number, ())
            self._check_size(4 * width * max(len(rows), self.file.length(number)))
            self._done[number] = self._add(self.file.array(number, width))
        owner[name] = self._done[number]

    def _replace_fan(self, primitive: dict[str, Any]) -> None:
        number = primitive.get("indices")
        count = self.file.length(primitive["attributes"]["POSITION"] if number is None else number)
        self._check_size(12 * count)
        around = np.arange(count) if number is None else self.file.array(number, 1).ravel()
        first = np.full(max(count - 2, 0), around[0] if count else 0)
        triangles = np.stack([around[1:-1], around[2:], first], axis=1)
        primitive |= {"mode": _LIST, "indices": self._add(triangles.reshape(-1, 1))}

    def _check_size(self, size: int) -> None:
        if len(self._added) + size > self._most:
            raise ValueError("its accessors have many more rows than the file has bytes")

    def _add(self, rows: AccessorArray) -> int:
        """Add an accessor; returns its number."""
        component, kind = _KINDS[rows.shape[1]]
        content = rows.astype("<f4" if component == _KINDS[2][0] else "<u4").tobytes()
        header = self.file.header
        views = header.setdefault("bufferViews", [])
        views.append({"buffer": 0, "byteOffset": len(self._added), "byteLength": len(content)})
        self._added += content
        made = {"bufferView": len(views) - 1, "componentType": component, "type": kind, "count": len(rows)}
        header["accessors"].append(made)
        return len(header["accessors"]) - 1
