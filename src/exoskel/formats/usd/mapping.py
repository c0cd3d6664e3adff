"""How scenes and USD prims correspond: tables for the writer, the fates of a conversion and the documentation."""

from __future__ import annotations

import re

from msgspec import Struct

from exoskel.fates import Verdict, no_effect
from exoskel.formats.interface import DiagnosticEffects, NodeKey, SourceMapping
from exoskel.formats.usd.reader.stage import CLASS, INACTIVE, OVER, VARIANT
from exoskel.formats.usd.textures import COORDINATE_NAMES
from exoskel.scene.body import Body, Marker
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape
from exoskel.scene.world import World
from exoskel.source.document import Document
from exoskel.source.object_document import ObjectDocument
from exoskel.source.vocabulary import FLATTENED, STRUCTURE, FieldRows, SceneField, SceneFieldTable, dof_field, unused


class PrimMapping(Struct, frozen=True):
    """One row of the mapping: the USD prim or property, how exact it is, and the possible diagnostics."""

    prim: str
    how: str
    codes: tuple[str, ...] = ()


SKIN = "exoskelSkin"
"""The custom data of a mesh that shows the skin of a soft body, and is not a shape of the scene."""
CONE_ANGLES = ("physics:coneAngle0Limit", "physics:coneAngle1Limit")
"""The limits of a spherical joint: how far its axis may turn towards the next axis, and towards the one after it."""
PRESERVED = "exoskelPreserved"
"""The custom data of a prim that was copied from the source, and is not part of the scene."""
JOINTS: dict[str, PrimMapping] = {
    "weld": PrimMapping("PhysicsFixedJoint", "exact"),
    "revolute": PrimMapping("PhysicsRevoluteJoint", "exact", ("US312",)),
    "prismatic": PrimMapping("PhysicsPrismaticJoint", "exact", ("US312",)),
    "ball": PrimMapping("PhysicsSphericalJoint", "exact motion", ("US217", "US303")),
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
        "Sphere",
        "exact if its diameters are equal, and as a visual, scaled; as a collider, the convex hull of a mesh",
        ("US207",),
    ),
    "pyramid": PrimMapping("Mesh", "exact: the convex hull of its five corners"),
    "multi_sphere": PrimMapping("Mesh", "approximated: the convex hull of a mesh", ("US207",)),
    "mesh": PrimMapping("Mesh", "triangles in single precision, scaled", ("US308",)),
    "trimesh": PrimMapping("Mesh", "triangles in single precision"),
    "ray": PrimMapping("", "dropped", ("US308",)),
}
"""How each geometry is written."""

# --- what prims, properties and the diagnostics of the reader mean for a conversion -----------------------

GROUP = "Scope"
"""The tag of prims that only group others."""
USED, COMMENT = "used class", "comment"
"""The tags of prims that others inherit or refer to, and of comments."""
NOT_COMPOSED = frozenset({VARIANT, INACTIVE, CLASS, OVER, USED, COMMENT})
"""The tags of what is in a file and not in its composed stage."""
GROUP_TYPES = frozenset({"", "Xform", "Scope"})
UNREAD_TYPES = frozenset(
    {
        "BasisCurves",
        "HermiteCurves",
        "NurbsCurves",
        "NurbsPatch",
        "PointInstancer",
        "Points",
        "SkelAnimation",
        "SkelRoot",
        "Skeleton",
        "TetMesh",
        "Volume",
        "PhysxPhysicsGearJoint",
        "PhysxPhysicsRackAndPinionJoint",
        "MjcEquality",
        "MjcKeyframe",
    }
)
"""Types of prims that may have an effect and are not read."""
CAMERA = "Camera"
_READ_LIGHTS = ("DistantLight", "SphereLight", "RectLight", "DiskLight", "CylinderLight")
LIGHTS = frozenset({*_READ_LIGHTS, "DomeLight", "DomeLight_1", "PortalLight", "GeometryLight", "PluginLight"})
"""Types of prims that are lights."""
CAMERA_SETTINGS = (
    *("horizontalApertureOffset", "verticalApertureOffset", "clippingPlanes"),
    *("fStop", "focusDistance", "stereoRole", "shutter:open", "shutter:close", "exposure"),
    *(f"exposure:{name}" for name in ("time", "iso", "fStop", "responsivity")),
)
HORIZONTAL_APERTURE = "horizontalAperture"
CLIPPING_RANGE = "clippingRange"
TEMPERATURE = "inputs:enableColorTemperature"
LIGHT_SETTINGS = (
    *("inputs:colorTemperature", "inputs:texture:file", "light:filters", "light:shaderId"),
    *(
        f"inputs:shaping:{name}"
        for name in ("focusTint", "cone:softness", "ies:file", "ies:angleScale", "ies:normalize")
    ),
    *(f"inputs:shadow:{name}" for name in ("color", "distance", "falloff", "falloffGamma")),
    *("collection:lightLink:includes", "collection:lightLink:excludes"),
    *("collection:shadowLink:includes", "collection:shadowLink:excludes"),
)
"""Properties of cameras and lights that a scene does not have."""
_VIEW_SETTINGS = frozenset(
    {
        *(*CAMERA_SETTINGS, *LIGHT_SETTINGS, HORIZONTAL_APERTURE, CLIPPING_RANGE, TEMPERATURE),
        *("focalLength", "verticalAperture", "projection", "visibility", "treatAsPoint", "treatAsLine"),
        *(f"inputs:{name}" for name in ("angle", "color", "exposure", "intensity", "normalize", "diffuse", "specular")),
        *(f"inputs:{name}" for name in ("radius", "width", "height", "length", "shadow:enable")),
        *("inputs:shaping:cone:angle", "inputs:shaping:focus"),
    }
)
"""Properties of cameras and lights that mean something."""
_COLLISION_GROUP = "PhysicsCollisionGroup"
_GROUP_SETTINGS = frozenset(
    {
        *("physics:mergeGroup", "physics:invertFilteredGroups", "physics:filteredGroups"),
        *(f"collection:colliders:{name}" for name in ("includes", "excludes", "expansionRule", "includeRoot")),
    }
)
"""Properties of collision groups that mean something."""

_SHOWN = unused("appearance: not part of a scene")
_LABEL = unused("a label that nothing refers to")
_OTHER_SCHEMA = unused("an attribute of another schema: not part of a scene", affects_motion=True)
_DEFAULTS = unused("describes the file")
MATERIAL_INPUTS = ("inputs:roughness", "inputs:metallic")
"""The inputs of `UsdPreviewSurface` that are the roughness and metalness of a shape."""
_SHAPES = {"friction": SceneField("friction", owner="shapes"), "color": SceneField("color", owner="shapes")}


def _view_rows() -> dict[str, SceneField | str]:
    """The rows of cameras and lights."""
    rows: dict[str, SceneField | str] = {}
    sides: tuple[tuple[str, str, frozenset[str], tuple[str, ...]], ...] = (
        ("camera", "cameras", frozenset({CAMERA}), CAMERA_SETTINGS),
        ("light", "lights", LIGHTS, LIGHT_SETTINGS),
    )
    for name, field, kinds, settings in sides:
        lost = SceneField(field, unused=f"a {name} of a scene has no such setting", affects_motion=True)
        for kind in kinds:
            rows |= {f"{kind}/**": SceneField(field, owner="world")}
            rows |= {f"{kind}/@{setting}": lost for setting in settings}
    rows[f"{CAMERA}/@{CLIPPING_RANGE}"] = unused("what viewers clip: not part of a scene")
    return rows


def _actuator_rows() -> dict[str, SceneField | str]:
    """The rows of actuators and tendons."""
    actuator, tendon = (SceneField(name, owner="world") for name in ("actuators", "tendons"))
    ranges = [f"{name}Range:{side}" for name in ("ctrl", "force", "act") for side in ("min", "max")]
    own = ["target", "gainPrm", "gainType", "biasPrm", "biasType", "dynType", "dynPrm", "actEarly", "gear"]
    own += [f"{name}Limited" for name in ("ctrl", "force", "act")]
    rows = {f"MjcActuator/@mjc:{name}": actuator for name in (*own, *ranges)}
    newton = ("targets", "kp", "ki", "kd", "constEffort", "maxEffort")
    rows |= {f"NewtonActuator/@newton:{name}": actuator for name in newton}
    ranges = [f"{name}:{side}" for name in ("range", "actuatorfrcrange") for side in ("min", "max")]
    tendons = ["path", "path:coef", "path:indices", "path:segments", "path:divisors", "sideSites", "sideSites:indices"]
    tendons += ("type", "actuatorfrclimited", "stiffness", "damping", "frictionloss", "armature")
    rows |= {f"MjcTendon/@mjc:{name}": tendon for name in (*tendons, "springlength", "limited", *ranges)}
    rows |= dict.fromkeys(("MjcTendon/@exoskel:path", "MjcTendon/@exoskel:path:axes"), tendon)
    return {**rows, "MjcActuator": actuator, "NewtonActuator": actuator, "MjcTendon": tendon}


def _instancer_rows() -> dict[str, SceneField | str]:
    """The rows of point instancers."""
    kind, placed = "PointInstancer", SceneField("pose", owner="shapes")
    read = ("positions", "orientations", "orientationsf", "scales", "protoIndices", "prototypes")
    rows: dict[str, SceneField | str] = {f"{kind}/@{name}": placed for name in read}
    rows |= dict.fromkeys([f"{kind}/@{name}" for name in ("ids", "invisibleIds", "xformOp")], FLATTENED)
    lost = unused("instances are read at rest", affects_motion=True)
    rows |= {f"{kind}/@{name}": lost for name in ("velocities", "angularVelocities", "accelerations")}
    return {**rows, kind: STRUCTURE, f"{kind}/{GROUP}": STRUCTURE}


_SELF_COLLISION = ("newton:selfCollisionEnabled", "physxArticulation:enabledSelfCollisions")
"""The properties of articulation roots, which may be any prim of a model."""
_ANYWHERE: dict[str, SceneField | str] = {
    GROUP: STRUCTURE,
    f"{GROUP}/@xformOp": FLATTENED,
    **{f"{GROUP}/@{name}": SceneField("self_collision", owner="world") for name in _SELF_COLLISION},
    **dict.fromkeys((f"{GROUP}/@newton:jointsAddMobility", "PhysicsScene/@mjc:compiler:angle"), STRUCTURE),
    f"{GROUP}/@physics:filteredPairs": SceneField("collision_exempt_groups", owner="world"),
    f"{GROUP}/@material:binding": _SHAPES["color"],
    f"{GROUP}/@material:binding:physics": _SHAPES["friction"],
    VARIANT: unused("a variant that is not selected: not part of a scene", affects_motion=True),
    INACTIVE: unused("the prim is not active: not part of a scene", affects_motion=True),
    CLASS: unused("a class that no prim inherits: not part of a scene"),
    OVER: unused("the prim is not defined: not part of a scene"),
    USED: SceneField(elsewhere="in the prims that inherit it or refer to it"),
    COMMENT: unused("a new document has no comments of the source"),
    "PhysicsScene": STRUCTURE,
    **dict.fromkeys(
        (
            *("PhysicsScene/@physics:gravityDirection", "PhysicsScene/@physics:gravityMagnitude"),
            *("PhysicsScene/@newton:gravityEnabled", "PhysicsScene/@mjc:flag:gravity"),
        ),
        SceneField("gravity", owner="world"),
    ),
    **dict.fromkeys(
        (
            "PhysicsScene/@mjc:option:timestep",
            "PhysicsScene/@newton:timeStepsPerSecond",
            "PhysicsScene/@physxScene:timeStepsPerSecond",
        ),
        SceneField("time_step", owner="world"),
    ),
    f"{_COLLISION_GROUP}/**": SceneField("collision_exempt_groups", owner="world"),
    "Material": STRUCTURE,
    "Material/@physics:staticFriction": _SHAPES["friction"],
    "Material/@physics:dynamicFriction": _SHAPES["friction"],
    "Material/@physics:restitution": SceneField("restitution", owner="shapes"),
    "Material/@physics:density": SceneField("inertia", owner="bodies"),
    "Material/@inputs:diffuseColor": _SHAPES["color"],
    "Material/Shader": STRUCTURE,
    "Material/Shader/@inputs:diffuseColor": _SHAPES["color"],
    "Material/Shader/@inputs:diffuse_color_constant": _SHAPES["color"],
    "Material/Shader/@inputs:base_color": _SHAPES["color"],
    "Material/Shader/@inputs:opacity": _SHAPES["color"],
    **{f"Material/Shader/@{name}": SceneField("material", owner="shapes") for name in MATERIAL_INPUTS},
    "Material/Shader/@inputs:opacity_constant": _SHAPES["color"],
    **{f"Material/Shader/@{name}": SceneField("material", owner="shapes") for name in ("inputs:file", "inputs:scale")},
    **_actuator_rows(),
    **{f"{kind}/**": _SHOWN for kind in ("Shader", "NodeGraph", "GeomSubset", "RenderSettings")},
    **_view_rows(),
    **_instancer_rows(),
}
"""Prims that are not items of a scene, wherever they are."""

_LAYER: dict[str, SceneField | str] = {
    "": STRUCTURE,
    "@metersPerUnit": FLATTENED,
    "@kilogramsPerUnit": FLATTENED,
    "@upAxis": SceneField(elsewhere="in the direction of gravity"),
    **dict.fromkeys(
        ("@customLayerData", "@documentation", "@comment", "@timeCodesPerSecond", "@framesPerSecond"), _LABEL
    ),
    **dict.fromkeys(("@startTimeCode", "@endTimeCode", "@defaultPrim"), _DEFAULTS),
    "@subLayers": SceneField(elsewhere="in the prims that the layers describe"),
}
_GEOMETRY = (
    *(
        "@size",
        "@radius",
        "@radiusTop",
        "@radiusBottom",
        "@height",
        "@axis",
        "@points",
        "@faceVertexIndices",
        "@faceVertexCounts",
        "@orientation",
    ),
    "@physics:approximation",
    *(f"@primvars:{name}{end}" for name in COORDINATE_NAMES for end in ("", ":indices")),
)
_BODY: dict[str, SceneField | str] = {
    "": STRUCTURE,
    "@xformOp": "pose",
    "@physics:mass": SceneField("inertia", parts=("mass",)),
    "@physics:density": "inertia",
    "@physics:centerOfMass": SceneField("inertia", parts=("com",)),
    **dict.fromkeys(("@physics:diagonalInertia", "@physics:principalAxes", "@newton:inertia"), "inertia"),
    **dict.fromkeys(("@physics:velocity", "@physics:angularVelocity"), dof_field("velocity", owner="joints")),
    **dict.fromkeys(("@physics:rigidBodyEnabled", "@physics:kinematicEnabled", "@physics:simulationOwner"), STRUCTURE),
    "@newton:jointsAddMobility": STRUCTURE,
    "@physics:startsAsleep": SceneField("state", ("enabled",)),
    "@physxRigidBody:disableGravity": "gravity",
    "@mjc:body:gravcomp": "gravity",
    "@physics:filteredPairs": SceneField("collision_exempt_groups", owner="world"),
    **{f"@{name}": SceneField("self_collision", owner="world") for name in _SELF_COLLISION},
    "@material:binding": _SHAPES["color"],
    "@material:binding:physics": _SHAPES["friction"],
    **dict.fromkeys(_GEOMETRY, SceneField("geometry", owner="shapes")),  # of a prim that is a body and a shape
    "@physics:collisionEnabled": SceneField("collidable", owner="shapes"),
    **dict.fromkeys(("@primvars:displayColor", "@primvars:displayOpacity"), _SHAPES["color"]),
}
_SHAPE: dict[str, SceneField | str] = {
    "": STRUCTURE,
    "@xformOp": "pose",
    **dict.fromkeys(_GEOMETRY, "geometry"),
    "@physics:collisionEnabled": "collidable",
    "@physics:simulationOwner": STRUCTURE,
    **dict.fromkeys(
        (
            *("@physics:mass", "@physics:density", "@physics:centerOfMass"),
            *("@physics:diagonalInertia", "@physics:principalAxes", "@newton:inertia"),
        ),
        SceneField("inertia", owner="body"),
    ),
    "@physics:filteredPairs": SceneField("collision_exempt_groups", owner="world"),
    "@primvars:displayColor": "color",
    "@primvars:displayOpacity": "color",
    "@material:binding": "color",
    "@material:binding:physics": "friction",
    "@purpose": STRUCTURE,
    "@visibility": STRUCTURE,
    **dict.fromkeys(("@width", "@length", "@extent", "@normals", "@subdivisionScheme", "@doubleSided"), _SHOWN),
}
_LIMITS, _FORCE = dof_field("position_limits"), dof_field("force_limits")
_JOINT: dict[str, SceneField | str] = {
    "": STRUCTURE,
    "@physics:body0": "parent",
    "@physics:body1": "child",
    **{f"@physics:local{word}{side}": "pose" for word in ("Pos", "Rot") for side in "01"},
    "@physics:axis": "axes",
    **dict.fromkeys(
        (
            *("@physics:lowerLimit", "@physics:upperLimit", "@limit:physics:low", "@limit:physics:high"),
            *(f"@{name}" for name in CONE_ANGLES),
        ),
        _LIMITS,
    ),
    "@drive:physics:type": STRUCTURE,
    "@drive:physics:stiffness": dof_field("stiffness"),
    "@drive:physics:damping": dof_field("damping"),
    "@drive:physics:targetPosition": dof_field("rest"),
    "@drive:physics:targetVelocity": "drives",
    "@drive:physics:maxForce": "drives",
    "@state:physics:position": dof_field("position"),
    "@state:physics:velocity": dof_field("velocity"),
    **dict.fromkeys(("@newton:friction", "@mjc:frictionloss", "@physxJoint:jointFriction"), dof_field("friction")),
    **dict.fromkeys(("@newton:damping", "@mjc:damping"), dof_field("damping")),
    "@mjc:stiffness": dof_field("stiffness"),
    "@mjc:springref": dof_field("rest"),
    "@mjc:ref": _LIMITS,
    "@newton:mimicEnabled": STRUCTURE,
    "@mjc:target": "mimic",
    **{f"@mjc:coef{power}": "mimic" for power in range(5)},
    **dict.fromkeys(("@newton:armature", "@mjc:armature", "@physxJoint:armature"), dof_field("armature")),
    "@newton:limitStiffness": "drives",
    "@newton:limitDamping": "drives",
    **dict.fromkeys(("@newton:velocityLimit", "@physxJoint:maxJointVelocity"), dof_field("velocity_limits")),
    **dict.fromkeys(("@mjc:actuatorfrcrange:min", "@mjc:actuatorfrcrange:max", "@mjc:actuatorfrclimited"), _FORCE),
    "@physics:excludeFromArticulation": "loop",
    "@physics:collisionEnabled": "collide_connected",
    "@physics:jointEnabled": STRUCTURE,
    **dict.fromkeys(("@newton:mimicJoint", "@newton:mimicCoef0", "@newton:mimicCoef1"), "mimic"),
    **{f"@physxMimicJoint:{word}": "mimic" for word in ("referenceJoint", "gearing", "offset")},
    "@visibility": _SHOWN,
}
FIELD_ROWS: FieldRows = {
    None: {**_ANYWHERE, **_LAYER},
    World: {
        **_ANYWHERE,
        **_LAYER,
        "@xformOp": FLATTENED,
        "@defaultPrim": "name",
        "@material:binding:physics": STRUCTURE,
    },
    Model: {
        **_ANYWHERE,
        "": STRUCTURE,
        "@xformOp": FLATTENED,
        **{f"@{name}": SceneField("self_collision", owner="world") for name in _SELF_COLLISION},
    },
    Body: {**_ANYWHERE, **_BODY},
    Shape: {**_ANYWHERE, **_SHAPE},
    Marker: {"": STRUCTURE, "@xformOp": "offset", "@radius": _SHOWN, "@purpose": _SHOWN},
    Joint: {
        **_ANYWHERE,
        **_JOINT,
        **{f"@{name}": SceneField("self_collision", owner="world") for name in _SELF_COLLISION},
    },
}

_INSTANCED = re.compile(r"^(limit|drive|state|physxMimicJoint):[A-Za-z]+:")
PHYSICAL = ("physics:", "physx", "mjc:", "newton:", "isaac", "state:", "drive:", "limit:")
"""Beginnings of the names of properties that may change the motion."""


_OWN_SETTINGS: dict[str, frozenset[str]] = {
    **dict.fromkeys((CAMERA, *LIGHTS), _VIEW_SETTINGS),
    _COLLISION_GROUP: _GROUP_SETTINGS,
}
"""The properties of prims that are not items: others, and prims inside, are not part of a scene."""


class PrimFieldTable(SceneFieldTable):
    """The fields that prims and their properties set.

    Groups do not count in paths, nor do the names of instances in names of properties.
    """

    def find(self, kind: type[Item] | None, path: str) -> SceneField | None:
        element, at, name = path.partition("@")
        steps = [step for step in element.split("/") if step]
        inner = steps if steps == [GROUP] else [step for step in steps if step != GROUP]
        if inner and inner[-1] in _OWN_SETTINGS:  # wherever it is
            inner = inner[-1:]
        found = super().find(kind, "/".join([*inner, f"@{_base_name(name)}"] if at else inner))
        outer = next((step for step in inner if step in _OWN_SETTINGS), "")
        is_other = bool(at) and name not in _OWN_SETTINGS.get(outer, ()) and not name.startswith("xformOp")
        if outer and (inner[-1] != outer or is_other):
            found = None
        if found is not None or not at:
            return found
        return _OTHER_SCHEMA if name.startswith(PHYSICAL) else _SHOWN


def _base_name(name: str) -> str:
    if name.startswith("xformOp"):
        return "xformOp"
    return _INSTANCED.sub(r"\1:", name)


_ROTATIONS = ("X", "Y", "Z", "XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
_POSE_OPERATIONS = tuple(
    f"xformOp:{name}" for name in ("translate", "orient", "transform", *(f"rotate{axes}" for axes in _ROTATIONS))
)
"""The properties that put a body somewhere."""


def find_unused(document: Document) -> dict[NodeKey, Verdict]:
    """Find properties that have no effect where they are."""
    reasons = document.unused if isinstance(document, ObjectDocument) else {}
    return {key: no_effect(reason) for key, reason in reasons.items()}


SOURCE_MAPPING = SourceMapping(
    PrimFieldTable(FIELD_ROWS),
    DiagnosticEffects(
        ignored=(
            "US004",
            "US004.type",
            "US004.infinite",
            "US004.negative",
            "US004.skipped",
            "US004.replaced",
            "US101",
            "US102",
            "US105.mesh",
            "US106.disabled",
            "US106.moving",
            "US106.welded",
            "US106.mimic",
            "US108.unused",
            "US113",
            "US114",
            "US115.aspect",
            "US115.temperature",
            "US116",
        ),
        used=(
            "US104",
            "US105.approximation",
            "US106.reversed",
            "US106.axes",
            "US106.apart",
            "US106.cone",
            "US107",
            "US109",
            "US111",
            "US115.area",
            "US115.bright",
        ),
        attributes={
            "US106.apart": ("", *_POSE_OPERATIONS),
            "US106.welded": tuple(f"physics:local{word}{side}" for word in ("Pos", "Rot") for side in "01"),
        },
    ),
    find_unused=find_unused,
    transparent=frozenset({GROUP}),
)
