"""Sections 6.2, 6.3 and 8.4 of the reference: random scenes compared with its formulas."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import exoskel
from exoskel import Kinematics, Scene, spatial
from tests.oracles import pyode
from tests.support.xode import (
    SPHERE,
    TURN,
    at,
    axis,
    body,
    geom,
    joint,
    matrix,
    position,
    scene,
    transform,
    world,
    xode,
)

Array = np.ndarray
ABSOLUTE = ' absolute="true"'
KINDS = ("body", "geom", "group", "space", "jointgroup")


def load(document: str, dialect: str = "spec") -> Scene:
    return exoskel.load(document, dialect=dialect)  # type: ignore[arg-type]


# --- a scene at random, with what the formulas say about it ------------------------------------------


@dataclass
class Written:
    """A transform: its text, its matrix T, and whether it is absolute."""

    text: str = ""
    matrix: Array = field(default_factory=lambda: np.eye(4))
    absolute: bool = False


@dataclass
class Around:
    """The surroundings of an element: W of its parent, W of the enclosing body, and the chain up to that body."""

    world: Array
    body: Array | None = None
    chain: tuple[Written, ...] = ()


class Author:
    """Writes a document and computes the expected poses."""

    def __init__(self, seed: int, dialect: str) -> None:
        self.rng = random.Random(seed)
        self.dialect = dialect
        self.bodies: dict[str, Array] = {}
        self.geoms: dict[str, Array] = {}
        self.joints: dict[str, tuple[Array, Array]] = {}
        self.count = 0
        outermost = self.transform(may_be_absolute=False)
        self.root = outermost.matrix
        own = self.transform()
        inner = self.element("space", Around(self.root @ own.matrix))
        self.text = xode(outermost.text + world(own.text + inner))

    def numbers(self, size: float = 3.0) -> tuple[float, float, float]:
        x, y, z = (self.rng.uniform(-size, size) for _ in range(3))
        return x, y, z

    def transform(self, may_be_absolute: bool = True) -> Written:
        if self.rng.random() < 0.3:
            return Written()
        absolute = may_be_absolute and self.rng.random() < 0.25
        scale = self.rng.choice([1.0, 1.0, 1.0, 0.5, 2.5])
        place, angles = self.numbers(), self.numbers(2.0)
        turn = spatial.euler_matrix(angles)
        text, attributes = self.rng.choice([self.as_matrix, self.as_euler, self.as_axis])(place, angles, turn, scale)
        attributes += ABSOLUTE if absolute else ""
        whole = spatial.transform(scale * turn, place)
        return Written(transform(text, attributes), whole, absolute)

    def as_matrix(self, place: tuple[float, ...], _: object, turn: Array, scale: float) -> tuple[str, str]:
        whole = spatial.transform(scale * turn, place)
        return matrix(**{f"m{r}{c}": float(whole[r, c]) for r in range(4) for c in range(4)}), ""

    def as_euler(self, place: tuple[float, ...], angles: tuple[float, ...], _: object, scale: float) -> tuple[str, str]:
        sign = -1.0 if self.dialect == "pyode" else 1.0
        x, y, z = (math.degrees(sign * angle) for angle in angles)
        turned = f'<rotation><euler x="{x!r}" y="{y!r}" z="{z!r}" aformat="degrees"/></rotation>'
        return position(*place) + turned, f' scale="{scale}"'

    def as_axis(self, place: tuple[float, ...], _: object, turn: Array, scale: float) -> tuple[str, str]:
        vector = spatial.log(turn)
        angle = float(np.linalg.norm(vector))
        x, y, z = vector.tolist()
        turned = f'<rotation><axisangle x="{x!r}" y="{y!r}" z="{z!r}" angle="{angle!r}"/></rotation>'
        return position(*place) + turned, f' scale="{scale}"'

    def element(self, kind: str, around: Around, depth: int = 0) -> str:
        self.count += 1
        name = f"{kind}{self.count}"
        own = self.transform()
        here = (self.root if own.absolute else around.world) @ own.matrix
        if kind == "body":
            self.bodies[name] = rigid(here)
            inside = Around(here, here)
        else:
            inside = Around(here, around.body, (*around.chain, own))
        if kind == "geom":
            self.geoms[name] = offset(inside)
        content = own.text + (SPHERE if kind == "geom" else "")
        for _ in range(self.rng.randrange(3) if depth < 5 else 0):
            content += self.element(self.rng.choice(KINDS), inside, depth + 1)
        if inside.body is not None and self.rng.random() < 0.4:
            content += self.hinge(here)
        return f'<{kind} name="{name}">{content}</{kind}>'

    def hinge(self, around: Array) -> str:
        self.count += 1
        name, own = f"joint{self.count}", self.transform()
        frame = (self.root if own.absolute else around) @ own.matrix
        point, direction = self.numbers(), self.numbers()
        absolute, relative = self.rng.random() < 0.5, self.rng.random() < 0.3
        home = self.root if absolute or self.dialect == "pyode" else frame
        turn = rigid(frame if relative else self.root)[:3, :3]
        self.joints[name] = (home @ [*point, 1.0])[:3], spatial.unit(turn @ direction)
        x, y, z = point
        anchor = f'<anchor x="{x!r}" y="{y!r}" z="{z!r}"{ABSOLUTE if absolute else ""}/>'
        axes = axis('absolute="false"' if relative else "", *direction)
        return joint(f"{own.text}<hinge>{anchor}{axes}</hinge>", name, "", "")


def rigid(frame: Array) -> Array:
    out = frame.copy()
    out[:3, :3] /= np.cbrt(np.linalg.det(out[:3, :3]))
    return out


def offset(around: Around) -> Array:
    """The pose of a geom in its enclosing body, or in the root if there is none."""
    if around.body is None:
        return rigid(around.world)
    if any(step.absolute for step in around.chain):
        return np.linalg.inv(rigid(around.body)) @ rigid(around.world)
    product = np.eye(4)
    for step in around.chain:
        product = product @ step.matrix
    return rigid(product)


@pytest.mark.parametrize("dialect", ["spec", "pyode"])
@pytest.mark.parametrize("seed", range(60))
def test_random_scenes_follow_the_formulas(seed: int, dialect: str) -> None:
    author = Author(seed, dialect)
    found = load(author.text, dialect)
    assert [d for d in found.diagnostics if d.severity == "error"] == []
    bodies = [b for b in found.world.bodies() if b.name != "environment"]
    assert {b.name for b in bodies} == set(author.bodies)
    at_start = dict(zip((b.name for b in found.world.bodies()), Kinematics(found.world.models).poses(), strict=True))
    for one in bodies:
        assert np.allclose(one.pose.matrix(), author.bodies[one.name], atol=1e-9), one.name
        assert np.allclose(at_start[one.name], author.bodies[one.name], atol=1e-9), one.name
    for shape in (s for b in found.world.bodies() for s in b.collisions):
        assert np.allclose(shape.pose.matrix(), author.geoms.pop(shape.name), atol=1e-9), shape.name
    assert not author.geoms
    for tie in found.world.joints():
        if not tie.implicit:
            point, direction = author.joints.pop(tie.name)
            frame = tie.child.pose.matrix() @ tie.pose.matrix()
            assert np.allclose(frame[:3, 3], point, atol=1e-9), tie.name
            assert np.allclose(frame[:3, :3] @ spatial.unit(tie.axes[0]), direction, atol=1e-9), tie.name
    assert not author.joints


# --- absolute transforms ------------------------------------------------------------------------------

ROOT = transform(position(10, 0, 0) + TURN)


def test_absolute_is_relative_to_the_root_transform() -> None:
    inner = body(transform(position(1, 2, 3), ABSOLUTE)) + geom(before=transform(position(1, 2, 3), ABSOLUTE))
    found = load(xode(ROOT + world(f"<space>{at(50, 0, 0)}{inner}</space>"))).world
    moving = next(b for b in found.bodies() if b.name == "b")
    (standing,) = next(b for b in found.bodies() if b.name == "environment").collisions
    for pose in (moving.pose, standing.pose):
        assert np.allclose(pose.matrix()[:3, 3], [8, 1, 3], atol=1e-12)
        assert np.allclose(pose.matrix()[:3, :3], [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-12)


# --- matrices with rounded digits ---------------------------------------------------------------------

ROUNDED = {"m00": 0.707107, "m01": -0.707107, "m10": 0.707107, "m11": 0.707107}


def test_rounded_matrices_are_rotations() -> None:
    placed = body(transform(matrix(**ROUNDED, m03=1000, m13=2000)))
    pinned = joint('<hinge><anchor x="1" y="0" z="0"/><axis x="0" y="0" z="1"/></hinge>', first="b", second="")
    found = load(scene(placed + pinned)).world
    one, tie = found.models[0].bodies[0], found.models[0].joint("j")
    rotation = one.pose.matrix()[:3, :3]
    assert np.abs(rotation @ rotation.T - np.eye(3)).max() < 1e-15
    assert np.allclose((one.pose.matrix() @ tie.pose.matrix())[:3, 3], [1, 0, 0], atol=1e-9)


def test_rounded_matrices_with_a_scale_are_rotations_too() -> None:
    doubled = {name: 2 * value for name, value in ROUNDED.items()}
    inner = transform(matrix(**doubled, m22=2)) + body(at(1, 0, 0))
    (one,) = load(scene(f"<group>{inner}</group>")).world.bodies()
    rotation = one.pose.matrix()[:3, :3]
    assert np.abs(rotation @ rotation.T - np.eye(3)).max() < 1e-15
    assert np.allclose(one.pose.position, [math.sqrt(2), math.sqrt(2), 0], atol=2e-6)


def test_exact_matrices_keep_their_digits() -> None:
    turn = spatial.euler_matrix((0.1, 0.2, 0.3))
    rows = {f"m{r}{c}": float(turn[r, c]) for r in range(3) for c in range(3)}
    (one,) = load(scene(body(transform(matrix(**rows))))).world.bodies()
    assert np.array_equal(one.pose.matrix()[:3, :3], turn)


@pytest.mark.skipif(not pyode.python(), reason="no Python with PyODE")
def test_rounded_matrices_are_as_in_pyode(tmp_path: Path) -> None:
    file = tmp_path / "rounded.xode"
    file.write_text(scene(body(transform(matrix(**ROUNDED, m30=1, m31=2, m32=3)))))
    (answer,) = pyode.ask([{"file": str(file)}])
    assert pyode.differences(exoskel.load(file, dialect="pyode"), answer) == []
