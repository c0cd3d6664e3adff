"""Random edits: the saved file gives the edited scene or the edit is refused, and nothing else changes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import exoskel
from exoskel.formats.save import rebase, saved_bytes
from exoskel.formats.saving.patch import patch_document
from exoskel.formats.saving.verification import match
from exoskel.scene.pose import AxisAngle, Euler, Quaternion
from tests.saving.documents import SKEL, XODE
from tests.saving.support import reread, save_and_verify

FEW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

NUMBERS = st.floats(-100.0, 100.0, allow_nan=False).map(lambda v: round(v, 3)) | st.floats(
    -1e6, 1e6, allow_nan=False, allow_subnormal=False
)
SIZES = st.floats(1e-3, 1e3, allow_nan=False)
VECTORS = st.tuples(NUMBERS, NUMBERS, NUMBERS)
ANGLES = st.floats(-3.0, 3.0, allow_nan=False)
ROTATIONS = (
    st.builds(Euler, st.tuples(ANGLES, ANGLES, ANGLES))
    | st.builds(lambda a, d: Euler((a, 0.0, 0.0), degrees=d), ANGLES, st.booleans())
    | st.builds(lambda a: AxisAngle((1.0, 2.0, -1.0), a), ANGLES)
    | st.builds(lambda a, b: Quaternion((1.0, a, b, 0.5)), ANGLES, ANGLES)
)
POSES = st.builds(exoskel.Pose, VECTORS, ROTATIONS)
GEOMETRIES = (
    st.builds(lambda *s: exoskel.Box(s), SIZES, SIZES, SIZES)
    | st.builds(exoskel.Sphere, SIZES)
    | st.builds(exoskel.Cylinder, SIZES, SIZES)
    | st.builds(exoskel.Capsule, SIZES, SIZES)
    | st.builds(lambda *s: exoskel.Ellipsoid(s), SIZES, SIZES, SIZES)
)
NAMES = st.text(
    st.characters(min_codepoint=33, max_codepoint=0x2FFF, exclude_categories=("Cs", "Cc", "Zs")), min_size=1
)
COLORS = st.tuples(*[st.floats(0.0, 1.0).map(lambda v: round(v, 2))] * 4)

Step = Callable[[Any], object]


def body(model: Any, number: int) -> Any:
    return model.bodies[number % len(model.bodies)]


def joint(model: Any, number: int) -> Any:
    stated = [one for one in model.joints if not one.implicit] or model.joints
    return stated[number % len(stated)]


def _set(field: str) -> Callable[[int, Any], Step]:
    return lambda number, value: lambda model: setattr(body(model, number), field, value)


def _shape(field: str) -> Callable[[int, Any], Step]:
    def step(number: int, value: Any) -> Step:
        def edit(model: Any) -> None:
            for shape in body(model, number).collisions[:1]:
                setattr(shape, field, value)

        return edit

    return step


def _dof(field: str) -> Callable[[int, Any], Step]:
    def step(number: int, value: Any) -> Step:
        def edit(model: Any) -> None:
            for dof in joint(model, number).dofs[:1]:
                setattr(dof, field, value)

        return edit

    return step


def _rename(number: int, name: str) -> Step:
    def edit(model: Any) -> None:
        if name not in {one.name for one in (*model.bodies, *model.joints)} and name != "world":
            model.rename(body(model, number) if number % 2 else joint(model, number), name)

    return edit


def _add(number: int, pose: Any, geometry: Any, mass: float) -> Step:
    def edit(model: Any) -> None:
        name = f"new_{len(model.bodies)}_{number}"
        if all(one.name != name for one in model.bodies):
            model.add_body(
                name,
                parent=body(model, number),
                pose=pose,
                joint="revolute",
                axes=((0.0, 0.0, 1.0),),
                mass=mass,
                shapes=[geometry],
            )

    return edit


def _remove(number: int) -> Step:
    def edit(model: Any) -> None:
        parents = {id(one.parent) for one in model.joints}
        leaves = [one for one in model.bodies if id(one) not in parents]
        if len(model.bodies) > 2:
            model.remove(leaves[number % len(leaves)])

    return edit


def _add_shape(number: int, geometry: Any, color: Any) -> Step:
    return lambda model: body(model, number).visuals.append(exoskel.Shape(geometry=geometry, color=color))


NUMBER = st.integers(0, 7)
LIMITS = st.tuples(st.floats(-3.0, 0.0), st.floats(0.0, 3.0))
STEPS: st.SearchStrategy[Step] = st.one_of(
    st.builds(_set("mass"), NUMBER, SIZES),
    st.builds(_set("com"), NUMBER, VECTORS),
    st.builds(_set("pose"), NUMBER, POSES),
    st.builds(_set("gravity"), NUMBER, st.booleans()),
    st.builds(_set("moment"), NUMBER, st.tuples(*[st.floats(1.0, 1.9)] * 3, *[st.just(0.0)] * 3)),
    st.builds(_shape("geometry"), NUMBER, GEOMETRIES),
    st.builds(_shape("pose"), NUMBER, POSES),
    st.builds(_dof("position_limits"), NUMBER, LIMITS),
    st.builds(_dof("damping"), NUMBER, SIZES),
    st.builds(_dof("stiffness"), NUMBER, SIZES),
    st.builds(lambda n, p: lambda m: setattr(joint(m, n), "pose", p), NUMBER, POSES),
    st.builds(lambda n, a: lambda m: setattr(joint(m, n), "actuator", a), NUMBER, st.sampled_from(["servo", "force"])),
    st.builds(_rename, NUMBER, NAMES),
    st.builds(_add, NUMBER, POSES, GEOMETRIES, SIZES),
    st.builds(_remove, NUMBER),
    st.builds(_add_shape, NUMBER, GEOMETRIES, COLORS),
)


def model_of(scene: Any) -> Any:
    return max(scene.world.models, key=lambda model: len(model.bodies))


def check(text: str, steps: list[Step], keep: Callable[[bytes], bool]) -> None:
    scene = exoskel.load(text)
    for step in steps:
        step(model_of(scene))
    assert keep(save_and_verify(scene))


@FEW
@given(st.lists(STEPS, min_size=1, max_size=5))
def test_random_edits_of_skel_change_nothing_outside_the_edited_model(steps: list[Step]) -> None:
    head, tail = SKEL.encode().index(b'    <skeleton name="arm">'), SKEL.encode().index(b'    <skeleton name="table">')
    before, after = SKEL.encode()[:head], SKEL.encode()[tail:]
    check(SKEL, steps, lambda saved: saved.startswith(before) and saved.endswith(after))


@FEW
@given(st.lists(STEPS, min_size=1, max_size=5))
def test_random_edits_of_xode_change_nothing_else(steps: list[Step]) -> None:
    data = XODE.encode()
    head = data[: data.index(b'\t\t\t<group name="rig">')]

    def keep(saved: bytes) -> bool:
        return saved.startswith(head) and saved.endswith(b"\t\t</space>\n\t</world>\n</xode>\n") and b"#aa0000" in saved

    check(XODE, [step for step in steps if step.__qualname__.partition(".")[0] != "_remove"], keep)


@FEW
@given(st.lists(STEPS, min_size=1, max_size=4), st.sampled_from([SKEL, XODE]))
def test_saving_after_each_edit_equals_saving_once(steps: list[Step], text: str) -> None:
    scene = exoskel.load(text)
    for step in steps:
        step(model_of(scene))
        done = patch_document(scene)
        rebase(scene, done)
        assert saved_bytes(scene) == done.data
        assert not match(scene, reread(scene, done.data)).problem


@FEW
@given(st.lists(STEPS, min_size=1, max_size=4), st.sampled_from([SKEL, XODE]))
def test_a_refused_save_does_not_change_the_scene(steps: list[Step], text: str) -> None:
    scene, other = exoskel.load(text), exoskel.load(text)
    for one in (scene, other):
        for step in steps:
            step(model_of(one))
    with contextlib.suppress(exoskel.SaveError):
        saved_bytes(scene)
    assert not match(scene, other).unequal


@FEW
@given(VECTORS, st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from(["utf-8", "utf-16", "latin-1"]))
def test_an_edited_number_changes_only_its_bytes_in_any_encoding(com: Any, end: str, encoding: str) -> None:
    head = f"<?xml version='1.0' encoding='{encoding}'?>\n"
    text = (head + SKEL.partition("\n")[2].replace("ACME", "Müller")).replace("\n", end)
    scene = exoskel.load(text.encode(encoding))
    scene.world.model("arm").body("base").com = com
    saved = saved_bytes(scene).decode(encoding)
    before, _, after = text.partition("0 0 .1")
    assert saved.startswith(before) and saved.endswith(after)
    assert [float(word) for word in saved[len(before) : len(saved) - len(after)].split()] == list(com)
