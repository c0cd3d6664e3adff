"""How shapes are written to glTF: a table for the writer and the documentation."""

from __future__ import annotations

from msgspec import Struct

from exoskel.fates import Fate


class MappingRow(Struct, frozen=True):
    """One row of the mapping: the glTF object, the fate of the part and why, and the possible diagnostics.

    `always` is the code of a diagnostic that every such part has.
    """

    written_as: str
    fate: Fate
    why: str = ""
    codes: tuple[str, ...] = ()
    always: str = ""


SHAPES: dict[str, MappingRow] = {
    "box": MappingRow("mesh", Fate.EXACT, "one mesh with edge length 1, scaled by its nodes"),
    "pyramid": MappingRow("mesh", Fate.EXACT, "one mesh of size 1, scaled by its nodes"),
    "sphere": MappingRow(
        "mesh", Fate.APPROXIMATED, "tessellated, facets up to 1 % of the radius inside", always="GL201"
    ),
    "ellipsoid": MappingRow("mesh", Fate.APPROXIMATED, "a scaled sphere", always="GL201"),
    "cylinder": MappingRow("mesh", Fate.APPROXIMATED, "tessellated; height exact", always="GL201"),
    "capsule": MappingRow("mesh", Fate.APPROXIMATED, "tessellated", always="GL201"),
    "cone": MappingRow("mesh", Fate.APPROXIMATED, "tessellated; height exact", always="GL201"),
    "plane": MappingRow("mesh", Fate.APPROXIMATED, "a square, 20 m wide by default", always="GL202"),
    "multi_sphere": MappingRow("mesh", Fate.APPROXIMATED, "tessellated convex hull", always="GL203"),
    "mesh": MappingRow(
        "mesh",
        Fate.EXACT,
        "triangles in single precision; colours of vertices, faces and materials; no textures",
        ("GL305",),
    ),
    "trimesh": MappingRow("mesh", Fate.EXACT, "triangles in single precision"),
    "ray": MappingRow("", Fate.DROPPED, "a ray has no surface", ("GL305",)),
}
"""How each geometry is written."""
