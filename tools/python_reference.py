"""The reference of the Python interface: every public name with its documentation and an example that runs."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

import exoskel

_LOAD = 'scene = exoskel.load("dart://sample/skel/pendulum.skel")'
_SIMULATE = f"{_LOAD}\nsimulation = exoskel.Simulation(scene)"
_BUILD = 'world = exoskel.World(name="lab")\nmodel = world.add_model("robot")'
_FAIL = "try:\n    {0}\nexcept exoskel.{1} as error:\n    print(error)"

EXAMPLES: dict[str, str] = {
    # files
    "load": f"{_LOAD}\nprint(scene.world, scene.diagnostics)",
    "save": f'{_LOAD}\nscene.world.gravity = (0, 0, -1.62)\nexoskel.save(scene, "moon.skel")',
    "convert": 'report = exoskel.convert("dart://sample/skel/pendulum.skel", "pendulum.sdf")\nprint(report)',
    "check": f"{_LOAD}\nprint(exoskel.check(scene))",
    "diff": f"{_LOAD}\nother = exoskel.load(scene.source.name)\nother.world.gravity = (0, 0, 0)\n"
    "for entry in exoskel.diff(scene, other):\n    print(entry)",
    "merge": f'{_LOAD}\nboth = exoskel.merge(scene, exoskel.load("dart://sample/skel/walker.skel"))\nprint(both.world)',
    "summarize": f'{_LOAD}\nprint(exoskel.summarize(scene)["totals"])',
    "Scene": f"{_LOAD}\nprint(scene.world, scene.worlds, scene.source)",
    "Limits": 'scene = exoskel.load("dart://sample/skel/pendulum.skel", limits=exoskel.Limits(bytes=10**6))',
    "Report": 'report = exoskel.convert("dart://sample/skel/pendulum.skel", to="mjcf")\nprint(report)',
    "Certificate": 'certificate = exoskel.convert("dart://sample/skel/pendulum.skel", to="sdf").certificate\n'
    "print(certificate.passed)",
    "Check": 'report = exoskel.convert("dart://sample/skel/pendulum.skel", to="sdf")\n'
    "for check in report.certificate.checks:\n    print(check.name, check.max_error, check.tolerance)",
    "Fate": 'report = exoskel.convert("dart://sample/skel/pendulum.skel", to="urdf")\n'
    "print([one for one in report.items if one.fate is exoskel.Fate.DROPPED])",
    "NodeFate": 'report = exoskel.convert("dart://sample/skel/pendulum.skel", to="urdf")\n'
    "one = report.items[0]\nprint(one.line, one.path, one.fate)",
    "DiffEntry": f"{_LOAD}\nother = exoskel.load(scene.source.name)\nother.world.time_step = 0.01\n"
    "entry = exoskel.diff(scene, other)[0]\nprint(entry.path, entry.a, entry.b)",
    "Diagnostic": 'scene = exoskel.load("dart://sample/skel/walker.skel")\n'
    "for diagnostic in scene.diagnostics:\n    print(diagnostic.code, diagnostic.severity, diagnostic.message)",
    "Severity": f"{_LOAD}\nprint([d for d in scene.diagnostics if d.severity is exoskel.Severity.ERROR])",
    "Position": "print(exoskel.Position(line=3, column=7))",
    "XODE_COMPLIANCE": "print(exoskel.XODE_COMPLIANCE)",
    "__version__": "print(exoskel.__version__)",
    # errors
    "ExoskelError": _FAIL.format('exoskel.load("missing.skel")', "ExoskelError"),
    "SourceError": _FAIL.format('exoskel.load("missing.skel")', "SourceError"),
    "LoadError": 'with open("broken.skel", "w") as file:\n    file.write("<skel>")\n'
    + _FAIL.format('exoskel.load("broken.skel", strict=True)', "LoadError"),
    "SaveError": f"{_BUILD}\n"
    + _FAIL.format('exoskel.save(world, "no/such/folder/lab.skel")', "ExoskelError")
    + "\nprint(issubclass(exoskel.SaveError, exoskel.ExoskelError))",
    "FileChangedError": f"{_BUILD}\n"
    'exoskel.save(world, "lab.skel")\nscene = exoskel.load("lab.skel")\nscene.world.gravity = (0, 0, -1.62)\n'
    'with open("lab.skel", "a") as file:  # another program edits the file\n    file.write("<!-- note -->")\n'
    + _FAIL.format("exoskel.save(scene)", "FileChangedError"),
    "RefusedError": _FAIL.format(
        'exoskel.convert("dart://sample/skel/soft_bodies.skel", "soft.sdf", strict=True)', "RefusedError"
    ),
    "InvalidSceneError": f"{_BUILD}\n"
    'body = model.add_body("arm")\nmodel.joints.clear()\n' + _FAIL.format("exoskel.run(world)", "InvalidSceneError"),
    "TakenNameError": f'{_BUILD}\nmodel.add_body("arm")\n' + _FAIL.format('model.add_body("arm")', "TakenNameError"),
    "UnknownNameError": f'{_BUILD}\nmodel.add_body("arm")\n' + _FAIL.format('model.body("amr")', "UnknownNameError"),
    "NotRunnableError": f"{_BUILD}\n"
    'model.add_body("nut", joint="screw", axis=(0, 0, 1), pitch=0.1)\n'
    + _FAIL.format('exoskel.run(world, 0.1, engine="dart")', "NotRunnableError"),
    "DivergedError": f"{_LOAD}\n"
    + _FAIL.format("exoskel.run(scene, 1, controller=lambda s: 1e9 * s.velocities + 1e9)", "DivergedError"),
    "EngineWarning": 'import warnings\n\nwarnings.simplefilter("ignore", exoskel.EngineWarning)\n'
    'exoskel.run(exoskel.load("dart://sample/xode/extensions.xode"), 0.01)',
    # scenes
    "World": f"{_BUILD}\nprint(world, world.gravity)",
    "Model": f'{_BUILD}\narm = model.add_body("arm", mass=2)\nprint(model, model.mass, model.copy(arm))',
    "Body": f'{_BUILD}\nbody = model.add_body("arm", mass=2, shapes=[exoskel.Box((1, 1, 1))])\nbody.mass = 3\n'
    "print(body.com, body.moment)",
    "BodyState": f'{_BUILD}\nbody = model.add_body("ball")\nbody.state = exoskel.BodyState(force=[0, 0, 1])',
    "FiniteRotation": "print(exoskel.FiniteRotation(mode=1, axis=[0, 0, 1]))",
    "Inertia": "print(exoskel.Inertia(2.0, com=[0, 0, 0.1], moment=[0.1, 0.1, 0.1, 0, 0, 0]))",
    "Actuator": f'{_BUILD}\nmodel.add_body("arm", joint="revolute", axis=(0, 0, 1))\n'
    'servo = world.add_actuator("servo", "robot/arm_joint", kind="position", gain=20, damping=1)\n'
    "print(servo.force(control=0.5, position=0.1, velocity=0.0))  # 8.0",
    "Activation": f'{_BUILD}\nmodel.add_body("arm", joint="revolute", axis=(0, 0, 1))\n'
    'lag = exoskel.Activation("filter", time_constant=0.05)\n'
    'world.add_actuator("servo", "robot/arm_joint", kind="position", gain=20, activation=lag)\n'
    "print(exoskel.Simulation(world).positions)",
    "Tendon": f'{_BUILD}\nmodel.add_body("arm", joint="revolute", axis=(0, 0, 1))\n'
    'world.add_tendon("spring", joints={"arm_joint": 2.0}, stiffness=20)\n'
    "print(exoskel.Simulation(world).positions)",
    "SceneSensor": f'{_BUILD}\nmodel.add_body("arm", joint="revolute", axis=(0, 0, 1))\n'
    'world.add_sensor("angle", "jointpos", "robot/arm_joint")\n'
    'print(exoskel.Simulation(world).sensors["angle"])',
    "Equality": f'{_BUILD}\nmodel.add_body("left", mass=1, joint="free")\n'
    'model.add_body("right", mass=1, joint="free")\n'
    'world.add_equality("tie", "connect", "robot/left", "robot/right", anchor=(0.5, 0, 0))\n'
    "exoskel.Simulation(world).step(100)",
    "SolverParameters": "print(exoskel.SolverParameters(solref=(0.05, 1)))",
    "TendonJoint": 'print(exoskel.Tendon("sum", (exoskel.TendonJoint("robot/hip"),)))',
    "TendonPoint": 'ends = (exoskel.TendonPoint(site="robot/arm/elbow"), exoskel.TendonPoint(site="robot/hand/palm"))\n'
    'print(exoskel.Tendon("muscle", path=ends))',
    "Keyframe": f'{_BUILD}\nmodel.add_body("arm", joint="revolute", axis=(0, 0, 1))\n'
    'print(world.add_keyframe("start"))',
    "KeyframeJoint": 'state = exoskel.KeyframeJoint("robot/hinge", (0.5,), (0.0,))\n'
    'print(exoskel.Keyframe("bent", 0.0, (state,)))',
    "SceneCamera": f'{_BUILD}\nworld.cameras.append(exoskel.SceneCamera(name="top", pose=exoskel.Pose((0, 0, 3))))',
    "SceneLight": f'{_BUILD}\nworld.lights.append(exoskel.SceneLight(name="sun", kind="directional"))',
    "look_at": 'exoskel.SceneCamera(name="side", pose=exoskel.look_at((3, 0, 1), (0, 0, 0)))',
    "Marker": f'{_BUILD}\nmodel.add_body("hand").markers.append(exoskel.Marker("tip", [0, 0, 0.1]))',
    "SoftBody": f'{_BUILD}\nmodel.add_body("jelly").soft = exoskel.SoftBody(0.5, exoskel.Box((0.2, 0.2, 0.2)))',
    "Tessellation": "print(exoskel.Tessellation(slices=8, stacks=8))",
    "Joint": f'{_BUILD}\nmodel.add_body("arm", joint="revolute", axis=[0, 1, 0])\njoint = model.joint("arm_joint")\n'
    "joint.positions = [0.3]\nprint(joint, joint.dofs[0].position)",
    "Dof": f'{_BUILD}\nmodel.add_body("arm", joint="prismatic", axis=[0, 0, 1])\n'
    'model.joint("arm_joint").dofs[0].damping = 0.1\nprint(exoskel.Dof(position_limits=[-1, 1]))',
    "Drive": "print(exoskel.Drive(low_stop=-1, high_stop=1, velocity=2, max_force=10))",
    "Mimic": f'{_BUILD}\nmodel.add_body("left", joint="revolute", axis=[0, 1, 0])\n'
    'model.add_body("right", joint="revolute", axis=[0, 1, 0], mimic=exoskel.Mimic("left_joint", -1.0))',
    "Kinematics": f"{_LOAD}\nprint(exoskel.Kinematics(scene.world.models).poses().shape)",
    "Pose": "pose = exoskel.Pose([1, 0, 0]) @ exoskel.Pose([0, 0, 1], exoskel.Euler([0, 0, 1.57]))\n"
    "print(pose.inverse(), pose.apply([0, 0, 0.1]))",
    "Euler": "print(exoskel.Pose([0, 0, 0], exoskel.Euler([0, 0, 90], degrees=True)).matrix())",
    "Quaternion": "print(exoskel.Quaternion([1, 0, 0, 0]).matrix())",
    "AxisAngle": "print(exoskel.AxisAngle([0, 0, 1], 1.57).matrix())",
    "Matrix": "import numpy as np\n\nprint(exoskel.Matrix(np.eye(3)))",
    "Shape": "print(exoskel.Shape(geometry=exoskel.Sphere(0.1), pose=exoskel.Pose([0, 0, 1]), color=[1, 0, 0, 1]))",
    "Material": "steel = exoskel.Material(roughness=0.3, metalness=1.0)\n"
    "print(exoskel.Shape(geometry=exoskel.Sphere(0.1), material=steel))",
    "Texture": "print(exoskel.Material(texture=exoskel.Texture('wood.png', repeat=[2, 2])))",
    "Box": "print(exoskel.Box([0.1, 0.2, 0.3]))",
    "Sphere": "print(exoskel.Sphere(0.1))",
    "Ellipsoid": "print(exoskel.Ellipsoid([0.1, 0.2, 0.3]))",
    "Cylinder": "print(exoskel.Cylinder(radius=0.1, height=0.5))",
    "Capsule": "print(exoskel.Capsule(radius=0.1, height=0.5))",
    "Cone": "print(exoskel.Cone(radius=0.1, height=0.5))",
    "Pyramid": "print(exoskel.Pyramid(width=1, depth=1, height=0.5))",
    "Plane": "print(exoskel.Plane([0, 0, 1], 0.0))",
    "Ball": "print(exoskel.Ball(0.1, [0, 0, 0.5]))",
    "MultiSphere": "print(exoskel.MultiSphere((exoskel.Ball(0.1, [0, 0, 0]), exoskel.Ball(0.1, [0, 0, 1]))))",
    "Mesh": 'print(exoskel.Mesh("parts/arm.stl", scale=[0.001, 0.001, 0.001]))',
    "TriMesh": "print(exoskel.TriMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]).vertices.shape)",
    "Ray": "print(exoskel.Ray(length=2.0))",
    # simulation
    "Simulation": f"{_SIMULATE}\nsimulation.step(100)\nprint(simulation.positions, simulation.energy)",
    "SimulatedJoint": f"{_SIMULATE}\njoint = simulation.joint(simulation.dof_names[0])\njoint.position = 0.3\n"
    "print(joint.position, joint.reaction)",
    "SimulatedBody": f"{_SIMULATE}\nbody = simulation.body(scene.world.models[-1].bodies[-1])\n"
    "body.apply_force([0, 0, 1])\nprint(body.pose, body.velocity, body.acceleration)",
    "SimulatedModel": f"{_SIMULATE}\nmodel = simulation.model(scene.world.models[-1].name)\n"
    "print(model.positions, model.com, model.momentum)",
    "CoordinateArray": f"{_SIMULATE}\nname = simulation.dof_names[0]\nsimulation.forces[name] = 0.5\n"
    "print(simulation.forces, simulation.positions[name])",
    "Wrench": f"{_SIMULATE}\nwrench = simulation.joint(simulation.dof_names[0]).reaction\n"
    "print(wrench.force, wrench.torque)",
    "Contact": 'scene = exoskel.load("dart://sample/skel/falling_boxes.skel")\nsimulation = exoskel.Simulation(scene)\n'
    "simulation.step(1000)\nfor contact in simulation.contacts[:2]:\n    print(contact.bodies, contact.force)",
    "run": f'{_LOAD}\nmotion = exoskel.run(scene, 1.0, record=["forces", "contacts"])\nprint(motion.positions[-1])',
    "Trajectory": f'{_LOAD}\nmotion = exoskel.run(scene, 0.5)\nmotion.save("motion.npz")\n'
    'print(exoskel.Trajectory.load("motion.npz"))',
    "Record": f'{_LOAD}\nrecord = exoskel.run(scene, 0.1, record="forces").records["forces"]\n'
    "print(record.values.shape, record.columns)",
    "ContactRecord": 'scene = exoskel.load("dart://sample/skel/falling_boxes.skel")\n'
    'motion = exoskel.run(scene, 1.0, record="contacts")\nprint(motion.contacts.pairs(), motion.contacts.at(100))',
    "rollout": f"{_LOAD}\nbatch = exoskel.rollout(scene, worlds=8, steps=100)\nprint(batch.positions.shape)",
    "BatchTrajectory": f'{_LOAD}\nbatch = exoskel.rollout(scene, worlds=8, steps=100)\nbatch.save("batch.npz")\n'
    'print(exoskel.BatchTrajectory.load("batch.npz"))',
    "preflight": f'{_LOAD}\nprint(exoskel.preflight(scene, "ode"))',
    "compare": f'{_LOAD}\ncomparison = exoskel.compare(scene, 0.1, engines=("mujoco", "mujoco"))\n'
    "print(comparison.gaps[0].position_max)",
    "Comparison": f'{_LOAD}\ncomparison = exoskel.compare(scene, 0.1, engines=("mujoco", "mujoco"))\n'
    "print([track.engine for track in comparison.tracks])",
    "ik": f"{_LOAD}\nbody = scene.world.models[-1].bodies[-1]\nsimulation = exoskel.Simulation(scene)\n"
    "print(exoskel.ik(scene, {body.name: simulation.body(body).pose}))",
    "IKSolution": f"{_SIMULATE}\nbody = simulation.body(scene.world.models[-1].bodies[-1])\n"
    "solution = exoskel.ik(scene, {body.path: body.pose})\n"
    "simulation.positions = solution.positions\nprint(solution.reached)",
    "controllers": f"{_LOAD}\ncontroller = exoskel.controllers.PD(10, 1) + exoskel.controllers.GravityCompensation()\n"
    "print(exoskel.run(scene, 0.1, controller=controller))",
    "gym": 'environment = exoskel.gym.make(task="cartpole")\nobservation, _ = environment.reset(seed=1)\n'
    "print(observation)",
    "to_mujoco": f"{_LOAD}\nprint(exoskel.to_mujoco(scene).model.nv)",
    "from_mujoco": f"{_LOAD}\nprint(exoskel.from_mujoco(exoskel.to_mujoco(scene).spec))",
    "MujocoModel": f"{_LOAD}\nfound = exoskel.to_mujoco(scene)\nprint(found.model.nbody)",
    "to_dartpy": f"{_LOAD}\nmade = exoskel.to_dartpy(scene)\nmade.world.step()\nprint(made.names['body'])",
    "DartpyWorld": f"{_LOAD}\nmade = exoskel.to_dartpy(scene)\nprint(made.body('pendulum/bob').getMass())",
    "to_newton": f"{_LOAD}\nprint(exoskel.to_newton(scene).model())",
    "NewtonModel": f"{_LOAD}\nmade = exoskel.to_newton(scene)\nprint(made.builder.body_count)",
    "to_pinocchio": f"{_LOAD}\nmade = exoskel.to_pinocchio(scene)\nprint(made.model.nv, made.q)",
    "PinocchioModel": f"{_LOAD}\nmade = exoskel.to_pinocchio(scene)\nprint(made.data().oMf)",
    # pictures
    "show": f"{_LOAD}\nhandle = exoskel.show(scene, browser=False)\nprint(handle)\nhandle.close()",
    "export": f'{_LOAD}\nexoskel.export(scene, "pendulum.html")',
    "render": f'{_LOAD}\nexoskel.render(scene, "pendulum.png", size=(160, 120), renderer="software")',
    "plot": f'{_LOAD}\nexoskel.plot(exoskel.run(scene, 0.5), "motion.png")',
    "animate": f'{_LOAD}\nexoskel.animate(scene, exoskel.run(scene, 0.5), "motion.glb")',
}


def example(name: str) -> str:
    """The example of a public name, as a script."""
    return f"import exoskel\n\n{EXAMPLES[name]}\n"


def python_reference() -> str:
    """The page: classes and functions in alphabetical order, with the first lines of methods."""
    parts = [
        "# Python interface",
        "This page is generated from the documentation in the code (`make docs`); do not edit it.",
        "All names are in the module `exoskel`. `help(exoskel.Simulation)` shows types and details.",
    ]
    for name in sorted(exoskel.__all__, key=str.lower):
        parts.append(f"## {name}")
        parts += _described(name, getattr(exoskel, name))
        parts.append(f"```python\n{example(name)}```")
    return "\n\n".join(parts) + "\n"


def _described(name: str, value: Any) -> list[str]:
    if isinstance(value, str):
        return [f"`{name}` is text: `{value!r}`." if name != "__version__" else "The version of the package."]
    parts = [_text(value)]
    if isinstance(value, ModuleType):
        rows = [
            (key, one)
            for key, one in vars(value).items()
            if not key.startswith("_")
            and callable(one)
            and (getattr(one, "__module__", "") == value.__name__ or key in getattr(value, "__all__", ()))
        ]
        return [*parts, _table(rows)] if rows else parts
    if inspect.isclass(value) and not issubclass(value, Exception):
        rows = [
            (key, one)
            for key, one in sorted(vars(value).items())
            if not key.startswith("_") and (callable(one) or isinstance(one, property | classmethod)) and _first(one)
        ]
        return [*parts, _table(rows)] if rows else parts
    if inspect.isfunction(value):
        names = ", ".join(inspect.signature(value).parameters)
        return [f"`{name}({names})`", *parts]
    return parts


def _table(rows: list[tuple[str, Any]]) -> str:
    lines = [f"| `{key}` | {_first(one)} |" for key, one in rows]
    return "\n".join(["| name | meaning |", "|---|---|", *lines])


def _first(value: Any) -> str:
    return _text(value).partition("\n")[0].replace("|", "\\|")


def _text(value: Any) -> str:
    """The documentation, with one space after sentences, and without HTML outside of code."""
    text = (inspect.getdoc(getattr(value, "__func__", value)) or "").replace(".  ", ". ")
    parts = text.split("`")
    return "`".join(part if i % 2 else part.replace("<", "&lt;") for i, part in enumerate(parts))
