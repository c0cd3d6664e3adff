"""What joints state is in the objects of Newton and Pinocchio, or is a loss: nothing is lost in silence."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel import Box, Joint, World
from exoskel.engines import newton_model, pinocchio_model

AXES: dict[str, dict[str, Any]] = {
    **{kind: {"axis": (0, 0, 1)} for kind in ("revolute", "prismatic", "screw")},
    **{kind: {"axes": ((0, 0, 1), (0, 1, 0))} for kind in ("universal", "hinge2")},
    **{kind: {} for kind in ("ball", "euler", "translational", "translational2d", "planar", "free")},
}
VALUES: dict[str, Any] = {
    **dict.fromkeys(("velocity_limits", "acceleration_limits"), (-3.0, 3.0)),
    **{"position_limits": (-1.0, 2.0), "force_limits": (-5.0, 5.0), "damping": 0.5, "friction": 0.25},
    **{"stiffness": 3.0, "armature": 0.125, "force": 1.0, "acceleration": 1.0},
}
LOSSES: dict[str, Callable[[World], Iterable[str]]] = {
    "newton": newton_model._unsupported,
    "pinocchio": pinocchio_model._unsupported,
}


def arm(kind: str, edit: Callable[[Joint], object] = lambda joint: None) -> World:
    world = World("w", gravity=(0.0, 0.0, -9.81))
    model = world.add_model("m")
    model.add_body("base", joint="weld", mass=1.0, shapes=[Box((0.1, 0.1, 0.1))])
    model.add_body("b", joint=kind, parent="base", mass=1.0, shapes=[Box((0.1, 0.2, 0.3))], **AXES[kind])
    edit(model.joints[-1])
    return world


def with_value(kind: str, field: str, *, first: bool = False) -> World:
    """An arm with a value in all degrees of freedom of its joint, or in the first."""

    def edit(joint: Joint) -> None:
        for dof in joint.dofs[: 1 if first else None]:
            setattr(dof, field, VALUES[field])

    return arm(kind, edit)


def content(program: str, world: World) -> tuple[list[str], tuple[str, ...]]:
    """All numbers of the model of a program, and the losses."""
    if program == "newton":
        made = exoskel.to_newton(world)
        lists = {name: value for name, value in vars(made.builder).items() if name.startswith("joint_")}
        return [f"{name} {value}" for name, value in lists.items()], made.losses
    tree = exoskel.to_pinocchio(world)
    arrays = {name: getattr(tree.model, name) for name in dir(tree.model) if not name.startswith("_")}
    return [f"{name} {v.tolist()}" for name, v in arrays.items() if isinstance(v, np.ndarray)], tree.losses


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("kind", AXES)
@pytest.mark.parametrize("program", LOSSES)
def test_a_value_is_in_the_model_or_a_loss(program: str, kind: str, first: bool) -> None:
    pytest.importorskip(program)
    numbers, losses = content(program, arm(kind))
    for field in VALUES:
        found, reported = content(program, with_value(kind, field, first=first))
        assert (found != numbers) != (len(reported) > len(losses)), field


@pytest.mark.parametrize("field", VALUES)
@pytest.mark.parametrize("program", LOSSES)
def test_free_joints_lose_what_depends_on_axes(program: str, field: str) -> None:
    """The axes of the velocities of a free joint are those of the parent in a scene."""
    isotropic = {"newton": set(), "pinocchio": {"damping", "armature"}}[program]
    assert bool(list(LOSSES[program](with_value("free", field)))) == (field not in isotropic)
    assert list(LOSSES[program](with_value("free", field, first=True)))


@pytest.mark.parametrize("field", VALUES)
def test_balls_of_newton_are_damped_alike_about_all_axes(field: str) -> None:
    assert bool(list(LOSSES["newton"](with_value("ball", field)))) == (field not in ("damping", "armature"))
    assert list(LOSSES["newton"](with_value("ball", field, first=True)))


@pytest.mark.parametrize("field", ["velocity_limits", "force_limits"])
def test_newton_has_the_same_limit_in_both_directions(field: str) -> None:
    world = arm("revolute", lambda joint: setattr(joint.dofs[0], field, (-3.0, 5.0)))
    (found,) = LOSSES["newton"](world)
    assert "alike in both directions, to the smaller bound" in found
    assert not list(LOSSES["pinocchio"](world))


@pytest.mark.parametrize("actuator", ["servo", "velocity", "acceleration", "locked"])
@pytest.mark.parametrize("program", LOSSES)
def test_actuators_with_commands_are_losses(program: str, actuator: Any) -> None:
    found = list(LOSSES[program](arm("revolute", lambda joint: setattr(joint, "actuator", actuator))))
    assert found == [f"joint 'b_joint': its actuator ({actuator}) is missing; it moves freely"]


@pytest.mark.parametrize("program", LOSSES)
def test_joints_of_static_models_lose_nothing(program: str) -> None:
    world = with_value("ball", "stiffness")
    world.models[0].static = True
    assert not list(LOSSES[program](world))


def test_shapes_of_pinocchio_have_no_friction() -> None:
    world = arm("revolute")
    world.models[0].bodies[1].collisions[0].friction = 0.3
    assert list(LOSSES["pinocchio"](world)) == ["body 'b': Pinocchio's shapes have no friction or restitution"]


def test_springs_have_the_name_of_each_version_of_newton() -> None:
    def older(*, axis: object, target_pos: float = 0.0) -> None: ...
    def newer(*, axis: object, target_q: float | None = None, target_pos: float | None = None) -> None: ...

    assert newton_model.target_option(older) == "target_pos"
    assert newton_model.target_option(newer) == "target_q"


# --- files with errors --------------------------------------------------------------------------------

FAULTY = """<skel version="1.0"><world name="w"><skeleton name="m">
<body name="a"><inertia><mass>heavy</mass></inertia></body>
<body name="b"><inertia><mass>1</mass></inertia></body>
<joint name="j" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 1 0</xyz></axis></joint>
</skeleton></world></skel>"""
MODULES = {"to_mujoco": "mujoco", "to_dartpy": "dartpy", "to_newton": "newton", "to_pinocchio": "pinocchio"}


@pytest.mark.parametrize("function", [*MODULES, "Simulation", "convert"])
def test_what_could_be_read_of_a_file_with_errors_is_built(function: str) -> None:
    pytest.importorskip(MODULES.get(function, "mujoco"))
    scene = exoskel.load(FAULTY)
    assert any(one.severity == "error" for one in scene.diagnostics)
    options = {"to": "mjcf"} if function == "convert" else {}
    build = getattr(exoskel, function)
    assert build(scene, **options)
    with pytest.raises(exoskel.LoadError):
        build(exoskel.load(FAULTY, strict=True), **options)
    scene.world.models[0].joints[-1].child = exoskel.Body("unknown")
    with pytest.raises(exoskel.ExoskelError):  # it is no longer valid
        build(scene, **options)
