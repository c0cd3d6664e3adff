"""Reads XODE files with PyODE, and measures with ODE.  Runs under a Python that has PyODE (double precision).

Reads one request per line from standard input and answers each with one line on standard output, both JSON:

* `{"file": path}`: PyODE's own XODE reader, bodies and joints as ODE has them;
* `{"mass": steps}`: ODE's mass functions, one after the other;
* `{"probe": …}`: a joint between two bodies that are then moved; what ODE measures on it.
"""

import contextlib
import json
import sys
import time

import ode
from xode import parser


def main():
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = answer_to(request)
        except Exception as error:  # PyODE raises many things
            answer = {"failed": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def answer_to(request):
    if "file" in request:
        return read(request["file"])
    if "mass" in request:
        return describe_mass(weigh(request["mass"]))
    return probe(request["probe"])


# --- PyODE's reader -----------------------------------------------------------------------------------


def read(file):
    with open(file, "rb") as source:
        begin = time.perf_counter()
        root = parser.Parser().parseFile(source)
        seconds = time.perf_counter() - begin
    found = {"bodies": [], "joints": [], "seconds": seconds}
    names = {}
    walk(root, found, names)
    for joint in found["joints"]:
        joint["bodies"] = [names.get(body) for body in joint["bodies"]]
    return found


def walk(node, found, names):
    thing = node.getODEObject()
    if isinstance(thing, ode.Body):
        names[id(thing)] = node.getName()
        found["bodies"].append(describe_body(node.getName(), thing))
    elif isinstance(thing, ode.Joint):
        found["joints"].append(describe_joint(node.getName(), thing))
    for child in node.getChildren():
        walk(child, found, names)


def describe_body(name, body):
    return {
        "name": name,
        "position": list(body.getPosition()),
        "rotation": list(body.getRotation()),
        "linear_velocity": list(body.getLinearVel()),
        "angular_velocity": list(body.getAngularVel()),
        **describe_mass(body.getMass()),
    }


def describe_mass(mass):
    return {"mass": mass.mass, "centre": list(mass.c), "inertia": [list(row) for row in mass.I]}


def describe_joint(name, joint):
    row = {"name": name, "type": type(joint).__name__, "bodies": [id(joint.getBody(0)), id(joint.getBody(1))]}
    if hasattr(joint, "getAnchor") and not isinstance(joint, ode.FixedJoint):
        row["anchor"] = list(joint.getAnchor())
    for method in ("getAxis", "getAxis1", "getAxis2"):
        if hasattr(joint, method) and not isinstance(joint, (ode.AMotor, ode.FixedJoint, ode.BallJoint)):
            with contextlib.suppress(TypeError):
                row[method] = list(getattr(joint, method)())
    return row


# --- ODE's masses -------------------------------------------------------------------------------------


def weigh(steps):
    mass = ode.Mass()
    mass.setZero()
    for name, *values in steps:
        if name == "add":
            mass.add(weigh(values[0]))
        else:
            WEIGHING[name](mass, *values)
    return mass


WEIGHING = {
    "box": lambda m, density, x, y, z: m.setBox(density, x, y, z),
    "sphere": lambda m, density, r: m.setSphere(density, r),
    "cylinder": lambda m, density, r, length: m.setCylinder(density, 3, r, length),
    "cappedCylinder": lambda m, density, r, length: m.setCappedCylinder(density, 3, r, length),
    "translate": lambda m, x, y, z: m.translate((x, y, z)),
    "adjust": lambda m, total: m.adjust(total),
}


# --- ODE's joints -------------------------------------------------------------------------------------

JOINTS = {
    "hinge": ode.HingeJoint,
    "slider": ode.SliderJoint,
    "universal": ode.UniversalJoint,
    "hinge2": ode.Hinge2Joint,
    "ball": ode.BallJoint,
    "amotor": ode.AMotor,
}


def probe(setup):
    world = ode.World()
    bodies = []
    for pose in setup["start"]:
        body = ode.Body(world)
        place(body, pose)
        bodies.append(body)
    ends = [bodies[i] if i >= 0 else ode.environment for i in setup["ends"]]
    kind = setup["kind"]
    joint = JOINTS[kind](world)
    joint.attach(*ends)
    if kind in ("hinge", "universal", "hinge2", "ball"):
        joint.setAnchor(setup["anchor"])
    set_axes(joint, kind, setup["axes"])
    for body, (spin, speed) in zip(bodies, setup["twists"], strict=True):
        body.setAngularVel(spin)
        body.setLinearVel(speed)
    answer = {"rates": rates(joint, kind)}
    for body, pose in zip(bodies, setup["moved"], strict=True):
        place(body, pose)
    answer["positions"] = positions(joint, kind)
    if hasattr(joint, "getAnchor2"):
        answer["gap"] = [a - b for a, b in zip(joint.getAnchor(), joint.getAnchor2(), strict=True)]
    return answer


def place(body, pose):
    body.setPosition(pose["position"])
    body.setRotation(pose["rotation"])


def set_axes(joint, kind, axes):
    if kind in ("hinge", "slider"):
        joint.setAxis(axes[0])
    elif kind in ("universal", "hinge2"):
        joint.setAxis1(axes[0])
        joint.setAxis2(axes[1])
    elif kind == "amotor":
        joint.setMode(ode.AMotorUser)
        joint.setNumAxes(3)
        for number, axis in enumerate(axes):
            joint.setAxis(number, 0, axis)


def positions(joint, kind):
    if kind == "hinge":
        return [joint.getAngle()]
    if kind == "slider":
        return [joint.getPosition()]
    if kind == "universal":
        return [joint.getAngle1(), joint.getAngle2()]
    if kind == "hinge2":
        return [joint.getAngle1()]
    return []


def rates(joint, kind):
    if kind == "hinge":
        return [joint.getAngleRate()]
    if kind == "slider":
        return [joint.getPositionRate()]
    if kind in ("universal", "hinge2"):
        return [joint.getAngle1Rate(), joint.getAngle2Rate()]
    return []


if __name__ == "__main__":
    main()
