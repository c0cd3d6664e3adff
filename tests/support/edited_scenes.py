"""Small scenes, read from the documents of some formats, and edits of all of their lists and fields."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from typing import Any

from msgspec import structs

import exoskel
from exoskel import Actuator, Box, Keyframe, Marker, Mesh, Pose, SceneCamera, SceneLight, Shape, Sphere
from exoskel.scene.body import SoftBody
from exoskel.scene.joint import Drive, Joint, Mimic
from exoskel.scene.model import Model
from exoskel.scene.pose import Euler
from exoskel.scene.shape import Cone, Ellipsoid, Plane

_INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
_BOX = '<geometry><box size="0.1 0.2 0.3"/></geometry>'
_URDF = f"""<robot name="arm">
<link name="base">{_INERTIAL}<collision>{_BOX}</collision></link>
<link name="upper">{_INERTIAL}<visual>{_BOX}<material name="red"><color rgba="1 0 0 1"/></material></visual>
  <collision>{_BOX}</collision></link>
<link name="fore">{_INERTIAL}</link><link name="hand">{_INERTIAL}</link>
<joint name="shoulder" type="revolute"><origin xyz="0 0 1"/><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
  <limit lower="-1" upper="1" effort="10" velocity="3"/><dynamics damping="1" friction=".5"/></joint>
<joint name="elbow" type="continuous"><origin xyz="0 0 1"/><parent link="upper"/><child link="fore"/></joint>
<joint name="wrist" type="prismatic"><parent link="fore"/><child link="hand"/><axis xyz="0 0 1"/>
  <limit lower="-1" upper="1" effort="4" velocity="3"/></joint>
<ros2_control name="arm" type="system"><hardware><plugin>x/Y</plugin></hardware><joint name="shoulder">
  <command_interface name="effort"><param name="min">-5</param><param name="max">6</param></command_interface>
</joint></ros2_control></robot>"""

_MASS = "<inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"
_SDF_BOX = "<geometry><box><size>.1 .2 .3</size></box></geometry>"
_SDF = f"""<sdf version="1.10"><world name="w">
<light type="point" name="lamp"><pose>0 0 3 0 0 0</pose><diffuse>1 1 1 1</diffuse></light>
<model name="arm"><pose>0 0 1 0 0 0</pose>
<link name="base">{_MASS}<collision name="c">{_SDF_BOX}</collision></link>
<link name="upper"><pose>0 0 1 0 0 0</pose>{_MASS}<collision name="c">{_SDF_BOX}</collision>
  <visual name="v">{_SDF_BOX}<material><diffuse>1 0 0 1</diffuse></material></visual>
  <sensor name="imu" type="imu"><update_rate>10</update_rate></sensor></link>
<link name="fore"><pose>0 0 2 0 0 0</pose>{_MASS}<sensor name="cam" type="camera"><camera>
  <horizontal_fov>1</horizontal_fov><image><width>320</width><height>240</height></image></camera></sensor></link>
<link name="hand"><pose>0 0 2 0 0 0</pose>{_MASS}</link>
<joint name="shoulder" type="revolute"><parent>base</parent><child>upper</child><axis><xyz>0 0 1</xyz>
  <limit><lower>-1</lower><upper>1</upper><effort>10</effort></limit><dynamics><damping>1</damping></dynamics></axis></joint>
<joint name="elbow" type="revolute"><parent>upper</parent><child>fore</child><axis><xyz>1 0 0</xyz></axis></joint>
<joint name="wrist" type="prismatic"><parent>fore</parent><child>hand</child><axis><xyz>0 0 1</xyz></axis></joint>
</model></world></sdf>"""

_MJCF = """<mujoco model="m"><asset><material name="red" rgba="1 0 0 1"/></asset><worldbody>
<light name="lamp" pos="0 0 3"/><camera name="eye" pos="0 -3 1" xyaxes="1 0 0 0 0 1"/>
<body name="base" pos="0 0 1"><joint name="root" axis="0 0 1"/><geom name="bg" type="box" size=".05 .1 .15" mass="1"/>
<body name="upper" pos="0 0 1"><joint name="shoulder" axis="0 0 1" range="-1 1" limited="true" damping="1" armature=".01"/>
  <geom name="ug" type="box" size=".05 .1 .15" material="red"/><site name="tip" pos="0 0 .1"/>
<body name="fore" pos="0 0 1"><joint name="elbow" axis="1 0 0" stiffness="2"/><geom type="sphere" size=".1"/>
<body name="hand"><joint name="wrist" type="slide" axis="0 0 1"/><geom name="hg" type="capsule" size=".05 .1"/></body>
</body></body></body></worldbody>
<tendon><fixed name="cable"><joint joint="shoulder" coef="1"/><joint joint="elbow" coef="-1"/></fixed></tendon>
<equality><joint name="couple" joint1="elbow" joint2="shoulder" polycoef="0 1 0 0 0"/></equality>
<actuator><motor name="m1" joint="shoulder" gear="2" ctrllimited="true" ctrlrange="-1 1"/>
  <position name="p1" joint="elbow" kp="10"/></actuator>
<sensor><jointpos name="s1" joint="shoulder"/><gyro name="g1" site="tip"/></sensor>
<keyframe><key name="home" qpos="0 .1 .2 0"/></keyframe></mujoco>"""

_SKEL_BOX = "<geometry><box><size>.1 .2 .3</size></box></geometry>"
_SKEL = f"""<skel version="1.0"><world name="world"><skeleton name="arm">
<body name="base"><inertia><mass>1</mass></inertia><collision_shape>{_SKEL_BOX}</collision_shape></body>
<body name="upper"><transformation>0 0 1 0 0 0</transformation><inertia><mass>1</mass></inertia>
  <visualization_shape>{_SKEL_BOX}<color>1 0 0</color></visualization_shape><collision_shape>{_SKEL_BOX}</collision_shape>
  <marker name="tip"><offset>0 0 .1</offset></marker></body>
<body name="fore"><transformation>0 0 2 0 0 0</transformation><inertia><mass>1</mass></inertia></body>
<body name="hand"><transformation>0 0 2 0 0 0</transformation><inertia><mass>1</mass></inertia></body>
<joint type="free" name="root"><parent>world</parent><child>base</child></joint>
<joint type="revolute" name="shoulder"><parent>base</parent><child>upper</child><axis><xyz>0 0 1</xyz>
  <limit><lower>-1</lower><upper>1</upper></limit><dynamics><damping>1</damping></dynamics></axis></joint>
<joint type="revolute" name="elbow"><parent>upper</parent><child>fore</child><axis><xyz>1 0 0</xyz></axis></joint>
<joint type="prismatic" name="wrist"><parent>fore</parent><child>hand</child><axis><xyz>0 0 1</xyz></axis></joint>
</skeleton></world></skel>"""

SOURCES = {"urdf": _URDF, "sdf": _SDF, "mjcf": _MJCF, "skel": _SKEL}
"""Documents with an arm of four bodies, `base`, `upper`, `fore` and `hand`, by their formats."""


def source_scene(format: str) -> exoskel.Scene:
    """The scene of the document of a format."""
    return exoskel.load(SOURCES[format].encode(), format=format)


def arm_of(scene: exoskel.Scene) -> Model:
    """The model of the arm, whatever its name is."""
    return next(model for model in scene.world.models if any(body.name == "base" for body in model.bodies))


class NotInSceneError(Exception):
    """The scene does not have what would be edited."""


Edit = Callable[[exoskel.Scene], object]


def _joint(scene: exoskel.Scene, name: str = "shoulder") -> Joint:
    """A joint of the arm with one coordinate."""
    found = next((one for one in arm_of(scene).joints if one.name == name and len(one.motion) == 1), None)
    if found is None:
        raise NotInSceneError
    return found


def _path(scene: exoskel.Scene, name: str) -> str:
    return f"{arm_of(scene).name}/{name}"


def _on_joint(name: str, edit: Callable[[exoskel.Scene, Joint], object], scene: exoskel.Scene) -> None:
    edit(scene, _joint(scene, name))


def _add_motor(joint: str, values: dict[str, Any], scene: exoskel.Scene) -> None:
    _joint(scene, joint)
    scene.world.actuators[:] = [one for one in scene.world.actuators if one.joint != _path(scene, joint)]
    scene.world.add_actuator("added", _path(scene, joint), **values)


def _first(field: str, values: dict[str, Any], scene: exoskel.Scene) -> None:
    """Change the first item of a list of the world."""
    items = getattr(scene.world, field)
    if not items:
        raise NotInSceneError
    items[0] = structs.replace(items[0], **values)


def _set_dof(joint: str, field: str, value: object, scene: exoskel.Scene) -> None:
    setattr(_joint(scene, joint).dofs[0], field, value)


def _set(part: str, field: str, value: object, scene: exoskel.Scene) -> None:
    arm = arm_of(scene)
    items = {"model": arm, "world": scene.world, "body": arm.body("upper"), "inertia": arm.body("upper").inertia}
    setattr(items[part] if part in items else _joint(scene), field, value)


def _shape(which: str, field: str, value: object, scene: exoskel.Scene) -> None:
    shapes = getattr(arm_of(scene).body("upper"), which)
    if not shapes:
        raise NotInSceneError
    setattr(shapes[0], field, value)


def _add_shape(which: str, geometry: Any, scene: exoskel.Scene) -> None:
    shape = Shape(geometry, Pose((0.1, 0.0, 0.0)), color=(0.0, 1.0, 0.0, 0.5))
    getattr(arm_of(scene).body("upper"), which).append(shape)


def _replace_joint(kind: Any, options: dict[str, Any], scene: exoskel.Scene) -> None:
    _joint(scene)
    arm_of(scene).replace("shoulder", kind, **options)


def _add_loop(kind: Any, options: dict[str, Any], scene: exoskel.Scene) -> None:
    arm_of(scene).add_joint("loop", kind, child="hand", parent="base", **options)


def _add_sensor(kind: Any, target: str, scene: exoskel.Scene) -> None:
    _joint(scene)
    markers = arm_of(scene).body("upper").markers
    markers.append(Marker("added", (0.1, 0.0, 0.0)))
    scene.world.add_sensor("added", kind, _path(scene, target))


def _add_view(view: SceneCamera | SceneLight, scene: exoskel.Scene) -> None:
    views: list[Any] = scene.world.cameras if isinstance(view, SceneCamera) else scene.world.lights
    views.append(structs.replace(view, body=view.body and _path(scene, view.body)))


def _remove_limits_of_sensor(scene: exoskel.Scene) -> None:
    """A sensor of the limits of a tendon that has none."""
    tendon = scene.world.add_tendon("free", joints={_path(scene, _joint(scene).name): 1.0})
    scene.world.add_sensor("added", "tendonlimitpos", tendon.name)


def _mimic(name: str, leader: str, scene: exoskel.Scene) -> None:
    _joint(scene, leader)
    _joint(scene, name).mimic = Mimic(leader, 2.0, 0.1)


_ANY = {"axes": ((1, 0, 0), (0, 1, 0))}
_TURNED = Pose((0.1, 0.2, 1.3), Euler((0.1, 0.2, 0.3)))
_RANGES = {"none": (-inf, inf), "half": (-inf, 2.0), "both": (-2.0, 3.0), "empty": (0.5, 0.5)}
_KINDS: dict[str, dict[str, Any]] = {
    "motor": {},
    "position": {"damping": 0.5},
    "velocity": {},
    "general": {"bias": (0.1, -2.0, -0.3)},
}
_DOF_VALUES: dict[str, list[object]] = {
    "position": [0.2],
    "velocity": [0.3],
    "position_limits": [(-0.5, inf), (-inf, inf), (0.2, 0.2)],
    "velocity_limits": [(-1, 2), (-inf, inf)],
    "force_limits": [(-1, 2), (-inf, inf), (0, 0), (0, 3)],
    "damping": [2.0, -1.0],
    "friction": [0.7],
    "stiffness": [3.0],
    "armature": [0.05],
}

EDITS: dict[str, Edit] = {
    **{
        f"motor with the range {name} on {joint}": partial(_add_motor, joint, {"control_range": bounds})
        for name, bounds in _RANGES.items()
        for joint in ("shoulder", "elbow", "wrist")
    },
    **{
        f"{kind} on {joint}": partial(_add_motor, joint, {"kind": kind, "gain": 3.0, "gear": -2.0, "control": 0.5, **more})
        for kind, more in _KINDS.items()
        for joint in ("shoulder", "wrist")
    },
    **{
        f"force range {name}": partial(_add_motor, "elbow", {"force_range": bounds}) for name, bounds in _RANGES.items()
    },
    "no actuators": lambda scene: scene.world.actuators.clear(),
    "actuator renamed": partial(_first, "actuators", {"name": "renamed"}),
    "sensor renamed": partial(_first, "sensors", {"name": "renamed", "noise": 0.1}),
    "no sensors": lambda scene: scene.world.sensors.clear(),
    "jointpos sensor": partial(_add_sensor, "jointpos", "shoulder"),
    "gyro sensor": partial(_add_sensor, "gyro", "upper/added"),
    "sensor of limits without limits": _remove_limits_of_sensor,
    **{
        f"{field} {value} of {joint}": partial(_set_dof, joint, field, value)
        for field, values in _DOF_VALUES.items()
        for value in values
        for joint in ("shoulder", "elbow")
    },
    "joint moved": partial(_set, "joint", "pose", _TURNED),
    "limits not enforced": partial(_set, "joint", "limits_enforced", False),
    "locked joint": partial(_set, "joint", "actuator", "locked"),
    "drives": partial(_set, "joint", "drives", (Drive(velocity=1.0, max_force=2.0),)),
    "connected bodies collide": partial(_set, "joint", "collide_connected", True),
    "joint renamed without references": partial(_set, "joint", "name", "renamed"),
    "hinge mimics hinge": partial(_mimic, "shoulder", "elbow"),
    "slide mimics hinge": partial(_mimic, "wrist", "shoulder"),
    **{f"joint replaced by {kind}": partial(_replace_joint, kind, {}) for kind in ("weld", "ball", "free", "euler")},
    **{f"joint replaced by {kind}": partial(_replace_joint, kind, _ANY) for kind in ("universal", "hinge2")},
    "joint replaced by planar": partial(_replace_joint, "planar", {}),
    "loop with a plane": partial(_add_loop, "planar", {}),
    "loop along a plane": partial(_add_loop, "translational2d", {}),
    "loop with a hinge": partial(_add_loop, "revolute", {"axis": (0, 1, 0)}),
    "joint removed": lambda scene: arm_of(scene).remove(_joint(scene)),
    "bodies removed": lambda scene: arm_of(scene).remove("fore", subtree=True),
    "bodies reversed": lambda scene: arm_of(scene).bodies.reverse(),
    "body moved": partial(_set, "body", "pose", _TURNED),
    "body without gravity": partial(_set, "body", "gravity", False),
    "body renamed without references": partial(_set, "body", "name", "renamed"),
    "soft body": lambda scene: setattr(arm_of(scene).body("hand"), "soft", SoftBody(0.5, Box((0.1, 0.1, 0.1)))),
    "mass 0": partial(_set, "inertia", "mass", 0.0),
    "derived moment": partial(_set, "inertia", "moment", None),
    "centre of mass": partial(_set, "inertia", "com", (0.1, 0.0, 0.1)),
    **{
        f"{type(geometry).__name__} among {which}": partial(_add_shape, which, geometry)
        for which in ("visuals", "collisions")
        for geometry in (Sphere(0.2), Ellipsoid((0.1, 0.2, 0.4)), Cone(0.1, 0.3), Plane((0, 0, 1), 0.1), Mesh("no.obj"))
    },
    "color of visuals": partial(_shape, "visuals", "color", (0, 0, 1, 0.3)),
    **{
        f"{field} of {which}": partial(_shape, which, field, value)
        for which in ("collisions",)
        for field, value in {"color": (0, 0, 1, 0.3), "collidable": False, "friction": 0.3, "name": "renamed"}.items()
    },
    "static model": partial(_set, "model", "static", True),
    "model moved": partial(_set, "model", "pose", _TURNED),
    "model renamed without references": partial(_set, "model", "name", "renamed"),
    "gravity": partial(_set, "world", "gravity", (0.0, 0.0, -1.6)),
    "self-collision": partial(_set, "world", "self_collision", True),
    "collision filter": partial(_set, "world", "collision_exempt_groups", [("upper", "fore")]),
    "camera on a body": partial(_add_view, SceneCamera("added", "upper", Pose((0, -3, 1)), mode="track")),
    "camera on an unknown body": lambda scene: scene.world.cameras.append(SceneCamera("added", "gone/body")),
    "directional light": partial(_add_view, SceneLight("added", "upper", direction=(0, 1, -1), kind="directional")),
    "keyframe": lambda scene: scene.world.add_keyframe("added", time=2.0),
    "keyframe of unknown parts": lambda scene: scene.world.keyframes.append(Keyframe("added", controls=(("gone", 1.0),))),
    "no keyframes": lambda scene: scene.world.keyframes.clear(),
    "actuator of an unknown joint": lambda scene: scene.world.actuators.append(Actuator("added", "gone/joint")),
    "connected points": lambda scene: scene.world.add_equality("added", "connect", _path(scene, "upper"), _path(scene, "hand")),
    "another model": lambda scene: scene.world.add(arm_of(scene), name="twin", at=(3, 0, 0)),
}  # fmt: skip
"""Edits that leave a sound scene."""
