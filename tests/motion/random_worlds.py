"""Random SKEL worlds without contacts, for comparing their motion with DART's.

A world is determined by its class and its seed.  Numbers are written with few digits, so that every machine writes the
same text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np
from msgspec import Struct

Item = TypeVar("Item")

CLASSES = ("plain", "ball", "free", "friction", "actuators", "limits", "masses")
"""What a world of a class has in addition to joints with fixed axes, springs and dampers; `masses` differ by 1e5."""

STEPS = 200

DOFS = {
    "weld": 0,
    "revolute": 1,
    "prismatic": 1,
    "universal": 2,
    "euler": 3,
    "translational": 3,
    "planar": 3,
    "ball": 3,
    "free": 6,
}
_PLAIN = ("revolute", "prismatic", "universal", "euler", "translational", "planar", "weld")
_ACTUATORS = ("force", "passive", "servo", "acceleration", "velocity", "locked")
_UNIT = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.6, 0.8, 0.0), (0.0, -0.6, 0.8), (0.48, 0.6, -0.64))
"""Axes whose decimals are exactly of length 1: DART does not normalise those of universal joints."""


class RandomWorld(Struct, frozen=True):
    """A document, and the commands of its joints by skeleton and joint, which are the same in every step.

    Without commands, those that the engine begins with act.  If `limits`, the engine enforces them.
    """

    name: str
    text: str
    commands: dict[str, dict[str, list[float]]]
    limits: bool = False


def random_world(kind: str, seed: int) -> RandomWorld:
    """The world number `seed` of the class `kind`."""
    return _Writer(kind, np.random.default_rng([CLASSES.index(kind), seed])).world(f"{kind}-{seed}")


def random_worlds(kind: str, count: int, first: int = 0) -> Iterator[RandomWorld]:
    """`count` worlds of a class, beginning with the seed `first`."""
    return (random_world(kind, seed) for seed in range(first, first + count))


class Draw:
    """Draws numbers and items of a random world."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def _number(self, low: float, high: float) -> float:
        return _decimals(self.rng.uniform(low, high), 3)

    def _numbers(self, count: int, size: float) -> str:
        return _joined([_decimals(v, 3) for v in self.rng.uniform(-size, size, count)])

    def _chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def _choose(self, items: Sequence[Item]) -> Item:
        return items[int(self.rng.integers(len(items)))]


class _Writer(Draw):
    """Draws the parts of one world."""

    def __init__(self, kind: str, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.kind = kind
        self.commands: dict[str, dict[str, list[float]]] = {}

    def world(self, name: str) -> RandomWorld:
        step = self._choose((0.0005, 0.001, 0.002, 0.005))
        gravity = self._choose(("0 0 -9.81", "0 -9.81 0", "0 0 0", "1.5 -2 -8"))
        skeletons = "".join(self._skeleton(f"s{i}") for i in range(self._choose((1, 1, 2))))
        physics = f"<physics><time_step>{step}</time_step><gravity>{gravity}</gravity></physics>"
        text = f'<skel version="1.0"><world name="w">{physics}\n{skeletons}</world></skel>\n'
        return RandomWorld(name, text, {} if self._chance(0.25) else self.commands, self.kind == "limits")

    def _skeleton(self, name: str) -> str:
        self.commands[name] = {}
        count = int(self.rng.integers(1, 6))
        special = int(self.rng.integers(count))
        bodies = "".join(self._body(f"b{i}") for i in range(count))
        joints = "".join(self._joint(name, i, special=i == special) for i in range(count))
        frame = self._transformation(0.3)
        return f'<skeleton name="{name}">{frame}\n{bodies}{joints}</skeleton>\n'

    def _body(self, name: str) -> str:
        sides = self.rng.uniform(0.1, 0.8, 3)
        mass = _decimals(self.rng.uniform(0.2, 5.0), 3)
        if self.kind == "masses":
            mass = _decimals(10.0 ** self.rng.uniform(-3.0, 2.0), 5)
        squares = sides**2
        diagonal = mass / 12.0 * (squares.sum() - squares)
        digits = 9 if self.kind == "masses" else 5
        moment = "".join(f"<i{a}{a}>{_decimals(v, digits)}</i{a}{a}>" for a, v in zip("xyz", diagonal, strict=True))
        products = "".join(f"<{p}>{_decimals(0.05 * diagonal.min(), digits + 1)}</{p}>" for p in ("ixy", "ixz", "iyz"))
        offset = f"<offset>{self._numbers(3, 0.2)}</offset>" if self._chance(0.5) else ""
        inertia = f"<mass>{mass}</mass>{offset}<moment_of_inertia>{moment}{products}</moment_of_inertia>"
        gravity = "<gravity>0</gravity>" if self._chance(0.1) else ""
        return f'<body name="{name}">{self._transformation(0.8)}{gravity}<inertia>{inertia}</inertia></body>\n'

    def _joint(self, skeleton: str, index: int, *, special: bool) -> str:
        kind = self.kind if special and self.kind in DOFS else self._choose(self._kinds())
        parent = "world" if index == 0 or self._chance(0.15) else f"b{int(self.rng.integers(index))}"
        actuator = ""
        if self.kind == "actuators":
            actuator = self._choose(_ACTUATORS[1:] if special else _ACTUATORS)
        count = DOFS[kind]
        initial = "".join(
            f"<{tag}>{self._numbers(count, size)}</{tag}>"
            for tag, size in (("init_pos", 0.8), ("init_vel", 1.5))
            if count and self._chance(0.8)
        )
        dofs = "".join(self._dof(i, actuator or "force", rotational=_rotational(kind, i)) for i in range(count))
        if count:
            self.commands[skeleton][f"j{index}"] = self._commands(count, actuator)
        head = f'type="{kind}" name="j{index}"' + (f' actuator="{actuator}"' if actuator else "")
        ends = f"<parent>{parent}</parent><child>b{index}</child>"
        return f"<joint {head}>{ends}{self._transformation(0.6)}{self._axes(kind)}{initial}{dofs}</joint>\n"

    def _kinds(self) -> tuple[str, ...]:
        if self.kind in ("friction", "actuators", "limits"):
            return (*_PLAIN, *_PLAIN, "ball", "free")
        return (*_PLAIN, self.kind) if self.kind in DOFS else _PLAIN

    def _commands(self, count: int, actuator: str) -> list[float]:
        """Forces for force actuators of every class; speeds and accelerations for the others."""
        if actuator in ("passive", "locked") or self._chance(0.3):
            return [0.0] * count
        size = {"servo": 1.0, "velocity": 0.5, "acceleration": 2.0}.get(actuator, 3.0)
        return [_decimals(v, 3) for v in self.rng.uniform(-size, size, count)]

    def _axes(self, kind: str) -> str:
        if kind in ("revolute", "prismatic"):
            return f"<axis><xyz>{self._numbers(3, 1.0)}</xyz></axis>"
        if kind == "universal":
            first, second = self.rng.permutation(len(_UNIT))[:2]
            return "".join(
                f"<{tag}><xyz>{_joined(_UNIT[i])}</xyz></{tag}>" for tag, i in (("axis", first), ("axis2", second))
            )
        if kind == "euler":
            return f"<axis_order>{self._choose(('xyz', 'zyx'))}</axis_order>"
        return self._plane() if kind == "planar" else ""

    def _plane(self) -> str:
        plane = self._choose(("xy", "yz", "zx", "arbitrary"))
        axes = ""
        if plane == "arbitrary":
            first, second = self.rng.permutation(len(_UNIT))[:2]
            axes = "".join(
                f"<translation_axis{k}><xyz>{_joined(_UNIT[i])}</xyz></translation_axis{k}>"
                for k, i in ((1, first), (2, second))
            )
        return f'<plane type="{plane}">{axes}</plane>'

    def _dof(self, index: int, actuator: str, *, rotational: bool) -> str:
        parts = ""
        scale = 0.2 if rotational else 1.0
        if self._chance(0.35):
            parts += f"<damping>{_decimals(self.rng.uniform(0.1, 3.0) * scale, 3)}</damping>"
        if self._chance(0.3):
            parts += f"<spring_stiffness>{_decimals(self.rng.uniform(1.0, 60.0) * scale, 3)}</spring_stiffness>"
            parts += f"<spring_rest_position>{_decimals(self.rng.uniform(-0.4, 0.4), 3)}</spring_rest_position>"
        if self._chance({"friction": 0.5, "actuators": 0.1}.get(self.kind, 0.0)):
            parts += f"<friction>{_decimals(self.rng.uniform(0.05, 2.0) * scale, 3)}</friction>"
        if self._chance(0.6 if self.kind == "limits" else 0.2):
            parts += f'<position lower="{self._number(-0.6, -0.1)}" upper="{self._number(0.1, 0.6)}"/>'
        if actuator == "servo" and self._chance(0.5):
            bound = self._number(0.5, 20.0)
            parts += f'<force lower="-{bound}" upper="{bound}"/>'
        if (actuator == "servo" or self.kind == "limits") and self._chance(0.3):
            bound = self._number(0.2, 1.0)
            parts += f'<velocity lower="-{bound}" upper="{bound}"/>'
        return f'<dof local_index="{index}">{parts}</dof>' if parts else ""

    def _transformation(self, chance: float) -> str:
        if not self._chance(chance):
            return ""
        return f"<transformation>{self._numbers(3, 0.5)} {self._numbers(3, 1.4)}</transformation>"


def _rotational(kind: str, index: int) -> bool:
    if kind in ("prismatic", "translational"):
        return False
    return index == 2 if kind == "planar" else kind != "free" or index < 3


def _decimals(value: float, digits: int) -> float:
    return round(float(value), digits)


def _joined(values: Sequence[float]) -> str:
    return " ".join(map(str, values))
