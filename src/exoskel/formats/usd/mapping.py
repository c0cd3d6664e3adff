"""What becomes of each part of a scene in USD: the tables that the writer works by and the documentation is made of."""

from __future__ import annotations

from msgspec import Struct


class Row(Struct, frozen=True):
    """One line of the mapping: what there is in USD, how true that is, and the codes of what may be told."""

    prim: str
    how: str
    codes: tuple[str, ...] = ()


JOINTS: dict[str, Row] = {
    "weld": Row("PhysicsFixedJoint", "exact"),
    "revolute": Row("PhysicsRevoluteJoint", "exact", ("US312",)),
    "prismatic": Row("PhysicsPrismaticJoint", "exact", ("US312",)),
    "ball": Row("PhysicsSphericalJoint", "exact motion", ("US303",)),
    "translational": Row("PhysicsJoint", "exact: transX, transY, transZ are free"),
    "translational2d": Row("PhysicsJoint", "exact: transX, transY are free"),
    "planar": Row("PhysicsJoint", "exact: transX, transY, rotZ are free"),
    "universal": Row(
        "PhysicsJoint",
        "rotX, rotY are free; axes that are not at a right angle become two hinges with a body in between",
        ("US201",),
    ),
    "hinge2": Row(
        "PhysicsJoint",
        "as universal, and a travel along the first axis with a spring for its suspension",
        ("US201", "US208"),
    ),
    "euler": Row("PhysicsJoint", "rotX, rotY, rotZ are free, the axes of its order", ("US201",)),
    "free": Row("PhysicsJoint", "no joint, unless something resists it; then all six axes are free", ("US202",)),
    "screw": Row("", "lowered to a slide that follows a hinge, with a body in between", ("US204",)),
    "amotor": Row("", "no joint: the motion is free", ("US302",)),
}
"""What each kind of joint is written as; no prim: taken apart, or none at all."""

SHAPES: dict[str, Row] = {
    "box": Row("Cube", "exact: an edge of 1, scaled"),
    "sphere": Row("Sphere", "exact"),
    "cylinder": Row("Cylinder", "exact"),
    "capsule": Row("Capsule", "exact"),
    "cone": Row("Cone", "exact; one on its base is moved up by half its height"),
    "plane": Row(
        "Plane", "exact: its normal is z, its offset a translation; drawn 100 m wide, without end as a collider"
    ),
    "ellipsoid": Row("Sphere", "exact to look at, scaled; to collide with, the hull of a mesh", ("US207",)),
    "pyramid": Row("Mesh", "exact: the hull of its five corners"),
    "multi_sphere": Row("Mesh", "approximated: the hull of a mesh", ("US207",)),
    "mesh": Row("Mesh", "its triangles in single precision, scaled", ("US308",)),
    "trimesh": Row("Mesh", "its triangles in single precision"),
    "ray": Row("", "dropped", ("US308",)),
}
"""What each geometry is written as."""

PARTS: tuple[tuple[str, Row], ...] = (
    ("gravity of the world", Row("PhysicsScene", "exact: direction and magnitude; `upAxis` is Y or Z, opposite to it")),
    (
        "time step",
        Row(
            "newton:timeStepsPerSecond, mjc:option:timestep", "exact for MuJoCo, a whole number for Newton", ("US212",)
        ),
    ),
    ("friction of contacts", Row("PhysicsMaterialAPI", "1, and no bounce, as everywhere in exoskel")),
    ("model", Row("Xform, kind component", "exact; its pose is in those of its bodies")),
    (
        "model that moves and has joints",
        Row("PhysicsArticulationRootAPI", "exact; joints that close loops are outside of it"),
    ),
    ("static model", Row("no PhysicsRigidBodyAPI", "exact: its colliders stand still", ("US210",))),
    (
        "body at its initial place",
        Row("Xform, kind subcomponent", "exact, in double precision and in the world's axes"),
    ),
    ("mass, centre of mass", Row("PhysicsMassAPI", "exact to single precision", ("US211",))),
    (
        "moments of inertia",
        Row(
            "physics:diagonalInertia, physics:principalAxes, newton:inertia",
            "all six, in single precision, and exact for Newton",
            ("US211",),
        ),
    ),
    (
        "velocity of a body",
        Row(
            "physics:velocity, physics:angularVelocity",
            "exact: of the centre of mass, in the body's axes, as Newton takes it",
        ),
    ),
    ("body without gravity", Row("physxRigidBody:disableGravity, mjc:body:gravcomp", "exact for PhysX and MuJoCo")),
    ("body that sleeps", Row("physics:startsAsleep", "exact")),
    ("markers", Row("Sphere with NewtonSiteAPI", "exact")),
    ("colours", Row("UsdPreviewSurface, primvars:displayColor", "exact")),
    (
        "shapes that are seen; that collide",
        Row("default purpose; PhysicsCollisionAPI, purpose guide where others are seen", "exact"),
    ),
    ("shapes that touch nothing", Row("physics:collisionEnabled", "exact")),
    ("bodies of one model that pass each other, shapes that pass by name", Row("PhysicsCollisionGroup", "exact")),
    (
        "bodies that a joint ties, where those of one model meet",
        Row(
            "physics:collisionEnabled, PhysicsFilteredPairsAPI",
            "exact: by the joint, or as a pair where no joint of USD is between them",
        ),
    ),
    (
        "frames of a joint",
        Row(
            "physics:localPos0, localRot0, localPos1, localRot1",
            "exact to single precision; zero positions are where both coincide",
        ),
    ),
    (
        "initial positions and velocities of joints",
        Row("PhysxJointStateAPI", "exact, in degrees; of balls by the bodies alone"),
    ),
    ("limits of position", Row("physics:lowerLimit, PhysicsLimitAPI", "exact, in degrees and m", ("US303", "US304"))),
    (
        "springs and dampers",
        Row("PhysicsDriveAPI of type force", "exact; the damping of balls as newton:damping", ("US205", "US303")),
    ),
    ("dry friction", Row("newton:friction, mjc:frictionloss", "exact if all axes have the same", ("US205",))),
    ("limits of velocity", Row("newton:velocityLimit", "exact if the same for all axes and both ways", ("US205",))),
    ("limits of force", Row("mjc:actuatorfrcrange", "exact for joints with one axis", ("US305",))),
    ("servos, motors of ODE, prescribed joints", Row("PhysicsDriveAPI", "approximated: a stiff damper", ("US203",))),
    (
        "soft stops of ODE",
        Row("newton:limitStiffness, newton:limitDamping", "exact if all axes have the same", ("US205",)),
    ),
    ("joint that follows another", Row("NewtonMimicAPI", "exact for joints with one axis", ("US204", "US309"))),
    ("joint that closes a loop", Row("physics:excludeFromArticulation", "exact", ("US313",))),
    (
        "limits of acceleration, bounce and fudge factor of stops, ERP and CFM, forces of the first step, soft skins, "
        "collision detector",
        Row("", "dropped", ("US301", "US305", "US306", "US307", "US311")),
    ),
)
"""All other parts of a scene."""
