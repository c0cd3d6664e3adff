"""A certificate fails where an output lets others touch than the scene does, and passes where that is the same."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from random import Random

import pytest

from exoskel import Model, Scene, World, convert, load
from exoskel.convert.physics_certificate import certify
from exoskel.convert.report import Check
from exoskel.formats import registry
from exoskel.formats.interface import Format, Writer
from exoskel.formats.mjcf.collision_filter import non_colliding_bits
from exoskel.formats.usd import compose
from exoskel.formats.usd.tree import Layer, Prim
from exoskel.formats.usd.write import write as write_usd
from exoskel.formats.write import write
from exoskel.scene.body import Body
from exoskel.scene.collision_filter import CollisionRules, collision_rules, connected_pairs, pairs_with_different_rules
from exoskel.scene.inertia import UNIT_MOMENT
from exoskel.scene.joint import Joint
from exoskel.scene.shape import Box, Shape
from exoskel.source.markup import Markup

ROW = "collision filtering"
Z = ((0.0, 0.0, 1.0),)
BOX = Box((0.1, 0.1, 0.1))


def solid(body: Body) -> Body:
    body.collisions.append(Shape(geometry=BOX))
    return body


def arm(world: World, name: str, base: str = "weld") -> Model:
    """A base, an arm, a hand that a loop ties to the base, and a finger, which may touch the base and the arm."""
    model = world.add_model(name)
    parent = ""
    for body, joint in (("base", base), ("arm", "revolute"), ("hand", "revolute"), ("finger", "revolute")):
        options = {"axes": Z} if joint == "revolute" else {}
        solid(model.add_body(f"{name}_{body}", moment=UNIT_MOMENT, joint=joint, parent=parent or None, **options))  # type: ignore[arg-type]
        parent = f"{name}_{body}"
    model.joints.append(
        Joint(name=f"{name}_loop", kind="ball", child=model.bodies[2], parent=model.bodies[0], loop=True)
    )
    return model


def passing_by(world: World) -> World:
    """What DART has: bodies of one model pass each other."""
    world.self_collision = False
    return world


def arms(base: str = "weld") -> World:
    world = World("w", self_collision=True)
    for name in ("one", "two"):
        arm(world, name, base)
    ground = world.add_model("ground")
    solid(ground.add_body("floor", joint="weld"))
    ground.static = True
    return world


def row(world: World, to: str) -> Check:
    """The row of a certificate; the others pass."""
    scene = Scene([world])
    found = certify(scene, write(scene, to), registry.by_name(to))
    assert [check.name for check in found.checks if not check.passed and check.name not in (ROW, "shapes")] == []
    return next(check for check in found.checks if check.name == ROW)


def planted(monkeypatch: pytest.MonkeyPatch, format: str, fault: Callable[[Markup], None]) -> None:
    plain = Format.writer

    def faulty(self: Format) -> Writer:
        def writing(scene: Scene, output: object) -> Markup:
            root = plain(self)(scene, output)  # type: ignore[arg-type]
            if self.name == format:
                fault(root)
            return root

        return writing

    monkeypatch.setattr(Format, "writer", faulty)


def planted_usd(monkeypatch: pytest.MonkeyPatch, fault: Callable[[Prim], None]) -> None:
    """A fault that is asked of each prim."""

    def faulty(scene: Scene, output: object) -> Layer:
        layer = write_usd(scene, output)  # type: ignore[arg-type]
        for prim in layer.iter():
            fault(prim)
        return layer

    monkeypatch.setattr(compose, "write", faulty)


# --- right outputs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["mjcf", "sdf", "urdf", "usd"])
@pytest.mark.parametrize("base", ["weld", "free"])
@pytest.mark.parametrize("meets", [True, False])
def test_a_right_output_passes(format: str, base: str, meets: bool) -> None:
    if format == "usd":
        pytest.importorskip("pxr", reason="usd-core is not installed")
    world = arms(base) if meets else passing_by(arms(base))
    if format == "urdf":
        world.models[1:] = []
    assert row(world, format).passed


@pytest.mark.parametrize("format", ["mjcf", "usd"])
def test_groups_that_pass_by_name_and_joints_that_let_touch_pass(format: str) -> None:
    if format == "usd":
        pytest.importorskip("pxr", reason="usd-core is not installed")
    world = arms()
    world.collision_exempt_groups = [("one_hand", "two_hand"), ("two", "floor")]
    world.models[0].joints[-1].collide_connected = True
    assert row(world, format).passed


def test_what_a_joint_of_a_tree_lets_touch_is_told_where_mujoco_cannot_say_it() -> None:
    world = arms("free")
    joint = world.models[0].joints[2]
    joint.collide_connected = True
    scene = Scene([world])
    written = write(scene, "mjcf")
    assert ("collide_connected",) in [loss.fields for loss in written.output.losses if loss.item is joint]
    assert row(world, "mjcf").passed


def test_what_a_loop_welds_to_the_world_stands_still_however_it_is_said() -> None:
    """SDFormat has it hang on the weld, while it floats in the scene."""
    world = arms("free")
    model = world.add_model("held")
    body = solid(model.add_body("held", moment=UNIT_MOMENT))
    model.joints.append(Joint(name="hold", kind="weld", child=body, loop=True))
    for format in ("sdf", "mjcf"):
        assert row(world, format).passed


def test_a_world_without_joints_that_move_passes() -> None:
    world = World("w")
    solid(world.add_model("m").add_body("b", moment=UNIT_MOMENT, joint="weld"))
    for format in ("sdf", "mjcf", "urdf"):
        assert row(world, format).passed


def test_bits_that_no_words_of_a_scene_can_say_are_compared_as_bits() -> None:
    """The names of one group are parts of others': the reader says that it cannot say it (MJ308)."""
    world = World("w", self_collision=True)
    for name in ("leg", "leg2", "leg22", "body"):
        solid(world.add_model(name).add_body(name, moment=UNIT_MOMENT))
    world.collision_exempt_groups = [("leg2",), ("leg", "body")]
    assert row(world, "mjcf").passed


# --- planted faults -----------------------------------------------------------------------------------


def without(tag: str, *names: str) -> Callable[[Markup], None]:
    """Elements of a tag are gone, those whose text or attributes name all of these."""

    def fault(root: Markup) -> None:
        before = sum(1 for _ in root.iter())
        for holder in root.iter():
            holder.children = [
                child
                for child in holder.children
                if child.tag != tag or not all(name in f"{child.attributes.values()}" for name in names)
            ]
        assert sum(1 for _ in root.iter()) < before

    return fault


def geom(root: Markup, name: str) -> Markup:
    (found,) = [e for e in root.iter() if e.tag == "geom" and name in str(e.attributes.get("name"))]
    return found


def set_bits(name: str, **bits: str) -> Callable[[Markup], None]:
    def fault(root: Markup) -> None:
        found = geom(root, name)
        assert {word: found.attributes.get(word, "1") for word in bits} != bits
        found.attributes |= bits

    return fault


MEETING: dict[str, Callable[[Markup], None]] = {
    "no exclusions": without("exclude"),
    "no exclusion of a loop": without("exclude", "one/one_base", "one/one_hand"),
    "no exclusion of a child of what stands still": without("exclude", "one/one_base", "one/one_arm"),
    "a geom that touches nothing": set_bits("one_hand", contype="0", conaffinity="0"),
    "a geom of another crowd": set_bits("one_hand", contype="2", conaffinity="2"),
}
PASSING: dict[str, Callable[[Markup], None]] = {
    "a geom that meets all": set_bits("one_hand", contype="1073741824", conaffinity="2147483647"),
    "a geom of the other model": lambda root: geom(root, "one_hand").attributes.update(
        {word: geom(root, "two_hand").attributes[word] for word in ("contype", "conaffinity")}
    ),
    "the floor passes one model": set_bits("floor", contype="0", conaffinity="1"),
}


@pytest.mark.parametrize("name", MEETING)
def test_a_fault_in_mjcf_where_bodies_of_a_model_meet(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planted(monkeypatch, "mjcf", MEETING[name])
    assert not row(arms(), "mjcf").passed


@pytest.mark.parametrize("name", PASSING)
def test_a_fault_in_mjcf_where_bodies_of_a_model_pass(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planted(monkeypatch, "mjcf", PASSING[name])
    assert not row(passing_by(arms()), "mjcf").passed


def test_an_exclusion_that_mujoco_makes_anyway_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    planted(monkeypatch, "mjcf", without("exclude", "one/one_arm", "one/one_hand"))
    assert row(arms(), "mjcf").passed


def test_a_lost_exclusion_of_shapes_that_pass_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """More crowds than there are bits: those beyond are listed."""
    world = World("w", self_collision=True)
    for i in range(40):
        solid(world.add_model(f"m{i}").add_body(f"<{i}>", moment=UNIT_MOMENT))
    world.collision_exempt_groups = [(f"<{i}>", f"<{i + 1}>") for i in range(0, 40, 2)]
    world.collision_exempt_groups += [(f"<{i}>", f"<{i + 2}>") for i in range(0, 38, 3)]
    assert row(world, "mjcf").passed
    planted(monkeypatch, "mjcf", without("exclude", "m38"))
    assert not row(world, "mjcf").passed


@pytest.mark.parametrize("models", [("one", "two"), ("one",)])
def test_a_fault_in_sdf(models: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(root: Markup) -> None:
        for model in (e for e in root.iter() if e.tag == "model" and e.attributes["name"] in models):
            assert any(child.tag == "self_collide" for child in model.children)
            model.children = [child for child in model.children if child.tag != "self_collide"]

    planted(monkeypatch, "sdf", fault)
    assert not row(arms(), "sdf").passed


@pytest.mark.parametrize("format", ["sdf", "urdf"])
def test_something_seen_that_touches(format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(root: Markup) -> None:
        for link in (e for e in root.iter() if e.tag == "link"):
            for visual in [child for child in link.children if child.tag == "visual"]:
                copied = Markup("collision", {"name": "more"}, children=list(visual.children))
                link.children.append(copied)

    world = World("w")
    body = world.add_model("m").add_body("b", moment=UNIT_MOMENT)
    body.visuals.append(Shape(geometry=BOX))
    assert row(world, format).passed
    planted(monkeypatch, format, fault)
    assert not row(world, format).passed


def apart_by_light(world: World) -> World:
    """A chain whose middle weighs nothing and has no shape: its ends pass each other."""
    model = world.add_model("chain")
    solid(model.add_body("first", moment=UNIT_MOMENT))
    model.add_body("between", mass=1e-12, moment=UNIT_MOMENT, parent="first", joint="revolute", axes=Z)
    solid(model.add_body("last", moment=UNIT_MOMENT, parent="between", joint="revolute", axes=Z))
    return world


USD_MEETING: dict[str, Callable[[Prim], object]] = {
    "no filtered pairs": lambda prim: prim.properties.pop("rel physics:filteredPairs", None),
    "a joint that lets touch": lambda prim: (
        prim.properties.update({"bool physics:collisionEnabled": True}) if prim.name == "one_loop" else None
    ),
    "a collider that is off": lambda prim: (
        prim.properties.update({"bool physics:collisionEnabled": False}) if "PhysicsCollisionAPI" in prim.apis else None
    ),
    "Newton keeps a model apart": lambda prim: (
        prim.properties.update({"bool newton:selfCollisionEnabled": False}) if prim.name == "one" else None
    ),
}


@pytest.mark.parametrize("name", USD_MEETING)
def test_a_fault_in_usd_where_bodies_of_a_model_meet(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pxr", reason="usd-core is not installed")
    world = apart_by_light(arms())
    assert row(world, "usd").passed
    planted_usd(monkeypatch, USD_MEETING[name])  # type: ignore[arg-type]
    assert not row(world, "usd").passed


@pytest.mark.parametrize("word", ["rel physics:filteredGroups", "rel collection:colliders:includes"])
@pytest.mark.parametrize("group", ["one", "passing"])
def test_a_fault_in_groups_of_usd(word: str, group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pxr", reason="usd-core is not installed")

    def fault(prim: Prim) -> None:
        if prim.type == "PhysicsCollisionGroup" and prim.name == group:
            del prim.properties[word]
        prim.properties.pop("bool newton:selfCollisionEnabled", None)

    world = passing_by(arms())
    world.collision_exempt_groups = [("one_hand", "two_hand")]
    assert row(world, "usd").passed
    planted_usd(monkeypatch, fault)
    assert not row(world, "usd").passed


# --- the comparison itself ----------------------------------------------------------------------------


def meet(world: World) -> set[frozenset[str]]:
    """The pairs that meet, asked one by one."""
    homes = {id(body): model for model in world.models for body in model.bodies}
    apart = {frozenset(b.name for b in pair) for model in world.models for pair in connected_pairs(model)}
    found = set()
    for a, b in combinations([body for body in world.bodies() if body.collisions], 2):
        together = homes[id(a)] is homes[id(b)]
        still = all(homes[id(one)].static or one.name.endswith("base") for one in (a, b))
        grouped = any(
            all(any(w in one.name for w in words) for one in (a, b)) for words in world.collision_exempt_groups
        )
        alike = together and (not world.self_collision or frozenset((a.name, b.name)) in apart)
        if not (still or grouped or alike):
            found.add(frozenset((a.name, b.name)))
    return found


@pytest.mark.parametrize("seed", range(40))
def test_worlds_differ_where_their_pairs_do(seed: int) -> None:
    draw = Random(seed)

    def made() -> World:
        world = arms()
        world.self_collision = draw.random() < 0.5
        names = [body.name for body in world.bodies()]
        world.collision_exempt_groups = [tuple(draw.sample(names, 2)) for _ in range(draw.randrange(3))]
        for model in world.models[:2]:
            model.joints[-1].collide_connected = draw.random() < 0.5
        return world

    one, other = made(), made()
    pairs = list(zip(one.bodies(), other.bodies(), strict=True))
    apart = meet(one) ^ meet(other)
    found = {body.name for body, _ in pairs_with_different_rules(collision_rules(one), collision_rules(other), pairs)}
    assert found == {name for pair in apart for name in pair}


@pytest.mark.parametrize("seed", range(20))
def test_bits_pass_where_they_share_nothing(seed: int) -> None:
    draw = Random(seed)
    kinds = [(draw.getrandbits(4), draw.getrandbits(4)) for _ in range(20)]
    kinds += [(own, 15 & ~own | 16) for own in range(8)]
    friends = non_colliding_bits(kinds)
    for a in kinds:
        assert set(friends[a]) == {b for b in kinds if not (a[0] & b[1] or b[0] & a[1])}


def test_many_bodies_and_models_are_compared_at_once() -> None:
    def made() -> tuple[World, CollisionRules]:
        world = World("w")
        for i in range(5000):
            model = world.add_model(f"m{i}")
            model.bodies += [solid(Body(name=f"b{i}_{j}")) for j in (0, 1)]
        return world, collision_rules(world)

    (one, mine), (other, theirs) = made(), made()
    assert pairs_with_different_rules(mine, theirs, list(zip(one.bodies(), other.bodies(), strict=True))) == []


def test_a_mesh_that_collides_by_slabs_touches_what_it_touched() -> None:
    """It is seen whole and touches nothing so; the slabs behind its triangles do."""
    corners = "0 0 0  1 0 0  0 1 0  0 0 1"  # a corner, wide open: what is inside is not told
    text = f"""<mujoco><asset><mesh name="m" vertex="{corners}" face="0 1 2  0 1 3" inertia="shell"/></asset>
    <worldbody><geom type="mesh" mesh="m"/><body pos="0 0 3"><freejoint/><geom size=".1"/></body></worldbody></mujoco>"""
    report = convert(load(text.encode(), format="mjcf"), None, to="mjcf")
    assert b'conaffinity="0"' in report.data
    assert report.certificate.passed
