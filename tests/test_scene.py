"""Building, merging, copying and summarizing scenes."""

from __future__ import annotations

import numpy as np
import pytest

import exoskel
from exoskel import Box, Kinematics, Model, Pose, Scene, Sphere, World
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.merge import copy_world
from exoskel.scene.moment_checks import check_moment, is_clearly_valid
from tests.support.findings import load_text
from tests.support.places import EXAMPLES
from tests.support.xml import PHYSICS, body, joint, one_body, skeleton, world


def pendulum() -> World:
    built = World(name="lab", gravity=(0, 0, -9.81), time_step=0.002)
    model = built.add_model("pendulum")
    post = model.add_body("post", joint="weld", shapes=[Box((0.1, 0.1, 1.0))], mass=5.0)
    model.add_body(
        "bob",
        parent=post,
        joint="revolute",
        joint_name="swing",
        axes=((0.0, 1.0, 0.0),),
        pose=Pose((0.0, 0.0, -0.5)),
        positions=(0.3,),
        mass=2.0,
        shapes=[Sphere(0.1)],
    )
    return built


def test_a_world_is_built_in_python() -> None:
    built = pendulum()
    model = built.model("pendulum")
    assert (built.dof_count, built.mass, model.dof_names) == (1, 7.0, ["swing"])
    assert [(b.name, len(b.visuals), len(b.collisions)) for b in model.bodies] == [("post", 1, 1), ("bob", 1, 1)]
    assert np.allclose(model.body("bob").moment[:3], 0.4 * 2.0 * 0.01)
    assert Kinematics(built.models).poses().shape == (2, 4, 4)
    assert model.body("bob").provenance("mass") == "default"


def test_the_summary_of_a_built_world_has_no_lines() -> None:
    summary = exoskel.summarize(Scene(worlds=[pendulum()]))
    assert (summary["file"], summary["format"]) == (None, None)
    assert {b["line"] for b in summary["worlds"][0]["models"][0]["bodies"]} == {None}
    assert summary["totals"] == {"worlds": 1, "models": 1, "bodies": 2, "joints": 2, "dofs": 1, "mass": 7.0}


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda m: m.add_body("bob"), "already has a body called 'bob'"),
        (lambda m: m.add_body("x", parent="bop"), "did you mean 'bob'?"),
        (lambda m: m.add_body("x", joint="hinge"), "unknown joint kind 'hinge'"),
        (lambda m: m.add_body("x", joint="revolute"), "expected 1, found 0"),
        (lambda m: m.add_body("x", joint_name="swing"), "already has a joint called 'swing'"),
        (lambda m: m.joint("swing").__setattr__("positions", (1.0, 2.0)), "have 2 numbers, but need 1"),
        (lambda m: m.add_joint("y", "weld", child=exoskel.Body(name="stray")), "no body called 'stray'"),
        (lambda m: m.body("post").__setattr__("mass", -1.0), "is -1.0, but must not be negative"),
        (lambda m: m.body("pots"), "did you mean 'post'?"),
    ],
)
def test_invalid_edits_raise_errors(action: object, message: str) -> None:
    model = pendulum().model("pendulum")
    with pytest.raises(exoskel.ExoskelError, match=message):
        action(model)  # type: ignore[operator]


def test_a_second_joint_to_a_body_closes_a_loop() -> None:
    model = pendulum().model("pendulum")
    loop = model.add_joint("closing", "ball", child=model.body("bob"), parent=model.body("post"))
    assert loop.loop and loop.dof_count == 0 and model.dof_count == 1
    summary = exoskel.summarize(Scene(worlds=[World(models=[model])]))
    assert [j["loop"] for j in summary["worlds"][0]["models"][0]["joints"]] == [False, False, True]


def test_items_are_found_after_renaming() -> None:
    model = pendulum().model("pendulum")
    model.body("bob").name = "weight"
    assert model.body("weight") is model.joint("swing").child
    with pytest.raises(exoskel.UnknownNameError):
        model.body("bob")
    model.bodies.reverse()
    assert model.body("post").name == "post"


def test_an_invalid_time_step_is_an_error() -> None:
    with pytest.raises(exoskel.ExoskelError, match="time_step of world 'world' is 0"):
        World(time_step=0.0)


def test_many_bodies_are_added_in_linear_time() -> None:
    model = Model(name="many")
    for i in range(20_000):
        model.add_body(f"b{i}")
    assert model.dof_count == 120_000


def test_scene_world_requires_exactly_one_world() -> None:
    with pytest.raises(exoskel.ExoskelError, match="has no world"):
        _ = Scene().world
    with pytest.raises(exoskel.ExoskelError, match="SK004"):
        _ = load_text("<skel version='1.0'/>").world
    with pytest.raises(exoskel.ExoskelError, match="2 worlds"):
        _ = Scene(worlds=[World(name="a"), World(name="b")]).world


def test_an_item_has_a_position_in_its_source() -> None:
    scene = exoskel.load(EXAMPLES / "01_drop.skel")
    position = scene.where(scene.world.model("crate").body("crate"))
    assert position is not None and position.line == 26
    assert scene.where(exoskel.Body(name="new")) is None


def test_a_merged_scene_has_the_documents_of_both_sources() -> None:
    first, second = (exoskel.load(EXAMPLES / name) for name in ("01_drop.skel", "02_frames.skel"))
    merged = exoskel.merge(first, second)
    assert [m.name for m in merged.world.models] == ["floor", "crate", "arm"]
    assert len(merged.documents) == 2
    for name, source in (("crate", first), ("arm", second)):
        model = merged.world.model(name)
        for own, other in zip(model.bodies, source.world.model(name).bodies, strict=True):
            assert merged.where(own) == source.where(other)
            assert own is not other
    assert [d.code for d in merged.diagnostics] == [d.code for d in second.diagnostics] + ["MG002"]
    assert "time step is 0.002" in merged.diagnostics[-1].message


def test_merging_renames_equal_names_and_does_not_change_the_inputs() -> None:
    one, two = (load_text(world(skeleton(body() + joint(), "s"))) for _ in range(2))
    merged = exoskel.merge(one, two, pendulum())
    assert [m.name for m in merged.world.models] == ["s", "s(1)", "pendulum"]
    assert [m.name for m in two.world.models] == ["s"]
    assert "MG001" in {d.code for d in merged.diagnostics}
    merged.world.model("s(1)").body("b").mass = 9.0
    assert two.world.model("s").body("b").mass == 1.0
    lines = [b["line"] for m in exoskel.summarize(merged)["worlds"][0]["models"] for b in m["bodies"]]
    assert lines == [1, 1, None, None]


def test_merging_anything_else_is_an_error() -> None:
    with pytest.raises(exoskel.ExoskelError, match="expected a Scene, World or Model"):
        exoskel.merge(pendulum(), "world.skel")  # type: ignore[arg-type]


def test_copies_share_no_mutable_objects() -> None:
    original = exoskel.load(EXAMPLES / "05_dofs.skel").world
    copied = copy_world(original)
    copied.model("rig").joint("hinge").dofs[0].damping = 99.0
    copied.model("rig").body("cart").visuals[0].color = (1.0, 0.0, 0.0, 1.0)
    copied.model("rig").body("cart").mass = 99.0
    assert original.model("rig").joint("hinge").dofs[0].damping == 0.01
    assert original.model("rig").body("cart").visuals[0].color is None
    assert original.model("rig").body("cart").mass == 2.0
    assert copied.model("rig").joint("hinge").child is copied.model("rig").body("pole")


def test_the_summary_has_the_documented_keys() -> None:
    summary = exoskel.summarize(exoskel.load(EXAMPLES / "02_frames.skel"))
    assert list(summary) == ["file", "format", "format_version", "semantics", "worlds", "totals", "diagnostics"]
    (one,) = summary["worlds"]
    assert list(one) == ["name", "gravity", "time_step", "models"]
    (arm,) = one["models"]
    assert list(arm) == ["name", "static", "bodies", "joints"]
    assert list(arm["bodies"][0]) == [
        "name", "mass", "com", "inertia", "pose", "gravity", "visuals", "collisions", "line",
    ]  # fmt: skip
    assert list(arm["joints"][1]) == [
        "name", "type", "parent", "child", "dofs", "positions", "velocities", "loop", "line",
    ]  # fmt: skip
    assert [j["parent"] for j in arm["joints"]] == [None, "base", "upper"]
    assert np.allclose(arm["bodies"][1]["pose"][:3], (1, 0.446410, 0.3), atol=1e-6)
    assert arm["bodies"][0]["line"] == 10
    assert summary["diagnostics"] == {"error": 0, "warning": 1, "info": 1}


def test_text_paths_and_bytes_all_load() -> None:
    text = one_body()
    for source in (text, text.encode(), "\n  " + text):
        assert exoskel.load(source).world.models
    assert PHYSICS in text


def test_text_of_usd_loads() -> None:
    pytest.importorskip("pxr")
    data = exoskel.convert(one_body(), to="usd").data
    assert data.startswith(b"#usda")
    assert exoskel.load(data.decode()).world.models


def test_a_text_that_is_no_document_is_not_repeated_whole_in_the_message() -> None:
    with pytest.raises(exoskel.ExoskelError, match="cannot read 'xx") as caught:
        exoskel.load("x" * 100_000)
    assert len(str(caught.value)) < 400


def test_an_unknown_format_is_an_error() -> None:
    with pytest.raises(exoskel.ExoskelError, match="unknown format 'abc'"):
        exoskel.load(one_body(), format="abc")


def test_merging_reports_different_settings() -> None:
    one, other = exoskel.World(), exoskel.World(erp=0.3, self_collision=True, collision_exempt_groups=[("a", "b")])
    model = other.add_model("m")
    for name in ("x", "y"):
        model.add_body(name, shapes=[exoskel.Sphere(1.0)])
    merged = exoskel.merge(one, other)
    assert [d.message.split(" is ")[0] for d in merged.diagnostics] == ["ERP", "self-collision"]
    assert merged.world.collision_exempt_groups == [("a", "b")] and one.collision_exempt_groups == []


def test_clearly_valid_moments_are_valid() -> None:
    """The quick check never accepts a moment that the eigenvalues reject, and accepts typical moments."""
    rng = np.random.default_rng(0)
    plain = 0
    for _ in range(2000):
        diagonal = rng.uniform(0.0, 1.0, 3)
        products = rng.uniform(-0.3, 0.3, 3) * rng.choice([0.0, 0.1, 1.0])
        moment = (*diagonal.tolist(), *products.tolist())
        if is_clearly_valid(moment):
            plain += 1
            found = check_moment(moment)
            assert found.definite and not found.singular and found.triangle
    assert plain > 200
    assert not is_clearly_valid((1.0, 1.0, 2.0, 0.0, 0.0, 0.0)), "a flat disc is on the edge"
    for bad in (np.nan, np.inf):
        assert not any(is_clearly_valid((*(1.0,) * at, bad, *(1.0,) * (5 - at))) for at in range(6))


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_an_amotor_has_up_to_three_axes(count: int) -> None:
    world = exoskel.World(name="w")
    model = world.add_model("m")
    body = model.add_body("b", joint="free")
    axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))[:count]
    model.add_joint("motor", "amotor", child=body, axes=axes)
    assert exoskel.check(exoskel.Scene(worlds=[world])) == []


@pytest.mark.parametrize("order", ["xxx", "xxy", "zyy", "xy", "xyw", ""])
def test_an_euler_joint_needs_an_order_of_three_rotations(order: str) -> None:
    model = exoskel.World(name="w").add_model("m")
    with pytest.raises(exoskel.ExoskelError, match="order of joint 'b_joint' is"):
        model.add_body("b", joint="euler", order=order)
    model.add_body("c", joint="euler", order="zxz")
    with no_edits():  # as a reader does
        model.joint("c_joint").order = "xxx"
    assert [d.code for d in exoskel.check(exoskel.Scene(worlds=[exoskel.World(name="v", models=[model])]))] == ["SC104"]
