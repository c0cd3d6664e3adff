"""The controls of the actuators of a simulation, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite

import numpy as np

from exoskel.diagnostics import ExoskelError
from exoskel.scene.item import UnknownNameError, not_found_message
from exoskel.spatial import Array


class ActuatorControls(Mapping[str, float]):
    """The present controls of actuators.  `controls["name"] = value` sets one of them in the simulation."""

    def __init__(self, names: Sequence[str], values: Array, apply: Callable[[Array], None]) -> None:
        self._places = {name: place for place, name in enumerate(names)}
        self._values = values
        self._apply = apply

    def __getitem__(self, name: str) -> float:
        return float(self._values[self._place(name)])

    def __setitem__(self, name: str, value: float) -> None:
        self.update({name: value})

    def update(self, values: Mapping[str, float]) -> None:
        """Set the controls of some actuators."""
        wanted = self._values.copy()
        for name, value in values.items():
            wanted[self._place(name)] = _checked(name, value)
        self._apply(wanted)
        self._values = wanted

    def _place(self, name: str) -> int:
        if name not in self._places:
            raise UnknownNameError(not_found_message(str(name), list(self._places), "actuator", "the world"))
        return self._places[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __array__(self, dtype: object = None, copy: bool | None = None) -> Array:
        """The controls in the order of `World.actuators`."""
        return self._values.copy()

    def __repr__(self) -> str:
        return f"ActuatorControls({', '.join(f'{name}: {self[name]:g}' for name in self)})"


def _checked(name: str, value: float) -> float:
    try:
        number = float(np.asarray(value, dtype=np.float64)[()])
    except (TypeError, ValueError):
        raise ExoskelError(f"the control of {name!r} is {value!r}, but must be a number") from None
    if not isfinite(number):
        raise ExoskelError(f"the control of {name!r} is {number}, but must be finite")
    return number
