"""A reader of binary glTF for tests, written from the specification and independent of our code."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

TYPES = {5126: "<f4", 5125: "<u4", 5123: "<u2"}
WIDTHS = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}


class Glb:
    """A file: its document, its buffer, and the poses of its nodes."""

    def __init__(self, data: bytes) -> None:
        magic, version, size = struct.unpack_from("<4sII", data)
        assert (magic, version, size) == (b"glTF", 2, len(data))
        chunks: dict[bytes, bytes] = {}
        at = 12
        while at < size:
            length, kind = struct.unpack_from("<I4s", data, at)
            assert length % 4 == 0
            chunks[kind] = data[at + 8 : at + 8 + length]
            at += 8 + length
        self.document: dict[str, Any] = json.loads(chunks[b"JSON"])
        self.binary = chunks.get(b"BIN\0", b"")
        self.nodes: list[dict[str, Any]] = self.document.get("nodes", [])

    def numbers(self, accessor: int) -> np.ndarray:
        one = self.document["accessors"][accessor]
        view = self.document["bufferViews"][one["bufferView"]]
        width = WIDTHS[one["type"]]
        start = view["byteOffset"] + one.get("byteOffset", 0)
        values = np.frombuffer(self.binary, TYPES[one["componentType"]], one["count"] * width, start)
        if one.get("normalized"):
            values = values / np.iinfo(values.dtype).max
        return values if width == 1 else values.reshape(-1, width)

    def children(self, node: int) -> list[int]:
        found: list[int] = self.nodes[node].get("children", [])
        return found

    def root(self, world: int = 0) -> int:
        (found,) = self.document["scenes"][world]["nodes"]
        return int(found)

    def models(self, world: int = 0) -> list[int]:
        return self.children(self.root(world))

    def bodies(self, world: int = 0) -> list[int]:
        return [body for model in self.models(world) for body in self.children(model)]

    def shapes(self, world: int = 0) -> list[int]:
        return [s for body in self.bodies(world) for s in self.children(body) if "mesh" in self.nodes[s]]

    def matrix(self, node: int) -> np.ndarray:
        """The transform of a node relative to its parent."""
        one = self.nodes[node]
        assert "matrix" not in one
        out = np.eye(4)
        out[:3, :3] = rotation(one.get("rotation", (0, 0, 0, 1))) * np.array(one.get("scale", (1, 1, 1)))
        out[:3, 3] = one.get("translation", (0, 0, 0))
        return out

    def upright(self, world: int = 0) -> np.ndarray:
        return self.matrix(self.root(world))

    def body_poses(self, world: int = 0) -> np.ndarray:
        """The poses of all bodies in world coordinates."""
        places = [self.matrix(m) @ self.matrix(b) for m in self.models(world) for b in self.children(m)]
        return np.array(places).reshape(-1, 4, 4)

    def points(self, world: int = 0) -> np.ndarray:
        """All vertices of a world in world coordinates, one for each corner of a triangle."""
        found = [np.empty((0, 3))]
        for model in self.models(world):
            for body in self.children(model):
                for shape in self.children(body):
                    if "mesh" in self.nodes[shape]:
                        place = self.matrix(model) @ self.matrix(body) @ self.matrix(shape)
                        own = self.vertices(self.nodes[shape]["mesh"])
                        found.append(own @ place[:3, :3].T + place[:3, 3])
        return np.concatenate(found)

    def vertices(self, mesh: int) -> np.ndarray:
        (primitive,) = self.document["meshes"][mesh]["primitives"]
        positions = self.numbers(primitive["attributes"]["POSITION"]).astype(float)
        return positions[self.numbers(primitive["indices"])]

    def primitive(self, node: int) -> dict[str, Any]:
        found: dict[str, Any] = self.document["meshes"][self.nodes[node]["mesh"]]["primitives"][0]
        return found

    def material(self, node: int) -> dict[str, Any]:
        found: dict[str, Any] = self.document["materials"][self.primitive(node)["material"]]
        return found

    def channels(self) -> dict[tuple[int, str], tuple[np.ndarray, np.ndarray]]:
        """Times and values of all animated nodes, by node and path."""
        found = {}
        for animation in self.document.get("animations", []):
            for channel in animation["channels"]:
                sampler = animation["samplers"][channel["sampler"]]
                assert sampler["interpolation"] == "LINEAR"
                key = (channel["target"]["node"], channel["target"]["path"])
                assert key not in found
                found[key] = (self.numbers(sampler["input"]), self.numbers(sampler["output"]))
        return found


def rotation(xyzw: Any) -> np.ndarray:
    x, y, z, w = np.array(xyzw, dtype=float) / np.linalg.norm(xyzw)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
