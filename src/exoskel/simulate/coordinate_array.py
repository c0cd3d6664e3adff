"""Arrays of a simulation that know names: coordinates, the points of soft bodies, and the controls of actuators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from exoskel.diagnostics import ExoskelError
from exoskel.scene.item import UnknownNameError, not_found_message, qualified_name
from exoskel.spatial import Array


class ArrayOwner(Protocol):
    """The owner of arrays: a simulation."""

    def dof_slice(self, name: str) -> slice:
        """The degrees of freedom of a joint, or one of them, by name."""


class CoordinateArray(np.ndarray[tuple[int, ...], np.dtype[np.float64]]):
    """Values of a simulation, one per degree of freedom.

    It is a read-only copy.  `array["knee"]` is the value of a joint or degree of freedom, and `array["knee"] = value`
    sets it in the simulation, if it can be set.  Results of computations are ordinary arrays.
    """

    _source: tuple[ArrayOwner, str, bool] | None = None
    """The simulation, the name of the field, and whether it can be set; None for a part of an array."""
    _advice: str = ""

    @classmethod
    def of(cls, owner: ArrayOwner, field: str, values: Array, *, settable: bool = True) -> CoordinateArray:
        """The values of a field of a simulation, from a new array."""
        out = values.view(cls)
        out._source = owner, field, settable
        out._advice = _advice(field, settable)
        out.setflags(write=False)
        return out

    def __array_finalize__(self, source: Any) -> None:
        if type(source) is CoordinateArray:
            self._source = source._source if self.shape == source.shape else None
            self._advice = source._advice

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Results of computations as ordinary arrays and numbers."""
        plain = np.asarray(array)
        return plain[()] if return_scalar else plain

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self._named(key)
        return super().__getitem__(key)

    def _named(self, name: str) -> Any:
        if self._source is None:
            raise ExoskelError(f"this array has no names of joints; {name!r} is unknown")
        row = np.asarray(self)[self._source[0].dof_slice(name)]
        return row.item() if row.shape == (1,) else row

    def __setitem__(self, key: Any, value: Any) -> None:
        if self.flags.writeable:
            super().__setitem__(key, value)
            return
        if self._source is None or not isinstance(key, str) or not self._source[2]:
            raise ExoskelError(self._advice)
        owner, field, _ = self._source
        place = owner.dof_slice(key)
        values = np.array(getattr(owner, field))
        values[place] = value
        setattr(owner, field, values)
        self.setflags(write=True)
        np.asarray(self)[place] = value
        self.setflags(write=False)

    if not TYPE_CHECKING:  # NumPy's own types fit
        # Methods that would change elements.
        def fill(self, value: Any) -> None:
            """Set all numbers; an error for arrays that are read-only."""
            self[...] = value

        def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
            """Set some numbers; an error for arrays that are read-only."""
            self._change(super().put, indices, values, mode)

        def sort(self, *arguments: Any, **options: Any) -> None:
            """Sort the numbers; an error for arrays that are read-only."""
            self._change(super().sort, *arguments, **options)

        def _change(self, method: Any, *arguments: Any, **options: Any) -> None:
            if not self.flags.writeable:
                raise ExoskelError(self._advice)
            method(*arguments, **options)

        # `simulation.forces += 1` makes a new array, which is then set.
        def __iadd__(self, other: Any) -> Any:
            return self + other

        def __isub__(self, other: Any) -> Any:
            return self - other

        def __imul__(self, other: Any) -> Any:
            return self * other

        def __itruediv__(self, other: Any) -> Any:
            return self / other


_SINGULAR = {"positions": "position", "velocities": "velocity", "forces": "force", "commands": "command"}


def _advice(field: str, settable: bool) -> str:
    """What to do instead of assigning to elements of an array."""
    if not settable:
        return f"the {field} of a simulation are a read-only copy; change {field}.copy() instead"
    return (
        f"the {field} of a simulation are a read-only copy: assigning to its elements would not change the simulation; "
        f"set all with simulation.{field} = values, or one with "
        f'simulation.joint("NAME").{_SINGULAR[field]} = value; to compute with it, use {field}.copy()'
    )


class SoftPoints(Mapping[str, Array]):
    """Positions of the points of soft bodies in the world, m, by `model/body`, or by the name of the body alone."""

    def __init__(self, bodies: Sequence[tuple[str, str]], points: Sequence[Array]) -> None:
        self._points = {qualified_name(*names): rows for names, rows in zip(bodies, points, strict=True)}
        alone = [name for _, name in bodies]
        self._paths = {names[1]: qualified_name(*names) for names in bodies if alone.count(names[1]) == 1}

    def __getitem__(self, name: str) -> Array:
        found = self._points.get(name)
        if found is None:
            found = self._points.get(self._paths.get(name, ""))
        if found is None:
            known = list(self._points if "/" in name else self._paths)
            raise UnknownNameError(not_found_message(name, known, "soft body", "the world"))
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._points)

    def __len__(self) -> int:
        return len(self._points)

    def __repr__(self) -> str:
        return f"SoftPoints({', '.join(f'{name}: {rows.shape}' for name, rows in self._points.items())})"


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
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        found = None
    if found is None or found.ndim:  # NumPy 2.0 would take the only number of an array
        raise ExoskelError(f"the control of {name!r} is {value!r}, but must be a number")
    number = float(found)
    if not isfinite(number):
        raise ExoskelError(f"the control of {name!r} is {number}, but must be finite")
    return number
