"""The coordinates of a compiled world, and what a compiled model takes that MJCF has no words for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from exoskel.formats.mjcf import coordinates
from exoskel.formats.mjcf.coordinates import Addresses
from exoskel.formats.mjcf.world_layout import WorldLayout
from exoskel.scene.joint import spring_from_erp_cfm
from exoskel.spatial import Array

Fields = Callable[[str], Array]
"""The arrays of a compiled model by name, to be written to: of one, or of many worlds with these in front."""

LEAST_IMPEDANCE = 1e-4
"""The share of the acceleration that a spring takes over: MuJoCo knows no less."""


class CompiledCoordinates(coordinates.Coordinates):
    """All coordinates of a world, in state order, and their places in a compiled model."""

    def __init__(self, layout: WorldLayout, model: Any) -> None:
        super().__init__(layout, _addresses(model))

    def set_axis_values(self, model: Any) -> None:
        """Damping and friction about each axis of a ball: MJCF states one value, a compiled model holds three."""
        for group in self.rounds:
            for number, place in enumerate(group.places):
                if group.kind == "free" or place.joint._dofs is None:
                    continue
                for field, target in (("damping", model.dof_damping), ("friction", model.dof_frictionloss)):
                    values = group.axis_values(number, field)
                    if values is not None:
                        target[place.qvel : place.qvel + 3] = values
        self.friction: Array = model.dof_frictionloss.copy()
        """What the scene says, by MuJoCo's degrees of freedom; the model's follows from it and the inertia."""
        self.settle(model, lambda name: getattr(model, name), self.friction)

    def settle(self, model: Any, fields: Fields, friction: Array) -> None:
        """Set what follows from the inertia of the whole: in one model, or in the fields of many worlds.

        `friction` is what the scene says, `(..., nv)`.
        """
        if friction.any():
            self._stiffen_friction(model, fields, friction)
        if self.soft_stops:
            self._soften_stops(model, fields)

    def _soften_stops(self, model: Any, fields: Fields) -> None:
        """Give ODE's springy stops their stiffness and damping: MuJoCo's are for each unit of inertia there."""
        addresses = dict(zip(self.ours.tolist(), self.qvel.tolist(), strict=True))
        inverses, references, impedances = (fields(n) for n in ("dof_invweight0", "jnt_solref", "jnt_solimp"))
        for coordinate, (erp, cfm) in self.soft_stops.items():
            stiffness, damping = spring_from_erp_cfm(erp, cfm, model.opt.timestep)
            address = addresses[coordinate]
            joint = model.dof_jntid[address]
            references[..., joint, 0] = -stiffness * inverses[..., address]
            references[..., joint, 1] = -damping * inverses[..., address]
            impedances[..., joint, :2] = LEAST_IMPEDANCE  # it adds a force, instead of ruling the acceleration

    def _stiffen_friction(self, model: Any, fields: Fields, friction: Array) -> None:
        """Let friction act as in DART, on the plain inertia, not on what springs and dampers add to it implicitly.

        MuJoCo's is the more by as much as the step h makes implicit: 1 + (h d + h² k) / m for a single joint.
        """
        damping = fields("dof_damping")
        stiffness = np.zeros_like(damping)
        stiffness[..., model.jnt_dofadr] = fields("jnt_stiffness")
        h = model.opt.timestep
        fields("dof_frictionloss")[...] = friction * (
            1.0 + (h * damping + h * h * stiffness) * fields("dof_invweight0")
        )


def _addresses(model: Any) -> Addresses:
    """Found once for all: asking one by one makes an object each time."""
    spelled = names_of(model, model.name_jntadr)
    pairs = zip(model.jnt_qposadr.tolist(), model.jnt_dofadr.tolist(), strict=True)
    return Addresses(int(model.nq), int(model.nv), dict(zip(spelled, pairs, strict=True)))


def names_of(model: Any, starts: Any) -> list[str]:
    """The names of all objects of a kind, from where they begin in the model's: one lies behind the other."""
    if not len(starts):
        return []
    text: bytes = model.names[int(starts[0]) :]
    return text.decode().split("\0")[: len(starts)]
