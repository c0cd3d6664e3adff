"""Documents of edited scenes move in plain MuJoCo as the scenes do in `exoskel.run`."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pytest
from msgspec import structs

import exoskel
from exoskel import spatial

DOCUMENT = """<mujoco model="robot">
  <compiler angle="degree" eulerseq="zyx"/>
  <option integrator="discrete" timestep="0.002" tolerance="1e-14"/>
  <default>
    <geom contype="0" conaffinity="0" density="800"/>
    <joint armature="0.02" damping="0.1" solreflimit="0.03 1"/><motor ctrlrange="-2 2"/>
    <default class="soft"><joint damping="0.5" armature="0.03" springref="10" stiffness="2"/></default>
  </default>
  <worldbody>
    <geom name="ground" type="plane" size="5 5 0.1"/>
    <body name="arm" pos="0 0 1" euler="0 30 0" childclass="soft">
      <joint name="shoulder" axis="0 1 0" ref="15"/>
      <geom name="bone" type="capsule" fromto="0 0 0 0 0 0.5" size="0.05"/><site name="tip" pos="0 0 0.5"/>
      <body name="hand" pos="0 0 0.5" euler="20 0 10">
        <joint name="grip" type="slide" axis="1 0 0" stiffness="30"/>
        <frame pos="0.1 0 0" zaxis="1 2 3"><geom name="palm" type="box" size="0.1 0.1 0.02"/><site name="grasp"/></frame>
        <body name="finger" pos="0.1 0 0.1">
          <joint name="knuckle" axis="1 1 0" class="main"/><geom type="box" size="0.02 0.02 0.1" pos="0 0 0.1"/>
        </body>
      </body>
    </body>
    <frame euler="0 0 40" pos="1 0 0">
      <body name="ball" pos="1 0 1" euler="10 20 30">
        <freejoint name="free"/><geom type="ellipsoid" size="0.05 0.1 0.15" pos="0.1 0 0"/>
        <body name="tail" pos="0 0 0.2">
          <joint name="wag" type="ball" damping="0.01"/><geom type="capsule" fromto="0 0 0 0.1 0.2 0.3" size="0.03"/>
        </body>
      </body>
    </frame>
    <body name="cart" pos="0 2 1">
      <joint name="px" type="slide" axis="1 0 0"/><joint name="py" type="slide" axis="0 1 0"/><joint name="yaw"/>
      <geom type="box" size="0.2 0.1 0.05" pos="0.1 0.02 0"/><site name="hook"/>
      <body name="wheel" pos="0.2 0 0">
        <joint name="u1" axis="1 0 0"/><joint name="u2" axis="0 1 0"/>
        <geom type="cylinder" size="0.1 0.02" pos="0 0.05 0.1"/>
      </body>
    </body>
    <body name="table" pos="2 0 0"><geom type="box" size=".1 .2 .3"/></body>
  </worldbody>
  <tendon>
    <spatial name="rope" stiffness="20" damping="1" springlength="1.5"><site site="tip"/><site site="hook"/></spatial>
    <fixed name="coupled" stiffness="3"><joint joint="grip" coef="1"/><joint joint="yaw" coef="-2"/></fixed>
  </tendon>
  <actuator>
    <motor name="m" joint="shoulder" gear="3"/><position name="p" joint="knuckle" kp="5" kv="0.1"/>
    <velocity name="v" joint="yaw" kv="0.5"/>
    <general name="g" tendon="coupled" gainprm="2" biastype="affine" biasprm="0.1 -0.2 -0.3"/>
  </actuator>
  <sensor><jointpos name="jp" joint="grip"/></sensor>
</mujoco>
"""
KEY = """<keyframe><key name="home" ctrl="1 0.5 -1 0.3"
  qpos="0.2 0.1 0.2  1.5 0.5 1.2 0.9 0.1 0.2 0.3  0.9 0.3 0.1 -0.2  0.1 0.2 0.3 0.1 -0.1"/></keyframe></mujoco>"""
AUTHOR = b'eulerseq="zyx"'
"""What only the author's document states."""
BOX = exoskel.Box((0.1, 0.2, 0.3))
TURNED = exoskel.Pose((0.1, 0.2, 0.3), exoskel.Euler((0.1, 0.2, 0.3)))
Edit = Callable[[exoskel.World], object]


def _model(world: exoskel.World, name: str) -> exoskel.Model:
    return next(model for model in world.models if any(body.name == name for body in model.bodies))


def _body(world: exoskel.World, name: str) -> exoskel.Body:
    return next(body for body in world.bodies() if body.name == name)


def _joint(world: exoskel.World, name: str) -> exoskel.Joint:
    return next(joint for joint in world.joints() if joint.name == name)


def _set(item: Callable[[exoskel.World], object], **values: object) -> Edit:
    def edit(world: exoskel.World) -> None:
        for name, value in values.items():
            setattr(item(world), name, value)

    return edit


def _set_dof(joint: str, **values: object) -> Edit:
    return lambda world: [setattr(_joint(world, joint).dofs[-1], name, value) for name, value in values.items()]


def _set_in_list(name: str, number: int, **values: object) -> Edit:
    def edit(world: exoskel.World) -> None:
        items = getattr(world, name)
        items[number] = structs.replace(items[number], **values)

    return edit


def _move(name: str) -> Edit:
    return _set(lambda world: _body(world, name), pose=TURNED)


def _place(name: str) -> Edit:
    return _set(lambda world: _model(world, name), pose=TURNED)


def _remove(name: str) -> Edit:
    return lambda world: _model(world, name).remove(_body(world, name), subtree=True)


def _add(kind: str, parent: str, **options: object) -> Edit:
    return lambda world: _model(world, parent).add_body(
        "new",
        parent=parent,
        joint=kind,
        mass=1.3,
        shapes=[BOX],
        at=(0.1, 0.2, 0.1),
        **options,  # type: ignore[arg-type]
    )


def _add_model(world: exoskel.World) -> None:
    model = world.add_model("box")
    model.add_body("first", joint="revolute", axis=(1, 0, 0), mass=1.0, shapes=[BOX], at=(0, 0, 2))
    model.add_body("second", parent="first", joint="ball", mass=1.0, shapes=[BOX], at=(0, 0, 3))


def _set_kind(name: str, kind: str, **fields: object) -> Edit:
    return _set(lambda world: _joint(world, name), kind=kind, **fields)


def _replace(child: str, kind: str, name: str = "", **options: object) -> Edit:
    """Put a new joint in place of that of a body."""

    def edit(world: exoskel.World) -> None:
        model = _model(world, child)
        old = next(joint for joint in model.joints if joint.child.name == child)
        model.joints.remove(old)
        model.add_joint(name or old.name, kind, child=child, parent=old.parent, **options)  # type: ignore[arg-type]

    return edit


def _hinge_table(world: exoskel.World) -> None:
    model = world.model("table")
    model.static = False
    model.joints.clear()
    model.add_joint("swing", "revolute", child="table", axis=(1, 0, 0))


EDITS: dict[str, Edit] = {
    "mass": _set(lambda world: _body(world, "hand"), mass=3.0),
    "inertia": _set(
        lambda world: _body(world, "hand"),
        inertia=exoskel.Inertia(mass=2.0, com=(0.1, 0.2, 0.3), moment=(0.1, 0.2, 0.25, 0.01, 0.02, 0.03)),
    ),
    "size": lambda world: setattr(_body(world, "hand").visuals[0], "geometry", exoskel.Box((0.3, 0.3, 0.3))),
    "no gravity": _set(lambda world: _body(world, "tail"), gravity=False),
    **{f"pose of the body {name}": _move(name) for name in ("arm", "hand", "finger", "ball", "tail", "cart", "wheel")},
    **{f"pose of the model of {name}": _place(name) for name in ("arm", "ball", "cart")},
    "site": lambda world: setattr(_body(world, "arm").markers[0], "offset", (0.1, 0.2, 0.3)),
    "axis": _set(lambda world: _joint(world, "shoulder"), axes=((0.6, 0.8, 0.0),)),
    "joint pose": _set(lambda world: _joint(world, "knuckle"), pose=exoskel.Pose((0.0, 0.05, 0.1))),
    "spring": _set_dof("shoulder", stiffness=5.0, damping=0.2, rest=0.7),
    "armature": _set_dof("cart_joint", armature=0.4, damping=1.0),
    "positions": _set(lambda world: _joint(world, "wag"), positions=(0.3, 0.2, 0.1)),
    "position with ref": _set(lambda world: _joint(world, "shoulder"), positions=(0.5,)),
    "free positions": _set(lambda world: _joint(world, "free"), positions=(0.3, 0.2, 0.1, 1, 2, 3)),
    "gravity": _set(lambda world: world, gravity=(1, 2, -3)),
    "time step": _set(lambda world: world, time_step=0.001),
    "gain": _set_in_list("actuators", 1, gain=9.0),
    "control": _set_in_list("actuators", 0, control=1.5),
    "tendon": _set_in_list("tendons", 0, stiffness=50.0),
    "force limits": _set_dof("shoulder", force_limits=(-1.0, 1.0)),
    **{f"without {name}": _remove(name) for name in ("finger", "hand", "tail", "wheel")},
    "without a model": lambda world: world.models.remove(_model(world, "cart")),
    "without an actuator": lambda world: world.actuators.pop(0),
    "without a tendon": lambda world: world.tendons.pop(0),
    **{
        f"new hinge on {name}": _add("revolute", name, axis=(0, 1, 0), damping=0.3)
        for name in ("hand", "ball", "wheel")
    },
    "new slide": _add("prismatic", "hand", axis=(0, 1, 0), stiffness=10.0),
    "new weld": _add("weld", "wheel"),
    **{
        f"new {kind}": _add(kind, "hand")
        for kind in ("ball", "free", "euler", "planar", "translational", "translational2d")
    },
    "new euler in another order": _add("euler", "hand", order="zyx"),
    "new planar in another plane": _add("planar", "ball", plane="zx"),
    "new universal": _add("universal", "ball", axes=((1, 0, 0), (0, 1, 0))),
    "new screw": _add("screw", "table", axis=(0, 0, 1), pitch=0.1),
    "new model": _add_model,
    "copied model": lambda world: world.add(_model(world, "arm").copy(name="copied"), at=(0, 0, 2)),
    "new joint": _hinge_table,
    "new loop": lambda world: _model(world, "arm").add_joint("loop", "ball", child="finger"),
    "new motor": lambda world: world.add_actuator("act", "shoulder", control=0.5, gear=2.0),
    "new servo": lambda world: world.add_actuator("act", "grip", kind="position", gain=9.0, damping=1.0, control=1.0),
    "new tendon": lambda world: world.add_tendon("t", joints={"arm/shoulder": 1.0, "arm/grip": 2.0}, stiffness=20.0),
    "hinge to slide": _set_kind("shoulder", "prismatic"),
    "hinge to ball": _set_kind("shoulder", "ball", axes=()),
    "hinge to weld": _set_kind("shoulder", "weld", axes=()),
    "hinge to universal": _set_kind("knuckle", "universal", axes=((1, 0, 0), (0, 1, 0))),
    "slide to hinge": _set_kind("grip", "revolute"),
    "slide to screw": _set_kind("grip", "screw", pitch=0.1),
    "ball to hinge": _set_kind("wag", "revolute", axes=((1, 0, 0),)),
    "ball to free": _set_kind("wag", "free"),
    "free to hinge": _set_kind("free", "revolute", axes=((1, 0, 0),)),
    "free to ball": _set_kind("free", "ball"),
    "free to weld": _set_kind("free", "weld"),
    "planar to free": _set_kind("cart_joint", "free", axes=()),
    "universal to hinge": _set_kind("wheel_joint", "revolute", axes=((1, 0, 0),)),
    "universal to euler": _set_kind("wheel_joint", "euler", axes=()),
    "several kinds": lambda world: [
        EDITS[name](world) for name in ("hinge to slide", "slide to hinge", "ball to hinge")
    ],
    "rotated joint": _set(lambda world: _joint(world, "knuckle"), pose=TURNED),
    "damping of a free joint": lambda world: [setattr(dof, "damping", 0.3) for dof in _joint(world, "free").dofs],
    "slide in place of a hinge": _replace("finger", "prismatic", axis=(0, 1, 0), damping=0.4),
    "ball with another name": _replace("finger", "ball", "wrist"),
    "hinge in place of a ball": _replace("tail", "revolute", axis=(0, 1, 0)),
    "planar in place of a universal": _replace("wheel", "planar"),
    "translational in place of a universal": _replace("wheel", "translational", "other"),
}
SPINNING_ALONE = {"without tail": 1e-4}
"""The engine steps free bodies that rotate alone as DART does, MuJoCo by its implicit integrator."""


def set_velocities(world: exoskel.World) -> None:
    """Give all coordinates velocities."""
    rng = np.random.default_rng(1)
    for joint in world.joints():
        if joint.dof_count:
            joint.velocities = tuple(rng.uniform(-1.0, 1.0, joint.dof_count))


def poses_in_mujoco(text: bytes, steps: int) -> dict[str, np.ndarray]:
    """The poses of the bodies of a document by their names in the scene, after steps from the first keyframe."""
    model = mujoco.MjModel.from_xml_string(text.decode())
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_step(model, data, steps)
    mujoco.mj_kinematics(model, data)
    return {model.body(number).name: np.append(data.xpos[number], data.xquat[number]) for number in range(model.nbody)}


def difference(world: exoskel.World, text: bytes, steps: int = 100) -> float:
    """The largest difference of poses after steps in MuJoCo and in `exoskel.run`."""
    motion = exoskel.run(world, duration=steps * world.time_step)
    there = poses_in_mujoco(text, steps)
    worst = 0.0
    for number, name in enumerate(motion.body_names):
        model, _, body = name.partition("/")
        if world.model(model).static:
            continue
        other = there[f"{model}_{body}" if f"{model}_{body}" in there else body]
        mine = motion.body_poses[-1, number]
        turned = spatial.quaternion_matrix([mine[3:], other[3:]])
        worst = max(worst, float(np.abs(mine[:3] - other[:3]).max()), float(np.abs(turned[0] - turned[1]).max()))
    return worst


@pytest.mark.filterwarnings("ignore:MuJoCo differs from the scene")  # dampers of free joints, which both have alike
@pytest.mark.parametrize("name", EDITS)
def test_the_document_of_an_edited_scene_moves_as_the_scene(name: str) -> None:
    for text, has_velocities in ((DOCUMENT, False), (DOCUMENT.replace("</mujoco>", KEY), True)):
        scene = exoskel.load(text, format="mjcf")
        EDITS[name](scene.world)
        if has_velocities:
            set_velocities(scene.world)
        report = exoskel.convert(scene, None, to="mjcf")
        assert report.certificate.passed
        assert AUTHOR in report.data
        assert difference(scene.world, report.data) < SPINNING_ALONE.get(name, 1e-9)
