"""How each part of a scene is written to USD: tables for the writer and the documentation."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from exoskel.formats.usd.codes import CATALOGUE


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

PARTS: tuple[tuple[str, MappingRow], ...] = (
    (
        "gravity of the world",
        MappingRow("PhysicsScene", "exact: direction and magnitude; `upAxis` is Y or Z, opposite to gravity"),
    ),
    (
        "time step",
        MappingRow(
            "newton:timeStepsPerSecond, mjc:option:timestep", "exact for MuJoCo, an integer for Newton", ("US212",)
        ),
    ),
    ("contact friction", MappingRow("PhysicsMaterialAPI", "1 without restitution, the default of Exoskel")),
    ("model", MappingRow("Xform, kind component", "exact; its pose is part of the poses of its bodies")),
    (
        "model that moves and has joints",
        MappingRow("PhysicsArticulationRootAPI", "exact; joints that close loops are excluded"),
    ),
    ("static model", MappingRow("no PhysicsRigidBodyAPI", "exact: its colliders do not move", ("US210",))),
    (
        "initial pose of a body",
        MappingRow("Xform, kind subcomponent", "exact, in double precision and in world coordinates"),
    ),
    ("mass, centre of mass", MappingRow("PhysicsMassAPI", "exact in single precision", ("US211",))),
    (
        "moments of inertia",
        MappingRow(
            "physics:diagonalInertia, physics:principalAxes, newton:inertia",
            "all six moments in single precision; exact for Newton",
            ("US211",),
        ),
    ),
    (
        "velocity of a body",
        MappingRow(
            "physics:velocity, physics:angularVelocity",
            "exact: velocity of the centre of mass, in body coordinates, as Newton reads it",
        ),
    ),
    (
        "body without gravity",
        MappingRow("physxRigidBody:disableGravity, mjc:body:gravcomp", "exact for PhysX and MuJoCo"),
    ),
    ("sleeping body", MappingRow("physics:startsAsleep", "exact")),
    ("markers", MappingRow("Sphere with NewtonSiteAPI", "exact")),
    ("colours", MappingRow("UsdPreviewSurface, primvars:displayColor", "exact")),
    (
        "visual shapes; collision shapes",
        MappingRow("default purpose; PhysicsCollisionAPI, with purpose guide if the body has visual shapes", "exact"),
    ),
    ("shapes that do not collide", MappingRow("physics:collisionEnabled", "exact")),
    (
        "models without self-collision, groups exempt from collision",
        MappingRow("PhysicsCollisionGroup", "exact"),
    ),
    (
        "collision of bodies connected by a joint, in a model with self-collision",
        MappingRow(
            "physics:collisionEnabled, PhysicsFilteredPairsAPI",
            "exact: as a property of the joint, or as a filtered pair if no USD joint connects them",
        ),
    ),
    (
        "frames of a joint",
        MappingRow(
            "physics:localPos0, localRot0, localPos1, localRot1",
            "exact in single precision; the two frames coincide at position zero",
        ),
    ),
    (
        "initial positions and velocities of joints",
        MappingRow("PhysxJointStateAPI", "exact, in degrees; for ball joints only through the poses of the bodies"),
    ),
    (
        "position limits",
        MappingRow("physics:lowerLimit, PhysicsLimitAPI", "exact, in degrees and m", ("US303", "US304")),
    ),
    (
        "springs and dampers",
        MappingRow(
            "PhysicsDriveAPI of type force", "exact; the damping of ball joints as newton:damping", ("US205", "US303")
        ),
    ),
    (
        "dry friction",
        MappingRow("newton:friction, mjc:frictionloss", "exact if all axes have the same value", ("US205",)),
    ),
    (
        "velocity limits",
        MappingRow("newton:velocityLimit", "exact if all axes and both directions have the same value", ("US205",)),
    ),
    ("force limits", MappingRow("mjc:actuatorfrcrange", "exact for joints with one axis", ("US305",))),
    (
        "servos, ODE motors, joints with prescribed motion",
        MappingRow("PhysicsDriveAPI", "approximated: a stiff damper", ("US203",)),
    ),
    (
        "soft joint stops of ODE",
        MappingRow("newton:limitStiffness, newton:limitDamping", "exact if all axes have the same value", ("US205",)),
    ),
    ("mimic joint", MappingRow("NewtonMimicAPI", "exact for joints with one axis", ("US204", "US309"))),
    ("joint that closes a loop", MappingRow("physics:excludeFromArticulation", "exact", ("US313",))),
    (
        "acceleration limits, bounce and fudge factor of stops, ERP and CFM, forces of the first step, soft skins, "
        "collision detector",
        MappingRow("", "dropped", ("US301", "US305", "US306", "US307", "US311")),
    ),
)
"""All other parts of a scene."""


# --- as Markdown ---------------------------------------------------------------------------------------


BEGIN = "<!-- begin generated tables (`make docs`): do not edit -->"
END = "<!-- end generated tables -->"


def tables() -> str:
    """The mapping and all diagnostics of the USD writer."""
    parts = [
        "### Joints",
        _table("joint", JOINTS.items()),
        "### Shapes",
        _table("shape", SHAPES.items()),
        "### Everything else",
        _table("scene", PARTS),
        "### Diagnostics",
        _diagnostics(),
    ]
    return "\n\n".join(parts)


def _table(head: str, rows: Iterable[tuple[str, MappingRow]]) -> str:
    lines = [f"| {head} | USD | how | diagnostics |", "|---|---|---|---|"]
    for name, row in rows:
        prims = ", ".join(
            f"`{part}`" if ":" in part or part.isalpha() else part for part in row.prim.split(", ") if part
        )
        lines.append(f"| {name} | {prims} | {row.how} | {', '.join(row.codes)} |")
    return "\n".join(lines)


def _diagnostics() -> str:
    lines = ["| code | meaning | messages |", "|---|---|---|"]
    for topic in CATALOGUE.topics.values():
        messages = "; ".join(message.text for message in topic.messages)
        lines.append(f"| {topic.code} | {topic.title}. {topic.text}".rstrip() + f" | {messages} |")
    return "\n".join(lines)


def with_tables(page: str) -> str:
    """The page with the text between the two markers regenerated."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{tables()}\n\n{END}{tail}"
