"""How joints and shapes are written to USD: tables for the writer and the documentation."""

from __future__ import annotations

from msgspec import Struct


class MappingRow(Struct, frozen=True):
    """One row of the mapping: the USD prim or property, how exact it is, and the possible diagnostics."""

    prim: str
    how: str
    codes: tuple[str, ...] = ()


JOINTS: dict[str, MappingRow] = {
    "weld": MappingRow("PhysicsFixedJoint", "exact"),
    "revolute": MappingRow("PhysicsRevoluteJoint", "exact", ("US312",)),
    "prismatic": MappingRow("PhysicsPrismaticJoint", "exact", ("US312",)),
    "ball": MappingRow("PhysicsSphericalJoint", "exact motion", ("US303",)),
    "translational": MappingRow("PhysicsJoint", "exact: transX, transY, transZ are free"),
    "translational2d": MappingRow("PhysicsJoint", "exact: transX, transY are free"),
    "planar": MappingRow("PhysicsJoint", "exact: transX, transY, rotZ are free"),
    "universal": MappingRow(
        "PhysicsJoint",
        "rotX, rotY are free; if the axes are not perpendicular: two revolute joints with a body between them",
        ("US201",),
    ),
    "hinge2": MappingRow(
        "PhysicsJoint",
        "like universal, plus a spring along the first axis for the suspension",
        ("US201", "US208"),
    ),
    "euler": MappingRow("PhysicsJoint", "rotX, rotY, rotZ are free, in the order of its axes", ("US201",)),
    "free": MappingRow(
        "PhysicsJoint",
        "no joint, unless it has limits, springs, dampers, friction or an actuator; then all six axes are free",
        ("US202",),
    ),
    "screw": MappingRow(
        "", "lowered to a prismatic joint that mimics a revolute joint, with a body between them", ("US204",)
    ),
    "amotor": MappingRow("", "not written", ("US302",)),
}
"""How each joint kind is written; without a prim it is lowered to other joints or not written."""

SHAPES: dict[str, MappingRow] = {
    "box": MappingRow("Cube", "exact: edge length 1, scaled"),
    "sphere": MappingRow("Sphere", "exact"),
    "cylinder": MappingRow("Cylinder", "exact"),
    "capsule": MappingRow("Capsule", "exact"),
    "cone": MappingRow("Cone", "exact; a cone with its origin at the base is moved up by half its height"),
    "plane": MappingRow(
        "Plane", "exact: the normal is z, the offset a translation; drawn 100 m wide, infinite as a collider"
    ),
    "ellipsoid": MappingRow(
        "Sphere", "exact as a visual, scaled; as a collider, the convex hull of a mesh", ("US207",)
    ),
    "pyramid": MappingRow("Mesh", "exact: the convex hull of its five corners"),
    "multi_sphere": MappingRow("Mesh", "approximated: the convex hull of a mesh", ("US207",)),
    "mesh": MappingRow("Mesh", "triangles in single precision, scaled", ("US308",)),
    "trimesh": MappingRow("Mesh", "triangles in single precision"),
    "ray": MappingRow("", "dropped", ("US308",)),
}
"""How each geometry is written."""
