"""How each part of a scene is written to glTF: tables for the writer and the documentation."""

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

PARTS: tuple[tuple[str, MappingRow], ...] = (
    (
        "world",
        MappingRow("scene with a root node", Fate.EXACT, "the root rotates the world so that y is up, as in glTF"),
    ),
    ("gravity, time step", MappingRow("extras of the scene", Fate.KEPT)),
    ("model", MappingRow("node below the root", Fate.EXACT, "its pose is part of the poses of its bodies")),
    ("static model", MappingRow("extras", Fate.KEPT)),
    ("initial pose of a body", MappingRow("node below its model, with translation and rotation", Fate.EXACT)),
    ("mass, centre of mass, moments", MappingRow("extras of the body's node", Fate.KEPT, "", ("GL307",))),
    ("body without gravity", MappingRow("extras of the body's node", Fate.KEPT)),
    ("markers", MappingRow("nodes without a mesh, below the body's node", Fate.EXACT)),
    ("pose of a shape", MappingRow("node below the body's node, with the mesh, and the size as scale", Fate.EXACT)),
    (
        "visual and collision shapes",
        MappingRow(
            "", Fate.DROPPED, "the collision shapes, if the body has visual shapes, unless requested", ("GL304",)
        ),
    ),
    (
        "colour",
        MappingRow(
            "material with baseColorFactor, alphaMode BLEND if it is not opaque",
            Fate.EXACT,
            "converted to linear light, as in glTF; default: the colour of the mesh file, else DART's 0.5 0.5 1",
            ("GL205",),
        ),
    ),
    (
        "name, kind and parent of a joint",
        MappingRow("extras of the child's node", Fate.KEPT, "of the model's node if the joint closes a loop"),
    ),
    (
        "axes, limits, springs, dampers, motors, actuators and mimics of joints",
        MappingRow("", Fate.DROPPED, "glTF has no joints", ("GL301",)),
    ),
    ("initial velocities", MappingRow("", Fate.DROPPED, "glTF has no velocities", ("GL302",))),
    ("groups exempt from collision", MappingRow("", Fate.DROPPED, "glTF has no collision filters", ("GL303",))),
    ("soft skin", MappingRow("mesh", Fate.APPROXIMATED, "rigid, in its rest shape", ("GL204",))),
    ("ERP, CFM, forces of the first step", MappingRow("", Fate.DROPPED, "not supported by glTF", ("GL306",))),
    (
        "motion",
        MappingRow(
            "animation with LINEAR samplers of translation and rotation",
            Fate.EXACT,
            "in single precision; bodies that do not move have no samplers",
            ("GL206",),
        ),
    ),
)
"""All other parts of a scene."""


def table() -> str:
    """The whole mapping as a Markdown table."""
    rows = [("scene", "glTF", "fate", "diagnostics"), ("---", "---", "---", "---")]
    for name, row in (*PARTS, *((kind.replace("_", " "), row) for kind, row in SHAPES.items())):
        codes = ", ".join((*row.codes, *([row.always] if row.always else [])))
        rows.append((name, row.written_as, f"{row.fate.value}: {row.why}" if row.why else row.fate.value, codes))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows).replace("|  |", "| |")
