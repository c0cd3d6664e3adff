"""No property is called exact that does not change the scene: a change of each one is read, or has another fate."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import exoskel
from exoskel.fates import Fate
from exoskel.formats.usd.mapping import FIELD_ROWS
from exoskel.formats.usd.reader.value_types import has_type
from exoskel.scene.body import Body
from exoskel.scene.fields import FIELDS
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.json_codec import encode_value, field_value
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape
from tests.usd.test_mujoco_joints import body, joint, load

pytest.importorskip("pxr", reason="usd-core is not installed")

JOINTS = ("PhysicsRevoluteJoint", "PhysicsPrismaticJoint", "PhysicsSphericalJoint", "PhysicsJoint", "PhysicsFixedJoint")
SHAPES = ("Cube", "Sphere", "Cylinder", "Capsule_1")
INSTANCES = {"PhysicsPrismaticJoint": "linear", "PhysicsJoint": "rotX"}
FLAGS = frozenset(
    {
        *("newton:mimicEnabled", "physics:excludeFromArticulation", "physics:collisionEnabled"),
        *("physics:startsAsleep", "physxRigidBody:disableGravity", "physics:kinematicEnabled"),
    }
)
APIS = ", ".join(
    f'"Physics{name}"'
    for name in ("LimitAPI:transX", "LimitAPI:rotX", "DriveAPI:angular", "DriveAPI:linear", "DriveAPI:rotX")
)
AGREEING = ":physics:position"
"""The position of a joint, which the poses of its bodies state more precisely."""
LOCKED = "".join(
    f"\n        float limit:{axis}:physics:low = 1\n        float limit:{axis}:physics:high = -1"
    for axis in ("transX", "transY", "transZ", "rotY", "rotZ")
)
"""What locks all axes of a generic joint but one."""
COPY = """def Xform "{name}" {{
    def Xform "p" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {{
        float physics:mass = 1
    }}
    def Xform "q" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {{
        {body}
        def {shape} "c" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMassAPI"]) {{
            {collider}
        }}
    }}
    def {kind} "j" (prepend apiSchemas = [{apis}]) {{
        rel physics:body0 = </W/{name}/p>
        rel physics:body1 = </W/{name}/q>
        {joint}
    }}
}}
"""


def values(name: str) -> tuple[str, str] | None:
    """Two declarations of a property; None if it is not a number, vector or flag."""
    base = re.sub(r"^(limit|drive|state|physxMimicJoint):\w+:", r"\1:", name)
    if base in FLAGS:
        return f"bool {name} = 0", f"bool {name} = 1"
    if has_type(name, "word"):  # or anything
        return None
    if has_type(name, 0.5):
        return f"double {name} = 0.3", f"double {name} = 0.7"
    if has_type(name, (1.0, 0.0, 0.0, 0.0)):
        return f"quatf {name} = (1, 0, 0, 0)", f"quatf {name} = (0.8, 0.6, 0, 0)"
    return f"float3 {name} = (0.3, 0.2, 0.1)", f"float3 {name} = (0.1, 0.5, 0.2)"


def contents(model: Model) -> str:
    """What the items of a model state, apart from names."""

    def encoded(item: Item) -> str:
        links = {"parent", "child", "visuals", "collisions", "markers", "name"}
        return json.dumps(
            {name: encode_value(field_value(item, name)) for name in FIELDS[type(item)] if name not in links}
        )

    items: list[Item] = [*model.bodies, *(shape for one in model.bodies for shape in one.shapes), *model.joints]
    return "\n".join(map(encoded, items))


def properties(kind: type[Item], joint_kind: str) -> list[str]:
    rows = [path[1:] for path in FIELD_ROWS[kind] if path.startswith("@")]
    instance = INSTANCES.get(joint_kind, "angular")
    return [re.sub(r"^(limit|drive|state|physxMimicJoint):", rf"\1:{instance}:", name) for name in rows]


def check(folder: Path, kind: type[Item], joint_kind: str, shape: str) -> None:
    """Write two copies of a model for each property, with different values of it."""
    tried = [(name, found) for name in properties(kind, joint_kind) if (found := values(name)) is not None]
    assert len(tried) > 10
    axis = 'uniform token physics:axis = "Y"' if joint_kind in JOINTS[:3] else ""
    mass, size = "float physics:mass = 1", "double size = 0.2" if shape == "Cube" else ""
    text = ""
    for number, (name, both) in enumerate(tried):
        for side, declared in zip("xy", both, strict=True):
            own = {one: declared if kind is which else "" for one, which in OWNERS.items()}
            own["body"] += "" if name == "physics:mass" and kind is Body else f"\n        {mass}"
            own["collider"] += "" if name == "size" else f"\n            {size}"
            own["joint"] += f"\n        {axis}" if kind is not Joint or name != "physics:axis" else ""
            own["joint"] += LOCKED if joint_kind == "PhysicsJoint" else ""
            text += COPY.format(name=f"m{number}{side}", shape=shape, kind=joint_kind, apis=APIS, **own)
    path = folder / "scene.usda"
    head = '#usda 1.0\n(\n    metersPerUnit = 1\n    upAxis = "Z"\n)\ndef PhysicsScene "s" {\n}\n'
    path.write_text(f'{head}def Xform "W" {{\n{text}}}\n')
    scene = exoskel.load(path)
    models = {model.name: contents(model) for model in scene.world.models}
    fates = exoskel.convert(scene, None, to="mjcf").items
    found = {item.path: item.fate for item in fates}
    own = [f"/W/m{number}y/{LEAVES[kind]}/@{name}" for number, (name, _) in enumerate(tried)]
    assert found.keys() >= set(own)
    same = [models[f"m{number}x"] == models[f"m{number}y"] for number in range(len(tried))]
    assert any(same) and not all(same)
    wrong = [path for path, is_same in zip(own, same, strict=True) if is_same and found[path] is Fate.EXACT]
    assert [path for path in wrong if not path.endswith(AGREEING)] == []


OWNERS: dict[str, type[Item]] = {"body": Body, "collider": Shape, "joint": Joint}
LEAVES: dict[type[Item], str] = {Body: "q", Shape: "q/c", Joint: "j"}


@pytest.mark.parametrize("kind", JOINTS)
def test_no_property_of_a_joint_without_effect_is_exact(kind: str, tmp_path: Path) -> None:
    check(tmp_path, Joint, kind, "Cube")


@pytest.mark.parametrize("shape", SHAPES)
def test_no_property_of_a_shape_without_effect_is_exact(shape: str, tmp_path: Path) -> None:
    check(tmp_path, Shape, "PhysicsRevoluteJoint", shape)


def test_no_property_of_a_body_without_effect_is_exact(tmp_path: Path) -> None:
    check(tmp_path, Body, "PhysicsRevoluteJoint", "Cube")


@pytest.mark.parametrize(
    ("values", "fate"),
    [
        ("double mjc:ref = 10", "dropped"),
        ("double mjc:ref = 10\n    float physics:lowerLimit = -5", "exact"),
        ("double mjc:ref = 10\n    double mjc:stiffness = 3", "exact"),
    ],
)
def test_a_reference_has_an_effect_on_limits_and_springs(values: str, fate: str, tmp_path: Path) -> None:
    scene = load(body("a") + joint("turn", "a", values), tmp_path)
    (found,) = [one for one in exoskel.convert(scene, None, to="mjcf").items if one.path.endswith("mjc:ref")]
    assert (found.fate.value, found.loss) == (fate, False)


def test_kinematic_bodies_with_joints_are_reported(tmp_path: Path) -> None:
    text = body("a") + joint("turn", "a")
    scene = load(
        text.replace("float physics:mass", "bool physics:kinematicEnabled = 1\n    float physics:mass"), tmp_path
    )
    assert [one.key for one in scene.diagnostics if one.code == "US112"] == ["US112.joint"]
