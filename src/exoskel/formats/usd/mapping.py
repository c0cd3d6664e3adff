"""What becomes of each part of a scene in USD: the tables that the writer works by and the documentation is made of."""

from __future__ import annotations

from msgspec import Struct


class MappingRow(Struct, frozen=True):
    """One line of the mapping: what there is in USD, how true that is, and the codes of what may be told."""

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
        "rotX, rotY are free; axes that are not at a right angle become two hinges with a body in between",
        ("US201",),
    ),
    "hinge2": MappingRow(
        "PhysicsJoint",
        "as universal, and a travel along the first axis with a spring for its suspension",
        ("US201", "US208"),
    ),
    "euler": MappingRow("PhysicsJoint", "rotX, rotY, rotZ are free, the axes of its order", ("US201",)),
    "free": MappingRow("PhysicsJoint", "no joint, unless something resists it; then all six axes are free", ("US202",)),
    "screw": MappingRow("", "lowered to a slide that follows a hinge, with a body in between", ("US204",)),
    "amotor": MappingRow("", "no joint: the motion is free", ("US302",)),
}
"""What each kind of joint is written as; no prim: taken apart, or none at all."""

SHAPES: dict[str, MappingRow] = {
    "box": MappingRow("Cube", "exact: an edge of 1, scaled"),
    "sphere": MappingRow("Sphere", "exact"),
    "cylinder": MappingRow("Cylinder", "exact"),
    "capsule": MappingRow("Capsule", "exact"),
    "cone": MappingRow("Cone", "exact; one on its base is moved up by half its height"),
    "plane": MappingRow(
        "Plane", "exact: its normal is z, its offset a translation; drawn 100 m wide, without end as a collider"
    ),
    "ellipsoid": MappingRow("Sphere", "exact to look at, scaled; to collide with, the hull of a mesh", ("US207",)),
    "pyramid": MappingRow("Mesh", "exact: the hull of its five corners"),
    "multi_sphere": MappingRow("Mesh", "approximated: the hull of a mesh", ("US207",)),
    "mesh": MappingRow("Mesh", "its triangles in single precision, scaled", ("US308",)),
    "trimesh": MappingRow("Mesh", "its triangles in single precision"),
    "ray": MappingRow("", "dropped", ("US308",)),
}
"""What each geometry is written as."""

PARTS: tuple[tuple[str, MappingRow], ...] = (
    (
        "gravity of the world",
        MappingRow("PhysicsScene", "exact: direction and magnitude; `upAxis` is Y or Z, opposite to it"),
    ),
    (
        "time step",
        MappingRow(
            "newton:timeStepsPerSecond, mjc:option:timestep", "exact for MuJoCo, a whole number for Newton", ("US212",)
        ),
    ),
    ("friction of contacts", MappingRow("PhysicsMaterialAPI", "1, and no bounce, as everywhere in exoskel")),
    ("model", MappingRow("Xform, kind component", "exact; its pose is in those of its bodies")),
    (
        "model that moves and has joints",
        MappingRow("PhysicsArticulationRootAPI", "exact; joints that close loops are outside of it"),
    ),
    ("static model", MappingRow("no PhysicsRigidBodyAPI", "exact: its colliders stand still", ("US210",))),
    (
        "body at its initial place",
        MappingRow("Xform, kind subcomponent", "exact, in double precision and in the world's axes"),
    ),
    ("mass, centre of mass", MappingRow("PhysicsMassAPI", "exact to single precision", ("US211",))),
    (
        "moments of inertia",
        MappingRow(
            "physics:diagonalInertia, physics:principalAxes, newton:inertia",
            "all six, in single precision, and exact for Newton",
            ("US211",),
        ),
    ),
    (
        "velocity of a body",
        MappingRow(
            "physics:velocity, physics:angularVelocity",
            "exact: of the centre of mass, in the body's axes, as Newton takes it",
        ),
    ),
    (
        "body without gravity",
        MappingRow("physxRigidBody:disableGravity, mjc:body:gravcomp", "exact for PhysX and MuJoCo"),
    ),
    ("body that sleeps", MappingRow("physics:startsAsleep", "exact")),
    ("markers", MappingRow("Sphere with NewtonSiteAPI", "exact")),
    ("colours", MappingRow("UsdPreviewSurface, primvars:displayColor", "exact")),
    (
        "shapes that are seen; that collide",
        MappingRow("default purpose; PhysicsCollisionAPI, purpose guide where others are seen", "exact"),
    ),
    ("shapes that touch nothing", MappingRow("physics:collisionEnabled", "exact")),
    (
        "bodies of one model that pass each other, shapes that pass by name",
        MappingRow("PhysicsCollisionGroup", "exact"),
    ),
    (
        "bodies that a joint ties, where those of one model meet",
        MappingRow(
            "physics:collisionEnabled, PhysicsFilteredPairsAPI",
            "exact: by the joint, or as a pair where no joint of USD is between them",
        ),
    ),
    (
        "frames of a joint",
        MappingRow(
            "physics:localPos0, localRot0, localPos1, localRot1",
            "exact to single precision; zero positions are where both coincide",
        ),
    ),
    (
        "initial positions and velocities of joints",
        MappingRow("PhysxJointStateAPI", "exact, in degrees; of balls by the bodies alone"),
    ),
    (
        "limits of position",
        MappingRow("physics:lowerLimit, PhysicsLimitAPI", "exact, in degrees and m", ("US303", "US304")),
    ),
    (
        "springs and dampers",
        MappingRow(
            "PhysicsDriveAPI of type force", "exact; the damping of balls as newton:damping", ("US205", "US303")
        ),
    ),
    ("dry friction", MappingRow("newton:friction, mjc:frictionloss", "exact if all axes have the same", ("US205",))),
    (
        "limits of velocity",
        MappingRow("newton:velocityLimit", "exact if the same for all axes and both ways", ("US205",)),
    ),
    ("limits of force", MappingRow("mjc:actuatorfrcrange", "exact for joints with one axis", ("US305",))),
    (
        "servos, motors of ODE, prescribed joints",
        MappingRow("PhysicsDriveAPI", "approximated: a stiff damper", ("US203",)),
    ),
    (
        "soft stops of ODE",
        MappingRow("newton:limitStiffness, newton:limitDamping", "exact if all axes have the same", ("US205",)),
    ),
    ("joint that follows another", MappingRow("NewtonMimicAPI", "exact for joints with one axis", ("US204", "US309"))),
    ("joint that closes a loop", MappingRow("physics:excludeFromArticulation", "exact", ("US313",))),
    (
        "limits of acceleration, bounce and fudge factor of stops, ERP and CFM, forces of the first step, soft skins, "
        "collision detector",
        MappingRow("", "dropped", ("US301", "US305", "US306", "US307", "US311")),
    ),
)
"""All other parts of a scene."""
