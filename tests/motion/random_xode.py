"""Random XODE worlds without contacts, for comparing their motion with ODE's.

A world is determined by its class and its seed.  Numbers are written with few digits, so that every machine writes the
same text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from exoskel import spatial
from exoskel.spatial import Array
from tests.motion.random_worlds import Draw, RandomWorld

CLASSES = ("joints", "ball", "motors", "stops", "bounce", "springs", "suspension", "amotor", "rigid")
"""What a world of a class has: joints alone, ball joints, motors, rigid stops, stops that bounce, soft stops, hinge2
joints with a suspension, angular motors, stops that bounce with joints that yield less (CFM)."""

STEPS = 100

AXES = {"hinge": 1, "slider": 1, "universal": 2, "hinge2": 2, "amotor": 3, "ball": 0, "fixed": 0}
_PLAIN = ("hinge", "slider", "universal", "hinge", "slider", "fixed")
_HINGED = ("hinge", "slider", "universal")
_STOPS = ("stops", "bounce", "springs", "rigid")


def random_xode(kind: str, seed: int) -> RandomWorld:
    """The world number `seed` of the class `kind`."""
    rng = np.random.default_rng([100 + CLASSES.index(kind), seed])
    return RandomWorld(f"{kind}-{seed}", _Writer(kind, rng).document(), {})


def random_xodes(kind: str, count: int, first: int = 0) -> Iterator[RandomWorld]:
    """`count` worlds of a class, beginning with the seed `first`."""
    return (random_xode(kind, seed) for seed in range(first, first + count))


class _Writer(Draw):
    """Draws the parts of one world.  A body is `(name, centre)`, with the centre in the root frame."""

    def __init__(self, kind: str, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.kind = kind

    def document(self) -> str:
        self.step = self._choose((0.001, 0.002))
        gravity = self._choose(((0.0, 0.0, -9.81), (0.0, -9.81, 0.0), (0.0, 0.0, 0.0)))
        assemblies = "".join(self._assembly(i) for i in range(self._choose((1, 1, 2))))
        parameters = f'<gravity {_xyz(gravity)}/><timestep value="{self.step}"/>'
        if self.kind == "rigid":
            parameters += '<CFM value="1e-08"/>'
        settings = f'<ext ename="world-params">{parameters}</ext>'
        space = f'<space name="s">\n{assemblies}</space>'
        return f'<xode version="1.0r23"><world name="w">{settings}{space}</world></xode>\n'

    def _assembly(self, number: int) -> str:
        """A tree of bodies, some below a group that is moved."""
        frame, wrapped = np.eye(4), self._chance(0.5)
        transform = ""
        if wrapped:
            frame, transform = self._transform()
        self.floats = self.kind in ("suspension", "amotor") or self._chance(0.3)
        self.centres: list[Array] = []
        self.number = number
        count = int(self.rng.integers(2 if self.floats else 1, 5))
        special = int(self.rng.integers(1 if self.floats else 0, count))
        bodies = "".join(self._body(i, frame) for i in range(count))
        joints = "".join(self._joint(i, special=i == special) for i in range(1 if self.floats else 0, count))
        inner = f'<group name="g{number}">{transform}\n{bodies}</group>\n' if wrapped else bodies
        return inner + joints

    def _body(self, index: int, frame: Array) -> str:
        own, transform = self._transform()
        self.centres.append((frame @ own)[:3, 3])
        sides = " ".join(f'size{a}="{self._number(0.2, 0.8)}"' for a in "xyz")
        shape = f'<mass_shape total="{self._number(0.5, 4.0)}"><box {sides}/></mass_shape>'
        offset = f"<transform><position {_xyz(self._vector(0.1))}/></transform>" if self._chance(0.3) else ""
        state = "".join(
            f"<{tag} {_xyz(self._vector(size))}/>"
            for tag, size in (("torque", 1.0), ("force", 3.0), ("linearVel", 0.5), ("angularVel", 1.0))
            if self._chance(0.25)
        )
        name = f'name="b{self.number}_{index}"' + (' gravitymode="0"' if self._chance(0.1) else "")
        return f"<body {name}>{transform}{state}<mass>{shape}{offset}</mass></body>\n"

    def _joint(self, index: int, *, special: bool) -> str:
        parent = -1 if index == 0 else int(self.rng.integers(index))
        kind = self._joint_kind(special and parent >= 0)
        near = self.centres[index] if parent < 0 else 0.5 * (self.centres[index] + self.centres[parent])
        anchor = ""
        if kind not in ("slider", "fixed", "amotor"):
            point = [round(float(v), 3) for v in near + self.rng.uniform(-0.2, 0.2, 3)]
            anchor = f'<anchor {_xyz(point)} absolute="true"/>'
        axes = "".join(
            f"<axis {_xyz(axis)}{self._parameters(kind, i)}/>" for i, axis in enumerate(self._axes(AXES[kind]))
        )
        links = [f'body="b{self.number}_{index}"', f'body="b{self.number}_{parent}"' if parent >= 0 else ""]
        if self._chance(0.5):
            links.reverse()
        ends = "".join(f"<link{i} {link}/>" for i, link in enumerate(links, 1) if link)
        return f'<joint name="j{self.number}_{index}">{ends}<{kind}>{anchor}{axes}</{kind}></joint>\n'

    def _joint_kind(self, special: bool) -> str:
        if special and self.kind in ("ball", "amotor"):
            return self.kind
        if self.kind == "suspension":
            return "hinge2" if special else self._choose(("hinge2", *_HINGED))
        if self.kind in ("motors", *_STOPS):
            return self._choose(_HINGED)
        return self._choose((*_PLAIN, "ball") if self.kind == "ball" else _PLAIN)

    def _axes(self, count: int) -> list[Array]:
        """Perpendicular axes, exact in the digits that are written."""
        basis = np.array(self._choose(_BASES))
        return [basis[i] * self._choose((1.0, -1.0)) for i in self.rng.permutation(3)[:count]]

    def _parameters(self, kind: str, number: int) -> str:
        """The parameters of one axis."""
        given: dict[str, float] = {}
        if self.kind in ("motors", "amotor") or (self.kind in _STOPS and self._chance(0.3)):
            given |= self._motor()
        if self.kind in _STOPS or (self.kind == "suspension" and self._chance(0.2)):
            given |= self._stops()
        if self.kind == "suspension" and kind == "hinge2" and number == 0:
            given |= self._soft("Suspension")
        return "".join(f' {name}="{value}"' for name, value in given.items())

    def _motor(self) -> dict[str, float]:
        if self._chance(0.3):
            return {}
        return {"Vel": self._number(-1.5, 1.5), "FMax": self._choose((0.5, 2.0, 10.0, 1000.0))}

    def _stops(self) -> dict[str, float]:
        if self._chance(0.2):
            return {}
        given = {"LowStop": self._number(-0.2, -0.01), "HiStop": self._number(0.01, 0.2)}
        if self.kind in ("bounce", "rigid"):
            given |= {"Bounce": self._number(0.2, 0.9)}
        elif self.kind == "springs":
            given |= self._soft("Stop")
            if self._chance(0.5):  # equal stops are a spring and a damper
                given |= {"LowStop": 0.0, "HiStop": 0.0}
        return given

    def _soft(self, prefix: str) -> dict[str, float]:
        stiffness, damping = self._number(50.0, 500.0), self._number(1.0, 10.0)
        impulse = self.step * stiffness + damping
        return {f"{prefix}ERP": round(self.step * stiffness / impulse, 4), f"{prefix}CFM": round(1.0 / impulse, 5)}

    def _vector(self, size: float) -> list[float]:
        return [round(float(v), 3) for v in self.rng.uniform(-size, size, 3)]

    def _transform(self) -> tuple[Array, str]:
        place = self._vector(0.8)
        parts, rotation = f"<position {_xyz(place)}/>", np.eye(3)
        if self._chance(0.7):
            axis, angle = self._vector(1.0), self._number(-2.0, 2.0)
            rotation = spatial.axis_angle_matrix(spatial.unit(axis), angle)
            parts += f'<rotation><axisangle {_xyz(axis)} angle="{angle}"/></rotation>'
        return spatial.transform(rotation, place), f"<transform>{parts}</transform>"


def _xyz(values: Sequence[float] | Array) -> str:
    return " ".join(f'{name}="{float(value) + 0.0:.6g}"' for name, value in zip("xyz", values, strict=True))


_BASES = (
    ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    ((0.6, 0.8, 0.0), (-0.8, 0.6, 0.0), (0.0, 0.0, 1.0)),
    ((0.36, 0.48, -0.8), (-0.8, 0.6, 0.0), (0.48, 0.64, 0.6)),
)
"""Perpendicular axes of length 1, exact in decimals."""
