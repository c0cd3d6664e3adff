"""Edits of a USD file: nothing else changes, what the scene does not contain stays, and what is lost is reported."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from msgspec import structs

import exoskel
from exoskel import Actuator, Box, Scene, SceneCamera, Sphere
from exoskel.scene.body import Body
from exoskel.scene.joint import Joint
from exoskel.scene.shape import Shape

pytest.importorskip("pxr", reason="usd-core is not installed")

FILE = """#usda 1.0
(
    defaultPrim = "World"
    metersPerUnit = 1
    kilogramsPerUnit = 1
    upAxis = "Z"
)
class "_part" {
    def Xform "lower" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {
        float physics:mass = 3
        custom string note = "NOTE_lower"
        def Cube "c" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {
            double size = 0.2
        }
    }
    def Xform "upper" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {
        float physics:mass = 1
        double3 xformOp:translate = (0, 0, 0.5)
        uniform token[] xformOpOrder = ["xformOp:translate"]
        def Sphere "s" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {
            double radius = 0.1
            custom string note = "NOTE_s"
        }
    }
    def PhysicsRevoluteJoint "hinge" {
        rel physics:body0 = </_part/lower>
        rel physics:body1 = </_part/upper>
        uniform token physics:axis = "Z"
        point3f physics:localPos0 = (0, 0, 0.5)
        custom string note = "NOTE_hinge"
    }
}
def Xform "World" {
    custom string note = "NOTE_world"
    def PhysicsScene "scene" {
        int physxScene:extra = 5001
    }
    def DomeLight "dome" {
        custom string note = "NOTE_dome"
    }
    def Xform "one" (prepend references = </_part>) {
        double3 xformOp:translate = (1, 0, 0)
        uniform token[] xformOpOrder = ["xformOp:translate"]
    }
    def Xform "two" (instanceable = true
        prepend references = </_part>) {
        double3 xformOp:translate = (2, 0, 0)
        uniform token[] xformOpOrder = ["xformOp:translate"]
        custom string note = "NOTE_two"
    }
    def PointInstancer "many" {
        point3f[] positions = [(10, 0, 0), (11, 0, 0)]
        int[] protoIndices = [0, 0]
        rel prototypes = [</World/many/ball>]
        def Sphere "ball" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]) {
            double radius = 0.2
            custom string note = "NOTE_ball"
        }
    }
    def Camera "eye" {
        float focalLength = 30
        custom string note = "NOTE_eye"
    }
    def SphereLight "lamp" {
        custom string note = "NOTE_lamp"
        double3 xformOp:translate = (0, 0, 3)
        uniform token[] xformOpOrder = ["xformOp:translate"]
    }
    def MjcActuator "motor" {
        rel mjc:target = </World/one/hinge>
        int mjc:group = 3
        custom string note = "NOTE_motor"
    }
    def MjcActuator "muscle" {
        rel mjc:target = </World/one/hinge>
        uniform token mjc:gainType = "muscle"
        custom string note = "NOTE_muscle"
    }
    def MjcTendon "rope" {
        uniform token mjc:type = "fixed"
        rel mjc:path = </World/one/hinge>
        uniform double mjc:stiffness = 3
        custom string note = "NOTE_rope"
    }
}
"""


def body(scene: Scene, name: str = "one") -> Body:
    return scene.world.model(name).bodies[-1]


def hinge(scene: Scene) -> Joint:
    return scene.world.model("one").joints[-1]


def change(scene: Scene, field: str, **values: object) -> None:
    objects = getattr(scene.world, field)
    objects[0] = structs.replace(objects[0], **values)


Edit = Callable[[Scene], object]
EDITS: dict[str, Edit] = {
    "gravity": lambda s: setattr(s.world, "gravity", (0.0, 0.0, -3.0)),
    "name of the world": lambda s: setattr(s.world, "name", "other"),
    "self-collision": lambda s: setattr(s.world, "self_collision", True),
    "new model": lambda s: s.world.add_model("new").add_body(
        "b", mass=1.0, joint="free", shapes=[Box((0.1, 0.1, 0.1))]
    ),
    "new camera": lambda s: s.world.cameras.append(SceneCamera("new")),
    "new actuator": lambda s: s.world.actuators.append(Actuator("new", joint="two/hinge", kind="position", gain=5.0)),
    "name of a model": lambda s: setattr(s.world.model("one"), "name", "renamed"),
    "mass of an instance": lambda s: setattr(body(s, "two"), "mass", 2.5),
    "mass of a point instance": lambda s: setattr(body(s, "ball_1"), "mass", 2.5),
    "name of a body": lambda s: setattr(body(s), "name", "renamed"),
    "new child": lambda s: s.world.model("one").add_body("tip", parent=body(s), joint="weld", mass=0.5),
    "new shape": lambda s: body(s).visuals.append(Shape(geometry=Sphere(0.3), name="new")),
    "size of a shape": lambda s: setattr(body(s).collisions[0], "geometry", Sphere(0.35)),
    "colour of a shape": lambda s: setattr(body(s).collisions[0], "color", (0.25, 0.5, 0.75, 1.0)),
    "name of a joint": lambda s: setattr(hinge(s), "name", "renamed"),
    "limits of a joint": lambda s: setattr(hinge(s).dofs[0], "position_limits", (-1.0, 0.5)),
    "position of a joint": lambda s: setattr(hinge(s).dofs[0], "position", 0.25),
    "kind of a joint": lambda s: setattr(hinge(s), "kind", "prismatic"),
    "field of view": lambda s: change(s, "cameras", field_of_view=33.0),
    "cutoff of a light": lambda s: change(s, "lights", active=False),
    "gear of an actuator": lambda s: change(s, "actuators", gear=2.5),
    "damping of a tendon": lambda s: change(s, "tendons", damping=2.5),
}
REMOVED: dict[str, tuple[Edit, set[str]]] = {
    "instance": (lambda s: s.world.remove("two"), {"NOTE_two"}),
    "point instance": (lambda s: s.world.remove("ball_0"), set()),
    "shape": (lambda s: body(s).collisions.clear(), set()),
    "camera": (lambda s: s.world.cameras.clear(), {"NOTE_eye"}),
    "light": (lambda s: s.world.lights.clear(), {"NOTE_lamp"}),
    "actuator": (lambda s: s.world.actuators.clear(), {"NOTE_motor"}),
    "old name of an actuator": (lambda s: change(s, "actuators", name="renamed"), {"NOTE_motor"}),
    "tendon": (lambda s: s.world.tendons.clear(), {"NOTE_rope"}),
}


def notes(text: str) -> set[str]:
    return set(re.findall(r"NOTE_\w+", text))


def edited(edit: Edit) -> tuple[Scene, exoskel.Report]:
    scene = exoskel.load(FILE)
    assert len(scene.world.models) == 4 and len(scene.world.actuators) == len(scene.world.tendons) == 1
    edit(scene)
    report = exoskel.convert(scene, None, to="usd")
    assert report.certificate.passed
    again = exoskel.load(report.data)
    differences = [one for one in exoskel.diff(scene, again) if one.size is None or one.size > 1e-5]
    assert differences == []
    return scene, report


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edit_changes_nothing_else(edit: Edit) -> None:
    _, report = edited(edit)
    assert notes(report.data.decode()) == notes(FILE)
    assert not [item for item in report.items if item.loss and "note" in item.path]


@pytest.mark.parametrize(("edit", "lost"), REMOVED.values(), ids=REMOVED)
def test_what_is_removed_is_not_written_and_the_rest_stays(edit: Edit, lost: set[str]) -> None:
    _, report = edited(edit)
    assert notes(FILE) - notes(report.data.decode()) == lost
    fates = [item.fate.value for item in report.items if item.path.endswith("/@note")]
    assert ("dropped" in fates) or not lost
