"""Arrays of a simulation with one number per degree of freedom: read-only copies that know names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from exoskel.diagnostics import ExoskelError
from exoskel.spatial import Array


class ArrayOwner(Protocol):
    """What hands out arrays: a simulation."""

    def dof_slice(self, name: str) -> slice:
        """The degrees of freedom of a joint, or one of them, by name."""


class CoordinateArray(np.ndarray[tuple[int, ...], np.dtype[np.float64]]):
    """Values of a simulation, one per degree of freedom.

    It is a read-only copy.  `array["knee"]` is the value of a joint or degree of freedom, and `array["knee"] = value`
    sets it in the simulation, if it can be set.  Results of computations are ordinary arrays.
    """

    _source: tuple[ArrayOwner, str, bool] | None = None
    """The simulation, the name of the field, and whether it can be set."""

    @classmethod
    def of(cls, owner: ArrayOwner, field: str, values: Array, *, settable: bool = True) -> CoordinateArray:
        """The values of a field of a simulation, from a new array."""
        out = values.view(cls)
        out._source = owner, field, settable
        out.setflags(write=False)
        return out

    def __array_finalize__(self, source: Any) -> None:
        if type(source) is CoordinateArray:
            self._source = source._source

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
        if self.flags.writeable or self._source is None:
            super().__setitem__(key, value)
            return
        owner, field, settable = self._source
        if not isinstance(key, str) or not settable:
            raise ExoskelError(_advice(field, settable))
        place = owner.dof_slice(key)
        values = np.array(getattr(owner, field))
        values[place] = value
        setattr(owner, field, values)
        self.setflags(write=True)
        np.asarray(self)[place] = value
        self.setflags(write=False)

    if not TYPE_CHECKING:  # NumPy's own types fit
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
