"""What becomes of each part of a scene in glTF: the tables the writer works by, and the documentation is made of."""

from __future__ import annotations

from msgspec import Struct

from exoskel.fates import Fate


class MappingRow(Struct, frozen=True):
    """One line of the mapping: what there is in glTF, its fate and why, and the codes of what may be told.

    `told` is the code that is told of every such part.
    """

    said: str
    fate: Fate
    why: str = ""
    codes: tuple[str, ...] = ()
    told: str = ""


SHAPES: dict[str, MappingRow] = {
    "box": MappingRow("mesh", Fate.EXACT, "one mesh of edge 1, scaled by its nodes"),
    "pyramid": MappingRow("mesh", Fate.EXACT, "one mesh of size 1, scaled by its nodes"),
    "sphere": MappingRow("mesh", Fate.APPROXIMATED, "facets, up to 1 % of the radius inside", told="GL201"),
    "ellipsoid": MappingRow("mesh", Fate.APPROXIMATED, "a scaled sphere", told="GL201"),
    "cylinder": MappingRow("mesh", Fate.APPROXIMATED, "facets around; height exact", told="GL201"),
    "capsule": MappingRow("mesh", Fate.APPROXIMATED, "facets around", told="GL201"),
    "cone": MappingRow("mesh", Fate.APPROXIMATED, "facets around; height exact", told="GL201"),
    "plane": MappingRow("mesh", Fate.APPROXIMATED, "a square, 20 m wide unless asked otherwise", told="GL202"),
    "multi_sphere": MappingRow("mesh", Fate.APPROXIMATED, "facets of the hull", told="GL203"),
    "mesh": MappingRow(
        "mesh",
        Fate.EXACT,
        "embedded: triangles in single precision, colours of vertices, faces and materials; no textures",
        ("GL305",),
    ),
    "trimesh": MappingRow("mesh", Fate.EXACT, "triangles in single precision"),
    "ray": MappingRow("", Fate.DROPPED, "it has no surface", ("GL305",)),
}
"""What each geometry is written as."""

PARTS: tuple[tuple[str, MappingRow], ...] = (
    (
        "world",
        MappingRow("scene with a root node", Fate.EXACT, "the root turns the world so that y is up, as glTF has it"),
    ),
    ("gravity, time step", MappingRow("extras of the scene", Fate.KEPT)),
    ("model", MappingRow("node below the root", Fate.EXACT, "its pose is in those of its bodies")),
    ("static model", MappingRow("extras", Fate.KEPT)),
    ("body at its initial place", MappingRow("node below its model, with translation and rotation", Fate.EXACT)),
    ("mass, centre of mass, moments", MappingRow("extras of the body's node", Fate.KEPT, "", ("GL307",))),
    ("body without gravity", MappingRow("extras of the body's node", Fate.KEPT)),
    ("markers", MappingRow("nodes without a mesh, below the body's", Fate.EXACT)),
    ("shape at its pose", MappingRow("node below its body's, with the mesh and its size as scale", Fate.EXACT)),
    (
        "visual and collision shapes",
        MappingRow(
            "", Fate.DROPPED, "of a body that has visual shapes, the collision shapes, unless asked for", ("GL304",)
        ),
    ),
    (
        "colour",
        MappingRow(
            "material with baseColorFactor, alphaMode BLEND if it is not opaque",
            Fate.EXACT,
            "as light, which is how glTF has it; without one, that of the mesh file, else DART's 0.5 0.5 1",
            ("GL205",),
        ),
    ),
    (
        "name, kind and parent of a joint",
        MappingRow("extras of the node of its child", Fate.KEPT, "loops: of the model's"),
    ),
    (
        "axes, limits, springs, dampers, motors, actuators and followers of joints",
        MappingRow("", Fate.DROPPED, "nothing in glTF moves by itself", ("GL301",)),
    ),
    ("initial velocities", MappingRow("", Fate.DROPPED, "a picture has none", ("GL302",))),
    ("groups that pass each other", MappingRow("", Fate.DROPPED, "a picture has no contacts", ("GL303",))),
    ("soft skin", MappingRow("mesh", Fate.APPROXIMATED, "stiff, in its shape at rest", ("GL204",))),
    ("ERP, CFM, forces of the first step", MappingRow("", Fate.DROPPED, "a picture has none", ("GL306",))),
    (
        "motion",
        MappingRow(
            "animation with LINEAR samplers of translation and rotation",
            Fate.EXACT,
            "in single precision; bodies that stay where they are have none",
            ("GL206",),
        ),
    ),
)
"""All other parts of a scene."""


def table() -> str:
    """The whole mapping as a table in Markdown."""
    rows = [("scene", "glTF", "fate", "told as"), ("---", "---", "---", "---")]
    for name, row in (*PARTS, *((kind.replace("_", " "), row) for kind, row in SHAPES.items())):
        codes = ", ".join((*row.codes, *([row.told] if row.told else [])))
        rows.append((name, row.said, f"{row.fate.value}: {row.why}" if row.why else row.fate.value, codes))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows).replace("|  |", "| |")
