"""A certificate fails if the collision filter of the output differs from that of the scene."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from random import Random

import pytest

from exoskel import Model, Scene, World, convert
from exoskel.conversion.pipeline import certify
from exoskel.conversion.report import Check
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
from tests.support.edits import edited

ROW = "collision filtering"
Z = ((0.0, 0.0, 1.0),)
BOX = Box((0.1, 0.1, 0.1))


def solid(body: Body) -> Body:
    body.collisions.append(Shape(geometry=BOX))
    return body


def arm(world: World, name: str, base: str = "weld") -> Model:
    """A base, an arm, a hand that a loop connects to the base, and a finger that collides with base and arm."""
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


def without_self_collision(world: World) -> World:
    """As in DART: bodies of the same model do not collide."""
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
    """The row of a certificate; all other rows pass."""
    scene = Scene([world])
    found = certify(scene, write(scene, to), registry.by_name(to))
    assert [check.name for check in found.checks if not check.passed and check.name not in (ROW, "shapes")] == []
    return next(check for check in found.checks if check.name == ROW)


def plant_fault(monkeypatch: pytest.MonkeyPatch, format: str, fault: Callable[[Markup], None]) -> None:
    plain = Format.writer

    def faulty(self: Format) -> Writer:
        def writing(scene: Scene, output: object) -> Markup:
            root = plain(self)(scene, output)  # type: ignore[arg-type]
            if self.name == format:
                fault(root)
            return root

        return writing

    monkeypatch.setattr(Format, "writer", faulty)


def plant_usd_fault(monkeypatch: pytest.MonkeyPatch, fault: Callable[[Prim], None]) -> None:
    """Plant a fault in each prim."""

    def faulty(scene: Scene, output: object) -> Layer:
        layer = write_usd(scene, output)  # type: ignore[arg-type]
        for prim in layer.iter():
            fault(prim)
        return layer

    monkeypatch.setattr(compose, "write", faulty)


# --- correct outputs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["mjcf", "sdf", "urdf", "usd"])
@pytest.mark.parametrize("base", ["weld", "free"])
@pytest.mark.parametrize("self_collision", [True, False])
def test_a_correct_output_passes(format: str, base: str, self_collision: bool) -> None:
    if format == "usd":
        pytest.importorskip("pxr", reason="usd-core is not installed")
    world = arms(base) if self_collision else without_self_collision(arms(base))
    if format == "urdf":
        world.models[1:] = []
    assert row(world, format).passed


@pytest.mark.parametrize("format", ["mjcf", "usd"])
def test_exempt_groups_and_colliding_connected_bodies_pass(format: str) -> None:
    if format == "usd":
        pytest.importorskip("pxr", reason="usd-core is not installed")
    world = arms()
    world.collision_exempt_groups = [("one_hand", "two_hand"), ("two", "floor")]
    world.models[0].joints[-1].collide_connected = True
    assert row(world, format).passed


def test_colliding_connected_bodies_are_a_loss_in_mjcf() -> None:
    world = arms("free")
    joint = world.models[0].joints[2]
    joint.collide_connected = True
    scene = Scene([world])
    written = write(scene, "mjcf")
    assert ("collide_connected",) in [loss.fields for loss in written.output.losses if loss.item is joint]
    assert row(world, "mjcf").passed


def test_a_body_welded_to_the_world_by_a_loop_is_fixed_in_every_format() -> None:
    """The weld is its parent joint in SDFormat, while it floats in the scene."""
    world = arms("free")
    model = world.add_model("held")
    body = solid(model.add_body("held", moment=UNIT_MOMENT))
    model.joints.append(Joint(name="hold", kind="weld", child=body, loop=True))
    for format in ("sdf", "mjcf"):
        assert row(world, format).passed


def test_a_world_without_moving_joints_passes() -> None:
    world = World("w")
    solid(world.add_model("m").add_body("b", moment=UNIT_MOMENT, joint="weld"))
    for format in ("sdf", "mjcf", "urdf"):
        assert row(world, format).passed


def test_contact_bits_that_groups_cannot_express_are_compared_as_bits() -> None:
    """The names of one group are parts of others', which the reader reports (MJ308)."""
    world = World("w", self_collision=True)
    for name in ("leg", "leg2", "leg22", "body"):
        solid(world.add_model(name).add_body(name, moment=UNIT_MOMENT))
    world.collision_exempt_groups = [("leg2",), ("leg", "body")]
    assert row(world, "mjcf").passed


# --- planted faults -----------------------------------------------------------------------------------


def without(tag: str, *names: str) -> Callable[[Markup], None]:
    """Remove the elements of a tag whose attributes contain all of these names."""

    def fault(root: Markup) -> None:
        before = sum(1 for _ in root.iter())
        for parent in root.iter():
            parent.children = [
                child
                for child in parent.children
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


SELF_COLLIDING: dict[str, Callable[[Markup], None]] = {
    "no exclusions": without("exclude"),
    "no exclusion of a loop": without("exclude", "one_base", "one_hand"),
    "no exclusion of a child of a fixed body": without("exclude", "one_base", "one_arm"),
    "a geom that does not collide": set_bits("one_hand", contype="0", conaffinity="0"),
    "a geom of another contact group": set_bits("one_hand", contype="2", conaffinity="2"),
}
NOT_SELF_COLLIDING: dict[str, Callable[[Markup], None]] = {
    "a geom that collides with everything": set_bits("one_hand", contype="1073741824", conaffinity="2147483647"),
    "a geom of the other model": lambda root: geom(root, "one_hand").attributes.update(
        {word: geom(root, "two_hand").attributes[word] for word in ("contype", "conaffinity")}
    ),
    "the floor does not collide with one model": set_bits("floor", contype="0", conaffinity="1"),
}


@pytest.mark.parametrize("name", SELF_COLLIDING)
def test_a_fault_in_mjcf_fails_with_self_collision(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant_fault(monkeypatch, "mjcf", SELF_COLLIDING[name])
    assert not row(arms(), "mjcf").passed


@pytest.mark.parametrize("name", NOT_SELF_COLLIDING)
def test_a_fault_in_mjcf_fails_without_self_collision(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant_fault(monkeypatch, "mjcf", NOT_SELF_COLLIDING[name])
    assert not row(without_self_collision(arms()), "mjcf").passed


def test_an_exclusion_that_mujoco_implies_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    plant_fault(monkeypatch, "mjcf", without("exclude", "one_arm", "one_hand"))
    assert row(arms(), "mjcf").passed


def test_a_missing_exclusion_of_exempt_shapes_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are more contact groups than bits: the others are listed as exclusions."""
    world = World("w", self_collision=True)
    for i in range(40):
        solid(world.add_model(f"m{i}").add_body(f"<{i}>", moment=UNIT_MOMENT))
    world.collision_exempt_groups = [(f"<{i}>", f"<{i + 1}>") for i in range(0, 40, 2)]
    world.collision_exempt_groups += [(f"<{i}>", f"<{i + 2}>") for i in range(0, 38, 3)]
    assert row(world, "mjcf").passed
    plant_fault(monkeypatch, "mjcf", without("exclude", "<38>"))
    assert not row(world, "mjcf").passed


@pytest.mark.parametrize("models", [("one", "two"), ("one",)])
def test_a_missing_self_collide_in_sdf_fails(models: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(root: Markup) -> None:
        for model in (e for e in root.iter() if e.tag == "model" and e.attributes["name"] in models):
            assert any(child.tag == "self_collide" for child in model.children)
            model.children = [child for child in model.children if child.tag != "self_collide"]

    plant_fault(monkeypatch, "sdf", fault)
    assert not row(arms(), "sdf").passed


@pytest.mark.parametrize("format", ["sdf", "urdf"])
def test_a_visual_that_collides_fails(format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(root: Markup) -> None:
        for link in (e for e in root.iter() if e.tag == "link"):
            for visual in [child for child in link.children if child.tag == "visual"]:
                copied = Markup("collision", {"name": "more"}, children=list(visual.children))
                link.children.append(copied)

    world = World("w")
    body = world.add_model("m").add_body("b", moment=UNIT_MOMENT)
    body.visuals.append(Shape(geometry=BOX))
    assert row(world, format).passed
    plant_fault(monkeypatch, format, fault)
    assert not row(world, format).passed


def with_massless_link(world: World) -> World:
    """A chain whose middle has no mass and no shape: its ends do not collide."""
    model = world.add_model("chain")
    solid(model.add_body("first", moment=UNIT_MOMENT))
    model.add_body("between", mass=1e-12, moment=UNIT_MOMENT, parent="first", joint="revolute", axes=Z)
    solid(model.add_body("last", moment=UNIT_MOMENT, parent="between", joint="revolute", axes=Z))
    return world


USD_FAULTS: dict[str, Callable[[Prim], object]] = {
    "no filtered pairs": lambda prim: prim.properties.pop("rel physics:filteredPairs", None),
    "a joint whose bodies collide": lambda prim: (
        prim.properties.update({"bool physics:collisionEnabled": True}) if prim.name == "one_loop" else None
    ),
    "a collider that is off": lambda prim: (
        prim.properties.update({"bool physics:collisionEnabled": False}) if "PhysicsCollisionAPI" in prim.apis else None
    ),
    "no self collision in Newton": lambda prim: (
        prim.properties.update({"bool newton:selfCollisionEnabled": False}) if prim.name == "one" else None
    ),
}


@pytest.mark.parametrize("name", USD_FAULTS)
def test_a_fault_in_usd_fails_with_self_collision(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pxr", reason="usd-core is not installed")
    world = with_massless_link(arms())
    assert row(world, "usd").passed
    plant_usd_fault(monkeypatch, USD_FAULTS[name])  # type: ignore[arg-type]
    assert not row(world, "usd").passed


@pytest.mark.parametrize("word", ["rel physics:filteredGroups", "rel collection:colliders:includes"])
@pytest.mark.parametrize("group", ["one", "passing"])
def test_a_fault_in_collision_groups_of_usd_fails(word: str, group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pxr", reason="usd-core is not installed")

    def fault(prim: Prim) -> None:
        if prim.type == "PhysicsCollisionGroup" and prim.name == group:
            del prim.properties[word]
        prim.properties.pop("bool newton:selfCollisionEnabled", None)

    world = without_self_collision(arms())
    world.collision_exempt_groups = [("one_hand", "two_hand")]
    assert row(world, "usd").passed
    plant_usd_fault(monkeypatch, fault)
    assert not row(world, "usd").passed


# --- the comparison itself ----------------------------------------------------------------------------


def colliding_pairs(world: World) -> set[frozenset[str]]:
    """The pairs that collide, determined one by one."""
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
    apart = colliding_pairs(one) ^ colliding_pairs(other)
    found = {body.name for body, _ in pairs_with_different_rules(collision_rules(one), collision_rules(other), pairs)}
    assert found == {name for pair in apart for name in pair}


@pytest.mark.parametrize("seed", range(20))
def test_bits_do_not_collide_if_they_share_none(seed: int) -> None:
    draw = Random(seed)
    kinds = [(draw.getrandbits(4), draw.getrandbits(4)) for _ in range(20)]
    kinds += [(own, 15 & ~own | 16) for own in range(8)]
    friends = non_colliding_bits(kinds)
    for a in kinds:
        assert set(friends[a]) == {b for b in kinds if not (a[0] & b[1] or b[0] & a[1])}


def test_many_bodies_and_models_are_compared_in_bulk() -> None:
    def made() -> tuple[World, CollisionRules]:
        world = World("w")
        for i in range(5000):
            model = world.add_model(f"m{i}")
            model.bodies += [solid(Body(name=f"b{i}_{j}")) for j in (0, 1)]
        return world, collision_rules(world)

    (one, mine), (other, theirs) = made(), made()
    assert pairs_with_different_rules(mine, theirs, list(zip(one.bodies(), other.bodies(), strict=True))) == []


def test_a_mesh_that_collides_by_slabs_keeps_its_collisions() -> None:
    """The visible mesh does not collide; the slabs behind its triangles do."""
    corners = "0 0 0  1 0 0  0 1 0  0 0 1"  # a corner, wide open: its inside is not defined
    text = f"""<mujoco><asset><mesh name="m" vertex="{corners}" face="0 1 2  0 1 3" inertia="shell"/></asset>
    <worldbody><geom type="mesh" mesh="m"/><body pos="0 0 3"><freejoint/><geom size=".1"/></body></worldbody></mujoco>"""
    report = convert(edited(text), None, to="mjcf")
    assert b'conaffinity="0"' in report.data
    assert report.certificate.passed
