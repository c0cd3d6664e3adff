"""How stiff MuJoCo makes an equality constraint."""

from __future__ import annotations

from exoskel.scene.edit_tracking import CheckedValue
from exoskel.scene.field_checks import ConvertedField, NumberSequence, initially

Impedance = tuple[float, float, float, float, float]


class SolverParameters(CheckedValue, frozen=True):
    """MuJoCo's parameters of a constraint, with MuJoCo's defaults: `solref`, `solimp`, and `torque_scale` of a weld.

    A weld opposes rotations `torque_scale` times as strongly as displacements, in m.
    """

    solref: ConvertedField[tuple[float, float], NumberSequence] = initially((0.02, 1.0))
    solimp: ConvertedField[Impedance, NumberSequence] = initially((0.9, 0.95, 0.001, 0.5, 2.0))
    torque_scale: float = 1.0


DEFAULT_PARAMETERS = SolverParameters()
