"""The parts of a document without joints that MuJoCo compiled one by one, as if they were one model.

Numbers of bodies, shapes, sites, cameras and lights are those of the whole document.  The first part has all elements
of the world itself, and all meshes and height fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel.formats.mjcf.reader.compiler import CompilerError, CompilerOutput, PartRow, PartText
from exoskel.spatial import Indices

_KINDS = {"geom": "geoms", "site": "sites", "cam": "cameras", "light": "lights"}
"""Prefixes of what belongs to bodies, and the kinds of elements."""
_BODY_NUMBERS = frozenset(
    ["body_parentid", *(f"{kind}_bodyid" for kind in _KINDS), "cam_targetbodyid", "light_targetbodyid"]
)
_OF_FIRST = ("mesh_", "mat_", "hfield_")
_COUNTS = {"ngeom": "geoms", "nsite": "sites", "ncam": "cameras", "nlight": "lights"}


class _JointlessPart(Struct):
    """The model of one part, and the numbers in the whole document of what it contains, by kind."""

    model: Any
    numbers: dict[str, Indices]
    others: int
    """The first element that the whole document takes from this part: only the first one has the world."""


class JointlessModel:
    """The arrays of MuJoCo's model that do not depend on joints; `rows` are the elements by kind."""

    def __init__(self, texts: Sequence[PartText], outputs: Sequence[CompilerOutput]) -> None:
        self._parts = [
            _JointlessPart(output.model, {"bodies": np.array([0, *text.bodies], dtype=np.intp)}, min(number, 1))
            for number, (text, output) in enumerate(zip(texts, outputs, strict=True))
        ]
        if any(len(part.numbers["bodies"]) != part.model.nbody for part in self._parts):
            raise CompilerError("a part has other bodies than its text")
        first = outputs[0]
        self.opt = first.model.opt
        self.nmesh: int = first.model.nmesh
        self.nbody: int = 1 + sum(part.model.nbody - 1 for part in self._parts)
        self.rows = {kind: rows for kind, rows in first.parts.items() if kind not in ("bodies", *_KINDS.values())}
        self.rows["bodies"] = sorted(
            (
                PartRow(int(part.numbers["bodies"][row.number]), row.name, row.line)
                for part, output in zip(self._parts, outputs, strict=True)
                for row in output.parts["bodies"]
                if row.number >= part.others
            ),
            key=lambda row: row.number,
        )
        for prefix, kind in _KINDS.items():
            self._number(prefix, kind, [output.parts[kind] for output in outputs])
        self.full_inertias = {
            int(part.numbers["bodies"][body]): moments
            for part, output in zip(self._parts, outputs, strict=True)
            for body, moments in output.full_inertias.items()
        }
        self.framed_meshes = first.framed_meshes

    def _number(self, prefix: str, kind: str, rows: Sequence[list[PartRow]]) -> None:
        """Number the elements of a kind by their bodies, and in the order of their part."""
        owners = [part.numbers["bodies"][getattr(part.model, f"{prefix}_bodyid")] for part in self._parts]
        order = np.argsort(np.concatenate(owners), kind="stable")
        places = np.empty(len(order), dtype=np.intp)
        places[order] = np.arange(len(order))
        ends = np.cumsum([len(one) for one in owners])
        found: list[PartRow] = []
        for part, numbers, own in zip(self._parts, np.split(places, ends[:-1]), rows, strict=True):
            part.numbers[kind] = numbers
            found += (PartRow(int(numbers[row.number]), row.name, row.line) for row in own)
        self.rows[kind] = sorted(found, key=lambda row: row.number)

    def __getattr__(self, name: str) -> Any:
        prefix, _, _ = name.partition("_")
        if name.startswith(_OF_FIRST):
            return getattr(self._parts[0].model, name)
        if name in _COUNTS:
            return len(self.rows[_COUNTS[name]])
        if prefix == "body":
            found = self._gather(name, "bodies", self.nbody)
        elif prefix in _KINDS:
            found = self._gather(name, _KINDS[prefix], len(self.rows[_KINDS[prefix]]))
        else:
            raise AttributeError(f"the parts of a document have no '{name}'")
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        return dir(self._parts[0].model)

    def _gather(self, name: str, kind: str, count: int) -> Any:
        """An array of all parts, by the numbers in the whole document."""
        arrays = [getattr(part.model, name) for part in self._parts]
        out = np.zeros((count, *arrays[0].shape[1:]), dtype=arrays[0].dtype)
        for part, array in zip(self._parts, arrays, strict=True):
            start = part.others if kind == "bodies" else 0
            values = _translate(array, part.numbers["bodies"]) if name in _BODY_NUMBERS else array
            out[part.numbers[kind][start:]] = values[start:]
        if name == "body_mocapid":
            return np.where(out >= 0, np.cumsum(out >= 0) - 1, -1)
        if name == "body_geomadr":
            counts = self.body_geomnum
            return np.where(counts > 0, np.cumsum(counts) - counts, -1)
        return out


def _translate(found: Any, bodies: Indices) -> Any:
    """Numbers of bodies in the whole document; -1 remains."""
    return np.where(found >= 0, bodies[found], -1)
