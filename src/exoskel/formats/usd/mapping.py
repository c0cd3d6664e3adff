"""How joints and shapes are written to USD: tables for the writer and the documentation."""

from __future__ import annotations

from msgspec import Struct


class PrimMapping(Struct, frozen=True):
    """One row of the mapping: the USD prim or property, how exact it is, and the possible diagnostics."""

    prim: str
    how: str
    codes: tuple[str, ...] = ()


SKIN = "exoskelSkin"
"""The custom data of a mesh that shows the skin of a soft body, and is not a shape of the scene."""
JOINTS: dict[str, PrimMapping] = {
    "weld": PrimMapping("PhysicsFixedJoint", "exact"),
    "revolute": PrimMapping("PhysicsRevoluteJoint", "exact", ("US312",)),
    "prismatic": PrimMapping("PhysicsPrismaticJoint", "exact", ("US312",)),
    "ball": PrimMapping("PhysicsSphericalJoint", "exact motion", ("US303",)),
    "translational": PrimMapping("PhysicsJoint", "exact: transX, transY, transZ are free"),
    "translational2d": PrimMapping("PhysicsJoint", "exact: transX, transY are free"),
    "planar": PrimMapping("PhysicsJoint", "exact: transX, transY, rotZ are free"),
    "universal": PrimMapping(
        "PhysicsJoint",
        "rotX, rotY are free; if the axes are not perpendicular: two revolute joints with a body between them",
        ("US201",),
    ),
    "hinge2": PrimMapping(
        "PhysicsJoint",
        "like universal, plus a spring along the first axis for the suspension",
        ("US201", "US208"),
    ),
    "euler": PrimMapping("PhysicsJoint", "rotX, rotY, rotZ are free, in the order of its axes", ("US201",)),
    "free": PrimMapping(
        "PhysicsJoint",
        "no joint, unless it has limits, springs, dampers, friction or an actuator; then all six axes are free",
        ("US202",),
    ),
    "screw": PrimMapping(
        "", "lowered to a prismatic joint that mimics a revolute joint, with a body between them", ("US204",)
    ),
    "amotor": PrimMapping("", "not written", ("US302",)),
}
"""How each joint kind is written; without a prim it is lowered to other joints or not written."""

SHAPES: dict[str, PrimMapping] = {
    "box": PrimMapping("Cube", "exact: edge length 1, scaled"),
    "sphere": PrimMapping("Sphere", "exact"),
    "cylinder": PrimMapping("Cylinder", "exact"),
    "capsule": PrimMapping("Capsule", "exact"),
    "cone": PrimMapping("Cone", "exact; a cone with its origin at the base is moved up by half its height"),
    "plane": PrimMapping(
        "Plane", "exact: the normal is z, the offset a translation; drawn 100 m wide, infinite as a collider"
    ),
    "ellipsoid": PrimMapping(
        "Sphere", "exact as a visual, scaled; as a collider, the convex hull of a mesh", ("US207",)
    ),
    "pyramid": PrimMapping("Mesh", "exact: the convex hull of its five corners"),
    "multi_sphere": PrimMapping("Mesh", "approximated: the convex hull of a mesh", ("US207",)),
    "mesh": PrimMapping("Mesh", "triangles in single precision, scaled", ("US308",)),
    "trimesh": PrimMapping("Mesh", "triangles in single precision"),
    "ray": PrimMapping("", "dropped", ("US308",)),
}
"""How each geometry is written."""
