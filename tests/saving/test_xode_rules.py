"""Edits of XODE files, field by field."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel.scene.pose import AxisAngle, Euler, Matrix, Quaternion
from tests.saving.documents import XODE
from tests.saving.support import changed_lines_stripped, edited, save_and_verify

START = '<xode version="1.0r22"><world name="w">\n<space>\n'
END = "</space>\n</world></xode>\n"


def body(world: Any, name: str) -> Any:
    return next(body for body in world.bodies() if body.name == name)


def hinge(world: Any) -> Any:
    return next(joint for joint in world.joints() if joint.name == "hinge")


def replaced(text: str, *pairs: tuple[str, str]) -> str:
    """A text with some parts replaced, each of which occurs once."""
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def set_body(which: str, **fields: Any) -> Any:
    return lambda world: [setattr(body(world, which), field, value) for field, value in fields.items()]


def set_dof(**fields: Any) -> Any:
    return lambda world: [setattr(hinge(world).dofs[0], field, value) for field, value in fields.items()]


def set_geometry(name: str, geometry: Any) -> Any:
    return lambda world: setattr(body(world, name).collisions[0], "geometry", geometry)


def move(world: Any, name: str, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> None:
    found = body(world, name)
    found.pose = exoskel.Pose(tuple(np.add(found.pose.position, (x, y, z)).tolist()), found.pose.rotation)


IN_PLACE: dict[str, tuple[Any, str, str]] = {
    "density, by the mass": (set_body("crate", mass=4.5), 'density="3.0"', 'density="4.5"'),
    "total, by the mass": (set_body("ball", mass=5.0), 'total="4.0"', 'total="5"'),
    "a size": (
        set_geometry("crate", exoskel.Box((1.0, 0.75, 1.0))),
        '\t<box sizex="1.0" sizey="1.0" sizez="1.0"/>\n',
        '\t<box sizex="1.0" sizey="0.75" sizez="1.0"/>\n',
    ),
    "another shape": (
        set_geometry("crate", exoskel.Sphere(0.75)),
        '\t<box sizex="1.0" sizey="1.0" sizez="1.0"/>\n',
        '\t<sphere radius="0.75"/>\n',
    ),
    "a stop, by the limit": (set_dof(position_limits=(-0.25, 0.5)), 'LowStop="-0.50"', 'LowStop="-0.25"'),
    "no stop, by no limit": (set_dof(position_limits=(-0.5, inf)), ' HiStop="0.50"', ""),
    "a motor": (
        lambda w: setattr(hinge(w), "drives", (exoskel.Drive(low_stop=-0.5, high_stop=0.5, max_force=25.0),)),
        'FMax="1e1"',
        'FMax="25"',
    ),
    "gravity mode": (set_body("ball", gravity=False), '<body name="ball">', '<body name="ball" gravitymode="0">'),
    "a joint's name": (lambda w: setattr(hinge(w), "name", "pin"), '<joint name="hinge">', '<joint name="pin">'),
    "a geom's name": (
        lambda w: setattr(body(w, "ball").collisions[0], "name", "round"),
        'name="ball_geom"',
        'name="round"',
    ),
    "the world's name": (lambda w: setattr(w, "name", "den"), '<world name="lab">', '<world name="den">'),
    "a plane": (
        lambda w: setattr(
            w.model("environment").bodies[0].collisions[0], "geometry", exoskel.Plane((0.0, 0.0, 1.0), -1.0)
        ),
        'd="0"',
        'd="-1"',
    ),
    "an axis": (
        lambda w: setattr(hinge(w), "axes", ((0.0, -0.6, -0.8),)),
        'x="0" y="0" z="2.0"',
        'x="0" y="0.6" z="0.8"',
    ),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_an_edited_value_changes_only_its_own_bytes(name: str) -> None:
    edit, old, new = IN_PLACE[name]
    assert edited(XODE, edit).decode() == replaced(XODE, (old, new))


# --- masses -----------------------------------------------------------------------------------------


def test_a_solid_scales_its_moment_with_its_mass() -> None:
    scene = exoskel.load(XODE)
    for name in ("crate", "ball"):
        found = body(scene.world, name)
        before = found.moment
        found.mass *= 2
        assert found.moment == pytest.approx([2 * entry for entry in before])
    save_and_verify(scene)


MASSES = {
    "a shape, moved": (
        '<mass_shape density="2"><sphere radius="1"/></mass_shape><transform><position x="1" y="0" z="0"/></transform>',
        {'density="2"': 'density="4"'},
    ),
    "adjusted": (
        '<mass_shape density="2"><sphere radius="1"/></mass_shape><adjust total="8"/>',
        {'total="8"': 'total="16"'},
    ),
    "a sum": (
        '<mass_shape total="2"><sphere radius="1"/></mass_shape>'
        '<mass><mass_shape density="3"><box sizex="1" sizey="1" sizez="2"/></mass_shape></mass>',
        {'total="2"': 'total="4"', 'density="3"': 'density="6"'},
    ),
    "a sum, adjusted first": (
        '<mass_shape total="2"><sphere radius="1"/></mass_shape><adjust total="3"/>'
        '<mass><mass_shape total="5"><sphere radius="1"/></mass_shape></mass>',
        {'total="3"': 'total="6"', 'total="5"': 'total="10"'},
    ),
    "a lone adjustment": ('<adjust total="3"/>', {'total="3"': 'total="6"'}),
}


@pytest.mark.parametrize("name", MASSES)
def test_every_kind_of_mass_element_is_scaled_in_place(name: str) -> None:
    inside, pairs = MASSES[name]
    text = f'{START}<body name="b"><geom name="g"><sphere radius="1"/></geom><mass>{inside}</mass></body>\n{END}'

    def edit(world: Any) -> None:
        body(world, "b").mass *= 2

    assert edited(text, edit).decode() == replaced(text, *pairs.items())


STRUCT = (
    '<mass_struct total="2.0"><centerGravity x="0" y="0" z="0.10"/>'
    '<imatrix m00="1.0" m01="0" m02="0" m10="0" m11="1.0" m12="0" m20="0" m21="0" m22="1.0"/></mass_struct>'
)


def test_a_changed_mass_keeps_the_other_numbers() -> None:
    text = f'{START}<body name="b"><mass>{STRUCT.replace("0.10", "0")}</mass></body>\n{END}'
    saved = edited(text, set_body("b", mass=3.5)).decode()
    assert saved == replaced(text, ('total="2.0"', 'total="3.5"'))


def test_a_moment_is_stated_about_the_origin() -> None:
    text = f'{START}<body name="b"><mass>{STRUCT}</mass></body>\n{END}'
    saved = edited(text, set_body("b", moment=(2.0, 2.0, 1.0, 0.0, 0.0, 0.25))).decode()
    assert saved == text.replace('m00="1.0"', 'm00="2.02"').replace(
        'm11="1.0" m12="0"', 'm11="2.02" m12="0.25"'
    ).replace('m21="0"', 'm21="0.25"')


def test_a_stated_moment_replaces_a_solid() -> None:
    removed, new = changed_lines_stripped(XODE, edited(XODE, set_body("ball", moment=(1.0, 2.0, 3.0, 0.0, 0.0, 0.0))))
    assert removed == ['<mass_shape total="4.0"><sphere radius="0.50"/></mass_shape>']
    assert new[0] == '<mass_struct total="4">' and new[-1] == "</mass_struct>"


def test_a_stated_centre_of_mass_replaces_a_solid() -> None:
    saved = edited(XODE, set_body("ball", com=(0.0, 0.0, 0.25)))
    assert b'<centerGravity x="0" y="0" z="0.25"/>' in saved
    assert saved.count(b"mass_shape") == 2, "that of the crate is preserved"


def test_the_moment_of_an_adjust_element_follows_the_geoms() -> None:
    text = f'{START}<body name="b"><geom name="g"><sphere radius="1"/></geom><mass><adjust total="3"/></mass></body>\n{END}'
    scene = exoskel.load(text)
    found = body(scene.world, "b")
    found.collisions[0].geometry = exoskel.Sphere(2.0)
    assert save_and_verify(scene).decode() == replaced(text, ('radius="1"', 'radius="2"'))
    assert found.moment[0] == pytest.approx(0.4 * 3 * 4)


def test_a_body_without_a_mass_gets_one_behind_its_geoms() -> None:
    text = f'{START}<body name="b">\n  <geom name="g"><sphere radius="1"/></geom>\n  <ext ename="mine">x</ext>\n</body>\n{END}'
    saved = edited(text, set_body("b", mass=3.0)).decode()
    head, _, rest = saved.partition("</geom>\n")
    assert head == text.partition("</geom>\n")[0]
    assert rest.startswith('  <mass>\n    <mass_struct total="3">\n')
    assert rest.endswith('  </mass>\n  <ext ename="mine">x</ext>\n</body>\n' + END)


# --- places -----------------------------------------------------------------------------------------


def test_a_body_in_a_group_moves_in_the_frame_of_the_group() -> None:
    # The group is rotated by 90 degrees about z: the world's y axis is its x axis.
    saved = edited(XODE, lambda world: move(world, "crate", y=0.5)).decode()
    assert saved == replaced(XODE, ('x="2.0" y="0" z="1.50"', 'x="2.5" y="0" z="1.50"'))
    assert body(exoskel.load(saved).world, "crate").pose.position == pytest.approx((1.0, 2.5, 1.5), abs=1e-12)


def test_a_hinge_moves_with_its_child() -> None:
    assert hinge(exoskel.load(XODE).world).child.name == "ball"
    saved = edited(XODE, lambda world: move(world, "ball", z=1.0)).decode()
    assert saved == replaced(XODE, ('z="3.50"', 'z="4.5"'), ('z="2.50" absolute', 'z="3.5" absolute'))


FORMS = {
    "euler": (
        '<euler x="0" y="0" z="30.0" aformat="degrees"/>',
        Euler((0.0, 0.0, 45.0), degrees=True),
        'z="45"',
    ),
    "euler from radians": (
        '<euler x="0" y="0" z="30.0" aformat="degrees"/>',
        Euler((0.0, 0.0, np.pi / 2)),
        'z="90"',
    ),
    "axis and angle": (
        '<axisangle x="0" y="0" z="1" angle="30.0" aformat="degrees"/>',
        AxisAngle((0.0, 0.0, 1.0), 45.0, degrees=True),
        'angle="45"',
    ),
    "quaternion": (
        '<quaternion x="0" y="0" z="0.5" w="0.8660254037844386"/>',
        Quaternion((0.8, 0.0, 0.0, 0.6)),
        'z="0.6" w="0.8"',
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_rotation_is_written_in_its_authors_form(name: str) -> None:
    written, rotation, wanted = FORMS[name]
    text = XODE.replace('<euler x="0" y="0" z="30.0" aformat="degrees"/>', written)

    def edit(world: Any) -> None:
        found = body(world, "ball")
        found.pose = exoskel.Pose(found.pose.position, rotation)

    saved = edited(text, edit).decode()
    tag = written[1:].partition(" ")[0]
    assert saved.count(f"<{tag} ") == text.count(f"<{tag} ")
    assert wanted in saved


@pytest.mark.parametrize(
    "rotation",
    [
        Euler((0.25, -0.5, 0.75)),
        AxisAngle((1.0, 2.0, 3.0), 0.7),
        Matrix(((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))),
    ],
)
@pytest.mark.parametrize("name", FORMS)
def test_any_rotation_can_be_written_in_any_form(name: str, rotation: Any) -> None:
    text = XODE.replace('<euler x="0" y="0" z="30.0" aformat="degrees"/>', FORMS[name][0])
    edited(text, set_body("ball", pose=exoskel.Pose((1.0, 2.0, 3.0), rotation)))
    edited(text, set_body("crate", pose=exoskel.Pose((1.0, 2.0, 3.0), rotation)))


def test_a_matrix_is_replaced_by_a_position_and_a_rotation() -> None:
    entries = " ".join(f'm{r}{c}="{float(r == c)}"' for r in range(4) for c in range(4))
    text = f'{START}<body name="b"><transform><matrix4f {entries}/></transform></body>\n{END}'
    saved = edited(text, set_body("b", pose=exoskel.Pose((1.0, 0.0, 0.0), Quaternion((0.8, 0.0, 0.0, 0.6))))).decode()
    inside = '<position x="1" y="0" z="0"/><rotation><quaternion x="0" y="0" z="0.6" w="0.8"/></rotation>'
    assert saved == text.replace(f"<matrix4f {entries}/>", inside)


@pytest.mark.parametrize("rotation", [Euler(), Quaternion((0.8, 0.0, 0.0, 0.6))], ids=["not rotated", "rotated"])
def test_replacing_a_matrix_does_not_touch_other_lines(rotation: Any) -> None:
    """Found with generated documents: the edits overlapped, and all joints of the model were rewritten."""
    entries = " ".join(f'm{r}{c}="{float(r == c)}"' for r in range(4) for c in range(4))
    joint = "<joint name='j'><link2 body='b' /><hinge><axis x='0' y='3' z='-4' /><anchor x='0' y='0' z='0'/></hinge></joint>"
    shape = f'<geom>\n <transform absolute="false">\n  <matrix4f {entries} />\n </transform><sphere radius="1"/></geom>'
    text = f'{START}<body name="b">{shape}</body>\n{joint}\n{END}'

    def move(world: Any) -> None:
        body(world, "b").collisions[0].pose = exoskel.Pose((1.0, 0.0, 0.0), rotation)

    saved = edited(text, move).decode()
    before, behind = text.split(f"<matrix4f {entries} />")
    assert saved.startswith(before + '<position x="1" y="0" z="0"/>')
    assert saved.endswith(behind)


def test_pyode_euler_angles_have_the_opposite_sign() -> None:
    text = (
        f'{START}<body name="b"><transform><rotation><euler x="0" y="0" z="30"/></rotation></transform></body>\n{END}'
    )
    rotation = Euler((0.0, 0.0, -0.5))
    saved = edited(text, set_body("b", pose=exoskel.Pose(rotation=rotation)), dialect="pyode")
    assert saved.decode() == replaced(text, ('z="30"', 'z="0.5"'))


def test_bodies_inside_a_moved_body_do_not_move() -> None:
    text = (
        f'{START}<body name="outer"><transform><position x="1" y="0" z="0"/></transform>'
        f'<body name="inner"><transform><position x="0" y="2" z="0"/></transform></body></body>\n{END}'
    )
    saved = edited(text, lambda world: move(world, "outer", x=0.5)).decode()
    assert saved == replaced(text, ('x="1" y="0"', 'x="1.5" y="0"'), ('x="0" y="2"', 'x="-0.5" y="2"'))


def test_shapes_in_a_group_of_a_body_move_in_the_frame_of_the_group() -> None:
    text = (
        f'{START}<body name="b"><group><transform><position x="0" y="0" z="1"/></transform>'
        f'<geom name="g"><transform><position x="0" y="0" z="1"/></transform><sphere radius="1"/></geom></group></body>\n{END}'
    )
    saved = edited(text, lambda w: setattr(body(w, "b").collisions[0], "pose", exoskel.Pose((0.0, 0.0, 3.0))))
    assert saved.decode() == text.replace('z="1"/></transform><sphere', 'z="2"/></transform><sphere')


# --- joints -----------------------------------------------------------------------------------------


def test_renaming_a_body_renames_all_its_links() -> None:
    saved = edited(XODE, set_body("ball", name="globe")).decode()
    assert saved == replaced(
        XODE, ('<body name="ball">', '<body name="globe">'), ('link2 body="ball"', 'link2 body="globe"')
    )
    saved = edited(XODE, set_body("crate", name="case")).decode()
    assert saved == replaced(
        XODE, ('<body name="crate">', '<body name="case">'), ('link1 body="crate"', 'link1 body="case"')
    )


def test_a_model_is_named_after_its_first_body() -> None:
    scene = exoskel.load(XODE)
    model = scene.world.model("crate")
    model.rename("crate", "case")
    save_and_verify(scene)
    assert (model.name, model.joints[0].name) == ("case", "case_root")


def test_a_relative_anchor_stays_relative_if_possible() -> None:
    near = XODE.replace(' absolute="true"', "")
    assert edited(near, set_dof(position_limits=(-0.25, 0.5))).decode() == near.replace('"-0.50"', '"-0.25"')


def test_the_second_link_is_removed_when_the_parent_becomes_the_environment() -> None:
    def edit(world: Any) -> None:
        model = world.model("crate")
        found = hinge(world)
        del model.joints[0]
        found.child, found.parent = body(world, "crate"), None
        model.remove("ball")

    saved = edited(XODE, edit).decode()
    again = hinge(exoskel.load(saved).world)
    assert (again.child.name, again.parent) == ("crate", None)
    assert '<link2 body="ball"/>' not in saved and '<body name="ball">' not in saved


def test_velocities_of_a_floating_body_are_written_as_its_state() -> None:
    text = f'{START}<body name="b">\n  <geom name="g"><sphere radius="1"/></geom>\n</body>\n{END}'
    scene = exoskel.load(text)
    (joint,) = scene.world.model("b").joints
    joint.velocities = (0.0, 0.0, 1.5, 2.0, 0.0, 0.0)
    saved = save_and_verify(scene)
    assert changed_lines_stripped(text, saved) == (
        [],
        ['<linearVel x="2" y="0" z="0"/>', '<angularVel x="0" y="0" z="1.5"/>'],
    )
    assert body(scene.world, "b").state.linear_velocity == (2.0, 0.0, 0.0)


def test_an_edited_state_changes_the_joint_velocities() -> None:
    text = f'{START}<body name="b"><linearVel x="1.0" y="0" z="0"/></body>\n{END}'
    scene = exoskel.load(text)
    body(scene.world, "b").state.linear_velocity = (3.0, 0.0, 0.0)
    assert save_and_verify(scene).decode() == replaced(text, ('x="1.0"', 'x="3"'))
    assert scene.world.model("b").joints[0].velocities[3:] == (3.0, 0.0, 0.0)


# --- worlds -----------------------------------------------------------------------------------------


def test_gravity_is_edited_in_the_extension_that_states_it() -> None:
    text = XODE.replace(
        "\t\t<space name", '\t\t<ext ename="mine"><gravity x="0" y="0" z="-9.810"/><other/></ext>\n\t\t<space name'
    )
    saved = edited(text, lambda world: setattr(world, "gravity", (0.0, 0.0, -1.62))).decode()
    assert saved == replaced(text, ('z="-9.810"', 'z="-1.62"'))


def test_gravity_is_not_added_to_extensions_of_other_applications() -> None:
    saved = edited(XODE, lambda world: setattr(world, "gravity", (0.0, 0.0, -1.62)))
    assert changed_lines_stripped(XODE, saved) == (
        [],
        ['<ext ename="world-params">', '<gravity x="0" y="0" z="-1.62"/>', "</ext>"],
    )
    assert b'<ext ename="notes">calibrated <b>twice</b></ext>' in saved


def test_removed_gravity_removes_its_element() -> None:
    text = XODE.replace(
        "\t\t<space name", '\t\t<ext ename="mine"><gravity x="0" y="0" z="-9.810"/><other/></ext>\n\t\t<space name'
    )
    saved = edited(text, lambda world: setattr(world, "gravity", (0.0, 0.0, 0.0))).decode()
    assert saved == replaced(text, ('<gravity x="0" y="0" z="-9.810"/>', ""))


# --- what XODE has no words for ---------------------------------------------------------------------


def test_data_that_xode_cannot_express_is_embedded_in_an_extension() -> None:
    saved = edited(XODE, set_dof(damping=0.5))
    removed, new = changed_lines_stripped(XODE, saved)
    assert not removed
    assert (new[0], new[2]) == ('<ext ename="exoskel">', "</ext>") and 'field="dofs"' in new[1]
    assert hinge(exoskel.load(saved).world).dofs[0].damping == 0.5


def test_an_embedded_value_is_updated_and_removed() -> None:
    once = edited(XODE, set_dof(damping=0.5))
    twice = edited(once, set_dof(damping=0.75))
    assert twice == once.replace(b'"damping": 0.5}', b'"damping": 0.75}')
    assert edited(twice, set_dof(damping=0.0)).decode() == XODE


def test_the_fingerprint_of_an_embedded_value_is_updated() -> None:
    once = edited(XODE, set_dof(damping=0.5))
    twice = edited(once, set_dof(position_limits=(-0.25, 0.5)))
    scene = exoskel.load(twice)
    assert hinge(scene.world).dofs[0].damping == 0.5
    assert hinge(scene.world).dofs[0].position_limits == (-0.25, 0.5)
    assert not [d for d in scene.diagnostics if d.key.endswith(".stale")]


def test_embedded_values_share_an_extension() -> None:
    def edit(world: Any) -> None:
        body(world, "ball").visuals.append(exoskel.Shape(geometry=exoskel.Ellipsoid((1.0, 2.0, 3.0))))
        body(world, "ball").markers.append(exoskel.Marker(name="spot"))

    saved = edited(XODE, edit)
    assert saved.count(b'<ext ename="exoskel">') == 1
    again = edited(saved, lambda w: setattr(body(w, "ball").visuals[0], "geometry", exoskel.Ellipsoid((1.0, 2.0, 4.0))))
    assert again.count(b'<ext ename="exoskel">') == 1 and again.count(b"<add ") == 2
    removed = edited(again, lambda w: (body(w, "ball").visuals.clear(), body(w, "ball").markers.clear()))
    assert removed.decode() == XODE


def test_an_actuator_of_an_implicit_joint_is_embedded_in_the_body() -> None:
    text = f'{START}<body name="b">\n  <geom name="g"><sphere radius="1"/></geom>\n</body>\n{END}'
    saved = edited(text, lambda world: setattr(world.model("b").joints[0], "actuator", "passive"))
    _, new = changed_lines_stripped(text, saved)
    assert new[1].startswith('<carry of="joint" field="actuator"')


# --- names ------------------------------------------------------------------------------------------


def test_unnamed_shapes_stay_unnamed() -> None:
    text = f'{START}<body>\n  <geom><sphere radius="1.0"/></geom>\n</body>\n{END}'
    saved = edited(text, lambda w: setattr(next(w.bodies()).collisions[0], "geometry", exoskel.Sphere(2.0))).decode()
    assert saved == replaced(text, ('"1.0"/>', '"2"/>'))
    saved = edited(text, lambda w: setattr(next(w.bodies()), "mass", 2.0))
    assert b"name=" not in saved.partition(b"<space>")[2]
